/* SPDX-License-Identifier: MIT */
#include "report/query/figures/coverage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/file_id.h"
#include "formats/frames.h"
#include "formats/merge.h"
#include "report/attribution/stats.h"

struct unknown {
    uint64_t no_name, no_line, unverified;
};

static bool is_unverified(const struct td_model *model, const struct td_frame *frame)
{
    if (frame->function == TD_NONE || frame->module == TD_NONE)
        return false;
    const struct td_module *module = td_model_module(model, frame->module);
    const enum td_file_id_kind kind = td_file_id_kind(&module->build_id);
    return module->kind == TD_MODULE_FILE && (kind == TD_FILE_ID_NONE || kind == TD_FILE_ID_INODE);
}

/* The primary metric's parts of which something is not known. */
static struct unknown count_unknown(const struct td_measure *measure)
{
    struct unknown u = {0};
    const uint64_t *values = measure->values[td_measure_primary(measure)];

    for (size_t i = 0; i < measure->row_count; i++) {
        const uint32_t node = measure->rows[i].node;
        const struct td_frame frame =
            td_frame_leaf(measure->model, td_model_node(measure->model, node)->location, false);

        if (frame.function == TD_NONE)
            u.no_name += values[i];
        if (frame.line == 0)
            u.no_line += values[i];
        if (is_unverified(measure->model, &frame))
            u.unverified += values[i];
    }
    return u;
}

/* The kernel counts what it could not write as records of any kind, and newer ones the samples
 * among them again: the larger of both was lost for certain. */
static uint64_t count_lost(const struct td_model *model)
{
    const uint64_t samples = td_model_counter(model, TD_COUNTER_LOST);
    const uint64_t records = td_model_counter(model, TD_COUNTER_LOST_RECORDS);

    return samples > records ? samples : records;
}

/* Whole CPUs are busy with others too. */
static bool is_of_tasks(const struct td_model *model)
{
    const char *scope = td_model_env(model, TD_ENV_SCOPE);

    return scope && (strcmp(scope, "command") == 0 || strcmp(scope, "process") == 0 ||
                     strcmp(scope, "thread") == 0);
}

double td_coverage_busy(const struct td_coverage *coverage)
{
    return coverage->cpu_s > 0 && coverage->duration_s > 0 ? coverage->cpu_s / coverage->duration_s
                                                           : NAN;
}

struct td_coverage td_coverage_of(const struct td_measure *measure)
{
    const struct td_model *model = measure->model;
    const uint64_t total = measure->totals[td_measure_primary(measure)];
    const uint64_t counted = td_model_counter(model, TD_COUNTER_COUNTED_NS);
    const uint64_t sampled = td_model_counter(model, TD_COUNTER_SAMPLED_NS);
    const uint64_t started = td_model_counter(model, TD_COUNTER_STARTED_NS);
    const uint64_t ended = td_model_counter(model, TD_COUNTER_ENDED_NS);
    struct td_coverage c = {.samples = td_model_counter(model, TD_COUNTER_SAMPLES),
                            .lost = count_lost(model),
                            .throttled = td_model_counter(model, TD_COUNTER_THROTTLED),
                            .complete = td_model_complete(model),
                            .losses = td_model_losses(model)};
    const struct unknown unknown = count_unknown(measure);
    uint64_t longest_ns = 0;

    if (c.losses->damaged)
        c.samples = c.losses->read_samples;
    if (c.samples == 0)
        c.samples = measure->totals[TD_METRIC_SAMPLES];
    const uint64_t all_samples = c.samples;
    if (measure->event_samples > 0)
        c.samples = measure->event_samples;
    c.unresolved_share = td_ratio(unknown.no_name, total);
    c.no_line_share = td_ratio(unknown.no_line, total);
    c.unverified_share = td_ratio(unknown.unverified, total);
    c.truncated_stacks_share =
        td_ratio(td_model_counter(model, TD_COUNTER_TRUNCATED_STACKS), all_samples);
    if (counted > sampled && sampled > 0)
        c.unsampled_share = td_ratio(counted - sampled, counted);
    c.recordings = td_merge_inputs(model, &longest_ns);
    if (c.recordings > 0)
        c.duration_s = (double)longest_ns * 1e-9;
    else if (ended > started)
        c.duration_s = (double)(ended - started) * 1e-9;
    if (c.recordings == 0) {
        c.recorded_s = (double)td_model_counter(model, TD_COUNTER_RECORDED_NS) * 1e-9;
        c.pieces = td_model_counter(model, TD_COUNTER_PIECES);
    }
    if (c.recordings == 0 && !measure->weighted && is_of_tasks(model))
        c.cpu_s = (double)counted * 1e-9;
    return c;
}

static int larger_first(const void *a, const void *b)
{
    const struct td_gap *x = a, *y = b;

    if (x->share > y->share || x->share < y->share)
        return x->share > y->share ? -1 : 1;
    return x->module < y->module ? -1 : x->module > y->module;
}

