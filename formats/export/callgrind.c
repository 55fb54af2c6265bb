/* SPDX-License-Identifier: MIT */
/*
 * callgrind.out (valgrind's cl-format): self cost per source line under the function whose code it
 * is, inlined files by fi=/fe=, and calls with inclusive cost. Sampling counts no calls: a call's
 * count is the number of samples seen below it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/export/export.h"
#include "formats/frames.h"
#include "formats/notes.h"

struct event {
    enum td_metric metric;
    const char *name, *about;
};

static const struct event slot_events[] = {
    {TD_METRIC_SLOTS, "Slots", "pipeline slots"},
    {TD_METRIC_FIRST_NODE + TD_NODE_FRONTEND_BOUND, "FE", "slots lost, frontend bound"},
    {TD_METRIC_FIRST_NODE + TD_NODE_BACKEND_BOUND, "BE", "slots lost, backend bound"},
    {TD_METRIC_FIRST_NODE + TD_NODE_BAD_SPECULATION, "BS", "slots lost, bad speculation"},
    {TD_METRIC_FIRST_NODE + TD_NODE_RETIRING, "RET", "slots retiring"},
};

static const struct event other_events[] = {
    {TD_METRIC_TIME_NS, "Ns", "time in ns"},
    {TD_METRIC_EVENT, "Event", "the sampled event"},
    {TD_METRIC_SAMPLES, "Samples", "samples"},
};

#define EVENTS_MAX (TD_ARRAY_SIZE(slot_events) + TD_ARRAY_SIZE(other_events))

/* A function as callgrind knows it: code that is somewhere, so never an inlined one. */
struct function {
    uint32_t module; /* TD_NONE: of no known frame */
    uint32_t file;   /* string */
    uint32_t line;
    uint32_t location; /* one of its own, for its name */
};

/* The cost of a line, or of the calls from it to one function. */
struct cost {
    uint32_t function, callee; /* callee: TD_NONE for the line's own cost */
    uint32_t file, line;
    uint64_t count;  /* of calls */
    size_t last_row; /* a stack counts once for each of its calls, recursion or not */
    size_t values;   /* in writer.values */
};

struct writer {
    const struct td_measure *measure;
    const struct td_model *model;
    const struct td_export_opts *opts;
    FILE *out;
    struct event events[EVENTS_MAX];
    size_t event_count;
    struct function *functions;
    size_t function_count, function_cap;
    struct cost *costs;
    size_t cost_count, cost_cap;
    uint64_t *values;
    size_t values_len, values_cap;
    struct td_map function_ids, cost_ids;
    struct td_map file_names, module_names; /* string -> number in the file */
    bool *function_named;
};

enum function_key { KEY_FUNCTION, KEY_LOCATION };

/* The containing function of a location. */
static uint32_t function_of(struct writer *w, uint32_t location)
{
    const struct td_frame frame = td_frame_leaf(w->model, location, true);
    const bool named = frame.function != TD_NONE;
    bool added = false;
    const uint32_t id =
        *td_map_put(&w->function_ids, named ? KEY_FUNCTION : KEY_LOCATION,
                    named ? frame.function : location, (uint32_t)w->function_count, &added);

    if (added) {
        const struct td_function *const f =
            named ? td_model_function(w->model, frame.function) : NULL;

        w->functions =
            td_grow(w->functions, &w->function_cap, w->function_count + 1, sizeof(*w->functions));
        w->functions[w->function_count++] = (struct function){
            .module = frame.module,
            .file = f ? f->file : 0,
            .line = f ? f->line : 0,
            .location = location,
        };
    }
    return id;
}

/* The cost of (function, file and line of the location, callee); made when it is new. */
static struct cost *cost_of(struct writer *w, uint32_t function, uint32_t location, uint32_t callee,
                            bool no_line)
{
    struct td_frame at = td_frame_leaf(w->model, location, w->opts->no_inline);
    bool added = false;

    if (no_line)
        at.line = 0;
    const uint32_t id =
        *td_map_put(&w->cost_ids, (uint64_t)function << 32 | callee,
                    (uint64_t)at.file << 32 | at.line, (uint32_t)w->cost_count, &added);

    if (added) {
        w->costs = td_grow(w->costs, &w->cost_cap, w->cost_count + 1, sizeof(*w->costs));
        w->values =
            td_grow(w->values, &w->values_cap, w->values_len + w->event_count, sizeof(*w->values));
        memset(w->values + w->values_len, 0, w->event_count * sizeof(*w->values));
        w->costs[w->cost_count++] = (struct cost){
            .function = function,
            .callee = callee,
            .file = at.file,
            .line = at.line,
            .last_row = SIZE_MAX,
            .values = w->values_len,
        };
        w->values_len += w->event_count;
    }
    return &w->costs[id];
}

