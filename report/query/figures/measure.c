/* SPDX-License-Identifier: MIT */
#include "report/query/figures/measure.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/variant.h"
#include "formats/frames.h"
#include "formats/replicates.h"
#include "report/query/figures/inside.h"
#include "report/query/figures/machine.h"
#include "report/query/figures/names.h"
#include "report/query/figures/row_order.h"
#include "report/query/figures/sampled.h"
#include "report/attribution/slots.h"
#include "report/query/figures/weights.h"

/* Where the values of one group go. */
struct scale {
    bool used;
    bool samples_are_instructions;
    uint64_t samples_factor;     /* samples times this is the metric below */
    enum td_metric from_samples; /* TD_METRIC_COUNT: nothing */
    enum td_metric metric[TD_COLUMNS_MAX];
};

struct builder {
    const struct td_model *model;
    struct td_measure *measure;
    struct scale *scales; /* by group */
    unsigned used_groups;
    td_metric_set metrics; /* td_filter.metrics */
    uint64_t width;        /* of a modelled core: slots per cycle; 0: not known */
    size_t cap;            /* rows that there is room for: as many as there can be */
    struct td_kept kept;
    struct td_map rows;
    size_t *order; /* td_row_order, when it was asked for */
};

static const char *group_event(const struct td_model *model, const struct td_group *group)
{
    if (group->sampler == TD_NONE)
        return "";
    return td_model_string(model, td_model_event(model, group->sampler)->name);
}

/* The metric of one column of a modelled tally. Every slot stands in exactly one column that names
 * a node, so a column of all slots would count them twice. */
static enum td_metric model_metric(const struct td_model *model, const struct td_column *column)
{
    if (column->node != TD_NODE_NONE)
        return td_metric_of_node(column->node);
    if (column->event == TD_NONE)
        return TD_METRIC_COUNT;
    return td_metric_of_unit(td_model_event(model, column->event)->unit);
}

static struct scale model_scale(const struct td_model *model, const struct td_group *group)
{
    struct scale scale = {
        .used = true, .samples_are_instructions = true, .from_samples = TD_METRIC_INSTRUCTIONS};

    scale.samples_factor = 1;
    for (uint32_t c = 0; c < group->column_count; c++) {
        scale.metric[c] = model_metric(model, &group->columns[c]);
        if (scale.metric[c] == TD_METRIC_INSTRUCTIONS)
            scale.from_samples = TD_METRIC_COUNT;
    }
    return scale;
}

/* Of a variant, all slots stand in one column. */
static struct scale variant_scale(const struct td_model *model, const struct td_group *group)
{
    struct scale scale = model_scale(model, group);

    for (uint32_t c = 0; c < group->column_count; c++) {
        const uint32_t event = group->columns[c].event;

        if (event != TD_NONE && td_model_event(model, event)->unit == TD_UNIT_SLOTS)
            scale.metric[c] = TD_METRIC_SLOTS;
    }
    return scale;
}

static enum td_metric unit_metric(const struct td_model *model, uint32_t event)
{
    if (event != TD_NONE && td_model_event(model, event)->unit == TD_UNIT_NS)
        return TD_METRIC_TIME_NS;
    return TD_METRIC_EVENT;
}

/* The event of this name that the group samples, or that each of its samples reads; any name's
 * when it is NULL: the sampler. TD_NONE when there is none. */
static uint32_t event_of(const struct td_model *model, const struct td_group *group,
                         const char *name)
{
    if (!name || strcmp(group_event(model, group), name) == 0)
        return group->sampler;
    for (uint32_t c = 0; c < group->column_count; c++) {
        const uint32_t event = group->columns[c].event;

        if (group->columns[c].kind == TD_COLUMN_DELTA && event != TD_NONE &&
            strcmp(td_model_string(model, td_model_event(model, event)->name), name) == 0)
            return event;
    }
    return TD_NONE;
}

