/* SPDX-License-Identifier: MIT */
#include "report/view/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/variant.h"
#include "formats/frames.h"
#include "report/query/figures/replicated.h"
#include "report/query/figures/shared.h"

enum {
    PHRASE_BYTES = 256,
    DIGITS = 9,
    CORE_WIDTH = 42, /* of what is changed */
    CYCLES_WIDTH = 17,
    SPEEDUP_WIDTH = 10,
    SHARE_WIDTH = 7,
    COLUMN_LEAST = 8, /* of one core's speed-ups */
    ERROR_WIDTH = 6,
    NAME_LEAST = 24, /* of a function */
};

/* "1.62x" */
static const char *speedup_text(double speedup, char *buf, size_t size)
{
    if (isnan(speedup))
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, speedup < 100 ? "%.2fx" : "%.0fx", speedup);
    return buf;
}

/* "0.02"; "": it is exact. */
static const char *error_text(double error, char *buf, size_t size)
{
    buf[0] = '\0';
    if (error > 0)
        snprintf(buf, size, error < 99.5 ? "%.2f" : "%.0f", error);
    return buf;
}

/* " ± 0.02" */
static const char *error_words(double error, const struct td_style *style, char *buf, size_t size)
{
    char number[32];

    buf[0] = '\0';
    if (error > 0)
        snprintf(buf, size, " %s %s", td_style_plus_minus(style),
                 error_text(error, number, sizeof(number)));
    return buf;
}

char *td_whatif_words(const struct td_whatif *what_if, const struct td_style *style)
{
    char phrase[PHRASE_BYTES], error[48];

    if (isnan(what_if->speedup))
        return NULL;
    return td_xasprintf("with %s %.2f%s times the speed",
                        td_variant_phrase(phrase, sizeof(phrase), what_if->words), what_if->speedup,
                        error_words(what_if->error, style, error, sizeof(error)));
}

void td_whatif_print_line(const struct td_measure *measure, const struct td_style *style)
{
    size_t *order = td_whatif_order(measure);
    char *text = NULL;

    for (size_t i = 0; i < measure->variant_count; i++) {
        const struct td_whatif what_if = td_whatif_of(measure, order[i]);
        char phrase[PHRASE_BYTES], speedup[32], error[48];

        if (isnan(what_if.speedup))
            continue;
        char *more = td_xasprintf("%s%swith %s %s%s", text ? text : "", text ? ", " : "",
                                  td_variant_phrase(phrase, sizeof(phrase), what_if.words),
                                  speedup_text(what_if.speedup, speedup, sizeof(speedup)),
                                  error_words(what_if.error, style, error, sizeof(error)));
        free(text);
        text = more;
    }
    if (text)
        td_style_paragraph(style, "what if", TD_TONE_NOTE, text);
    free(text);
    free(order);
}

/* "NAME  CYCLES  SPEEDUP  ERROR": without a speed-up (NULL), nothing stands behind the cycles. */
static void print_core(const char *name, uint64_t cycles, const char *speedup, const char *error,
                       const struct td_style *style)
{
    unsigned width = (unsigned)td_text_width(name);
    char count[32];

    fputs("  ", style->out);
    /* A long one has lines of its own. */
    if (width > CORE_WIDTH && !style->full) {
        td_style_wrap(style, name, 2, 2);
        fputs("  ", style->out);
        name = "";
        width = 0;
    }
    fprintf(style->out, "%s%*s%*s", name, width < CORE_WIDTH ? (int)(CORE_WIDTH - width) : 0, "",
            CYCLES_WIDTH, td_format_count(count, sizeof(count), cycles));
    if (speedup)
        fprintf(style->out, "%*s", SPEEDUP_WIDTH, speedup);
    if (speedup && *error)
        fprintf(style->out, "%*s", ERROR_WIDTH, error);
    fputc('\n', style->out);
}

static void print_variant(const struct td_whatif *what_if, const struct td_style *style)
{
    char phrase[PHRASE_BYTES], speedup[32], error[32];
    char *name = td_xasprintf("with %s", td_variant_phrase(phrase, sizeof(phrase), what_if->words));

    print_core(name, what_if->cycles, speedup_text(what_if->speedup, speedup, sizeof(speedup)),
               error_text(what_if->error, error, sizeof(error)), style);
    free(name);
}

/* The heading of a column of errors. */
static void print_error_heading(const struct td_style *style)
{
    fprintf(style->out, "%*s", style->utf8 ? ERROR_WIDTH + 1 : ERROR_WIDTH,
            td_style_plus_minus(style));
}

void td_whatif_print_whole(const struct td_measure *measure, const struct td_style *style)
{
    const bool sampled = td_replicated_is(measure);
    size_t *order = td_whatif_order(measure);
    bool known = true;

    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "\n  %-*s%*s%*s", CORE_WIDTH, "the same run", CYCLES_WIDTH, "cycles",
            SPEEDUP_WIDTH, "speed-up");
    if (sampled)
        print_error_heading(style);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    print_core("on the core as it is", measure->totals[TD_METRIC_CYCLES], NULL, NULL, style);
    for (size_t i = 0; i < measure->variant_count; i++) {
        const struct td_whatif what_if = td_whatif_of(measure, order[i]);

        print_variant(&what_if, style);
        known = known && !isnan(what_if.speedup);
    }
    if (!known)
        fputs("  -: only a part of the instructions was modelled on that core\n", style->out);
    if (sampled)
        fprintf(style->out, "  %s, 95 %%: the run was sampled, on all cores in the same windows\n",
                td_style_plus_minus(style));
    if (td_shared_is_much(measure->model)) {
        fputs("  ", style->out);
        td_style_wrap(
            style,
            "Threads share lines of the cache: who comes first is another on each core, so "
            "that a part of each speed-up is by chance.",
            2, 2);
    }
    free(order);
}

