/* SPDX-License-Identifier: MIT */
#include "record/machine/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"
#include "record/machine/pmu_core.h"

/* The group that a recording would count: the first that gives a level of the tree, else the first.
 */
static const struct td_pmu_group *main_group(const struct td_pmu_core *core)
{
    for (size_t i = 0; i < core->group_count; i++) {
        if (core->groups[i].level > 0)
            return &core->groups[i];
    }
    return core->group_count ? core->groups : NULL;
}

/* The value of the event of this name; false when the group has none. */
static bool value_of(const struct td_pmu_core *core, const struct td_pmu_group *group,
                     const uint64_t *values, const char *name, uint64_t *ret)
{
    for (uint32_t i = 0; i < group->count; i++) {
        if (strcmp(core->events[group->events[i]].name, name) == 0) {
            *ret = values[i];
            return true;
        }
    }
    return false;
}

static bool is_time(const char *name)
{
    return strcmp(name, "cycles") == 0 || strcmp(name, "core_clocks") == 0 ||
           strcmp(name, "inst_retired") == 0;
}

/* What is wrong with the counts as a whole; NULL when nothing is. */
static const char *judge_all(const struct td_pmu_core *core, const struct td_pmu_group *group,
                             const uint64_t *values)
{
    uint64_t cycles = 1;
    bool zero = true, equal = group->count > 2;

    for (uint32_t i = 0; i < group->count; i++) {
        zero = zero && values[i] == 0;
        equal = equal && values[i] == values[0];
    }
    if (zero)
        return "its counters stay at 0";
    if (equal)
        return "its counters all return the same value";
    return value_of(core, group, values, "cycles", &cycles) && cycles == 0
               ? "it counts no cycles although the program runs"
               : NULL;
}

/* What is wrong with the slots. A work that mispredicts has slots of bad speculation, and not all
 * of its slots are that. */
static const char *judge_slots(const struct td_pmu_core *core, const struct td_pmu_group *group,
                               const uint64_t *values)
{
    uint64_t slots = 0, lost = 0;
    bool zero = true;

    if (value_of(core, group, values, "slots", &slots) &&
        value_of(core, group, values, "topdown_bad_spec", &lost))
        return slots == 0      ? "its slots stay at 0"
               : lost == 0     ? "its perf metrics stay at 0"
               : slots == lost ? "its perf metrics are the slots themselves"
                               : NULL;
    for (uint32_t i = 0; i < group->count; i++)
        zero = zero && (values[i] == 0 || is_time(core->events[group->events[i]].name));
    return zero && group->level > 0 ? "its top-down events stay at 0" : NULL;
}

static void judge(struct td_pmu *pmu, const struct td_caps *caps, const struct td_pmu_core *core,
                  const struct td_pmu_group *group, const uint64_t *values)
{
    const char *all = judge_all(core, group, values);
    const char *slots = all ? NULL : judge_slots(core, group, values);

    pmu->dead = all != NULL;
    pmu->no_slots = slots != NULL;
    if (!all && !slots)
        return;
    snprintf(pmu->fault, sizeof(pmu->fault), "%s%s%s%s", all ? all : slots,
             caps->hypervisor[0] ? " (hypervisor: " : "", caps->hypervisor,
             caps->hypervisor[0] ? ")" : "");
}

/* An event that any general counter takes and only they: -1 when there is none. */
static int64_t any_counter_event(const struct td_pmu_core *core, uint32_t general)
{
    for (uint32_t i = 0; i < core->event_count; i++) {
        const struct td_pmu_event *event = &core->events[i];

        if (event->fixed < 0 && !event->metric && !event->alone && !event->given &&
            (event->counters & general) == general)
            return i;
    }
    return -1;
}

/* Counts one event on all general counters at once: those that stay at 0 are not ours. Only in
 * virtual machines: elsewhere the kernel knows which counters there are. */
static void find_idle(struct td_pmu *pmu, const struct td_caps *caps,
                      const struct td_pmu_core *core, td_probe_read_fn *read, void *ctx)
{
    const struct td_pmu_counters ours = td_pmu_counters_free(core, caps, pmu);
    const uint32_t general = ours.general;
    const int64_t event = any_counter_event(core, general);
    struct td_pmu_group all = {.name = "all", .count = (uint32_t)__builtin_popcount(general)};
    uint64_t values[TD_PMU_GROUP_EVENTS_MAX] = {0};
    uint32_t zeros = 0;

    if (!caps->hypervisor[0] || event < 0 || all.count > TD_PMU_GROUP_EVENTS_MAX)
        return;
    for (uint32_t i = 0; i < all.count; i++)
        all.events[i] = (uint32_t)event;
    if (read(ctx, pmu, core, &all, values) != 0)
        return;
    for (uint32_t i = 0; i < all.count; i++)
        zeros += values[i] == 0;
    if (zeros == 0 || zeros == all.count)
        return;
    pmu->idle_counters = zeros;
    pmu->counters_at_once = all.count - zeros + (uint32_t)__builtin_popcount(ours.fixed);
}

static void probe_one(struct td_caps *caps, struct td_pmu *pmu, td_probe_read_fn *read, void *ctx)
{
    struct td_pmu_choice choice = {0};
    uint64_t values[TD_PMU_GROUP_EVENTS_MAX] = {0};

    if (td_pmu_choose(&choice, caps, pmu, NULL) < 0)
        return;
    const struct td_pmu_group *group = main_group(choice.core);
    const int code = group ? read(ctx, pmu, choice.core, group, values) : -1;
    pmu->refused = code > 0;
    if (code > 0)
        snprintf(pmu->fault, sizeof(pmu->fault), "the kernel refuses its events (%s)",
                 strerror(code));
    else if (code == 0)
        judge(pmu, caps, choice.core, group, values);
    if (code == 0 && !pmu->dead)
        find_idle(pmu, caps, choice.core, read, ctx);
    td_pmu_choice_release(&choice);
}

void td_probe(struct td_caps *caps, td_probe_read_fn *read, void *ctx)
{
    for (size_t i = 0; i < caps->pmu_count; i++) {
        if (caps->pmus[i].core)
            probe_one(caps, &caps->pmus[i], read, ctx);
    }
}

/* "cpu_atom/cycles: 7" where the machine has several kinds of cores, else "cycles: 7". */
static char *recorded_value(const char *text, const struct td_pmu *pmu, const char *event)
{
    char *key = td_xasprintf("%s/%s", pmu->name, event);
    char *value = td_procfs_field(text, key);

    free(key);
    return value ? value : td_procfs_field(text, event);
}

int td_probe_recorded(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                      const struct td_pmu_group *group, uint64_t *values)
{
    const struct td_caps *caps = ctx;
    char *text = td_procfs_text(caps->root, "/probe");
    char *most = text ? recorded_value(text, pmu, "counters") : NULL;
    uint64_t counters = TD_PMU_GROUP_EVENTS_MAX;
    bool good = text != NULL && (!most || td_parse_u64(most, &counters));

    for (uint32_t i = 0; i < group->count && good; i++) {
        char *word = recorded_value(text, pmu, core->events[group->events[i]].name);

        good = word && td_parse_u64(word, &values[i]);
        if (i >= counters)
            values[i] = 0;
        free(word);
    }
    free(most);
    free(text);
    return good ? 0 : -1;
}
