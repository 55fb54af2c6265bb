/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "report/attribution/slots_priv.h"
#include "report/attribution/stats.h"

/* An event's cost differs from one place to another: by so much of it where only the event is
 * known, and where each sample says how long it took (tests/unit/report_slots_test.c,
 * attribution.md). */
#define COST_SPREAD       0.25
#define COST_SPREAD_TIMED 0.10

/* How much one event of several that locate the same leaf weighs, in a unit that is one for the
 * core: its description's static latency; else the mean retire latencies, in cycles, that Intel
 * publishes for Granite Rapids (perfmon, graniterapids_retire_latency.json). */
static double nominal_cost(const struct td_pmu_core *core, enum td_tma_node node)
{
    static const double costs[TD_NODE_COUNT] = {
        [TD_NODE_L2_BOUND] = 6,     [TD_NODE_L3_BOUND] = 58,      [TD_NODE_DRAM_BOUND] = 116,
        [TD_NODE_ITLB_MISSES] = 42, [TD_NODE_ICACHE_MISSES] = 10,
    };

    if (core->latencies[node] > 0)
        return core->latencies[node];
    return costs[node] > 0 ? costs[node] : 1;
}

static bool is_within(enum td_tma_node node, enum td_tma_node ancestor)
{
    while (node != TD_NODE_NONE && node != ancestor)
        node = td_tma_info(node)->parent;
    return node == ancestor;
}

/* The groups that locate a leaf: those of it or of what is below it, else those of what it is part
 * of. */
static bool locates(const struct td_model *model, uint32_t group, const struct td_slots_part *part,
                    enum td_tma_node leaf, bool from_above)
{
    const struct td_group *g = td_model_group(model, group);

    if (g->role != TD_ROLE_LOCATOR || g->locates == TD_NODE_NONE ||
        strcmp(td_model_string(model, g->cpu_type), part->cpu_type) != 0)
        return false;
    return from_above ? is_within(leaf, g->locates) : is_within(g->locates, leaf);
}

static int column_of(const struct td_group *group, enum td_column_kind kind)
{
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].kind == kind)
            return (int)c;
    }
    return -1;
}

/* What the tally's events weigh: each stands for a period of them. */
static double weight_of(const struct td_model *model, const struct td_pmu_core *core,
                        const struct td_tally *tally, const uint64_t *values, bool timed)
{
    const struct td_group *g = td_model_group(model, tally->group);
    const int period = column_of(g, TD_COLUMN_PERIOD),
              latency = column_of(g, TD_COLUMN_RETIRE_LATENCY);
    const double events = period >= 0 ? (double)values[period] : (double)tally->samples;

    if (timed)
        return events * (double)values[latency] / (double)tally->samples;
    return events * nominal_cost(core, g->locates);
}

/* Where all samples have latencies, they are what the events cost. */
static bool are_timed(const struct td_model *model, const bool *groups)
{
    uint64_t room[TD_COLUMNS_MAX];
    bool any = false;

    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);

        if (!groups[tally->group])
            continue;
        const int latency =
            column_of(td_model_group(model, tally->group), TD_COLUMN_RETIRE_LATENCY);
        if (latency < 0)
            return false;
        any = any || td_model_tally_values(model, tally, room)[latency] > 0;
    }
    return any;
}

static void name_events(struct td_locator *locator, const struct td_model *model,
                        const bool *groups)
{
    size_t used = 0;

    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const uint32_t sampler = td_model_group(model, g)->sampler;

        if (!groups[g] || sampler == TD_NONE || used >= sizeof(locator->events))
            continue;
        used += (size_t)snprintf(locator->events + used, sizeof(locator->events) - used, "%s%s",
                                 used ? ", " : "",
                                 td_model_string(model, td_model_event(model, sampler)->name));
    }
}

struct places {
    const struct td_measure *measure;
    const struct td_pmu_core *core;
    struct td_map rows; /* (thread, node) to the first of its rows */
};

static void add_tally(struct td_locator *locator, const struct places *places,
                      const struct td_tally *tally, bool timed)
{
    const uint32_t *row = td_map_find(&places->rows, tally->thread, tally->node);
    const struct td_model *model = places->measure->model;
    uint64_t room[TD_COLUMNS_MAX];
    const double weight =
        weight_of(model, places->core, tally, td_model_tally_values(model, tally, room), timed);

    if (!row)
        return;
    locator->weight[*row] += weight;
    locator->count[*row] += (double)tally->samples;
    locator->total += weight;
    locator->samples += tally->samples;
}