/* Of the speed-ups alone. */
static unsigned column_width(const struct td_measure *variant)
{
    const unsigned width = (unsigned)td_text_width(variant->variant) + 2;

    return width < COLUMN_LEAST ? COLUMN_LEAST : width;
}

/* The variants that have columns in one table. */
struct columns {
    const size_t *order;
    size_t count;
    unsigned left; /* what names have */
};

/* As many of the `count` variants as fit side by side, one at the least. */
static struct columns fitting(const struct td_measure *measure, const size_t *order, size_t count,
                              const struct td_style *style)
{
    const unsigned more = td_replicated_is(measure) ? ERROR_WIDTH : 0;
    struct columns ret = {.order = order,
                          .left = style->width > SHARE_WIDTH ? style->width - SHARE_WIDTH : 0};

    for (; ret.count < count; ret.count++) {
        const unsigned width = column_width(measure->variants[order[ret.count]]) + more;

        if (!style->full && ret.count > 0 && ret.left < width + NAME_LEAST + 2)
            break;
        ret.left = ret.left > width ? ret.left - width : 0;
    }
    return ret;
}

static void print_row(const struct td_rows *rows, const struct td_whatif_rows *what_if, size_t r,
                      const struct columns *columns, const struct td_style *style)
{
    const bool sampled = td_replicated_is(rows->measure);
    const struct td_row *row = &rows->at[r];
    char name[1024];

    fprintf(style->out, "%*.1f", SHARE_WIDTH, 100 * td_row_share(rows, row));
    for (size_t i = 0; i < columns->count; i++) {
        const struct td_whatif *w = td_whatif_row(what_if, r, columns->order[i]);
        char speedup[32], error[32];

        fprintf(style->out, "%*s", (int)column_width(rows->measure->variants[columns->order[i]]),
                speedup_text(w->speedup, speedup, sizeof(speedup)));
        if (sampled)
            fprintf(style->out, "%*s", ERROR_WIDTH, error_text(w->error, error, sizeof(error)));
    }
    td_fit_name(style, name, sizeof(name), td_row_name(rows, row),
                style->full         ? 0
                : columns->left > 2 ? columns->left - 2
                                    : 1);
    fprintf(style->out, "  %s\n", name);
}

static void print_table(const struct td_rows *rows, const struct td_whatif_rows *what_if,
                        size_t max, const struct columns *columns, const struct td_style *style)
{
    const struct td_measure *measure = rows->measure;

    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "\n%*s", SHARE_WIDTH, "%");
    for (size_t i = 0; i < columns->count; i++) {
        const struct td_measure *variant = measure->variants[columns->order[i]];

        fprintf(style->out, "%*s", (int)column_width(variant), variant->variant);
        if (td_replicated_is(measure))
            print_error_heading(style);
    }
    fputs("  function", style->out);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    for (size_t r = 0; r < rows->len && r < max; r++)
        print_row(rows, what_if, r, columns, style);
}

void td_whatif_print_rows(const struct td_rows *rows, const struct td_whatif_rows *what_if,
                          size_t max, const struct td_style *style)
{
    const struct td_measure *measure = rows->measure;
    size_t *order = td_whatif_order(measure);
    struct columns columns = {.count = 0};

    for (size_t i = 0; i < measure->variant_count; i += columns.count) {
        columns = fitting(measure, order + i, measure->variant_count - i, style);
        print_table(rows, what_if, max, &columns, style);
    }
    free(order);
}

static void json_one(const struct td_whatif *what_if, struct td_json *json)
{
    char phrase[PHRASE_BYTES];

    td_json_object(json, NULL);
    td_json_string(json, "change", what_if->words);
    td_json_string(json, "with", td_variant_phrase(phrase, sizeof(phrase), what_if->words));
    td_json_u64(json, "cycles", what_if->cycles);
    td_json_double(json, "speedup", what_if->speedup, DIGITS);
    td_json_double(json, "speedup_error", what_if->error, DIGITS);
    td_json_end(json);
}

void td_whatif_json(const struct td_measure *measure, struct td_json *json)
{
    td_json_array(json, "what_if");
    for (size_t i = 0; i < measure->variant_count; i++) {
        const struct td_whatif what_if = td_whatif_of(measure, i);

        json_one(&what_if, json);
    }
    td_json_end(json);
}

void td_whatif_json_rows(const struct td_rows *rows, const struct td_whatif_rows *what_if,
                         size_t max, struct td_json *json)
{
    td_json_array(json, "functions");
    for (size_t r = 0; r < rows->len && r < max; r++) {
        const struct td_row *row = &rows->at[r];

        td_json_object(json, NULL);
        td_json_string(json, "function", td_row_name(rows, row));
        td_json_string(json, "module", td_module_name(rows->measure->model, row->module));
        td_json_u64(json, "cycles", row->values[TD_METRIC_CYCLES]);
        td_json_u64(json, "instructions", row->values[TD_METRIC_INSTRUCTIONS]);
        td_json_array(json, "what_if");
        for (size_t v = 0; v < what_if->variants; v++)
            json_one(td_whatif_row(what_if, r, v), json);
        td_json_end(json);
        td_json_end(json);
    }
    td_json_end(json);
}
