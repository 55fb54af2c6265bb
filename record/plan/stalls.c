/* SPDX-License-Identifier: MIT */
#include "record/plan/stalls.h"

#include "base/mem.h"
#include "formats/cores/stalls.h"
#include "record/plan/plan.h"

static const char *const names[TD_PLAN_STALL_SETS_MAX] = {
    "stalls_1",  "stalls_2",  "stalls_3",  "stalls_4",  "stalls_5",  "stalls_6",
    "stalls_7",  "stalls_8",  "stalls_9",  "stalls_10", "stalls_11", "stalls_12",
    "stalls_13", "stalls_14", "stalls_15", "stalls_16",
};

/* Whether the machine and this user may count these events at all. */
static bool allowed(const struct td_pmu_core *core, const struct td_caps *caps,
                    td_pmu_event_set events)
{
    struct td_pmu_group one = {.name = "one", .count = 1};

    for (uint32_t e = 0; e < core->event_count; e++) {
        one.events[0] = e;
        if (events & td_pmu_event_bit(e) &&
            ((caps->hypervisor[0] && td_pmu_group_pair(core, &one)) ||
             (!td_caps_system_wide(caps) && td_pmu_group_any(core, &one))))
            return false;
    }
    return true;
}

static td_pmu_event_set events_of(const struct td_pmu_group *set)
{
    td_pmu_event_set events = 0;

    for (uint32_t i = 0; i < set->count; i++)
        events |= td_pmu_event_bit(set->events[i]);
    return events;
}

/* Adds what of `events` is missing in the set, when all of it fits the counters. */
static bool add_to(struct td_pmu_group *set, td_pmu_event_set events,
                   const struct td_pmu_core *core, const struct td_caps *caps,
                   const struct td_pmu *pmu)
{
    struct td_pmu_counters counters = td_pmu_counters_free(core, caps, pmu);
    struct td_pmu_group more = *set;

    events &= ~events_of(set);
    for (uint32_t e = 0; e < core->event_count; e++) {
        if (!(events & td_pmu_event_bit(e)))
            continue;
        if (more.count == TD_PLAN_EVENTS_MAX)
            return false;
        more.events[more.count++] = e;
    }
    if (!td_pmu_counters_take(&counters, core, more.events, more.count))
        return false;
    *set = more;
    return true;
}

/* What the sets are made for. */
struct maker {
    struct td_pmu_group *sets;
    size_t count;
    td_pmu_event_set clock;
    const struct td_pmu_core *core;
    const struct td_caps *caps;
    const struct td_pmu *pmu;
};

/* Into the first set that has counters left for all of them, or a new one. */
static bool place(struct maker *m, td_pmu_event_set events)
{
    for (size_t s = 0; s < m->count; s++) {
        if (add_to(&m->sets[s], events, m->core, m->caps, m->pmu))
            return true;
    }
    if (m->count == TD_PLAN_STALL_SETS_MAX)
        return false;
    struct td_pmu_group *fresh = &m->sets[m->count];
    *fresh = (struct td_pmu_group){.name = names[m->count]};
    if (!add_to(fresh, m->clock, m->core, m->caps, m->pmu) ||
        !add_to(fresh, events, m->core, m->caps, m->pmu))
        return false;
    m->count++;
    return true;
}

size_t td_plan_stall_sets(struct td_pmu_group sets[TD_PLAN_STALL_SETS_MAX],
                          const struct td_pmu_core *core, const struct td_caps *caps,
                          const struct td_pmu *pmu)
{
    struct td_stall_formulas *formulas = td_stall_formulas_new(core);
    struct maker m = {.sets = sets, .core = core, .caps = caps, .pmu = pmu};

    m.clock = td_stall_events(formulas, TD_STALL_CYCLES);
    td_pmu_event_set done = m.clock;
    for (int i = 0; i < TD_STALL_COUNT && m.clock; i++) {
        const td_pmu_event_set events = td_stall_events(formulas, (enum td_stall_count)i) & ~done;

        if (!events || !allowed(core, caps, events))
            continue;
        done |= events;
        if (place(&m, events))
            continue;
        /* More than all counters hold: in several sets, which the clock that they share joins. */
        for (uint32_t e = 0; e < core->event_count; e++) {
            if (events & td_pmu_event_bit(e))
                place(&m, td_pmu_event_bit(e));
        }
    }
    td_stall_formulas_free(formulas);
    return m.count;
}
