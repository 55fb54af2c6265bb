/* SPDX-License-Identifier: MIT */
#include "report/view/page/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/frames.h"
#include "formats/notes.h"
#include "report/query/advice.h"
#include "report/query/figures/machine.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/names.h"
#include "report/query/figures/rates.h"
#include "report/query/figures/weights.h"
#include "report/view/json.h"
#include "report/view/rates.h"
#include "report/view/slots.h"
#include "report/view/verdict.h"
#include "report/view/table/weights.h"

#define DIGITS   6
#define GAPS_MAX 6

size_t td_page_metrics(enum td_metric ret[TD_METRIC_COUNT], const struct td_measure *measure)
{
    static const enum td_metric costs[] = {TD_METRIC_TIME_NS, TD_METRIC_SLOTS, TD_METRIC_EVENT,
                                           TD_METRIC_SAMPLES};
    size_t len = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(costs); i++) {
        if (measure->values[costs[i]])
            ret[len++] = costs[i];
    }
    for (unsigned m = TD_METRIC_FIRST_NODE; m < TD_METRIC_COUNT; m++) {
        if (measure->values[m])
            ret[len++] = (enum td_metric)m;
    }
    return len;
}

/* Of a metric that is a node's. */
static enum td_tma_node info_node(enum td_metric metric)
{
    return (enum td_tma_node)(metric - TD_METRIC_FIRST_NODE);
}

static const struct td_tma_info *info_of(enum td_metric metric)
{
    return metric < TD_METRIC_FIRST_NODE ? NULL : td_tma_info(info_node(metric));
}

/* The core that the figures are of. */
static void add_machine(struct td_json *json, const struct td_measure *measure)
{
    static const char *const caches[] = {
        [TD_CACHE_L1D] = "L1d", [TD_CACHE_L1I] = "L1i", [TD_CACHE_L2] = "L2", [TD_CACHE_L3] = "L3"};
    const struct td_machine machine = td_machine_of(measure);

    td_json_object(json, "machine");
    td_json_string(json, "name", machine.name);
    td_json_double(json, "clock_hz", machine.clock_hz > 0 ? machine.clock_hz : NAN, DIGITS);
    td_json_double(json, "ipc", machine.ipc > 0 ? machine.ipc : NAN, DIGITS);
    td_json_object(json, "cache_kb");
    for (int c = 0; c < TD_CACHE_COUNT; c++) {
        if (machine.cache_kb[c] > 0)
            td_json_u64(json, caches[c], machine.cache_kb[c]);
    }
    td_json_end(json);
    td_json_end(json);
}

static void add_metrics(struct td_json *json, const struct td_measure *measure)
{
    enum td_metric metrics[TD_METRIC_COUNT];
    const size_t len = td_page_metrics(metrics, measure);

    td_json_array(json, "metrics");
    for (size_t i = 0; i < len; i++) {
        const struct td_tma_info *info = info_of(metrics[i]);

        td_json_object(json, NULL);
        td_json_string(json, "id", td_metric_id(metrics[i]));
        td_json_u64(json, "total", measure->totals[metrics[i]]);
        if (metrics[i] == TD_METRIC_EVENT)
            td_json_string(json, "name", td_measure_event_name(measure));
        if (info) {
            td_json_string(json, "name", info->name);
            td_json_string(json, "meaning", info->meaning);
            td_json_string(json, "causes", td_advice_of(info_node(metrics[i]))->causes);
            td_json_string(json, "details", td_advice_of(info_node(metrics[i]))->details);
            td_json_i64(json, "level", info->level);
            td_json_string(json, "parent",
                           info->parent == TD_NODE_NONE ? NULL : td_tma_info(info->parent)->id);
        }
        td_json_end(json);
    }
    td_json_end(json);
}

/* What the value has that none of its parts has: of slots and nodes, less the nodes below. */
static int64_t own_value(enum td_metric metric, uint64_t *const values[TD_METRIC_COUNT], size_t i)
{
    int64_t own = (int64_t)values[metric][i];

    if (metric != TD_METRIC_SLOTS && metric < TD_METRIC_FIRST_NODE)
        return own;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const enum td_metric child = td_metric_of_node((enum td_tma_node)n);
        const enum td_tma_node parent = td_tma_info((enum td_tma_node)n)->parent;

        if (values[child] &&
            (parent == TD_NODE_NONE ? TD_METRIC_SLOTS : td_metric_of_node(parent)) == metric)
            own -= (int64_t)values[child][i];
    }
    return own;
}

/* By metric: how far the next value stands from the one before it, and the value. */
static void add_columns(struct td_json *json, const struct td_measure *measure,
                        uint64_t *const values[TD_METRIC_COUNT], size_t len)
{
    enum td_metric metrics[TD_METRIC_COUNT];
    const size_t count = td_page_metrics(metrics, measure);

    td_json_object(json, "values");
    for (size_t m = 0; m < count; m++) {
        size_t last = 0;

        if (!values[metrics[m]])
            continue;
        td_json_array(json, td_metric_id(metrics[m]));
        for (size_t i = 0; i < len; i++) {
            const int64_t own = own_value(metrics[m], values, i);

            if (own == 0)
                continue;
            td_json_u64(json, NULL, i - last);
            td_json_i64(json, NULL, own);
            last = i;
        }
        td_json_end(json);
    }
    td_json_end(json);
}

