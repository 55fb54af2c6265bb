/* SPDX-License-Identifier: MIT */
#include "report/view/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/figures/names.h"
#include "report/query/figures/weights.h"
#include "report/attribution/stats.h"
#include "report/view/head.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"

#define NAME_BYTES  1024
#define JSON_DIGITS 6
/* Where a row's text begins. */
#define COST_WIDTH 20

static const char *name_of(const struct td_model *model, uint32_t function)
{
    return td_model_string(model, td_model_function(model, function)->name);
}

static double share_of(const struct td_measure *measure, enum td_metric primary, uint64_t value)
{
    return td_ratio(value, measure->totals[primary]);
}

/* What a value is in time: measured or modelled; of a category the part of it that was lost to it.
 * 0 where no time is known. */
static double time_of(const struct td_measure *measure, enum td_metric metric, uint64_t value,
                      uint64_t time_ns)
{
    if (metric >= TD_METRIC_FIRST_NODE)
        return (double)td_measure_categorized_ns(measure) *
               td_ratio(value, measure->totals[TD_METRIC_SLOTS]);
    return (double)time_ns;
}

static bool in_time(const struct td_measure *measure)
{
    return measure->values[TD_METRIC_TIME_NS] != NULL;
}

static void print_value(const struct td_style *style, const struct td_measure *measure,
                        enum td_metric metric, uint64_t value, uint64_t time_ns)
{
    const struct td_time_unit unit = td_time_unit_of(style, measure->totals[TD_METRIC_TIME_NS]);
    char count[32];

    if (in_time(measure))
        fprintf(style->out, " %9.*f", unit.decimals,
                time_of(measure, metric, value, time_ns) * unit.per_ns);
    else
        fprintf(style->out, " %9s", td_format_count(count, sizeof(count), value));
}

/* Of a column of nine. */
static void print_unit(const struct td_style *style, const struct td_measure *measure,
                       enum td_metric metric)
{
    const char *unit = in_time(measure)
                           ? td_time_unit_of(style, measure->totals[TD_METRIC_TIME_NS]).name
                       : metric == TD_METRIC_EVENT ? "count"
                                                   : td_metric_id(metric);

    fprintf(style->out, " %*s", 9 + (int)(strlen(unit) - td_text_width(unit)), unit);
}

/* Above the table, where its shares are of a category: which. */
static void print_category(const struct td_style *style, enum td_metric metric)
{
    if (metric < TD_METRIC_FIRST_NODE)
        return;
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "by %s\n", td_metric_id(metric));
    td_style_end(style, TD_TONE_HEADING);
}

static void print_share(const struct td_style *style, double share)
{
    td_style_begin(style, td_style_heat(share));
    fprintf(style->out, "%6.1f", 100 * share);
    td_style_end(style, td_style_heat(share));
}

static void print_name(const struct td_style *style, const struct td_model *model,
                       uint32_t function, uint32_t module, unsigned used)
{
    const unsigned width = style->full || style->width <= used + 20 ? 0 : style->width - used;
    const char *of = module == TD_NONE ? "[unknown]" : td_module_name(model, module);
    char text[NAME_BYTES];
    char *unnamed = NULL;

    if (function == TD_NONE && strcmp(of, "[unknown]") != 0)
        unnamed = td_xasprintf(TD_UNNAMED_OF "%s", of);
    td_fit_name(style, text, sizeof(text),
                function != TD_NONE ? name_of(model, function)
                : unnamed           ? unnamed
                                    : of,
                width);
    fputs(text, style->out);
    free(unnamed);
}

/* Of a function that is below the limit itself, shares are of it. */
static bool is_shown(const struct td_calls *calls, const struct td_call *call,
                     struct td_calls_limits limits)
{
    const double whole = share_of(calls->measure, calls->primary, calls->at[0].value);
    const double share = share_of(calls->measure, calls->primary, call->value);

    return 100 * share >= limits.percent * (100 * whole < limits.percent ? whole : 1);
}

/* Who shares the first row with the function that it names. */
static void print_others(const struct td_calls *calls, const struct td_style *style)
{
    char text[128];

    if (calls->others == 0)
        return;
    snprintf(text, sizeof(text),
             "the first row is of %u functions together, which the name that was asked for fits",
             (unsigned)calls->others + 1);
    td_note_print(text, style);
}

static void print_call(const struct td_calls *calls, const struct td_call *call, unsigned level,
                       const struct td_style *style)
{
    const unsigned indent = 2 * level;

    print_share(style, share_of(calls->measure, calls->primary, call->value));
    print_value(style, calls->measure, calls->primary, call->value, call->time_ns);
    fprintf(style->out, "  %*s", (int)indent, "");
    print_name(style, calls->measure->model, call->function, call->module,
               COST_WIDTH + indent + (call->inlined ? 10 : 0));
    if (call->inlined)
        fputs(" (inlined)", style->out);
    fputc('\n', style->out);
}

