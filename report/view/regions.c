/* SPDX-License-Identifier: MIT */
#include "report/view/regions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/view/head.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"

static const enum td_tma_node columns[] = {TD_NODE_RETIRING, TD_NODE_BAD_SPECULATION,
                                           TD_NODE_FRONTEND_BOUND, TD_NODE_BACKEND_BOUND};
enum {
    COLUMNS = sizeof(columns) / sizeof(columns[0]),
    INDENT = 2,
    GAP = 2,
    /* Columns of the terminal: a million calls, a thousand million cycles. */
    CALLS = 9,
    COST = 13,
    TIME = 9, /* "1,234.5 s" */
    SHARE = 5,
    LENGTH = 13,
};

/* A length as a table shows it: cycles, or a time with its unit. */
static const char *format_length(const struct td_region_table *table, double length,
                                 const struct td_style *style, char *buf, size_t size)
{
    const double scaled = td_region_scaled(table, length);

    if (isnan(scaled))
        snprintf(buf, size, "-");
    else if (table->modelled)
        td_format_count(buf, size, (uint64_t)(scaled + 0.5));
    else
        td_format_time(style, buf, size, scaled);
    return buf;
}

static void print_cell(const struct td_style *style, const char *text, unsigned width)
{
    fprintf(style->out, "%*s%*s", (int)(width + strlen(text) - td_text_width(text)), text, GAP, "");
}

static void print_name(const struct td_region_table *table, const struct td_model *model, size_t i,
                       unsigned at, const struct td_style *style)
{
    const struct td_region *region = td_model_region(model, table->rows[i].region);
    const unsigned indent = INDENT * region->depth;
    const unsigned left = style->width > at + indent + 8 ? style->width - at - indent : 8;

    fprintf(style->out, "%*s", (int)indent, "");
    td_style_safe(style, td_model_string(model, region->name), style->full ? 0 : left);
    fputc('\n', style->out);
}

static bool has_categories(const struct td_region_table *table)
{
    for (size_t i = 0; i < table->len; i++) {
        if (!isnan(table->rows[i].share[TD_NODE_RETIRING]))
            return true;
    }
    return false;
}

static void print_shares(const struct td_region_cost *row, const struct td_style *style)
{
    for (int c = 0; c < COLUMNS; c++) {
        const double share = row->share[columns[c]];

        if (isnan(share))
            fprintf(style->out, "%*s", SHARE + GAP, "");
        else
            fprintf(style->out, "%*.1f%*s", SHARE, 100 * share, GAP, "");
    }
}

/* What a region cost, all its calls: of the modelled core in cycles of all that ran. */
static void print_cost(const struct td_region_table *table, const struct td_region_cost *row,
                       const struct td_style *style)
{
    char text[40];

    print_cell(style, td_format_count(text, sizeof(text), row->length.begun), CALLS);
    if (table->modelled)
        print_cell(style, format_length(table, row->slots, style, text, sizeof(text)), COST);
    if (!table->modelled) {
        print_cell(style, format_length(table, (double)row->length.sum, style, text, sizeof(text)),
                   TIME);
        print_cell(style, format_length(table, row->cpu_ns, style, text, sizeof(text)), TIME);
    }
    if (table->whole > 0)
        fprintf(style->out, "%*.1f%*s", SHARE, 100 * row->slots / table->whole, GAP, "");
}

static void print_costs(const struct td_region_table *table, const struct td_model *model,
                        size_t shown, const struct td_style *style)
{
    const bool categories = has_categories(table);
    const unsigned cost = table->modelled ? COST : 2 * TIME + GAP;
    const unsigned at =
        CALLS + cost + 2 * GAP + (SHARE + GAP) * ((table->whole > 0) + (categories ? COLUMNS : 0));

    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    print_cell(style, "calls", CALLS);
    print_cell(style, table->modelled ? "cycles" : "time", table->modelled ? COST : TIME);
    if (!table->modelled)
        print_cell(style, "CPU", TIME);
    if (table->whole > 0)
        print_cell(style, "%", SHARE);
    for (int c = 0; categories && c < COLUMNS; c++)
        print_cell(style, td_node_heading(columns[c]), SHARE);
    fputs("region", style->out);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    for (size_t i = 0; i < shown; i++) {
        print_cost(table, &table->rows[i], style);
        if (categories)
            print_shares(&table->rows[i], style);
        print_name(table, model, i, at, style);
    }
}

static void print_lengths(const struct td_region_table *table, const struct td_model *model,
                          size_t shown, const struct td_style *style)
{
    static const char *const titles[] = {"mean", "deviation", "min", "max"};
    char text[40];

    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        print_cell(style, titles[i], LENGTH);
    fprintf(style->out, "%s per call", table->modelled ? "cycles" : "time");
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
    for (size_t i = 0; i < shown; i++) {
        const struct td_region_row *row = &table->rows[i].length;
        const double lengths[] = {td_region_mean(row), td_region_deviation(row),
                                  row->timed ? (double)row->min : NAN,
                                  row->timed ? (double)row->max : NAN};

        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            print_cell(style, format_length(table, lengths[l], style, text, sizeof(text)), LENGTH);
        print_name(table, model, i, 4 * (LENGTH + GAP), style);
    }
}

