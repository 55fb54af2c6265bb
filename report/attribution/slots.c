/* SPDX-License-Identifier: MIT */
#include "report/attribution/slots.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/attribution/reconcile.h"
#include "report/attribution/slots_priv.h"
#include "report/attribution/stats.h"

#define LOCATED_MIN 30 /* samples of a locator that are worth spreading a category by, */
#define LOST_LENGTH 4  /* intervals so many times the usual length had samples in them */
#define PLACED_MIN  8  /* and in one function, to place its part of it on lines */

struct making {
    struct td_measure *measure;
    struct td_slots *slots;
    bool by_sample;
    size_t row_cap, part_cap;
    struct td_map rows; /* (thread, node) and part to the row */
    uint32_t *key;      /* by row: its function */
    size_t keys;
};

bool td_slots_are_in(const struct td_model *model)
{
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        if (td_model_group(model, g)->role == TD_ROLE_SLOTS)
            return true;
    }
    return false;
}

static uint32_t find_row(struct making *m, uint32_t thread, uint32_t node, size_t part,
                         const struct td_sample *sample)
{
    struct td_measure *measure = m->measure;
    const uint64_t place = (uint64_t)thread << 32 | node;
    bool added = true;
    uint32_t row = (uint32_t)measure->row_count;

    if (!sample)
        row = *td_map_put(&m->rows, place, part, row, &added);
    if (!added)
        return row;
    if (measure->row_count == m->row_cap)
        measure->rows =
            td_grow(measure->rows, &m->row_cap, measure->row_count + 1, sizeof(*measure->rows));
    m->slots->part_of = td_grow(m->slots->part_of, &m->part_cap, measure->row_count + 1, 1);
    m->slots->part_of[measure->row_count] = (uint8_t)part;
    measure->rows[measure->row_count++] = (struct td_measure_row){
        .thread = thread, .node = node, .time_ns = sample ? sample->time_ns : 0};
    return row;
}

static struct td_interval *add_interval(struct td_intervals *in, uint32_t row, uint32_t node,
                                        uint32_t thread, const uint64_t *values, uint32_t columns)
{
    in->at = td_grow(in->at, &in->cap, in->len + 1, sizeof(*in->at));
    in->at[in->len] = (struct td_interval){
        .row = row, .node = node, .thread = thread, .before = TD_NONE, .values = values};
    for (uint32_t c = 0; c < columns; c++)
        in->totals[c] += (double)values[c];
    return &in->at[in->len++];
}

/* Counters of a thread are its own on each CPU, those of a CPU are whoever's ran there; in a merge,
 * each input has CPUs and threads of its own. */
static void series_of(const struct td_model *model, bool of_cpu, const struct td_sample *sample,
                      uint64_t key[2])
{
    const struct td_thread *thread = td_model_thread(model, sample->thread);

    key[0] = of_cpu ? 0 : (uint64_t)thread->pid << 32 | thread->tid;
    key[1] = (uint64_t)thread->origin << 32 | sample->cpu;
}

static void take_samples(struct making *m, size_t part)
{
    const struct td_model *model = m->measure->model;
    struct td_intervals *in = &m->slots->parts[part].intervals;
    const uint32_t group = m->slots->parts[part].counted.group;
    const uint32_t columns = td_model_group(model, group)->column_count;
    const bool of_cpu = td_model_method(model) == TD_METHOD_CPU;
    struct td_map last = {.slots = NULL};

    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        const struct td_sample *s = td_model_sample(model, i);
        uint64_t key[2];
        bool added = false;

        if (s->group != group)
            continue;
        const uint32_t row = find_row(m, s->thread, s->node, part, m->by_sample ? s : NULL);
        struct td_interval *at =
            add_interval(in, row, s->node, s->thread, td_model_sample_values(model, s), columns);
        series_of(model, of_cpu, s, key);
        uint32_t *before = td_map_put(&last, key[0], key[1], TD_NONE, &added);
        at->before = *before;
        *before = (uint32_t)(in->len - 1);
        in->series += added;
    }
    td_map_release(&last);
}

