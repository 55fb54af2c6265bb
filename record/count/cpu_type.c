/* SPDX-License-Identifier: MIT */
#include "record/count/cpu_type.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/machine/system.h"

#define MHZ_PER_GHZ 1000.0

static bool counts_on(const struct td_plan *plan, const char *cpu_type)
{
    for (size_t g = 0; g < plan->group_count; g++) {
        if (plan->groups[g].events[0].type != PERF_TYPE_SOFTWARE &&
            strcmp(plan->groups[g].cpu_type, cpu_type) == 0)
            return true;
    }
    return false;
}

struct td_count_cpu_type *td_count_cpu_types_new(const struct td_caps *caps,
                                                 const struct td_plan *plan, size_t *count)
{
    const bool hybrid = td_caps_core_pmu_count(caps) > 1;
    const struct td_pmu_cpu cpu = td_pmu_cpu_of(caps->cpu_id);
    struct td_system system;
    struct td_count_cpu_type *parts = td_xcalloc(caps->pmu_count + 1, sizeof(*parts));

    *count = 0;
    td_system_read(&system, caps);
    const double mhz = system.mhz_max > 0 ? system.mhz_max : system.mhz;
    for (size_t i = 0; i < caps->pmu_count; i++) {
        const struct td_pmu *pmu = &caps->pmus[i];
        struct td_count_cpu_type *part = &parts[*count];

        if (!pmu->core)
            continue;
        snprintf(part->cpu_type, sizeof(part->cpu_type), "%.31s", hybrid ? pmu->name : "");
        if (!counts_on(plan, part->cpu_type) ||
            td_pmu_choose(&part->choice, caps, pmu, NULL) != TD_OK)
            continue;
        part->width = part->choice.core->width_from_caps ? pmu->slot_width : 0;
        part->model = cpu.model;
        part->described_ghz = mhz > 0 ? mhz / MHZ_PER_GHZ : (double)NAN;
        ++*count;
    }
    return parts;
}

void td_count_cpu_types_free(struct td_count_cpu_type *parts, size_t count)
{
    for (size_t i = 0; parts && i < count; i++)
        td_pmu_choice_release(&parts[i].choice);
    free(parts);
}

/* The description's event for one of the plan; -1: none. Named events are known by their code. */
static int event_of(const struct td_pmu_core *core, const struct td_plan_event *event)
{
    const int named = td_pmu_core_event(core, event->name);

    if (named >= 0 || event->unit == TD_UNIT_CYCLES)
        return named >= 0 ? named : td_pmu_core_event(core, "cycles");
    if (event->unit == TD_UNIT_INSTRUCTIONS)
        return td_pmu_core_event(core, "inst_retired");
    for (size_t i = 0; i < core->event_count && event->type >= PERF_TYPE_RAW; i++) {
        if (!core->events[i].given && core->events[i].config == event->config[0] &&
            core->events[i].config1 == event->config[1])
            return (int)i;
    }
    return -1;
}

static bool is_of(const struct td_count_cpu_type *part, const struct td_plan_group *group)
{
    return group->events[0].type != PERF_TYPE_SOFTWARE &&
           strcmp(group->cpu_type, part->cpu_type) == 0;
}

/* The time that the events of a task count in is the time it runs; of a whole CPU, also that when
 * it is idle, and of user code alone, also that in the kernel. */
static bool runs_while_counting(const struct td_plan *plan, const struct td_plan_event *event)
{
    return plan->method == TD_METHOD_TASK && event->unit == TD_UNIT_CYCLES &&
           !event->exclude_kernel && !event->exclude_user;
}

double td_count_cpu_type_clock(const struct td_count_cpu_type *part, const struct td_counts *counts,
                               bool *counted)
{
    const struct td_plan *plan = counts->plan;

    *counted = false;
    for (size_t g = 0; g < plan->group_count; g++) {
        const struct td_plan_group *group = &plan->groups[g];

        for (size_t e = 0; is_of(part, group) && e < group->event_count; e++) {
            const struct td_count *count = td_counts_get(counts, g, e);

            if (!runs_while_counting(plan, &group->events[e]) || count->running_ns == 0 ||
                count->value == 0)
                continue;
            *counted = true;
            return (double)count->value / (double)count->running_ns;
        }
    }
    return part->described_ghz;
}