/* What the modules' frames lack, by module. */
struct lacks {
    uint64_t *no_name, *no_line; /* innermost frames */
    uint64_t *no_caller;         /* callers without a name, once a stack */
    uint64_t *all;               /* of modules of which inlined functions are missing */
    uint32_t *seen;              /* the last row that counted there as a caller, plus 1 */
    uint32_t *locations, *nodes; /* nameless_locations, nameless_nodes */
};

/* Of each location the module, where it has one and the function has no name; else TD_NONE. */
static uint32_t *nameless_locations(const struct td_model *model)
{
    const uint32_t count = td_model_location_count(model);
    uint32_t *modules = td_xcalloc((size_t)count + 1, sizeof(*modules));

    for (uint32_t l = 0; l < count; l++) {
        const struct td_frame frame = td_frame_leaf(model, l, false);

        modules[l] = frame.function == TD_NONE ? frame.module : TD_NONE;
    }
    return modules;
}

/* Of each node the nearest one, it or a caller, whose location is nameless; 0: none. A caller's
 * number is the smaller one. */
static uint32_t *nameless_nodes(const struct td_model *model, const uint32_t *locations)
{
    const uint32_t count = td_model_node_count(model);
    uint32_t *nodes = td_xcalloc((size_t)count + 1, sizeof(*nodes));

    for (uint32_t n = 1; n < count; n++) {
        const struct td_node *node = td_model_node(model, n);
        const bool nameless = node->location != TD_NONE && locations[node->location] != TD_NONE;

        nodes[n] = nameless ? n : nodes[node->parent];
    }
    return nodes;
}

static void count_callers(const struct td_measure *measure, struct lacks *lacks, uint32_t row,
                          uint64_t value)
{
    const struct td_model *model = measure->model;
    uint32_t node = measure->rows[row].node;

    while (node != 0 && (node = lacks->nodes[td_model_node(model, node)->parent]) != 0) {
        const uint32_t module = lacks->locations[td_model_node(model, node)->location];

        if (lacks->seen[module] == row + 1)
            continue;
        lacks->seen[module] = row + 1;
        lacks->no_caller[module] += value;
    }
}

static void count_lacks(const struct td_measure *measure, struct lacks *lacks)
{
    const uint64_t *values = measure->values[td_measure_primary(measure)];
    const struct td_model *model = measure->model;

    for (size_t i = 0; i < measure->row_count; i++) {
        const uint32_t node = measure->rows[i].node;
        const struct td_frame frame =
            td_frame_leaf(model, td_model_node(model, node)->location, false);

        if (!measure->by_leaf)
            count_callers(measure, lacks, (uint32_t)i, values[i]);
        if (frame.module == TD_NONE)
            continue;
        if (frame.function == TD_NONE)
            lacks->no_name[frame.module] += values[i];
        if (frame.line == 0)
            lacks->no_line[frame.module] += values[i];
        if (td_model_module(model, frame.module)->no_inlines)
            lacks->all[frame.module] += values[i];
    }
}

static struct td_gap gap_of(const struct lacks *lacks, uint32_t module, uint64_t total)
{
    uint64_t own = lacks->no_name[module] ? lacks->no_name[module] : lacks->no_line[module];
    own = own ? own : lacks->all[module];
    const bool callers = lacks->no_name[module] == 0 && lacks->no_caller[module] > own;

    return (struct td_gap){.module = module,
                           .share = td_ratio(callers ? lacks->no_caller[module] : own, total),
                           .callers = callers};
}

size_t td_coverage_gaps(const struct td_measure *measure, struct td_gap *gaps, size_t max)
{
    const struct td_model *model = measure->model;
    const uint64_t total = measure->totals[td_measure_primary(measure)];
    const size_t modules = td_model_module_count(model);
    struct lacks lacks = {
        .no_name = td_xcalloc(modules + 1, sizeof(uint64_t)),
        .no_line = td_xcalloc(modules + 1, sizeof(uint64_t)),
        .no_caller = td_xcalloc(modules + 1, sizeof(uint64_t)),
        .all = td_xcalloc(modules + 1, sizeof(uint64_t)),
        .seen = td_xcalloc(modules + 1, sizeof(uint32_t)),
        .locations = nameless_locations(model),
    };
    struct td_gap *all = td_xcalloc(modules + 1, sizeof(*all));
    size_t len = 0;

    lacks.nodes = nameless_nodes(model, lacks.locations);
    count_lacks(measure, &lacks);
    for (uint32_t m = 0; m < modules; m++)
        all[m] = gap_of(&lacks, m, total);
    qsort(all, modules, sizeof(*all), larger_first);
    for (size_t m = 0; m < modules && len < max; m++) {
        if (all[m].share > 0 && td_model_module(model, all[m].module)->note != 0)
            gaps[len++] = all[m];
    }
    free(lacks.no_name);
    free(lacks.no_line);
    free(lacks.no_caller);
    free(lacks.all);
    free(lacks.seen);
    free(lacks.locations);
    free(lacks.nodes);
    free(all);
    return len;
}
