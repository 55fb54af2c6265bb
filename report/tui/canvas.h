/* SPDX-License-Identifier: MIT */
/*
 * A screen as rows of text with tones, without a terminal. What is put into it is escaped and cut
 * to its width, so that a row never takes more than one line of a terminal.
 */
#ifndef TD_REPORT_TUI_CANVAS_H
#define TD_REPORT_TUI_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

#include "report/view/table/style.h"

#define TD_CANVAS_SPANS 48 /* of one row; what is put after them is left out */

/* A piece of a row, of one tone. */
struct td_canvas_span {
    unsigned column, width;
    enum td_tone tone;
    size_t text; /* where it begins in the row's text; it ends with a 0 byte */
};

struct td_canvas_row {
    char *text; /* of all spans */
    size_t len, cap;
    struct td_canvas_span spans[TD_CANVAS_SPANS];
    unsigned span_count;
    unsigned used; /* columns */
    bool selected; /* shown in reverse from end to end */
};

struct td_canvas {
    unsigned rows, columns;
    bool utf8; /* else what is not ASCII is put as '?' */
    struct td_canvas_row *at;
};

void td_canvas_init(struct td_canvas *canvas, unsigned rows, unsigned columns, bool utf8);
void td_canvas_release(struct td_canvas *canvas);
void td_canvas_clear_row(struct td_canvas *canvas, unsigned row);
/* Empties all rows. */
void td_canvas_clear(struct td_canvas *canvas);

/* Appends to a row; rows below the last are ignored. */
void td_canvas_put(struct td_canvas *canvas, unsigned row, enum td_tone tone, const char *text);
void td_canvas_putf(struct td_canvas *canvas, unsigned row, enum td_tone tone, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
/* In `width` columns, at their right end. */
void td_canvas_put_right(struct td_canvas *canvas, unsigned row, enum td_tone tone, unsigned width,
                         const char *text);
/* Columns that are taken; a row below the last has none left. */
unsigned td_canvas_used(const struct td_canvas *canvas, unsigned row);
/* Blanks up to `column`. */
void td_canvas_move(struct td_canvas *canvas, unsigned row, unsigned column);
void td_canvas_select(struct td_canvas *canvas, unsigned row);

/* How texts are made to fit it: no colour, no output. */
struct td_style td_canvas_style(const struct td_canvas *canvas);
/* The row as one string, for tests; the caller frees it. */
char *td_canvas_line(const struct td_canvas *canvas, unsigned row) __attribute__((returns_nonnull));

#endif