/* How much single samples weigh: one long wait is one sample, however many cycles it took. */
static double squares_of(const struct td_model *model, const struct td_pmu_core *core,
                         const bool *groups, bool timed)
{
    uint64_t room[TD_COLUMNS_MAX];
    double sum = 0;

    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        const struct td_sample *s = td_model_sample(model, i);
        const struct td_tally one = {.group = s->group, .samples = 1};

        if (!groups[s->group])
            continue;
        const double weight = weight_of(model, core, &one, td_model_sample_values(model, s), timed);
        sum += weight * weight;
    }
    if (sum > 0)
        return sum;
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *t = td_model_tally(model, i);

        if (!groups[t->group])
            continue;
        const double weight =
            weight_of(model, core, t, td_model_tally_values(model, t, room), timed);
        sum += weight * weight / (double)t->samples;
    }
    return sum;
}

/* Cycles that the events held up retirement are slots that could be lost to them. What of the
 * leaf's slots is more than that was lost to something without an event; and where they held it up
 * for longer, most of that was not for their own sake. Without latencies it is not known. */
static double strange_part(const struct td_slots_part *part, enum td_tma_node leaf,
                           const struct td_locator *locator)
{
    const double lost = part->intervals.tree.share[leaf] * (double)part->slots;
    const double held =
        locator->total * (part->counted.width ? part->counted.width : part->counted.core->width);

    if (locator->kind != TD_MIX_TIMED || held <= 0 || lost <= 0)
        return 0;
    return 1 - fmin(held, lost) / fmax(held, lost);
}

static void locate_leaf(struct td_slots_part *part, enum td_tma_node leaf,
                        const struct places *places)
{
    const struct td_model *model = places->measure->model;
    const uint32_t count = td_model_group_count(model);
    struct td_locator *locator = &part->locators[leaf];
    bool *groups = td_xcalloc((size_t)count + 1, sizeof(*groups));
    bool any = false;

    for (int above = 0; above <= 1 && !any; above++) {
        for (uint32_t g = 0; g < count; g++) {
            groups[g] = locates(model, g, part, leaf, above == 1);
            any = any || groups[g];
        }
    }
    if (any) {
        const bool timed = are_timed(model, groups);

        locator->kind = timed ? TD_MIX_TIMED : TD_MIX_LOCATED;
        locator->weight = td_xcalloc(places->measure->row_count + 1, sizeof(double));
        locator->count = td_xcalloc(places->measure->row_count + 1, sizeof(double));
        name_events(locator, model, groups);
        for (size_t i = 0; i < td_model_tally_count(model); i++) {
            if (groups[td_model_tally(model, i)->group])
                add_tally(locator, places, td_model_tally(model, i), timed);
        }
        locator->squares = squares_of(model, places->core, groups, timed);
        locator->strange = strange_part(part, leaf, locator);
    }
    free(groups);
}

void td_slots_locate(struct td_slots_part *part, const struct td_measure *measure,
                     const uint8_t *part_of, size_t part_index)
{
    struct places places = {.measure = measure, .core = part->counted.core};

    for (size_t r = 0; r < measure->row_count; r++) {
        if (part_of[r] == part_index)
            td_map_put(&places.rows, measure->rows[r].thread, measure->rows[r].node, (uint32_t)r,
                       NULL);
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (part->leaf[n])
            locate_leaf(part, (enum td_tma_node)n, &places);
    }
    td_map_release(&places.rows);
}

void td_slots_locators_release(struct td_slots_part *part)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        free(part->locators[n].weight);
        free(part->locators[n].count);
    }
}

double td_locator_spread(const struct td_locator *locator, double weight)
{
    const double share = locator->total > 0 ? weight / locator->total : 0;

    if (locator->samples == 0)
        return 1;
    /* As many samples of one weight would be as sure. */
    const double even =
        locator->squares > 0 ? locator->total * locator->total / locator->squares : 0;
    const double worth = fmin(even, (double)locator->samples);
    return td_share_error(share, (uint64_t)fmax(worth + 0.5, 1));
}

double td_locator_error(const struct td_locator *locator, double weight, double leaf_slots,
                        double key_slots)
{
    const double share = locator->total > 0 ? weight / locator->total : 0;
    const double costs =
        (locator->kind == TD_MIX_TIMED ? COST_SPREAD_TIMED : COST_SPREAD) * share * (1 - share);
    const double strange = locator->strange * fmax(share, 1 - share);

    if (key_slots <= 0 || locator->samples == 0)
        return 1;
    const double sampled = td_locator_spread(locator, weight);
    return fmin(1, (hypot(sampled, costs) + strange) * leaf_slots / key_slots);
}