static void add_frame(struct td_json *json, const struct td_model *model,
                      const struct td_stack_frame *frame)
{
    const struct td_function *const f =
        frame->kind == TD_STACK_FUNCTION ? td_model_function(model, frame->function) : NULL;

    td_json_array(json, NULL);
    if (f)
        td_json_string(json, NULL, td_model_string(model, f->name));
    else if (frame->kind == TD_STACK_PROCESS)
        td_json_string(json, NULL,
                       frame->process ? td_model_string(model, frame->process) : "[unknown]");
    else
        td_json_string(json, NULL, "[unknown]");
    if (frame->module != TD_NONE)
        td_json_u64(json, NULL, frame->module);
    else
        td_json_i64(json, NULL, frame->kind == TD_STACK_PROCESS ? -2 : -1);
    td_json_end(json);
}

static void add_stacks(struct td_json *json, const struct td_stacks *stacks)
{
    const struct td_model *model = stacks->measure->model;
    bool *used = td_xcalloc(stacks->frame_count + 1, sizeof(*used));

    for (size_t i = 0; i < stacks->len; i++) {
        if (stacks->at[i].frame < stacks->frame_count)
            used[stacks->at[i].frame] = true;
    }
    td_json_object(json, "stacks");
    td_json_array(json, "frames");
    for (size_t i = 0; i < stacks->frame_count; i++) {
        if (used[i])
            add_frame(json, model, &stacks->frames[i]);
        else
            td_json_null(json, NULL);
    }
    td_json_end(json);
    td_json_array(json, "parents"); /* how far before the node */
    for (size_t i = 0; i < stacks->len; i++)
        td_json_u64(json, NULL, i - stacks->at[i].outer);
    td_json_end(json);
    td_json_array(json, "nodes"); /* frames; -1 the root, -2 what was left out */
    for (size_t i = 0; i < stacks->len; i++) {
        const uint32_t frame = stacks->at[i].frame;

        if (frame < stacks->frame_count)
            td_json_u64(json, NULL, frame);
        else
            td_json_i64(json, NULL, frame == TD_STACK_ROOT ? -1 : -2);
    }
    td_json_end(json);
    add_columns(json, stacks->measure, stacks->values, stacks->len);
    td_json_u64(json, "left_out", stacks->left_out);
    td_json_double(json, "left_out_share", stacks->left_out_share, DIGITS);
    td_json_end(json);
    free(used);
}

static void add_modules(struct td_json *json, const struct td_model *model)
{
    td_json_array(json, "modules");
    for (uint32_t m = 0; m < td_model_module_count(model); m++) {
        td_json_array(json, NULL);
        td_json_string(json, NULL, td_module_name(model, m));
        td_json_string(json, NULL, td_module_kind_name(td_model_module(model, m)->kind));
        td_json_end(json);
    }
    td_json_end(json);
}

void td_page_json_stacks(struct td_json *json, const struct td_stacks *stacks)
{
    add_metrics(json, stacks->measure);
    add_modules(json, stacks->measure->model);
    add_stacks(json, stacks);
}

static void add_timeline(struct td_json *json, const struct td_page *page)
{
    const struct td_timeline *t = &page->timeline;
    const uint64_t started = td_model_counter(page->measure->model, TD_COUNTER_STARTED_NS);

    if (!page->has_times) {
        td_json_null(json, "timeline");
        return;
    }
    td_json_object(json, "timeline");
    td_json_u64(json, "from_ns", started && t->from_ns > started ? t->from_ns - started : 0);
    td_json_u64(json, "step_ns", t->step_ns);
    td_json_u64(json, "steps", t->len);
    td_json_bool(json, "native_only", page->timeline_of_time);
    add_columns(json, page->measure, t->values, t->len);
    td_json_end(json);
}

/* What a row costs, by the costs of td_page_metrics; then its categories. */
static void add_costs(struct td_json *json, const struct td_measure *measure,
                      const uint64_t *values)
{
    enum td_metric metrics[TD_METRIC_COUNT];
    const size_t count = td_page_metrics(metrics, measure);

    td_json_array(json, "costs");
    for (size_t m = 0; m < count && metrics[m] < TD_METRIC_FIRST_NODE; m++)
        td_json_u64(json, NULL, values[metrics[m]]);
    td_json_end(json);
}

