/* SPDX-License-Identifier: MIT */
/* What the text and the Markdown of a diff have in common: names, figures, the verdict. */
#ifndef TD_REPORT_VIEW_DIFF_WORDS_H
#define TD_REPORT_VIEW_DIFF_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "report/query/diff/diff.h"

#define TD_DIFF_TEXT  4096 /* a buffer for any text below */
#define TD_DIFF_LABEL 32

/* "OLD", "NEW", "NEW2". */
const char *td_diff_label(char buf[TD_DIFF_LABEL], size_t column);

/* One unit for a whole table, so that its figures compare. */
struct td_diff_scale {
    double factor;    /* of a value, to that unit */
    const char *unit; /* "ms", "M slots", "cycles" */
    int decimals;
};
struct td_diff_scale td_diff_scale_of(const struct td_diff *diff, enum td_diff_unit unit);
/* "12.34"; with `sign` "+12.34". Returns buf. */
const char *td_diff_figure(char *buf, size_t size, const struct td_diff_scale *scale, double value,
                           bool sign);

/* "probe", "[unknown] of libc.so.6"; of a line "hash.c:12". Not escaped. */
const char *td_diff_name(char *buf, size_t size, const struct td_diff *diff,
                         const struct td_diff_row *row);

enum td_diff_status { TD_DIFF_IN_BOTH, TD_DIFF_GONE, TD_DIFF_NEW, TD_DIFF_IN_NONE };
enum td_diff_status td_diff_status_of(const struct td_diff_row *row, size_t column);

/* "-44.1 %", "-3.7 %, gone", "not significant"; what stands last in a row. */
const char *td_diff_remark(char *buf, size_t size, const struct td_diff *diff,
                           const struct td_diff_row *row, size_t column, unsigned what,
                           enum td_diff_unit unit);
/* "l3_bound -16.1, dram_bound -2.0"; "" when no category explains the row's change. */
const char *td_diff_causes_text(char *buf, size_t size, const struct td_diff *diff,
                                const struct td_diff_row *row, size_t column,
                                enum td_diff_unit unit);

/* Two sentences at most. `bold` stands around what matters most: "" or "**". */
void td_diff_verdict_words(FILE *out, const struct td_diff *diff, size_t column,
                           const char *plus_minus, const char *bold);
/* What a column is: "before.td: 65.3 ms, 168 M instructions, IPC 0.74, modelled on golden-cove". */
void td_diff_column_words(FILE *out, const struct td_diff *diff, size_t column,
                          const char *plus_minus);
/* How lines were matched, and what ± rests on: sentences, NULL past the last. Owned by the
 * caller. */
char *td_diff_method_words(const struct td_diff *diff, size_t i, const char *plus_minus);

/* A node of the whole is shown where it is 1 % of a column, or changed. */
bool td_diff_is_node_shown(const struct td_diff *diff, enum td_tma_node node,
                           enum td_diff_unit unit);
/* How many rows are shown of a table: what changed, then what is large; `max` 0: all. */
size_t td_diff_shown(const struct td_diff *diff, const struct td_diff_rows *rows, size_t max);
/* What the rows from `from` on changed by together. */
double td_diff_rest(const struct td_diff *diff, const struct td_diff_rows *rows, size_t from,
                    size_t column, enum td_diff_unit unit);

#endif