/* A sampled group: what its sampler counted between samples, else a fixed period a sample; or how
 * much another of its events grew. */
static struct scale sampled_scale(const struct td_model *model, const struct td_group *group,
                                  uint32_t event)
{
    struct scale scale = {.used = true, .from_samples = TD_METRIC_COUNT};
    bool has_period = false;

    for (uint32_t c = 0; c < group->column_count; c++) {
        const struct td_column *column = &group->columns[c];

        scale.metric[c] = TD_METRIC_COUNT;
        if (!has_period && ((column->kind == TD_COLUMN_PERIOD && event == group->sampler) ||
                            (column->kind == TD_COLUMN_DELTA && column->event == event))) {
            scale.metric[c] = unit_metric(model, event);
            has_period = true;
        }
    }
    if (!has_period && group->sampler != TD_NONE) {
        scale.samples_factor = td_model_event(model, group->sampler)->period;
        scale.from_samples =
            scale.samples_factor ? unit_metric(model, group->sampler) : TD_METRIC_COUNT;
    }
    return scale;
}

/* The event that the report is of: `name`, or what its samples have read, or the most useful when
 * it is NULL. `member`: what they have read, NULL: what they were taken by. */
static int choose_event(const struct td_sampled *sampled, const struct td_model *model,
                        const char *name, uint32_t *event, const char **member, struct td_err *err)
{
    *member = NULL;
    *event = name ? td_sampled_by_name(sampled, name) : td_sampled_best(sampled);
    for (uint32_t g = 0; name && *event == TD_NONE && g < td_model_group_count(model); g++) {
        const struct td_group *group = td_model_group(model, g);

        if (event_of(model, group, name) == TD_NONE)
            continue;
        *member = name;
        for (uint32_t i = 0; i < sampled->len && *event == TD_NONE; i++) {
            if (!sampled->at[i].is_sum && td_sampled_has(&sampled->at[i], model, group))
                *event = i;
        }
    }
    if (*event != TD_NONE)
        return TD_OK;
    if (name && sampled->len > 0)
        return td_sampled_refuse(sampled, model, name, err);
    return td_fail(err, TD_ENODATA, "the profile holds no samples");
}

/* The groups that a report is of: the modelled ones, else those of one sampling event. */
static int choose_groups(struct builder *b, const char *name, struct td_err *err)
{
    struct td_measure *m = b->measure;
    struct td_sampled sampled;
    const char *member = NULL;
    uint32_t index = 0;

    td_sampled_of(&sampled, b->model);
    const int rc = choose_event(&sampled, b->model, name, &index, &member, err);
    m->event = TD_NONE;
    for (uint32_t g = 0; rc == TD_OK && g < td_model_group_count(b->model); g++) {
        const struct td_group *group = td_model_group(b->model, g);

        if (!td_sampled_has(&sampled.at[index], b->model, group))
            continue;
        b->scales[g] = group->role == TD_ROLE_MODEL
                           ? model_scale(b->model, group)
                           : sampled_scale(b->model, group, event_of(b->model, group, member));
        b->used_groups++;
        m->attribution = group->attribution;
        if (m->event == TD_NONE)
            m->event = event_of(b->model, group, member);
    }
    if (rc == TD_OK && m->event != TD_NONE) {
        m->event_name = td_xstrdup(member ? member : sampled.at[index].name);
        m->all_core_types = sampled.at[index].is_sum;
        m->event_samples = sampled.len > 1 ? sampled.at[index].samples : 0;
    }
    td_sampled_release(&sampled);
    return rc;
}

/* The groups of a core with something changed. */
static void choose_variant(struct builder *b, const char *words)
{
    b->measure->event = TD_NONE;
    b->measure->variant = words;
    b->measure->attribution = TD_ATTRIBUTION_EXACT;
    for (uint32_t g = 0; g < td_model_group_count(b->model); g++) {
        const struct td_group *group = td_model_group(b->model, g);

        if (group->role != TD_ROLE_VARIANT ||
            strcmp(td_model_string(b->model, group->name), words) != 0)
            continue;
        b->scales[g] = variant_scale(b->model, group);
        b->used_groups++;
    }
}