/* Sums that no longer say what followed what: of a merge, or of a loader that kept no samples. */
static void take_tallies(struct making *m, size_t part)
{
    const struct td_model *model = m->measure->model;
    struct td_intervals *in = &m->slots->parts[part].intervals;
    const uint32_t group = m->slots->parts[part].counted.group;
    const uint32_t columns = td_model_group(model, group)->column_count;
    uint64_t room[TD_COLUMNS_MAX];

    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *t = td_model_tally(model, i);

        if (t->group != group)
            continue;
        const uint32_t row = find_row(m, t->thread, t->node, part, NULL);
        add_interval(in, row, t->node, t->thread, td_model_tally_values(model, t, room), columns);
        in->series++;
    }
}

static bool has_samples(const struct td_model *model, uint32_t group)
{
    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        if (td_model_sample(model, i)->group == group)
            return true;
    }
    return false;
}

/* What the counters held beyond the samples' intervals, when all of it is of the wanted tasks: an
 * interval without a place. With it, the totals are those of the counters. */
static void take_rest(struct making *m, size_t part)
{
    const struct td_model *model = m->measure->model;
    struct td_slots_part *p = &m->slots->parts[part];
    const struct td_group *group = td_model_group(model, p->counted.group);
    struct td_intervals *in = &p->intervals;
    bool any = false;

    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].event == TD_NONE || group->columns[c].kind != TD_COLUMN_DELTA)
            continue;
        const struct td_event_counts *counts =
            &td_model_event(model, group->columns[c].event)->counts;
        if (counts->elsewhere > 0)
            return;
        p->rest[c] = counts->rest;
        any = any || counts->rest > 0;
    }
    if (!any || in->len == 0)
        return;
    const uint32_t thread = in->at[0].thread;
    const uint32_t at = find_row(m, thread, 0, part, NULL);
    m->measure->rows[at].time_ns = m->measure->rows[in->at[in->len - 1].row].time_ns;
    add_interval(in, at, 0, thread, p->rest, group->column_count);
    in->series = 0; /* nothing is missing */
}

/* Leaves of what is known: a node whose known children add up to it gives way to them. */
static void find_leaves(struct td_slots_part *part, enum td_tma_node parent, double whole)
{
    const struct td_pmu_tree *tree = &part->intervals.tree;
    double sum = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == parent && !isnan(tree->share[n]))
            sum += tree->share[n];
    }
    if (parent != TD_NODE_NONE && (fabs(sum - whole) > 1e-6 || sum <= 0)) {
        part->leaf[parent] = true;
        return;
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == parent && !isnan(tree->share[n]))
            find_leaves(part, (enum td_tma_node)n, tree->share[n]);
    }
}

/* Of enabled time; 1 when it is not known. */
static double running_part(const struct td_slots_part *part, const struct td_model *model)
{
    const struct td_group *group = td_model_group(model, part->counted.group);
    double enabled = 0, running = 0;

    if (group->sampler != TD_NONE) {
        const struct td_event_counts *counts = &td_model_event(model, group->sampler)->counts;

        enabled = (double)counts->enabled_ns;
        running = (double)counts->running_ns;
    }

    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].kind == TD_COLUMN_TIME_ENABLED)
            enabled = part->intervals.totals[c];
        if (group->columns[c].kind == TD_COLUMN_TIME_RUNNING)
            running = part->intervals.totals[c];
    }
    return enabled > 0 ? fmin(running / enabled, 1) : 1;
}

