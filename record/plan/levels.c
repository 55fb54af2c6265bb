/* SPDX-License-Identifier: MIT */
#include "record/plan/levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Any count: only what can be computed is asked. */
#define SOME_COUNT 1000

/* What is known beside counts does not stand in the way of what can be computed. */
static void give_some(const struct td_pmu_core *core, double *counts)
{
    for (size_t e = 0; e < core->event_count; e++) {
        if (core->events[e].given)
            counts[e] = SOME_COUNT;
    }
}

/* Whether the event is a metric without which the tree down to `level` can be had. */
static bool is_deeper(const struct td_pmu_core *core, int event, int level)
{
    double *counts = td_xcalloc(core->event_count + 1, sizeof(*counts));
    bool deeper = event >= 0 && core->events[event].metric;

    for (int n = 0; n < TD_NODE_COUNT && deeper; n++) {
        const enum td_tma_node node = (enum td_tma_node)n;

        if (td_tma_info(node)->level > level)
            continue;
        for (size_t e = 0; e < core->event_count; e++)
            counts[e] = 1;
        const bool known = !isnan(td_pmu_core_formula(core, node, counts, 0));
        counts[event] = NAN;
        deeper = !known || !isnan(td_pmu_core_formula(core, node, counts, 0));
    }
    free(counts);
    return deeper;
}

/* The nodes that the counts of these groups (a bit each) give, without the metrics that are only
 * for levels below `level`, if that is not 0. */
static td_tma_set nodes_of(const struct td_pmu_core *core, uint64_t groups, unsigned level)
{
    double *counts = td_xcalloc(core->event_count + 1, sizeof(*counts));
    struct td_pmu_tree tree;
    td_tma_set nodes = 0;

    for (size_t e = 0; e < core->event_count; e++)
        counts[e] = NAN;
    give_some(core, counts);
    for (size_t g = 0; g < core->group_count && g < 64; g++) {
        for (uint32_t i = 0; i < core->groups[g].count && groups & UINT64_C(1) << g; i++) {
            const uint32_t event = core->groups[g].events[i];

            if (level == 0 || !is_deeper(core, (int)event, (int)level))
                counts[event] = SOME_COUNT;
        }
    }
    td_pmu_core_tree(core, counts, core->width ? core->width : 1, &tree);
    for (int n = 0; n < TD_NODE_COUNT; n++)
        nodes |= isnan(tree.share[n]) ? 0 : td_tma_bit(n);
    free(counts);
    return nodes;
}

/* AMD's fifth node of level 1 is no level of its own where it is missing. */
static bool is_of_level(int node, int level)
{
    return node != TD_NODE_SMT_CONTENTION && td_tma_info((enum td_tma_node)node)->level == level;
}

bool td_plan_is_whole(const struct td_pmu_core *core, size_t i)
{
    const td_tma_set nodes = nodes_of(core, UINT64_C(1) << i, 0);

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (is_of_level(n, 1) && !(nodes & td_tma_bit(n)))
            return false;
    }
    return true;
}

void td_plan_drop_deeper(struct td_plan_group *group, const struct td_pmu_core *core,
                         unsigned level)
{
    uint32_t kept = 0;

    for (uint32_t e = 0; e < group->event_count; e++) {
        struct td_plan_event *event = &group->events[e];

        if (is_deeper(core, td_pmu_core_event(core, event->name), (int)level))
            continue;
        if (group->sampler == e)
            group->sampler = kept;
        group->columns[kept] =
            (struct td_column){.kind = TD_COLUMN_DELTA, .event = kept, .node = TD_NODE_NONE};
        group->events[kept++] = *event;
    }
    group->event_count = group->column_count = kept;
}

static bool has_child(td_tma_set nodes, int parent)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (nodes & td_tma_bit(n) && (int)td_tma_info((enum td_tma_node)n)->parent == parent)
            return true;
    }
    return false;
}

static bool has_level(td_tma_set nodes, int level)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (nodes & td_tma_bit(n) && is_of_level(n, level))
            return true;
    }
    return false;
}

/* "level 2 of frontend_bound, backend_bound": the nodes above that are among `parents`. */
static void tell(struct td_plan *plan, const struct td_plan_level_ctx *c, int level,
                 td_tma_set parents, const char *why)
{
    char what[192];
    size_t used = (size_t)snprintf(what, sizeof(what), "level %d of ", level);
    bool any = false;

    if (parents == 0 && level < TD_TMA_LEVELS)
        used = (size_t)snprintf(what, sizeof(what), "levels %d to %d of ", level, TD_TMA_LEVELS);

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!(parents & td_tma_bit(n)) || used >= sizeof(what))
            continue;
        used += (size_t)snprintf(what + used, sizeof(what) - used, "%s%s", any ? ", " : "",
                                 td_tma_info((enum td_tma_node)n)->id);
        any = true;
    }
    if (!any)
        used += (size_t)snprintf(what + used, sizeof(what) - used, "the tree");
    if (c->cpu_type[0] && used < sizeof(what))
        snprintf(what + used, sizeof(what) - used, " on %s", c->cpu_type);
    if (c->wanted >= (unsigned)level)
        td_plan_leave_out(plan, what, why);
    else
        td_plan_leave_out_minor(plan, what, why);
}

static void tell_missing(struct td_plan *plan, const struct td_plan_level_ctx *c, int level,
                         td_tma_set now, td_tma_set all)
{
    const td_tma_set possible = nodes_of(c->core, c->possible, 0);
    td_tma_set later = 0, refused = 0, never = 0;
    char why_later[96], why_never[96];

    for (int parent = 0; parent < TD_NODE_COUNT && level > 1; parent++) {
        if (!is_of_level(parent, level - 1) || !(all & td_tma_bit(parent)) ||
            !has_child(~(td_tma_set)0, parent) || has_child(now, parent))
            continue;
        if (has_child(possible, parent))
            later |= td_tma_bit(parent);
        else if (has_child(all, parent))
            refused |= td_tma_bit(parent);
        else
            never |= td_tma_bit(parent);
    }
    snprintf(why_later, sizeof(why_later), "further runs count it: --passes %u", plan->passes + 1);
    snprintf(why_never, sizeof(why_never), "no formula for it in the description of %.32s",
             c->core->name);
    if (later)
        tell(plan, c, level, later, why_later);
    if (refused)
        tell(plan, c, level, refused, "what it needs cannot be counted here, as the groups above");
    if (!has_level(all, level))
        tell(plan, c, level, 0, why_never);
    else if (never)
        tell(plan, c, level, never, why_never);
}

void td_plan_tell_levels(struct td_plan *plan, const struct td_plan_level_ctx *c)
{
    const td_tma_set now = nodes_of(c->core, c->done, c->wanted),
                     all = nodes_of(c->core, UINT64_MAX, 0);
    size_t used = strlen(plan->levels);
    bool any = false;

    for (int level = 1; level <= TD_TMA_LEVELS; level++) {
        if (has_level(now, level) && used < sizeof(plan->levels)) {
            used += (size_t)snprintf(plan->levels + used, sizeof(plan->levels) - used, "%s%d",
                                     any               ? ", "
                                     : plan->levels[0] ? "; level "
                                                       : "level ",
                                     level);
            any = true;
        }
        if ((c->wanted == 0 || c->wanted >= (unsigned)level) &&
            (level == 1 || has_level(all, level - 1)))
            tell_missing(plan, c, level, now, all);
    }
    if (any && used < sizeof(plan->levels))
        snprintf(plan->levels + used, sizeof(plan->levels) - used, " on %.32s", c->core->name);
}
