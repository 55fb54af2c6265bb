/* SPDX-License-Identifier: MIT */
#include "report/view/table/weights.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"
#include "report/query/figures/versions.h"
#include "report/query/figures/weights.h"

#define NAMED_MAX   3
#define NAMED_SHARE 0.005 /* of the time: less is not worth a name */
#define SHARE_MIN   0.0005

/* "__memcmp_evex 3.1 %, [kernel] 2.0 %": the functions with time and without categories. */
static char *name_uncategorized(const struct td_measure *measure, const struct td_style *style)
{
    struct td_rows rows;
    char *text = td_xstrdup("");
    size_t named = 0;
    char name[256];

    td_rows_init(&rows, measure, TD_ROWS_FUNCTIONS, true);
    for (size_t i = 0; i < rows.len && named < NAMED_MAX; i++) {
        const struct td_row *row = &rows.at[i];
        const double share = td_row_share(&rows, row);

        if (row->values[TD_METRIC_SLOTS] > 0 || share < NAMED_SHARE)
            continue;
        const char *function = row->function == TD_NONE
                                   ? td_module_name(measure->model, row->module)
                                   : td_row_name(&rows, row);
        td_fit_name(style, name, sizeof(name), function, 40);
        char *more = td_xasprintf("%s%s%s %.1f %%", text, named ? ", " : ": ", name, 100 * share);
        free(text);
        text = more;
        named++;
    }
    td_rows_release(&rows);
    return text;
}

static void paragraph(const struct td_style *style, char *take_text)
{
    td_style_begin(style, TD_TONE_NOTE);
    fputs("note", style->out);
    td_style_end(style, TD_TONE_NOTE);
    td_style_wrap(style, take_text, 4, 6);
    free(take_text);
}

void td_weights_words(FILE *out, const struct td_measure *measure)
{
    if (!measure->weighted)
        return;
    if (td_model_source(measure->model) == TD_SOURCE_LIVE) {
        fprintf(out,
                "a function's slots are its measured cycles at %.1f GHz times the core's width, "
                "divided as the windows of it are; inside of a function the windows say where "
                "slots are; how many instructions the program ran is not known; blank where the "
                "error is as large as the figure, or above 25 %%",
                td_weights_clock_hz(measure) / 1e9);
        return;
    }
    fprintf(
        out,
        "a function's retiring is its modelled uops over its measured cycles (at %.1f GHz); other "
        "slots are divided as its modelled losses; inside of a function the model says where "
        "slots are, since samples lie behind what took the time; blank where the error is as "
        "large as the figure, or above 25 %%",
        td_weights_clock_hz(measure) / 1e9);
}

static void print_versions(const struct td_measure *measure, const struct td_style *style)
{
    const struct td_model *model = measure->model;
    size_t count = 0;
    struct td_weights_version *all = td_weights_versions(measure, &count);
    char *text = td_xstrdup("");
    bool avx512 = true;
    char name[64], from[64];
    size_t named = 0;

    for (; named < count && named < NAMED_MAX; named++) {
        const uint64_t whole = measure->totals[TD_METRIC_TIME_NS];
        const char *full =
            td_model_string(model, td_model_function(model, all[named].function)->name);

        if (named > 0 && td_ratio(all[named].ns, whole) < NAMED_SHARE)
            break;
        td_fit_name(style, name, sizeof(name), full, 40);
        td_fit_name(style, from, sizeof(from),
                    td_model_string(model, td_model_function(model, all[named].from)->name), 40);
        char *more = td_xasprintf("%s%s%s for %s", text, named ? ", " : "", from, name);
        free(text);
        text = more;
        avx512 = avx512 && td_version_needs_avx512(full);
    }
    if (named > 0)
        paragraph(style, td_xasprintf("categories of %s: %s; blank by line", text,
                                      avx512 ? "the emulator has no AVX-512"
                                             : "the emulated processor has another version"));
    free(text);
    free(all);
}

void td_weights_print(const struct td_measure *measure, const struct td_style *style)
{
    const struct td_weights_coverage c = td_weights_coverage_of(measure);

    if (!measure->weighted)
        return;
    print_versions(measure, style);
    if (c.uncategorized >= SHARE_MIN) {
        char *names = name_uncategorized(measure, style);

        paragraph(style,
                  td_xasprintf(
                      "%.1f %% of the time has no categories, because %s%s", 100 * c.uncategorized,
                      td_model_source(measure->model) == TD_SOURCE_LIVE
                          ? "no window met that code (kernel, what the emulator lacks, or too few "
                            "windows: a longer recording has more)"
                          : "the model did not run that code (kernel, library variants chosen "
                            "for this CPU)",
                      names));
        free(names);
    }
    if (c.unexplained >= NAMED_SHARE)
        paragraph(style,
                  td_xasprintf("%.1f %% of the slots have no category: that code took longer "
                               "than modelled, and the model has no loss in it",
                               100 * c.unexplained));
    if (c.too_fast >= NAMED_SHARE)
        paragraph(style, td_xasprintf("%.1f %% of the time is in code that ran faster than the "
                                      "modelled core can retire its instructions: all of it counts "
                                      "as retiring",
                                      100 * c.too_fast));
    if (c.modelled_only >= NAMED_SHARE)
        paragraph(style, td_xasprintf("%.1f %% of modelled time is in functions without a native "
                                      "sample, and is not in this report",
                                      100 * c.modelled_only));
}

static const char *model_heading(const struct td_style *style, const struct td_table *table,
                                 const struct td_table_column *column)
{
    (void)style;
    (void)table;
    (void)column;
    return "model %";
}

/* What the model says of the row's time, marked where the machine says otherwise. */
static enum td_tone model_cell(const struct td_table *table, const struct td_table_column *column,
                               const struct td_row *row, char *dst, size_t size)
{
    const struct td_weights_check c = td_weights_check_of(table->rows->measure, row->values);

    (void)column;
    if (c.modelled_share > 0)
        snprintf(dst, size, "%s%.1f", c.disagrees ? "! " : "", 100 * c.modelled_share);
    return c.disagrees ? TD_TONE_HOT : TD_TONE_DIM;
}

static const struct td_field model_field = {
    .id = "model", .right = true, .heading = model_heading, .cell = model_cell};

void td_weights_add_model(struct td_table *table)
{
    if (table->rows->measure->weighted)
        td_table_add(table, &model_field, table->rows->primary);
}

void td_weights_print_legend(const struct td_rows *rows, size_t shown, const struct td_style *style)
{
    for (size_t i = 0; i < shown; i++) {
        if (!td_weights_check_of(rows->measure, rows->at[i].values).disagrees)
            continue;
        td_style_begin(style, TD_TONE_HOT);
        fputs("  !", style->out);
        td_style_end(style, TD_TONE_HOT);
        td_style_wrap(style,
                      " model % is the function's share of the modelled time: there the model and "
                      "the machine disagree, and its categories are less sure",
                      3, 4);
        return;
    }
}
