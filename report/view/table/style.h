/* SPDX-License-Identifier: MIT */
/* How text goes out: width, colours, characters, and names made to fit. */
#ifndef TD_REPORT_VIEW_TABLE_STYLE_H
#define TD_REPORT_VIEW_TABLE_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum td_tone {
    TD_TONE_PLAIN,
    TD_TONE_HEADING,
    TD_TONE_DIM,
    TD_TONE_WARM,
    TD_TONE_HOT,
    TD_TONE_NOTE
};

struct td_style {
    FILE *out;
    unsigned width; /* columns */
    bool colour;
    bool utf8;
    bool full; /* names are never shortened */
};

/* "…" or "..", "±" or "+-" and so on, as the terminal can show them. */
const char *td_style_ellipsis(const struct td_style *style);
/* "… 3 more functions (-n 0 shows all)", a line of its own; nothing where `count` is 0. `word` is
 * of one. */
void td_style_more(const struct td_style *style, size_t count, const char *word);
const char *td_style_plus_minus(const struct td_style *style);
const char *td_style_bar(const struct td_style *style);

/* Starts and ends a tone; nothing without colour. */
void td_style_begin(const struct td_style *style, enum td_tone tone);
void td_style_end(const struct td_style *style, enum td_tone tone);
/* The tone of a share: what is worth a look stands out. */
enum td_tone td_style_heat(double share);

/* Prints a string from outside: escaped, at most `width` columns (0: as many as it needs). */
void td_style_safe(const struct td_style *style, const char *text, unsigned width);
/* A paragraph broken at blanks; lines after the first, and the first when `at` is less, begin at
 * column `indent`. `at` is where the cursor stands. The text is escaped. */
void td_style_wrap(const struct td_style *style, const char *text, unsigned at, unsigned indent);

/* Columns that names, source text and instructions keep beside columns of categories. */
#define TD_TEXT_MIN 30

/* What lines of a head and a verdict begin with: a label in its columns. */
#define TD_LABEL_WIDTH 10
void td_style_label(const struct td_style *style, const char *label, enum td_tone tone);
/* The same with a text behind it that is broken within its own columns. */
void td_style_paragraph(const struct td_style *style, const char *label, enum td_tone tone,
                        const char *text);

/* Each writes `text`, escaped, in at most `width` columns (0: no limit) to `dst` of `size` bytes.
 *
 * A function's name loses, as far as it must: its parameters, the inside of its template
 * arguments, then the middle. */
void td_fit_name(const struct td_style *style, char *dst, size_t size, const char *text,
                 unsigned width);
/* A path loses its first parts, whole ones while that is enough. */
void td_fit_path(const struct td_style *style, char *dst, size_t size, const char *text,
                 unsigned width);
/* Any other text loses its end. */
void td_fit_text(const struct td_style *style, char *dst, size_t size, const char *text,
                 unsigned width);

#endif