static bool names_number(const char *pattern, uint32_t number)
{
    uint64_t value = 0;

    return td_parse_u64(pattern, &value) && value == number;
}

static bool thread_matches(const struct td_model *model, const struct td_thread *thread,
                           const struct td_filter *filter)
{
    bool thread_ok = filter->threads.len == 0, process_ok = filter->processes.len == 0;

    if (filter->origin && filter->origin != thread->origin)
        return false;
    for (size_t i = 0; i < filter->threads.len && !thread_ok; i++) {
        const char *p = filter->threads.at[i];

        thread_ok = td_pattern_matches(p, td_model_string(model, thread->name)) ||
                    names_number(p, thread->tid);
    }
    for (size_t i = 0; i < filter->processes.len && !process_ok; i++) {
        const char *p = filter->processes.at[i];

        process_ok = td_pattern_matches(p, td_model_string(model, thread->process)) ||
                     names_number(p, thread->pid);
    }
    return thread_ok && process_ok;
}

static bool frame_matches(const struct td_model *model, const struct td_frame *frame,
                          const struct td_filter *filter)
{
    bool module_ok = filter->modules.len == 0, function_ok = filter->functions.len == 0;
    char buf[512];

    for (size_t i = 0; i < filter->modules.len && !module_ok; i++) {
        const char *p = filter->modules.at[i];

        module_ok = td_pattern_is_path(p, td_module_name(model, frame->module)) ||
                    (frame->module != TD_NONE &&
                     td_pattern_is_path(
                         p, td_model_string(model, td_model_module(model, frame->module)->path)));
    }
    for (size_t i = 0; i < filter->functions.len && !function_ok; i++)
        function_ok = (frame->function == TD_NONE &&
                       strcmp(filter->functions.at[i], "[unknown]") == 0) || /* as in tables */
                      td_pattern_names(filter->functions.at[i],
                                       td_frame_name(model, frame, buf, sizeof(buf)));
    return module_ok && function_ok;
}

/* Decides once for each thread and location, not once for each row. */
void td_kept_of(struct td_kept *kept, const struct td_model *model, const struct td_filter *filter)
{
    const uint32_t threads = td_model_thread_count(model);
    const uint32_t locations = td_model_location_count(model);

    kept->threads = td_xcalloc((size_t)threads + 1, sizeof(bool));
    kept->locations = td_xcalloc((size_t)locations + 1, sizeof(bool));
    for (uint32_t t = 0; t < threads; t++)
        kept->threads[t] = thread_matches(model, td_model_thread(model, t), filter);
    for (uint32_t l = 0; l < locations; l++) {
        const struct td_frame frame = td_frame_leaf(model, l, filter->no_inline);
        kept->locations[l] = frame_matches(model, &frame, filter);
    }
    const struct td_frame unknown = td_frame_leaf(model, TD_NONE, false);
    kept->unknown = frame_matches(model, &unknown, filter);
    kept->groups = td_inside_groups(model, &filter->regions);
}

void td_kept_release(struct td_kept *kept)
{
    free(kept->threads);
    free(kept->locations);
    free(kept->groups);
    *kept = (struct td_kept){.threads = NULL};
}

bool td_kept_has(const struct td_kept *kept, const struct td_model *model, uint32_t thread,
                 uint32_t node)
{
    const uint32_t location = td_model_node(model, node)->location;

    return kept->threads[thread] &&
           (location == TD_NONE ? kept->unknown : kept->locations[location]);
}

static bool passes(const struct builder *b, uint32_t thread, uint32_t node)
{
    return td_kept_has(&b->kept, b->model, thread, node);
}