static bool is_in(const struct event *event, td_tma_set nodes)
{
    return event->metric >= TD_METRIC_FIRST_NODE &&
           (nodes >> (event->metric - TD_METRIC_FIRST_NODE) & 1);
}

static void add_values(struct writer *w, struct cost *cost, size_t row, td_tma_set but)
{
    if (cost->last_row == row)
        return;
    cost->last_row = row;
    cost->count +=
        w->measure->values[TD_METRIC_SAMPLES] ? w->measure->values[TD_METRIC_SAMPLES][row] : 1;
    for (size_t e = 0; e < w->event_count; e++) {
        if (!is_in(&w->events[e], but))
            w->values[cost->values + e] += w->measure->values[w->events[e].metric][row];
    }
}

/* What is known of the function and not of its line is at line 0. */
static void add_lineless(struct writer *w, uint32_t function, uint32_t location, size_t row,
                         td_tma_set nodes)
{
    const struct cost *const cost = cost_of(w, function, location, TD_NONE, true);

    for (size_t e = 0; e < w->event_count; e++) {
        if (is_in(&w->events[e], nodes))
            w->values[cost->values + e] += w->measure->values[w->events[e].metric][row];
    }
}

static void add_row(struct writer *w, size_t row)
{
    uint32_t node = w->measure->rows[row].node;
    uint32_t location = td_model_node(w->model, node)->location;
    uint32_t callee = function_of(w, location);

    const td_tma_set no_line = w->measure->no_line ? w->measure->no_line[row] : 0;
    add_values(w, cost_of(w, callee, location, TD_NONE, false), row, no_line);
    if (no_line)
        add_lineless(w, callee, location, row, no_line);
    while (node != 0 && (node = td_model_node(w->model, node)->parent) != 0) {
        location = td_model_node(w->model, node)->location;
        const uint32_t caller = function_of(w, location);

        add_values(w, cost_of(w, caller, location, callee, false), row, 0);
        callee = caller;
    }
}

static void choose_events(struct writer *w)
{
    if (w->measure->values[TD_METRIC_SLOTS]) {
        for (size_t i = 0; i < TD_ARRAY_SIZE(slot_events); i++) {
            if (w->measure->values[slot_events[i].metric])
                w->events[w->event_count++] = slot_events[i];
        }
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(other_events); i++) {
        if (w->measure->values[other_events[i].metric])
            w->events[w->event_count++] = other_events[i];
    }
}

static void put_text(struct writer *w, const char *s)
{
    const size_t size = 4 * strlen(s) + 1;
    char *const safe = td_xalloc(size);

    td_text_safe(safe, size, s, strlen(s));
    fputs(safe, w->out);
    free(safe);
}

/* "fl=(3) name" the first time, "fl=(3)" later. */
static void put_named(struct writer *w, const char *what, struct td_map *names, uint32_t string,
                      const char *name)
{
    bool added = false;
    const uint32_t id = *td_map_put(names, string, 0, (uint32_t)names->len + 1, &added);

    fprintf(w->out, "%s=(%" PRIu32 ")", what, id);
    if (added) {
        putc(' ', w->out);
        put_text(w, name);
    }
    putc('\n', w->out);
}

static void put_file(struct writer *w, const char *what, uint32_t file)
{
    put_named(w, what, &w->file_names, file, file ? td_model_string(w->model, file) : "???");
}

static void put_module(struct writer *w, const char *what, uint32_t module)
{
    const uint32_t path = module == TD_NONE ? 0 : td_model_module(w->model, module)->path;

    put_named(w, what, &w->module_names, path, path ? td_model_string(w->model, path) : "???");
}

static void put_function(struct writer *w, const char *what, uint32_t id)
{
    fprintf(w->out, "%s=(%" PRIu32 ")", what, id + 1);
    if (!w->function_named[id]) {
        const struct td_frame frame = td_frame_leaf(w->model, w->functions[id].location, true);
        char made_up[512];

        putc(' ', w->out);
        put_text(w, td_frame_name(w->model, &frame, made_up, sizeof(made_up)));
        w->function_named[id] = true;
    }
    putc('\n', w->out);
}

