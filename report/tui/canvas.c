/* SPDX-License-Identifier: MIT */
#include "report/tui/canvas.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define TEXT_BYTES 4096

void td_canvas_init(struct td_canvas *canvas, unsigned rows, unsigned columns, bool utf8)
{
    *canvas = (struct td_canvas){.rows = rows, .columns = columns, .utf8 = utf8};
    canvas->at = td_xcalloc((size_t)rows + 1, sizeof(*canvas->at));
}

void td_canvas_release(struct td_canvas *canvas)
{
    for (unsigned i = 0; i < canvas->rows; i++)
        free(canvas->at[i].text);
    free(canvas->at);
    *canvas = (struct td_canvas){.rows = 0};
}

void td_canvas_clear_row(struct td_canvas *canvas, unsigned row)
{
    struct td_canvas_row *r = &canvas->at[row];

    r->len = 0;
    r->span_count = 0;
    r->used = 0;
    r->selected = false;
}

void td_canvas_clear(struct td_canvas *canvas)
{
    for (unsigned i = 0; i < canvas->rows; i++)
        td_canvas_clear_row(canvas, i);
}

struct td_style td_canvas_style(const struct td_canvas *canvas)
{
    return (struct td_style){.width = canvas->columns, .utf8 = canvas->utf8};
}

/* A terminal that is not UTF-8 would show each byte of a character as several columns. */
static void make_ascii(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if ((unsigned char)*from < 0x80)
            *to++ = *from;
        else if ((unsigned char)*from >= 0xc0)
            *to++ = '?';
    }
    *to = '\0';
}

void td_canvas_put(struct td_canvas *canvas, unsigned row, enum td_tone tone, const char *text)
{
    const struct td_style style = td_canvas_style(canvas);
    struct td_canvas_row *r = row < canvas->rows ? &canvas->at[row] : NULL;
    char fitted[TEXT_BYTES];

    if (!r || r->used >= canvas->columns || r->span_count == TD_CANVAS_SPANS || !text[0])
        return;
    td_fit_text(&style, fitted, sizeof(fitted), text, canvas->columns - r->used);
    if (!canvas->utf8)
        make_ascii(fitted);
    const size_t size = strlen(fitted) + 1;
    const unsigned width = (unsigned)td_text_width(fitted);
    r->text = td_grow(r->text, &r->cap, r->len + size, 1);
    memcpy(r->text + r->len, fitted, size);
    r->spans[r->span_count++] =
        (struct td_canvas_span){.column = r->used, .width = width, .tone = tone, .text = r->len};
    r->len += size;
    r->used += width;
}

void td_canvas_putf(struct td_canvas *canvas, unsigned row, enum td_tone tone, const char *format,
                    ...)
{
    char text[TEXT_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    td_canvas_put(canvas, row, tone, text);
}

void td_canvas_put_right(struct td_canvas *canvas, unsigned row, enum td_tone tone, unsigned width,
                         const char *text)
{
    const unsigned taken = (unsigned)td_text_width(text);

    if (row < canvas->rows && taken < width)
        td_canvas_move(canvas, row, canvas->at[row].used + width - taken);
    td_canvas_put(canvas, row, tone, text);
}

unsigned td_canvas_used(const struct td_canvas *canvas, unsigned row)
{
    return row < canvas->rows ? canvas->at[row].used : canvas->columns;
}

void td_canvas_move(struct td_canvas *canvas, unsigned row, unsigned column)
{
    if (row < canvas->rows && canvas->at[row].used < column)
        canvas->at[row].used = column < canvas->columns ? column : canvas->columns;
}

void td_canvas_select(struct td_canvas *canvas, unsigned row)
{
    if (row < canvas->rows)
        canvas->at[row].selected = true;
}

char *td_canvas_line(const struct td_canvas *canvas, unsigned row)
{
    char *line = td_xstrdup("");

    for (unsigned i = 0, at = 0; row < canvas->rows && i < canvas->at[row].span_count; i++) {
        const struct td_canvas_span *span = &canvas->at[row].spans[i];
        char *longer = td_xasprintf("%s%*s%s", line, (int)(span->column - at), "",
                                    canvas->at[row].text + span->text);

        free(line);
        line = longer;
        at = span->column + span->width;
    }
    return line;
}