static void understand(struct td_slots_part *part, const struct td_model *model)
{
    struct td_intervals *in = &part->intervals;

    td_counted_tree(&part->counted, in->totals, &in->tree);
    td_counted_slopes(&part->counted, in->totals, in->slopes);
    td_intervals_ready(in);
    td_mix_total_errors(in, part->error);
    part->slots = td_rounded(in->tree.slots);
    part->running = running_part(part, model);
    find_leaves(part, TD_NODE_NONE, 1);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The median; of pairs, that of the longer half, which are those between them. */
static double usual_slots(const struct td_intervals *in)
{
    double *slots = td_xcalloc(in->len + 1, sizeof(*slots));

    for (size_t i = 0; i < in->len; i++)
        slots[i] = in->at[i].slots;
    qsort(slots, in->len, sizeof(*slots), by_size);
    const double usual = slots[in->paired ? in->len / 4 * 3 : in->len / 2];
    free(slots);
    return usual;
}

/* An interval far longer than others, in a recording that lost samples or was throttled, has no
 * place: what ran in it was not sampled. */
static void set_lost_apart(struct making *m, size_t p)
{
    const struct td_model *model = m->measure->model;
    struct td_slots_part *part = &m->slots->parts[p];
    struct td_intervals *in = &part->intervals;
    double lost = 0, all = 0;

    if (td_model_counter(model, TD_COUNTER_LOST) + td_model_counter(model, TD_COUNTER_THROTTLED) +
                td_model_counter(model, TD_COUNTER_LOST_RECORDS) ==
            0 ||
        !has_samples(model, part->counted.group))
        return;
    const double limit = LOST_LENGTH * usual_slots(in);
    for (size_t i = 0; i < in->len; i++) {
        struct td_interval *at = &in->at[i];

        all += at->slots;
        if (at->slots <= limit)
            continue;
        lost += at->slots;
        at->node = 0;
        if (m->by_sample)
            m->measure->rows[at->row].node = 0;
        else
            at->row = find_row(m, at->thread, 0, p, NULL);
    }
    part->lost_share = all > 0 ? lost / all : 0;
}

/* One part for each kind of core: the first group of it that is understood. */
static int make_parts(struct making *m, struct td_err *err)
{
    const struct td_model *model = m->measure->model;
    struct td_slots *slots = m->slots;
    int rc = TD_ENODATA;

    slots->parts = td_xcalloc(TD_SLOTS_PARTS_MAX, sizeof(*slots->parts));
    for (uint32_t g = 0; g < td_model_group_count(model) && slots->len < TD_SLOTS_PARTS_MAX; g++) {
        const struct td_group *group = td_model_group(model, g);
        const char *cpu_type = td_model_string(model, group->cpu_type);
        struct td_slots_part *part = &slots->parts[slots->len];
        bool taken = group->role != TD_ROLE_SLOTS;

        for (size_t i = 0; i < slots->len; i++)
            taken = taken || strcmp(slots->parts[i].cpu_type, cpu_type) == 0;
        if (taken)
            continue;
        if (td_counted_init(&part->counted, model, g, err) < 0) {
            td_counted_release(&part->counted);
            continue;
        }
        rc = TD_OK;
        part->cpu_type = cpu_type;
        part->intervals.counted = &part->counted;
        part->intervals.paired = group->attribution == TD_ATTRIBUTION_PAIRED;
        if (has_samples(model, g))
            take_samples(m, slots->len);
        else
            take_tallies(m, slots->len);
        take_rest(m, slots->len);
        slots->len++;
    }
    return rc;
}

/* Rows of places where only a locator sampled. */
static void add_located_rows(struct making *m)
{
    const struct td_model *model = m->measure->model;

    for (size_t i = 0; i < td_model_tally_count(model) && !m->by_sample; i++) {
        const struct td_tally *t = td_model_tally(model, i);
        const struct td_group *group = td_model_group(model, t->group);

        for (size_t p = 0; p < m->slots->len && group->role == TD_ROLE_LOCATOR; p++) {
            if (strcmp(m->slots->parts[p].cpu_type, td_model_string(model, group->cpu_type)) == 0)
                find_row(m, t->thread, t->node, p, NULL);
        }
    }
}

/* A function's rows have one key; code without a name, one a module. */
static void find_keys(struct making *m, bool no_inline)
{
    const struct td_model *model = m->measure->model;
    struct td_map ids = {.slots = NULL};

    m->key = td_xcalloc(m->measure->row_count + 1, sizeof(*m->key));
    for (size_t r = 0; r < m->measure->row_count; r++) {
        const struct td_frame frame = td_frame_leaf(
            model, td_model_node(model, m->measure->rows[r].node)->location, no_inline);

        m->key[r] = *td_map_put(&ids, td_function_key(&frame), 0, (uint32_t)ids.len, NULL);
    }
    m->keys = ids.len;
    td_map_release(&ids);
}

static void need(struct td_measure *measure, enum td_metric metric)
{
    if (!measure->values[metric])
        measure->values[metric] = td_xcalloc(measure->row_count + 1, sizeof(uint64_t));
}

/* Spreads a part's slots over functions, then over their rows. */
struct spreading {
    struct making *m;
    struct td_slots_part *part;
    size_t part_index;
    int leaves[TD_NODE_COUNT];
    size_t leaf_count;
    struct td_mix *mixes;   /* by key */
    double *row_slots;      /* by row: sampled */
    double *weight, *count; /* by key and leaf: of the locator */
    double *at;             /* by key and leaf: slots */
};

static void sum_locators(struct spreading *s)
{
    const struct making *m = s->m;

    for (size_t r = 0; r < m->measure->row_count; r++) {
        if (m->slots->part_of[r] != s->part_index)
            continue;
        for (size_t l = 0; l < s->leaf_count; l++) {
            const struct td_locator *locator = &s->part->locators[s->leaves[l]];

            if (locator->samples == 0)
                continue;
            s->weight[m->key[r] * s->leaf_count + l] += locator->weight[r];
            s->count[m->key[r] * s->leaf_count + l] += locator->count[r];
        }
    }
}

/* The expected error of spreading a leaf by its locator, and by what the intervals say, over all
 * slots: the smaller one decides. */
static bool locator_is_better(const struct spreading *s, size_t l)
{
    const struct td_locator *locator = &s->part->locators[s->leaves[l]];
    const double leaf_slots = s->part->intervals.tree.share[s->leaves[l]] * (double)s->part->slots;
    double located = 0, mixed = 0;

    if (locator->samples < LOCATED_MIN)
        return false;
    for (size_t k = 0; k < s->m->keys; k++) {
        const struct td_mix *mix = &s->mixes[k];

        if (mix->slots <= 0)
            continue;
        mixed += mix->slots * mix->error[s->leaves[l]];
        located += mix->slots * td_locator_error(locator, s->weight[k * s->leaf_count + l],
                                                 leaf_slots, mix->slots);
    }
    return located < mixed;
}

/* What a function lost to a leaf, before the leaf's total is known to be kept. Where events are is
 * known of functions too in which no interval ended. */
static void estimate(struct spreading *s, size_t k, size_t l, double leaf_slots, double *error)
{
    const int leaf = s->leaves[l];
    const size_t i = k * s->leaf_count + l;
    const struct td_locator *locator = &s->part->locators[leaf];
    const struct td_mix *mix = &s->mixes[k];

    error[i] = 1;
    if (s->part->used[leaf]) {
        s->at[i] = leaf_slots * s->weight[i] / locator->total;
        error[i] = td_locator_error(locator, s->weight[i], leaf_slots, mix->slots);
    } else if (mix->slots > 0) {
        s->at[i] = mix->slots * mix->share[leaf];
        error[i] = mix->error[leaf];
    }
}

/* The intervals' slots of a leaf in a function that events do not show there. */
static double strange_slots(const struct spreading *s, size_t k, size_t l)
{
    const struct td_mix *mix = &s->mixes[k];

    return mix->slots > 0
               ? fmax(mix->slots * mix->share[s->leaves[l]] - s->at[k * s->leaf_count + l], 0)
               : 0;
}

/* Where no interval ended, the slots that events show are in the intervals of others. */
static void move_to_events(const struct spreading *s, size_t l, double *row_sums)
{
    double moved = 0, strange = 0;

    for (size_t k = 0; k < s->m->keys; k++) {
        strange += strange_slots(s, k, l);
        if (s->mixes[k].slots <= 0)
            moved += s->at[k * s->leaf_count + l];
    }
    for (size_t k = 0; k < s->m->keys; k++) {
        if (s->mixes[k].slots <= 0)
            row_sums[k] += s->at[k * s->leaf_count + l];
        else if (moved > 0 && strange > 0)
            row_sums[k] -= strange_slots(s, k, l) * fmin(moved / strange, 1);
    }
}

static void spread_over_functions(struct spreading *s)
{
    const size_t keys = s->m->keys;
    double *row_error = td_xcalloc(keys + 1, sizeof(*row_error));
    double *row_sums = td_xcalloc(keys + 1, sizeof(*row_sums));
    double *error = td_xcalloc(keys * s->leaf_count + 1, sizeof(*error));
    double leaf_slots[TD_NODE_COUNT];

    for (size_t l = 0; l < s->leaf_count; l++) {
        leaf_slots[l] = s->part->intervals.tree.share[s->leaves[l]] * (double)s->part->slots;
        s->part->used[s->leaves[l]] = locator_is_better(s, l);
        for (size_t k = 0; k < keys; k++)
            estimate(s, k, l, leaf_slots[l], error);
    }
    for (size_t k = 0; k < keys; k++) {
        row_sums[k] = fmax(s->mixes[k].slots, 0);
        row_error[k] =
            row_sums[k] > 0 ? s->mixes[k].slots_error * (double)s->part->slots / row_sums[k] : 1;
    }
    for (size_t l = 0; l < s->leaf_count; l++) {
        if (s->part->used[s->leaves[l]])
            move_to_events(s, l, row_sums);
    }
    td_reconcile(&(struct td_estimates){.rows = keys,
                                        .columns = s->leaf_count,
                                        .at = s->at,
                                        .error = error,
                                        .row_sums = row_sums,
                                        .row_error = row_error,
                                        .sums = leaf_slots});
    free(error);
    free(row_sums);
    free(row_error);
}

/* Of a function's slots of a leaf, those of one of its rows. */
static double row_part(const struct spreading *s, size_t r, size_t l)
{
    const size_t k = s->m->key[r];
    const struct td_locator *locator = &s->part->locators[s->leaves[l]];
    const double weight = s->weight[k * s->leaf_count + l];

    if (locator->samples > 0 && s->count[k * s->leaf_count + l] >= PLACED_MIN && weight > 0)
        return s->at[k * s->leaf_count + l] * locator->weight[r] / weight;
    return s->mixes[k].slots > 0
               ? s->at[k * s->leaf_count + l] * s->row_slots[r] / s->mixes[k].slots
               : 0;
}

/* Each row gets the difference of two rounded running sums, so that rows add up to the total. */
static void spread_over_rows(struct spreading *s)
{
    struct td_measure *measure = s->m->measure;

    need(measure, TD_METRIC_SLOTS);
    for (size_t l = 0; l < s->leaf_count; l++) {
        double running = 0;
        uint64_t before = 0;

        for (size_t r = 0; r < measure->row_count; r++) {
            if (s->m->slots->part_of[r] != s->part_index)
                continue;
            running += row_part(s, r, l);
            const uint64_t now = td_rounded(running);
            const uint64_t value = now - before;
            before = now;
            measure->values[TD_METRIC_SLOTS][r] += value;
            for (int n = s->leaves[l]; n != TD_NODE_NONE;
                 n = td_tma_info((enum td_tma_node)n)->parent) {
                need(measure, td_metric_of_node((enum td_tma_node)n));
                measure->values[TD_METRIC_FIRST_NODE + n][r] += value;
            }
        }
    }
}

/* How most of the slots of functions were found, and how often nothing was mixed. */
static void sum_up(struct spreading *s)
{
    double kinds[TD_MIX_KINDS] = {0}, same = 0, known = 0;
    int most = TD_MIX_INTERVAL;

    for (size_t k = 0; k < s->m->keys; k++) {
        kinds[s->mixes[k].kind] += s->mixes[k].slots;
        if (isnan(s->mixes[k].same_share))
            continue;
        same += s->mixes[k].same_share * s->mixes[k].slots;
        known += s->mixes[k].slots;
    }
    for (int i = 0; i < TD_MIX_KINDS; i++)
        most = kinds[i] > kinds[most] ? i : most;
    s->part->same_share = known > 0 ? same / known : NAN;
    for (int n = 0; n < TD_NODE_COUNT; n++)
        s->part->kind[n] = s->part->used[n] ? s->part->locators[n].kind : (enum td_mix_kind)most;
}

static void spread(struct making *m, size_t part_index)
{
    struct spreading s = {.m = m, .part = &m->slots->parts[part_index], .part_index = part_index};
    const struct td_intervals *in = &s.part->intervals;
    uint32_t *key = td_xcalloc(in->len + 1, sizeof(*key));

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (s.part->leaf[n])
            s.leaves[s.leaf_count++] = n;
    }
    s.mixes = td_xcalloc(m->keys + 1, sizeof(*s.mixes));
    s.row_slots = td_xcalloc(m->measure->row_count + 1, sizeof(double));
    s.weight = td_xcalloc(m->keys * s.leaf_count + 1, sizeof(double));
    s.count = td_xcalloc(m->keys * s.leaf_count + 1, sizeof(double));
    s.at = td_xcalloc(m->keys * s.leaf_count + 1, sizeof(double));
    for (size_t i = 0; i < in->len; i++) {
        key[i] = m->key[in->at[i].row];
        s.row_slots[in->at[i].row] += in->at[i].slots;
    }
    td_mix_of(s.mixes, in, key, m->keys);
    sum_locators(&s);
    spread_over_functions(&s);
    spread_over_rows(&s);
    sum_up(&s);
    free(s.at);
    free(s.count);
    free(s.weight);
    free(s.row_slots);
    free(s.mixes);
    free(key);
}

