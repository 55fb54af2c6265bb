/* SPDX-License-Identifier: MIT */
#include "record/plan/fit.h"

#include <linux/perf_event.h>
#include <string.h>

#include "record/machine/pmu_core.h"

/* Intel's reference cycles have this fixed counter, and PERF_COUNT_HW_REF_CPU_CYCLES. */
#define REF_CYCLES_CONFIG  0x300
#define REF_CYCLES_COUNTER 2

static bool is_of(const struct td_plan_event *event, const struct td_pmu *pmu)
{
    return event->type == pmu->type || event->type == PERF_TYPE_RAW ||
           event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE;
}

/* The event by its name in the description or by its code; NULL: the description has none such. */
static const struct td_pmu_event *described(const struct td_pmu_core *core,
                                            const struct td_plan_event *event)
{
    const int named = event->unit == TD_UNIT_CYCLES ? td_pmu_core_event(core, "cycles")
                      : event->unit == TD_UNIT_INSTRUCTIONS
                          ? td_pmu_core_event(core, "inst_retired")
                          : -1;

    if (named >= 0)
        return &core->events[named];
    for (size_t i = 0; i < core->event_count; i++) {
        if (event->type != PERF_TYPE_HARDWARE && event->type != PERF_TYPE_HW_CACHE &&
            core->events[i].config == event->config[0] &&
            core->events[i].config1 == event->config[1])
            return &core->events[i];
    }
    return NULL;
}

/* What is not described can be on any general counter: nothing is refused that may fit. */
static struct td_pmu_event counted(const struct td_pmu_core *core,
                                   const struct td_plan_event *event)
{
    const struct td_pmu_event *known = described(core, event);
    const uint32_t code = (uint32_t)event->config[0];
    const bool reference =
        core->matches[0].vendor == TD_VENDOR_INTEL &&
        (event->type == PERF_TYPE_HARDWARE ? code == PERF_COUNT_HW_REF_CPU_CYCLES
                                           : event->config[0] == REF_CYCLES_CONFIG);

    if (known)
        return *known;
    return (struct td_pmu_event){
        .name = event->name, .fixed = reference ? REF_CYCLES_COUNTER : -1, .counters = UINT32_MAX};
}

/* What the kernel knows of: counters that the host of a virtual machine keeps for itself are
 * another refusal (td_plan_check_at_once). */
static struct td_pmu_counters all_counters(const struct td_pmu_core *core,
                                           const struct td_caps *caps)
{
    const struct td_pmu whole = {.idle_counters = 0};

    return td_pmu_counters_free(core, caps, &whole);
}

/* Whether the group's hardware events from `from` up to `to` have counters at the same time. */
static bool fits(const struct td_plan_group *group, size_t from, size_t to,
                 const struct td_caps *caps, const struct td_pmu *pmu,
                 const struct td_pmu_core *core)
{
    struct td_pmu_counters counters = all_counters(core, caps);
    struct td_pmu_event events[TD_PLAN_EVENTS_MAX];
    uint32_t indexes[TD_PLAN_EVENTS_MAX];
    struct td_pmu_core theirs = *core;
    uint32_t count = 0;

    for (size_t i = from; i < to; i++) {
        if (!is_of(&group->events[i], pmu))
            continue;
        events[count] = counted(core, &group->events[i]);
        indexes[count] = count;
        count++;
    }
    theirs.events = events;
    theirs.event_count = count;
    return td_pmu_counters_take(&counters, &theirs, indexes, count);
}

/* The least number of runs that as many events each fit in. */
static size_t runs_of(const struct td_plan_group *group, const struct td_caps *caps,
                      const struct td_pmu *pmu, const struct td_pmu_core *core)
{
    for (size_t runs = 2; runs < group->event_count; runs++) {
        bool all = true;

        for (size_t run = 0; run < runs && all; run++) {
            const size_t from = (run * group->event_count + runs - 1) / runs;
            const size_t to = ((run + 1) * group->event_count + runs - 1) / runs;

            all = fits(group, from, to, caps, pmu, core);
        }
        if (all)
            return runs;
    }
    return group->event_count;
}

static int check_on(const struct td_plan_group *group, const struct td_caps *caps,
                    const struct td_pmu *pmu, const char *text, struct td_err *err)
{
    struct td_pmu_choice choice = {0};
    int rc = TD_OK;

    if (td_pmu_choose(&choice, caps, pmu, NULL) < 0)
        return TD_OK;
    /* What a core has that is not known is the kernel's to say. */
    const bool known = !choice.core->matches[0].any_model;
    if (known && !fits(group, 0, group->event_count, caps, pmu, choice.core))
        rc = td_fail(err, TD_EUSAGE,
                     "-e {%.*s}: its %zu events do not fit the %d counters of %s%s: without the "
                     "braces, --passes %zu counts them in as many runs",
                     (int)strcspn(text, "}"), text, group->event_count,
                     __builtin_popcount(all_counters(choice.core, caps).general),
                     choice.core->title, caps->nmi_watchdog ? " that the NMI watchdog leaves" : "",
                     runs_of(group, caps, pmu, choice.core));
    td_pmu_choice_release(&choice);
    return rc;
}

int td_plan_check_fit(const struct td_plan *plan, size_t first, const struct td_caps *caps,
                      const char *text, struct td_err *err)
{
    int rc = TD_OK;

    for (size_t g = first; g < plan->group_count && rc == TD_OK; g++) {
        const struct td_plan_group *group = &plan->groups[g];

        for (size_t i = 0; i < caps->pmu_count && rc == TD_OK && group->event_count > 1; i++) {
            const struct td_pmu *pmu = &caps->pmus[i];

            if (pmu->core && (!group->cpu_type[0] || strcmp(group->cpu_type, pmu->name) == 0))
                rc = check_on(group, caps, pmu, text, err);
        }
    }
    return rc;
}