/* Nothing counted, and what is known beside counts. */
static double *unknown_values(const struct td_count_cpu_type *part, const struct td_counts *counts)
{
    const struct td_pmu_core *core = part->choice.core;
    double *values = td_xcalloc(core->event_count + 1, sizeof(*values));
    bool counted = false;
    const struct td_pmu_given given = {.ghz = td_count_cpu_type_clock(part, counts, &counted),
                                       .model = part->model};

    for (size_t i = 0; i < core->event_count; i++)
        values[i] = NAN;
    td_pmu_core_give(core, &given, values);
    return values;
}

/* A group's counts, by the description's events. */
static double *group_values(const struct td_count_cpu_type *part, const struct td_counts *counts,
                            size_t g)
{
    const struct td_plan_group *group = &counts->plan->groups[g];
    double *values = unknown_values(part, counts);

    for (size_t e = 0; e < group->event_count; e++) {
        const int event = event_of(part->choice.core, &group->events[e]);

        if (event >= 0)
            values[event] = td_count_estimate(td_counts_get(counts, g, e));
    }
    return values;
}

/* What a group's counts are multiplied by to fit those that are known already: the first event that
 * both have, which the leader of most groups is. Ratios inside each group stay what they are. */
static double factor_of(const struct td_count_cpu_type *part, const struct td_counts *counts,
                        size_t g, const double *known, const double *values)
{
    const struct td_plan_group *group = &counts->plan->groups[g];

    for (size_t e = 0; e < group->event_count; e++) {
        const int event = event_of(part->choice.core, &group->events[e]);

        if (event >= 0 && values[event] > 0 && known[event] > 0)
            return known[event] / values[event];
    }
    return 1;
}

/* All groups together; an event that several count is the first one's. */
double *td_count_cpu_type_values(const struct td_count_cpu_type *part,
                                 const struct td_counts *counts)
{
    double *all = unknown_values(part, counts);

    for (size_t g = 0; g < counts->plan->group_count; g++) {
        if (!is_of(part, &counts->plan->groups[g]))
            continue;
        double *values = group_values(part, counts, g);
        const double factor = factor_of(part, counts, g, all, values);

        for (size_t i = 0; i < part->choice.core->event_count; i++) {
            if (isnan(all[i]))
                all[i] = values[i] * factor;
        }
        free(values);
    }
    return all;
}

bool td_count_cpu_type_tree(const struct td_count_cpu_type *part, const struct td_counts *counts,
                            struct td_pmu_tree *tree)
{
    double *values = td_count_cpu_type_values(part, counts);
    bool known = false;

    td_pmu_core_shares(part->choice.core, values, part->width, tree);
    free(values);
    for (int n = 0; n < TD_NODE_COUNT; n++)
        known = known || (td_tma_info((enum td_tma_node)n)->level == 1 && !isnan(tree->share[n]));
    return known;
}

double td_count_cpu_type_metric(const struct td_count_cpu_type *part,
                                const struct td_counts *counts, const struct td_pmu_metric *metric)
{
    double value = NAN;

    for (size_t g = 0; g < counts->plan->group_count && isnan(value); g++) {
        if (!is_of(part, &counts->plan->groups[g]))
            continue;
        double *values = group_values(part, counts, g);

        value = td_pmu_core_metric(part->choice.core, metric, values, part->width);
        free(values);
    }
    if (!isnan(value))
        return value;
    double *values = td_count_cpu_type_values(part, counts);
    value = td_pmu_core_metric(part->choice.core, metric, values, part->width);
    free(values);
    return value;
}

bool td_count_cpu_type_high(const struct td_count_cpu_type *part, const struct td_pmu_tree *tree,
                            enum td_tma_node node)
{
    for (; node != TD_NODE_NONE; node = td_tma_info(node)->parent) {
        /* A threshold or a share that is not known is not exceeded. */
        if (!(tree->share[node] > part->choice.core->thresholds[node]))
            return false;
    }
    return true;
}
