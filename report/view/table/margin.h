/* SPDX-License-Identifier: MIT */
/* The figures to the left of a line of source or an instruction: share, inlined, categories. */
#ifndef TD_REPORT_VIEW_TABLE_MARGIN_H
#define TD_REPORT_VIEW_TABLE_MARGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"
#include "report/view/table/style.h"

#define TD_MARGIN_SHARE_MIN 0.0005 /* rounds to 0.0 below this */

struct td_margin {
    const struct td_measure *measure; /* borrowed, as the style */
    enum td_metric primary;
    const struct td_style *style;
    enum td_tma_node nodes[TD_NODE_COUNT]; /* the category columns */
    size_t node_count;
    unsigned mostly; /* columns for what slots went to, in words; 0: none */
    bool inlined;    /* there is a column for what was inlined */
};

/* Figures of so many lines, the i-th by `values_of`. Where the measure has categories: with
 * `levels` 0 what slots went to in words, else a column for each category of the first `levels`
 * levels that reaches its threshold in a line of weight. What stands right of the figures keeps 30
 * columns behind `used` more: the smallest categories give way. */
struct td_margin_lines {
    const void *of;
    size_t len;
    const uint64_t *(*values_of)(const void *of, size_t i, td_tma_set *thin); /* NULL: none */
};
struct td_margin td_margin_of(const struct td_measure *measure, int levels, bool inlined,
                              const struct td_margin_lines *lines, unsigned used,
                              const struct td_style *style);
/* Columns that the figures take. */
unsigned td_margin_width(const struct td_margin *margin);
void td_margin_headings(const struct td_margin *margin);
/* `values` NULL: blanks. `inlined` is of the primary metric; nodes in `thin`, by bit, stay blank.
 */
void td_margin_print(const struct td_margin *margin, const uint64_t *values, uint64_t inlined,
                     td_tma_set thin);
/* Of the primary metric. */
double td_margin_share(const struct td_margin *margin, uint64_t value);

/* "12.3 % of all slots, 0.120 s, 14 samples, in libz.so", without a line's end. `module` may be
 * TD_NONE. */
void td_margin_costs(const struct td_margin *margin, const uint64_t *values, uint32_t module);

/* A line of a source file, from column `used` on: tabs become blanks, what is harmful is escaped,
 * what does not fit is cut. Nothing for an empty line, else a blank comes first. */
void td_margin_source(const struct td_style *style, const char *text, size_t len, unsigned used);
/* The mark where lines are left out, at column `used`. */
void td_margin_gap(const struct td_style *style, unsigned used);
/* "note: …", a paragraph. */
void td_margin_note(const struct td_style *style, const char *text);

#endif