/* Counts that are summed as they are: samples, cycles, instructions. */
static void add_counts(struct td_measure *measure, const struct td_slots_part *part)
{
    const struct td_group *group = td_model_group(measure->model, part->counted.group);

    need(measure, TD_METRIC_SAMPLES);
    for (size_t i = 0; i < part->intervals.len; i++)
        measure->values[TD_METRIC_SAMPLES][part->intervals.at[i].row]++;
    for (uint32_t c = 0; c < group->column_count; c++) {
        const uint32_t event = group->columns[c].event;

        if (group->columns[c].kind != TD_COLUMN_DELTA || event == TD_NONE)
            continue;
        const enum td_metric metric =
            td_metric_of_unit(td_model_event(measure->model, event)->unit);
        if (metric == TD_METRIC_COUNT)
            continue;
        need(measure, metric);
        for (size_t i = 0; i < part->intervals.len; i++)
            measure->values[metric][part->intervals.at[i].row] += part->intervals.at[i].values[c];
    }
}

/* The CPU time that was counted, by the slots of each row; nothing where it was not counted. */
static void add_time(struct td_measure *measure)
{
    const struct td_losses *losses = td_model_losses(measure->model);
    const double counted = (double)td_model_counter(measure->model, TD_COUNTER_COUNTED_NS);
    /* What was lost took its part of it; how much that is may not be known. */
    const double time = losses->damaged ? counted * (1 - losses->dropped_share) : counted;
    double total = 0, running = 0;
    uint64_t before = 0;

    for (size_t r = 0; r < measure->row_count; r++)
        total += (double)measure->values[TD_METRIC_SLOTS][r];
    if (isnan(time) || time <= 0 || total <= 0)
        return;
    need(measure, TD_METRIC_TIME_NS);
    for (size_t r = 0; r < measure->row_count; r++) {
        running += (double)measure->values[TD_METRIC_SLOTS][r];
        const uint64_t now = td_rounded(time * (running / total));

        measure->values[TD_METRIC_TIME_NS][r] = now - before;
        before = now;
    }
}