static bool takes_tally(const struct builder *b, const struct td_tally *tally)
{
    return b->kept.groups[tally->group] && passes(b, tally->thread, tally->node);
}

static void need_metric(struct builder *b, enum td_metric metric)
{
    if (!b->measure->values[metric] && (b->metrics == 0 || b->metrics >> metric & 1))
        b->measure->values[metric] = td_xcalloc(b->cap + 1, sizeof(uint64_t));
}

/* The columns that the chosen groups fill, with every ancestor of a node. */
static void need_metrics(struct builder *b)
{
    for (uint32_t g = 0; g < td_model_group_count(b->model); g++) {
        const struct scale *scale = &b->scales[g];

        if (!scale->used)
            continue;
        if (scale->from_samples < TD_METRIC_COUNT)
            need_metric(b, scale->from_samples);
        if (!scale->samples_are_instructions)
            need_metric(b, TD_METRIC_SAMPLES);
        for (uint32_t c = 0; c < td_model_group(b->model, g)->column_count; c++) {
            enum td_metric metric = scale->metric[c];

            if (metric < TD_METRIC_COUNT)
                need_metric(b, metric);
            while (metric >= TD_METRIC_FIRST_NODE && metric < TD_METRIC_COUNT) {
                const enum td_tma_node node = (enum td_tma_node)(metric - TD_METRIC_FIRST_NODE);

                need_metric(b, metric);
                need_metric(b, TD_METRIC_SLOTS);
                if (td_tma_info(node)->parent == TD_NODE_NONE)
                    break;
                metric = td_metric_of_node(td_tma_info(node)->parent);
            }
        }
    }
}

/* Room for all rows at once: columns that grow take twice as much, and are long. */
static void make_room(struct builder *b, bool by_sample)
{
    if (by_sample) {
        for (size_t i = 0; i < td_model_sample_count(b->model); i++) {
            const struct td_sample *sample = td_model_sample(b->model, i);
            b->cap += b->scales[sample->group].used && passes(b, sample->thread, sample->node);
        }
    } else {
        for (size_t i = 0; i < td_model_tally_count(b->model); i++) {
            const struct td_tally *tally = td_model_tally(b->model, i);
            b->cap += b->scales[tally->group].used && takes_tally(b, tally);
        }
    }
    const size_t places = ((size_t)td_model_location_count(b->model) + 1) *
                          ((size_t)td_model_thread_count(b->model) + 1);
    if (b->measure->by_leaf && b->cap > places)
        b->cap = places;
    b->measure->rows = td_xcalloc(b->cap + 1, sizeof(*b->measure->rows));
}

static size_t add_row(struct builder *b, uint32_t thread, uint32_t node, uint64_t time_ns)
{
    struct td_measure *m = b->measure;

    assert(m->row_count < b->cap);
    m->rows[m->row_count] =
        (struct td_measure_row){.thread = thread, .node = node, .time_ns = time_ns};
    return m->row_count++;
}

static void add_value(struct td_measure *m, size_t row, enum td_metric metric, uint64_t value)
{
    if (!m->values[metric])
        return;
    m->values[metric][row] += value;
    m->totals[metric] += value;
}

/* Cycles of a place may be negative, in a recording that was killed while it owed some to others
 * (formats/sums.h): it took none as far as is known. */
static bool is_owed(uint64_t value)
{
    return value >> 63;
}