/* One sentence for `count` of something; none for 0. */
static void print_note(uint64_t count, const char *one, const char *many,
                       const struct td_style *style)
{
    char number[32], text[256];

    if (count == 0)
        return;
    td_format_count(number, sizeof(number), count);
    snprintf(text, sizeof(text), "%s %s", number, count == 1 ? one : many);
    td_note_print(text, style);
}

static bool has_others(const struct td_region_table *table, const struct td_model *model)
{
    for (size_t i = 0; i < table->len; i++) {
        const struct td_region *region = td_model_region(model, table->rows[i].region);

        if (strcmp(td_model_string(model, region->name), TD_REGION_OTHERS) == 0)
            return true;
    }
    return false;
}

static void print_notes(const struct td_region_table *table, const struct td_model *model,
                        size_t shown, const struct td_style *style)
{
    double least = 1;

    for (size_t i = 0; i < table->len; i++) {
        if (!isnan(table->rows[i].slots) && td_region_counted(&table->rows[i]) < least)
            least = td_region_counted(&table->rows[i]);
    }
    if (table->how)
        td_note_print(table->how, style);
    print_note(table->len - shown, "more region (-n shows it)", "more regions (-n shows them)",
               style);
    print_note(table->modelled ? 0 : table->unfinished,
               "call had not ended at the end of its thread: what it cost is counted up to the "
               "thread's last mark, its length is not",
               "calls had not ended at the end of their thread: what they cost is counted up to "
               "the thread's last mark, their lengths are not",
               style);
    print_note(table->modelled ? table->unfinished : 0,
               "call had not ended at the end of its thread: what it cost is counted, its length "
               "is not",
               "calls had not ended at the end of their thread: what they cost is counted, their "
               "lengths are not",
               style);
    print_note(table->left_open, "region was ended by the end of one around it",
               "regions were ended by the end of one around them", style);
    print_note(table->strays, "end of a region that its thread had not begun was ignored",
               "ends of regions that their thread had not begun were ignored", style);
    if (has_others(table, model))
        td_note_print(TD_REGION_OTHERS " are those that are too many to be told apart, or nested "
                                       "too deep",
                      style);
    if (least < 1) {
        char text[160];

        snprintf(text, sizeof(text),
                 "of some regions only a part was counted, of at least one %.1f %%: the rest is "
                 "taken to be like it",
                 100 * least);
        td_note_print(text, style);
    }
}

void td_regions_print(const struct td_region_table *table, const struct td_model *model,
                      size_t shown, const struct td_style *style)
{
    if (shown > table->len)
        shown = table->len;
    print_costs(table, model, shown, style);
    print_lengths(table, model, shown, style);
    fputc('\n', style->out);
    print_notes(table, model, shown, style);
}

static void json_lengths(const struct td_region_table *table, const struct td_region_row *row,
                         struct td_json *json)
{
    td_json_object(json, "call_length");
    td_json_string(json, "unit", table->modelled ? "cycles" : "ns");
    td_json_u64(json, "calls", row->timed);
    td_json_double(json, "mean", td_region_scaled(table, td_region_mean(row)), 9);
    td_json_double(json, "deviation", td_region_scaled(table, td_region_deviation(row)), 9);
    td_json_double(json, "min", row->timed ? td_region_scaled(table, (double)row->min) : NAN, 12);
    td_json_double(json, "max", row->timed ? td_region_scaled(table, (double)row->max) : NAN, 12);
    td_json_end(json);
}

static void json_region(const struct td_region_table *table, const struct td_model *model,
                        const struct td_region_cost *row, struct td_json *json)
{
    const struct td_region *region = td_model_region(model, row->region);

    td_json_object(json, NULL);
    td_json_string(json, "name", td_model_string(model, region->name));
    if (row->parent == SIZE_MAX)
        td_json_null(json, "parent");
    else
        td_json_u64(json, "parent", row->parent);
    td_json_u64(json, "depth", region->depth);
    td_json_u64(json, "threads", row->threads);
    td_json_u64(json, "calls", row->length.begun);
    td_json_u64(json, "ended", row->length.ended);
    if (table->modelled)
        td_json_null(json, "time_ns");
    else
        td_json_u64(json, "time_ns", row->length.sum);
    td_json_double(json, "cpu_ns", row->cpu_ns, 15);
    td_json_double(json, "cycles", row->cycles, 15);
    td_json_double(json, "instructions", row->instructions, 15);
    td_json_double(json, "slots", row->slots, 15);
    td_json_double(json, "own_slots", row->own_slots, 15);
    td_json_double(json, "share", table->whole > 0 ? row->slots / table->whole : NAN, 6);
    td_json_double(json, "counted", td_region_counted(row), 6);
    json_lengths(table, &row->length, json);
    td_json_object(json, "categories");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!isnan(row->share[n]))
            td_json_double(json, td_tma_info((enum td_tma_node)n)->id, row->share[n], 6);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_regions_json(const struct td_region_table *table, const struct td_model *model,
                     struct td_json *json)
{
    if (table->how)
        td_json_string(json, "regions_how", table->how);
    td_json_array(json, "regions");
    for (size_t i = 0; i < table->len; i++)
        json_region(table, model, &table->rows[i], json);
    td_json_end(json);
    td_json_object(json, "region_marks");
    td_json_u64(json, "stray_ends", table->strays);
    td_json_u64(json, "ended_by_outer", table->left_open);
    td_json_u64(json, "unfinished_calls", table->unfinished);
    td_json_end(json);
}