static void sum_totals(struct td_measure *measure)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        measure->totals[m] = 0;
        for (size_t r = 0; measure->values[m] && r < measure->row_count; r++)
            measure->totals[m] += measure->values[m][r];
    }
}

int td_slots_measure(struct td_measure *measure, bool no_inline, bool by_sample, struct td_err *err)
{
    struct making m = {.measure = measure,
                       .slots = td_xcalloc(1, sizeof(*m.slots)),
                       .by_sample = by_sample && td_model_sample_count(measure->model) > 0};
    double clamped = 0, slots = 0;

    measure->slots = m.slots;
    measure->by_sample = m.by_sample;
    const int rc = make_parts(&m, err);
    if (rc < 0)
        goto out;
    for (size_t p = 0; p < m.slots->len; p++) {
        understand(&m.slots->parts[p], measure->model);
        set_lost_apart(&m, p);
    }
    add_located_rows(&m);
    find_keys(&m, no_inline);
    for (size_t p = 0; p < m.slots->len; p++) {
        struct td_slots_part *part = &m.slots->parts[p];

        td_slots_locate(part, measure, m.slots->part_of, p);
        spread(&m, p);
        td_later_add(part, p, measure, no_inline);
        add_counts(measure, part);
        clamped += part->intervals.tree.clamped * (double)part->slots;
        slots += (double)part->slots;
    }
    m.slots->clamped = slots > 0 ? clamped / slots : 0;
    measure->attribution = TD_ATTRIBUTION_INTERVAL;
    measure->event = TD_NONE;
    need(measure, TD_METRIC_SLOTS);
    add_time(measure);
    sum_totals(measure);
out:
    td_map_release(&m.rows);
    free(m.key);
    return rc;
}

void td_slots_free(struct td_slots *slots)
{
    if (!slots)
        return;
    for (size_t p = 0; p < TD_SLOTS_PARTS_MAX && slots->parts; p++) {
        td_slots_locators_release(&slots->parts[p]);
        td_later_release(slots->parts[p].later);
        td_intervals_release(&slots->parts[p].intervals);
        td_counted_release(&slots->parts[p].counted);
    }
    free(slots->parts);
    free(slots->part_of);
    free(slots);
}