static void add_values(struct builder *b, size_t row, uint32_t group, uint64_t samples,
                       const uint64_t *values)
{
    const struct scale *scale = &b->scales[group];
    struct td_measure *m = b->measure;

    if (!scale->samples_are_instructions)
        add_value(m, row, TD_METRIC_SAMPLES, samples);
    if (scale->from_samples < TD_METRIC_COUNT)
        add_value(m, row, scale->from_samples, samples * scale->samples_factor);
    for (uint32_t c = 0; c < td_model_group(b->model, group)->column_count; c++) {
        enum td_metric metric = scale->metric[c];

        if (metric >= TD_METRIC_COUNT || values[c] == 0 || is_owed(values[c]))
            continue;
        if (metric < TD_METRIC_FIRST_NODE) {
            add_value(m, row, metric, values[c]);
            continue;
        }
        add_value(m, row, TD_METRIC_SLOTS, values[c]);
        for (enum td_tma_node node = (enum td_tma_node)(metric - TD_METRIC_FIRST_NODE);
             node != TD_NODE_NONE; node = td_tma_info(node)->parent)
            add_value(m, row, td_metric_of_node(node), values[c]);
    }
}

/* The row that the tally is of, which may be new. */
static size_t row_of(struct builder *b, const struct td_tally *tally)
{
    const bool by_leaf = b->measure->by_leaf;
    const uint32_t place = by_leaf ? td_model_node(b->model, tally->node)->location : tally->node;
    bool added = false;

    if (b->used_groups == 1 && !by_leaf)
        return add_row(b, tally->thread, tally->node, 0);
    const size_t row =
        *td_map_put(&b->rows, tally->thread, place, (uint32_t)b->measure->row_count, &added);
    return added ? add_row(b, tally->thread, tally->node, 0) : row;
}

static void add_tallies(struct builder *b)
{
    const size_t count = td_model_tally_count(b->model);
    uint64_t room[TD_COLUMNS_MAX];

    for (size_t i = 0; i < count; i++) {
        const struct td_tally *tally = td_model_tally(b->model, i);

        if (!b->scales[tally->group].used || !takes_tally(b, tally))
            continue;
        const size_t row = row_of(b, tally);
        add_values(b, row, tally->group, tally->samples,
                   td_model_tally_values(b->model, tally, room));
    }
}

/* Of the model's groups, or of the variant's: what says how sure they are. */
static bool are_replicates(const struct builder *b, const struct td_group *group,
                           const char *variant)
{
    if (group->role != TD_ROLE_REPLICATES || group->column_count != TD_REPLICATES)
        return false;
    if (!variant)
        return group->locates != TD_NODE_NONE;
    return group->locates == TD_NODE_NONE &&
           strcmp(td_model_string(b->model, group->name), variant) == 0;
}

_Static_assert(TD_REPLICATES <= TD_DENSE_COLUMNS, "replicates are borrowed from the model");

/* Without slots there is nothing to be sure of. */
static void add_replicates(struct builder *b, const char *variant)
{
    struct td_measure *m = b->measure;
    const size_t count = td_model_tally_count(b->model);
    size_t cap = 0;

    if (!m->values[TD_METRIC_SLOTS])
        return;
    for (size_t i = 0; i < count; i++) {
        const struct td_tally *tally = td_model_tally(b->model, i);
        const struct td_group *group = td_model_group(b->model, tally->group);

        if (!are_replicates(b, group, variant) || !takes_tally(b, tally))
            continue;
        m->replicates =
            td_grow(m->replicates, &cap, m->replicate_count + 1, sizeof(*m->replicates));
        m->replicates[m->replicate_count++] =
            (struct td_measure_replicates){.thread = tally->thread,
                                           .node = tally->node,
                                           .leaf = group->locates,
                                           .values = td_model_tally_values(b->model, tally, NULL)};
    }
}

static int compare_times(const void *a, const void *b, void *ctx)
{
    const struct td_model *model = ctx;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const uint64_t s = td_model_sample(model, x)->time_ns, t = td_model_sample(model, y)->time_ns;

    if (s != t)
        return s < t ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void add_samples(struct builder *b)
{
    const size_t count = td_model_sample_count(b->model);
    size_t *order = td_xcalloc(count, sizeof(*order));
    union {
        const struct td_model *model;
        void *ctx;
    } sorting = {.model = b->model};

    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order, count, sizeof(*order), compare_times, sorting.ctx);
    for (size_t i = 0; i < count; i++) {
        const struct td_sample *sample = td_model_sample(b->model, order[i]);

        if (!b->scales[sample->group].used || !passes(b, sample->thread, sample->node))
            continue;
        const size_t row = add_row(b, sample->thread, sample->node, sample->time_ns);
        add_values(b, row, sample->group, 1, td_model_sample_values(b->model, sample));
    }
    free(order);
}