static void add_categories(struct td_json *json, const struct td_rows *rows,
                           const struct td_row *row, bool errors)
{
    const struct td_measure *measure = rows->measure;

    td_json_array(json, errors ? "errors" : "shares");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_cell cell = td_row_cell(rows, row, (enum td_tma_node)n);

        if (!measure->values[TD_METRIC_FIRST_NODE + n])
            continue;
        if (cell.thin || row->values[TD_METRIC_SLOTS] == 0)
            td_json_null(json, NULL);
        else
            td_json_double(json, NULL, errors ? cell.error : cell.share, DIGITS);
    }
    td_json_end(json);
}

static void add_function(struct td_json *json, const struct td_rows *rows, const struct td_row *row)
{
    const struct td_model *model = rows->measure->model;

    td_json_object(json, NULL);
    td_json_string(json, "name", td_row_name(rows, row));
    if (row->module != TD_NONE)
        td_json_u64(json, "module", row->module);
    if (row->file)
        td_json_string(json, "file", td_model_string(model, row->file));
    if (row->line)
        td_json_u64(json, "line", row->line);
    add_costs(json, rows->measure, row->values);
    td_json_double(json, "error", td_row_error(rows, row), 3);
    if (rows->measure->values[TD_METRIC_SLOTS])
        add_categories(json, rows, row, false);
    if (rows->measure->values[TD_METRIC_SLOTS] && (rows->evidence || rows->replicated))
        add_categories(json, rows, row, true);
    td_json_end(json);
}

static void add_functions(struct td_json *json, const struct td_rows *rows, size_t max)
{
    uint64_t rest[TD_METRIC_COUNT] = {0};

    td_json_array(json, "functions");
    for (size_t i = 0; i < rows->len && i < max; i++)
        add_function(json, rows, &rows->at[i]);
    td_json_end(json);
    for (size_t i = max; i < rows->len; i++) {
        for (unsigned m = 0; m < TD_METRIC_COUNT; m++)
            rest[m] += rows->at[i].values[m];
    }
    td_json_object(json, "other_functions");
    td_json_u64(json, "count", rows->len > max ? rows->len - max : 0);
    add_costs(json, rows->measure, rest);
    td_json_end(json);
}

static void put_note(void *ctx, const char *line)
{
    td_json_string(ctx, NULL, line);
}

/* Where names or lines are missing, and why. */
static void add_gaps(struct td_json *json, const struct td_measure *measure)
{
    struct td_gap gaps[GAPS_MAX];
    const size_t len = td_coverage_gaps(measure, gaps, GAPS_MAX);

    td_json_array(json, "gaps");
    for (size_t i = 0; i < len; i++) {
        td_json_object(json, NULL);
        td_json_double(json, "share", gaps[i].share, DIGITS);
        td_json_u64(json, "module", gaps[i].module);
        td_json_string(
            json, "note",
            td_model_string(measure->model, td_model_module(measure->model, gaps[i].module)->note));
        td_json_end(json);
    }
    td_json_end(json);
}

/* How the categories were found. */
static void add_method(struct td_json *json, const struct td_measure *measure)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    if (measure->weighted)
        td_weights_words(out, measure);
    else
        td_slots_words(out, measure);
    fclose(out);
    td_json_string(json, "method", size > 0 ? text : NULL);
    free(text);
}

static void add_words(struct td_json *json, const struct td_page *page,
                      const struct td_page_extras *extras)
{
    const struct td_measure *measure = page->measure;

    td_json_string(json, "tool", extras->tool);
    td_json_string(json, "filter", extras->filter);
    td_json_double(json, "kept_share", extras->kept_share, DIGITS);
    td_json_u64(json, "threads_together", td_measure_thread_count(measure));
    td_json_string(json, "next", extras->next);
    td_json_string(json, "primary", td_metric_id(td_measure_primary(measure)));
    td_json_bool(json, "modelled", td_measure_is_modelled(measure));
    td_json_bool(json, "hybrid", measure->weighted);
    td_json_u64(json, "categorized_ns", td_measure_categorized_ns(measure));
    add_machine(json, measure);
    add_method(json, measure);
    td_json_array(json, "notes");
    td_notes(measure, extras->tool, put_note, json);
    td_json_end(json);
    add_gaps(json, page->stacks.measure);
}

void td_page_json(struct td_json *json, const struct td_page *page,
                  const struct td_page_extras *extras, const struct td_page_limits *limits)
{
    const struct td_measure *measure = page->measure;
    struct td_rates rates;

    td_report_json_begin(json, measure, extras->coverage);
    td_report_json_tree(json, &page->tree);
    td_rates_of(&rates, measure->model);
    td_rates_json(&rates, json);
    td_rates_release(&rates);
    td_verdict_json(json, &page->verdict, measure, extras->next);
    td_json_object(json, "page");
    add_words(json, page, extras);
    add_functions(json, &page->functions, limits->functions);
    td_page_json_stacks(json, &page->stacks);
    add_timeline(json, page);
    td_page_json_sources(json, page, extras, limits);
    if (extras->diff)
        td_page_json_diff(json, extras->diff, limits->functions / 2);
    td_json_end(json);
    td_json_end(json);
}
