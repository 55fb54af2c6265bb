/* SPDX-License-Identifier: MIT */
/*
 * Two counters of one event in one group count the same, so that two that overflow a distance apart
 * do so for ever: the kernel carries what is left of a period over each overflow and over each time
 * that the events are taken off the CPU (x86_perf_event_set_period, armpmu_event_set_period). What
 * sets the distance is when each of them began its period, and PERF_EVENT_IOC_PERIOD begins it
 * anew (__perf_event_period; record/events/pair_offset.c).
 *
 * It reaches the event of its descriptor and no copies of it: those that threads inherit begin both
 * periods at once (inherit_event, perf_event_alloc), and no period, event or frequency control
 * makes a distance of that. So there are pairs on whole CPUs alone.
 */
#include "record/plan/pairs.h"

#include <linux/perf_event.h>
#include <stdio.h>

/* Of CPUs that do not say. */
#define USUAL_HZ UINT64_C(3000000000)
/* From one sampler's begin to the other's. The end of the first one's interrupt is in between, some
 * hundred cycles of the kernel and of caches that it left cold, and should be little of it. */
#define PAIR_NS 5000

const char *td_plan_pairs_refusal(const struct td_plan *plan)
{
    if (plan->method == TD_METHOD_TASK)
        return "two counters that threads inherit start together, so they keep no distance: on "
               "whole CPUs they do, where a counter is left (sudo tdrec --method cpu)";
    if (plan->scope == TD_SCOPE_CGROUP)
        return "a cgroup's counters run only while it does, so that nobody sets them a distance "
               "apart: on whole CPUs they keep one (sudo tdrec -a)";
    return NULL;
}

void td_plan_pair_group(struct td_plan_group *group, uint64_t counts_hz)
{
    struct td_plan_event *sampler = &group->events[group->sampler];

    /* The kernel's control of a frequency moves periods about, each by itself. */
    if (sampler->frequency_hz)
        sampler->period = 2 * counts_hz / sampler->frequency_hz;
    else
        sampler->period *= 2;
    sampler->frequency_hz = 0;
    group->second = group->event_count++;
    group->events[group->second] = *sampler;
    group->events[group->second].member = true;
    group->events[group->second].sideband = false;
    group->events[group->second].on_exec = false;
    group->events[group->second].pinned = false;
    group->attribution = TD_ATTRIBUTION_PAIRED;
    group->pair_ns = PAIR_NS;
}

void td_plan_tell_no_pairs(struct td_plan *plan, const struct td_request *request, const char *why)
{
    if (request->pairs == TD_PAIRS_ON)
        td_plan_leave_out(plan, "pairs of samples", why);
    else
        td_plan_leave_out_minor(plan, "pairs of samples", why);
}

void td_plan_pair_named(struct td_plan *plan, const struct td_caps *caps,
                        const struct td_request *request)
{
    const char *why = td_plan_pairs_refusal(plan);
    bool any = false;

    if (request->pairs != TD_PAIRS_ON)
        return;
    for (size_t g = 0; g < plan->group_count && !why; g++) {
        struct td_plan_group *group = &plan->groups[g];
        const bool samples = group->sampler < group->event_count;
        const struct td_plan_event *sampler = &group->events[samples ? group->sampler : 0];

        if (!samples || !(sampler->sample_type & PERF_SAMPLE_READ) ||
            sampler->type == PERF_TYPE_SOFTWARE || group->event_count == TD_PLAN_EVENTS_MAX)
            continue;
        td_plan_pair_group(group, td_plan_cycles_hz(td_caps_core_pmu(caps)));
        any = true;
    }
    if (!why && !any)
        why = "they are of groups of hardware events, as -e {cycles,instructions}:S";
    if (why)
        td_plan_tell_no_pairs(plan, request, why);
}

uint64_t td_plan_cycles_hz(const struct td_pmu *pmu)
{
    return pmu && pmu->max_khz ? pmu->max_khz * 1000 : USUAL_HZ;
}