/* Whether each modelled group says its cycles itself, as files of version 1.0 do. */
static bool says_cycles(const struct builder *b)
{
    bool all = true;

    for (uint32_t g = 0; g < td_model_group_count(b->model); g++) {
        bool says = !b->scales[g].used;

        for (uint32_t c = 0; c < td_model_group(b->model, g)->column_count; c++)
            says = says || b->scales[g].metric[c] == TD_METRIC_CYCLES;
        all = all && says;
    }
    return all;
}

static const size_t *order_of(struct builder *b)
{
    if (!b->order)
        b->order = td_row_order(b->measure);
    return b->order;
}

/* Modelled cycles are slots by the width. Each row gets the difference of two rounded running
 * sums, so that the rows add up to the total exactly. */
static void model_cycles(struct builder *b)
{
    struct td_measure *m = b->measure;
    const uint64_t width = b->width;
    const uint64_t *slots = m->values[TD_METRIC_SLOTS];
    uint64_t sum = 0;

    if (!slots || width == 0 || says_cycles(b))
        return;
    free(m->values[TD_METRIC_CYCLES]);
    m->values[TD_METRIC_CYCLES] = NULL;
    m->totals[TD_METRIC_CYCLES] = 0;
    need_metric(b, TD_METRIC_CYCLES);
    const size_t *order = order_of(b);
    for (size_t i = 0; i < m->row_count; i++) {
        const uint64_t before = sum / width;

        sum += slots[order[i]];
        add_value(m, order[i], TD_METRIC_CYCLES, sum / width - before);
    }
}

/* Modelled time is slots, or cycles, at a constant rate. Each row gets the difference of two
 * rounded running sums, so that the rows add up to the total exactly. What is shown of sums of rows
 * is rounded once (td_measure_sum_time): it can differ from this by a nanosecond. */
static void model_time(struct builder *b)
{
    struct td_measure *m = b->measure;
    const bool by_cycles = m->values[TD_METRIC_CYCLES] != NULL;
    const uint64_t clock_hz = td_machine_parameter(b->model, "clock_hz");
    const uint64_t width = by_cycles ? 1 : b->width;
    uint64_t sums[TD_METRIC_COUNT] = {0};
    uint64_t before = 0;

    m->time_of = by_cycles ? TD_METRIC_CYCLES : TD_METRIC_SLOTS;
    const uint64_t *from = m->values[m->time_of];
    if (clock_hz == 0 || width == 0 || clock_hz > UINT64_MAX / width || !from)
        return;
    m->time_rate = clock_hz * width;
    need_metric(b, TD_METRIC_TIME_NS);
    const size_t *order = order_of(b);
    for (size_t i = 0; i < m->row_count; i++) {
        sums[m->time_of] += from[order[i]];
        td_measure_sum_time(m, sums);
        add_value(m, order[i], TD_METRIC_TIME_NS, sums[TD_METRIC_TIME_NS] - before);
        before = sums[TD_METRIC_TIME_NS];
    }
}

/* Measured slots. TD_ENODATA, with the reason kept, when the counts cannot be explained: then the
 * groups are samples like any others. */