static void put_values(struct writer *w, uint32_t line, const struct cost *cost)
{
    fprintf(w->out, "%" PRIu32, line);
    for (size_t e = 0; e < w->event_count; e++)
        fprintf(w->out, " %" PRIu64, w->values[cost->values + e]);
    putc('\n', w->out);
}

static void put_call(struct writer *w, const struct cost *cost)
{
    const struct function *const callee = &w->functions[cost->callee];

    put_module(w, "cob", callee->module);
    put_file(w, "cfi", callee->file);
    put_function(w, "cfn", cost->callee);
    fprintf(w->out, "calls=%" PRIu64 " %" PRIu32 "\n", cost->count, callee->line);
}

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

/* Own cost before calls, so that a function's lines begin in its own file where they can. */
static int compare_costs(const void *a, const void *b)
{
    const struct cost *const x = a;
    const struct cost *const y = b;
    const int orders[] = {compare_u32(x->function, y->function), compare_u32(x->file, y->file),
                          compare_u32(x->line, y->line), compare_u32(x->callee + 1, y->callee + 1)};

    for (size_t i = 0; i < TD_ARRAY_SIZE(orders); i++) {
        if (orders[i] != 0)
            return orders[i];
    }
    return 0;
}

static void put_costs(struct writer *w)
{
    uint32_t function = TD_NONE;
    uint32_t file = 0;

    if (w->cost_count > 0)
        qsort(w->costs, w->cost_count, sizeof(*w->costs), compare_costs);
    for (size_t i = 0; i < w->cost_count; i++) {
        const struct cost *const cost = &w->costs[i];

        if (cost->function != function) {
            function = cost->function;
            file = w->functions[function].file;
            putc('\n', w->out);
            put_module(w, "ob", w->functions[function].module);
            put_file(w, "fl", file);
            put_function(w, "fn", function);
        }
        if (cost->file != file) {
            file = cost->file;
            put_file(w, file == w->functions[function].file ? "fe" : "fi", file);
        }
        if (cost->callee != TD_NONE)
            put_call(w, cost);
        put_values(w, cost->line, cost);
    }
}

static void put_note(void *ctx, const char *line)
{
    fprintf(ctx, "desc: %s\n", line);
}

static const char *event_about(const struct writer *w, const struct event *event)
{
    if (event->metric != TD_METRIC_EVENT || w->measure->event == TD_NONE)
        return event->about;
    return td_measure_event_name(w->measure);
}

static void put_head(struct writer *w)
{
    char *const command = td_notes_command(w->model);

    fprintf(w->out, "# callgrind format\nversion: 1\ncreator: %s\ncmd: ", w->opts->tool);
    put_text(w, command);
    fputs("\n", w->out);
    td_notes(w->measure, NULL, put_note, w->out);
    fputs("positions: line\n", w->out);
    for (size_t e = 0; e < w->event_count; e++) {
        fprintf(w->out, "event: %s : ", w->events[e].name);
        put_text(w, event_about(w, &w->events[e]));
        putc('\n', w->out);
    }
    if (w->measure->values[TD_METRIC_SLOTS])
        fputs("event: Lost = FE + BE + BS : all lost slots\n", w->out);
    fputs("events:", w->out);
    for (size_t e = 0; e < w->event_count; e++)
        fprintf(w->out, " %s", w->events[e].name);
    fputs("\nsummary:", w->out);
    for (size_t e = 0; e < w->event_count; e++)
        fprintf(w->out, " %" PRIu64, w->measure->totals[w->events[e].metric]);
    putc('\n', w->out);
    free(command);
}

static int write_callgrind(const struct td_measure *measure, const struct td_export_opts *opts,
                           FILE *out, struct td_err *err)
{
    struct writer w = {.measure = measure, .model = measure->model, .opts = opts, .out = out};

    choose_events(&w);
    if (w.event_count == 0)
        return td_fail(err, TD_ENODATA, "the profile has no values that callgrind could show");
    for (size_t row = 0; row < measure->row_count; row++)
        add_row(&w, row);
    w.function_named = td_xcalloc(w.function_count + 1, sizeof(bool));
    put_head(&w);
    put_costs(&w);
    td_map_release(&w.function_ids);
    td_map_release(&w.cost_ids);
    td_map_release(&w.file_names);
    td_map_release(&w.module_names);
    free(w.functions);
    free(w.costs);
    free(w.values);
    free(w.function_named);
    return TD_OK;
}

const struct td_exporter td_export_callgrind = {
    .name = "callgrind",
    .suffix = "callgrind",
    .about = "callgrind.out: KCachegrind, callgrind_annotate; a column a category",
    .write = write_callgrind,
};