/* Recursion as deep as limits.depth. */
static void print_children(const struct td_calls *calls, uint32_t node, unsigned level,
                           struct td_calls_limits limits, const struct td_style *style)
{
    for (uint32_t i = calls->at[node].child; i && level <= limits.depth; i = calls->at[i].next) {
        if (!is_shown(calls, &calls->at[i], limits))
            break; /* they are sorted */
        print_call(calls, &calls->at[i], level, style);
        print_children(calls, i, level + 1, limits, style);
    }
}

void td_calls_print(const struct td_calls *calls, struct td_calls_limits limits,
                    const struct td_style *style)
{
    print_category(style, calls->primary);
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "%6s", "%");
    print_unit(style, calls->measure, calls->primary);
    fputs("  function\n", style->out);
    td_style_end(style, TD_TONE_HEADING);
    print_call(calls, &calls->at[0], 0, style);
    print_children(calls, 0, 1, limits, style);
    print_others(calls, style);
}

static void add_time(struct td_json *json, const struct td_measure *measure, enum td_metric metric,
                     uint64_t value, uint64_t time_ns)
{
    if (in_time(measure))
        td_json_u64(json, "time_ns",
                    td_rounded((long double)time_of(measure, metric, value, time_ns)));
    else
        td_json_null(json, "time_ns");
}

static void json_call(struct td_json *json, const struct td_calls *calls,
                      const struct td_call *call, unsigned level)
{
    const struct td_model *model = calls->measure->model;

    td_json_object(json, NULL);
    td_json_u64(json, "depth", level);
    td_json_string(json, "function",
                   call->function == TD_NONE ? NULL : name_of(model, call->function));
    td_json_string(json, "module",
                   call->module == TD_NONE ? NULL : td_module_name(model, call->module));
    td_json_bool(json, "inlined", call->inlined);
    td_json_string(json, "metric", td_metric_id(calls->primary));
    td_json_u64(json, "value", call->value);
    td_json_double(json, "share", share_of(calls->measure, calls->primary, call->value),
                   JSON_DIGITS);
    td_json_u64(json, "self", call->self);
    add_time(json, calls->measure, calls->primary, call->value, call->time_ns);
    td_json_end(json);
}

static void json_children(struct td_json *json, const struct td_calls *calls, uint32_t node,
                          unsigned level, struct td_calls_limits limits)
{
    for (uint32_t i = calls->at[node].child; i && level <= limits.depth; i = calls->at[i].next) {
        if (!is_shown(calls, &calls->at[i], limits))
            break;
        json_call(json, calls, &calls->at[i], level);
        json_children(json, calls, i, level + 1, limits);
    }
}

void td_calls_json(struct td_json *json, const char *key, const struct td_calls *calls,
                   struct td_calls_limits limits)
{
    td_json_array(json, key);
    json_call(json, calls, &calls->at[0], 0);
    json_children(json, calls, 0, 1, limits);
    td_json_end(json);
}

void td_inclusives_print(const struct td_inclusives *rows, double percent, size_t max,
                         const struct td_style *style)
{
    const struct td_model *model = rows->measure->model;

    print_category(style, rows->primary);
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "%8s %6s", "children", "self");
    print_unit(style, rows->measure, rows->primary);
    fputs("  function\n", style->out);
    td_style_end(style, TD_TONE_HEADING);
    for (size_t i = 0; i < rows->len && i < max; i++) {
        const struct td_inclusive *row = &rows->at[i];
        const double share = share_of(rows->measure, rows->primary, row->value);

        if (100 * share < percent)
            break;
        fputs("  ", style->out);
        print_share(style, share);
        fprintf(style->out, " %6.1f", 100 * share_of(rows->measure, rows->primary, row->self));
        print_value(style, rows->measure, rows->primary, row->value, row->time_ns);
        fputs("  ", style->out);
        print_name(style, model, row->function, row->module, COST_WIDTH + 8);
        fputc('\n', style->out);
    }
}

void td_inclusives_json(struct td_json *json, const struct td_inclusives *rows, double percent,
                        size_t max)
{
    const struct td_model *model = rows->measure->model;

    td_json_array(json, "functions");
    for (size_t i = 0; i < rows->len && i < max; i++) {
        const struct td_inclusive *row = &rows->at[i];
        const double share = share_of(rows->measure, rows->primary, row->value);

        if (100 * share < percent)
            break;
        td_json_object(json, NULL);
        td_json_string(json, "function",
                       row->function == TD_NONE ? NULL : name_of(model, row->function));
        td_json_string(json, "module",
                       row->module == TD_NONE ? NULL : td_module_name(model, row->module));
        td_json_string(json, "metric", td_metric_id(rows->primary));
        td_json_u64(json, "inclusive", row->value);
        td_json_double(json, "inclusive_share", share, JSON_DIGITS);
        td_json_u64(json, "self", row->self);
        add_time(json, rows->measure, rows->primary, row->value, row->time_ns);
        td_json_double(json, "self_share", share_of(rows->measure, rows->primary, row->self),
                       JSON_DIGITS);
        td_json_end(json);
    }
    td_json_end(json);
}