static int measure_slots(struct builder *b, const struct td_filter *filter)
{
    struct td_measure *m = b->measure;
    struct td_err why = TD_ERR_INIT;
    const int rc = td_slots_measure(m, filter->no_inline, filter->by_sample, &why);

    m->free_slots = td_slots_free;
    if (rc < 0) {
        td_slots_free(m->slots);
        m->slots = NULL;
        m->no_slots = td_xstrdup(why.text);
        return rc;
    }
    bool *keep = td_xcalloc(m->row_count + 1, sizeof(*keep));
    bool all = true;

    td_kept_of(&b->kept, b->model, filter);
    for (size_t r = 0; r < m->row_count; r++) {
        keep[r] = passes(b, m->rows[r].thread, m->rows[r].node);
        all = all && keep[r];
    }
    if (!all)
        td_slots_filter(m, keep);
    free(keep);
    return TD_OK;
}

/* What a modelled profile says of itself beside its slots. */
static void finish_modelled(struct builder *b, const char *variant)
{
    const uint64_t width = td_machine_parameter(b->model, "width");

    b->width = variant ? td_variant_width(variant, (unsigned)width) : width;
    model_cycles(b);
    model_time(b);
    add_replicates(b, variant);
}

/* The measure of one kind of groups; with `variant`, of the modelled core that is changed so. */
static int measure_groups(struct td_measure **ret, const struct td_model *model,
                          const struct td_filter *filter, const char *variant, struct td_err *err)
{
    struct builder b = {
        .model = model, .measure = td_xcalloc(1, sizeof(*b.measure)), .metrics = filter->metrics};
    int rc = TD_OK;

    b.measure->model = model;
    if (!variant && !filter->event && td_slots_are_in(model) &&
        measure_slots(&b, filter) == TD_OK) {
        *ret = b.measure;
        b.measure = NULL;
        goto out;
    }
    b.scales = td_xcalloc((size_t)td_model_group_count(model) + 1, sizeof(*b.scales));
    if (variant)
        choose_variant(&b, variant);
    else
        rc = choose_groups(&b, filter->event, err);
    if (rc < 0)
        goto out;
    td_kept_of(&b.kept, b.model, filter);
    b.measure->by_sample = filter->by_sample && td_model_sample_count(model) > 0;
    b.measure->by_leaf = filter->by_leaf && !b.measure->by_sample && b.measure->event == TD_NONE;
    make_room(&b, b.measure->by_sample);
    need_metrics(&b);
    if (b.measure->by_sample)
        add_samples(&b);
    else
        add_tallies(&b);
    if (td_measure_is_modelled(b.measure))
        finish_modelled(&b, variant);
    /* Groups that lack their columns count nothing; shares are of something all the same. */
    if (!b.measure->values[td_measure_primary(b.measure)])
        b.measure->values[TD_METRIC_SAMPLES] = td_xcalloc(b.cap + 1, sizeof(uint64_t));
    *ret = b.measure;
    b.measure = NULL;
out:
    td_measure_free(b.measure);
    td_map_release(&b.rows);
    free(b.order);
    td_kept_release(&b.kept);
    free(b.scales);
    return rc;
}

/* Keeps the rows of a join that pass the filter. */
static void filter_join(struct td_measure *m, const struct td_filter *filter)
{
    struct builder b = {.model = m->model, .measure = m};
    bool *keep = td_xcalloc(m->row_count + 1, sizeof(*keep));

    td_kept_of(&b.kept, b.model, filter);
    for (size_t i = 0; i < m->row_count; i++)
        keep[i] = passes(&b, m->rows[i].thread, m->rows[i].node);
    td_weights_filter(m, keep);
    free(keep);
    td_kept_release(&b.kept);
}

/* Both runs of a hybrid profile, joined as wholes: a filter must not change how they fit. */
static int measure_join(struct td_measure **ret, const struct td_model *model,
                        const struct td_filter *filter, const char *event, struct td_err *err)
{
    const struct td_filter clock = {.event = event}, everything = {0};
    struct td_measure *native = NULL, *modelled = NULL;
    int rc = measure_groups(&native, model, &clock, NULL, err);

    if (rc == TD_OK)
        rc = measure_groups(&modelled, model, &everything, NULL, err);
    if (rc == TD_OK && modelled->values[TD_METRIC_SLOTS] && modelled->values[TD_METRIC_TIME_NS] &&
        native->values[TD_METRIC_TIME_NS]) {
        *ret = td_weights_join(native, modelled);
        modelled = NULL;
        filter_join(*ret, filter);
    } else if (rc == TD_OK) {
        rc = measure_groups(ret, model, filter, NULL, err);
    }
    td_measure_free(native);
    td_measure_free(modelled);
    return rc;
}

/* The native run alone: single samples have times, and no categories. */
static int measure_native(struct td_measure **ret, const struct td_model *model,
                          const struct td_filter *filter, const char *clock, struct td_err *err)
{
    struct td_filter samples = *filter;

    samples.event = clock;
    return measure_groups(ret, model, &samples, NULL, err);
}

/* Of a modelled profile, whole: what else was modelled of the same run. */
static int add_variants(struct td_measure *m, const struct td_filter *filter, struct td_err *err)
{
    const struct td_model *model = m->model;
    size_t cap = 0;
    int rc = TD_OK;

    if (filter->event || filter->metrics || m->by_sample || !td_measure_is_modelled(m))
        return TD_OK;
    for (uint32_t g = 0; rc == TD_OK && g < td_model_group_count(model); g++) {
        const struct td_group *group = td_model_group(model, g);
        const char *words = td_model_string(model, group->name);
        bool known = group->role != TD_ROLE_VARIANT;

        for (size_t i = 0; i < m->variant_count && !known; i++)
            known = strcmp(m->variants[i]->variant, words) == 0;
        if (known)
            continue;
        m->variants = td_grow(m->variants, &cap, m->variant_count + 1, sizeof(struct td_measure *));
        rc = measure_groups(&m->variants[m->variant_count], model, filter, words, err);
        m->variant_count += rc == TD_OK;
    }
    return rc;
}

static int measure_plain(struct td_measure **ret, const struct td_model *model,
                         const struct td_filter *filter, struct td_err *err)
{
    int rc = measure_groups(ret, model, filter, NULL, err);

    if (rc == TD_OK && (rc = add_variants(*ret, filter, err)) < 0)
        td_measure_free(*ret);
    return rc;
}

int td_measure_new(struct td_measure **ret, const struct td_model *model,
                   const struct td_filter *filter, struct td_err *err)
{
    static const struct td_filter everything = {0};
    const char *clock = td_weights_event(model);

    filter = filter ? filter : &everything;
    const int rc = td_inside_check(model, &filter->regions, err);
    if (rc < 0)
        return rc;
    if (!clock || filter->event)
        return measure_plain(ret, model, filter, err);
    if (filter->by_sample && td_model_sample_count(model) > 0)
        return measure_native(ret, model, filter, clock, err);
    if (td_model_losses(model)->model_is_partial) {
        /* A function's time would go to those of its lines that are left. */
        const int native = measure_native(ret, model, filter, clock, err);

        if (native == TD_OK)
            (*ret)->no_slots = td_xstrdup("a part of the modelled run could not be read");
        return native;
    }
    return measure_join(ret, model, filter, clock, err);
}

bool td_measure_is_modelled(const struct td_measure *measure)
{
    if (measure->weighted)
        return true;
    return measure->values[TD_METRIC_SLOTS] && !measure->values[TD_METRIC_SAMPLES];
}

uint64_t td_measure_unfiltered_total(const struct td_model *model, const struct td_filter *filter)
{
    const struct td_filter only_event = {.event = filter ? filter->event : NULL,
                                         .metrics = TD_METRICS_OF_COST};
    struct td_measure *measure = NULL;
    uint64_t total = 0;

    if (td_measure_new(&measure, model, &only_event, NULL) == TD_OK)
        total = measure->totals[td_measure_primary(measure)];
    td_measure_free(measure);
    return total;
}
