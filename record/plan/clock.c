/* SPDX-License-Identifier: MIT */
/* The plan of the `clock` source, and of events asked for by name. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/plan/plan.h"
#include "record/plan/latency.h"
#include "record/plan/named.h"
#include "record/plan/pairs.h"

static uint64_t sample_type(const struct td_plan_event *event, size_t samplers)
{
    uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

    /* A clock's period is fixed when it is opened; of other events it varies. */
    if (event->unit != TD_UNIT_NS && event->frequency_hz)
        type |= PERF_SAMPLE_PERIOD;
    if (samplers > 1)
        type |= PERF_SAMPLE_IDENTIFIER;
    return type;
}

/* Mappings and forks must be seen while nothing is sampled (-D, --control), on every CPU (-C);
 * counts of single threads need to know of each new one. */
bool td_plan_needs_tracker(const struct td_request *request)
{
    if (request->count)
        return request->per_thread && request->scope != TD_SCOPE_THREAD;
    return request->delay_ms > 0 || request->start_off || request->control || request->off_cpu ||
           request->scope == TD_SCOPE_CPUS;
}

bool td_plan_is_tracker(const struct td_plan_group *group)
{
    return group->events[0].at_once;
}

void td_plan_add_tracker(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request)
{
    struct td_plan_group *group = td_plan_add_group(plan);
    struct td_plan_event *event = &group->events[0];

    *event = td_plan_event_init(plan, caps, request);
    snprintf(event->name, sizeof(event->name), "dummy");
    snprintf(group->name, sizeof(group->name), "tracker");
    event->type = PERF_TYPE_SOFTWARE;
    event->config[0] = PERF_COUNT_SW_DUMMY;
    event->sideband = true;
    event->inherit = plan->method == TD_METHOD_TASK && plan->scope != TD_SCOPE_THREAD;
    event->on_exec = false;
    event->at_once = true;
    event->exclude_idle = false;
    event->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    group->event_count = 1;
    group->sampler = 1;
    group->role = TD_ROLE_METRIC;
    group->pass = 0;
    if (plan->scope != TD_SCOPE_THREAD)
        td_cpulist_copy(&group->cpus, &caps->online);
}

void td_plan_decide_rate(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request)
{
    const uint64_t most = (uint64_t)caps->max_sample_rate;
    char what[64], why[128];

    if (request->period)
        return;
    plan->frequency_hz = request->frequency_max ? most : request->frequency_hz;
    if (plan->frequency_hz <= most)
        return;
    plan->frequency_hz = most;
    snprintf(what, sizeof(what), "-F %llu", (unsigned long long)request->frequency_hz);
    snprintf(why, sizeof(why), "kernel.perf_event_max_sample_rate is %llu: sampling at that rate",
             (unsigned long long)most);
    td_plan_leave_out(plan, what, why);
}

void td_plan_note_privilege(struct td_plan *plan, const struct td_caps *caps,
                            const struct td_request *request)
{
    if (!td_caps_kernel(caps))
        snprintf(plan->privilege, sizeof(plan->privilege),
                 "kernel time is not %s: perf_event_paranoid %s %lld (%ssudo sysctl "
                 "kernel.perf_event_paranoid=1 allows it)",
                 request->count ? "counted" : "sampled", td_caps_is(caps),
                 (long long)caps->paranoid, td_caps_where(caps));
}

/* The first group reports the mappings unless a tracker does; several samplers share a ring and
 * must say which of them a sample is from. */
static void finish_groups(struct td_plan *plan, const struct td_caps *caps,
                          const struct td_request *request, bool tracker)
{
    const size_t samplers = plan->group_count - tracker;

    for (size_t i = 0; i < plan->group_count; i++) {
        struct td_plan_group *group = &plan->groups[i];
        const bool samples = group->sampler < group->event_count;
        struct td_plan_event *event = &group->events[samples ? group->sampler : 0];

        if (group->waits)
            continue;
        if (samples) {
            event->sample_type = sample_type(event, samplers + tracker);
            td_plan_add_latency(group, caps, event);
            td_plan_add_call_graph(event, caps, request);
        } else if (samplers + tracker > 1) {
            event->sample_type |= PERF_SAMPLE_IDENTIFIER;
        }
        if (group->event_count > 1)
            event->sample_type |= PERF_SAMPLE_READ;
    }
    td_plan_check_inherit(plan, caps);
    td_plan_pair_named(plan, caps, request);
    if (tracker)
        return;
    for (unsigned pass = 1, i = 0; pass <= plan->passes && i < plan->group_count; i++) {
        if (plan->groups[i].pass == pass) {
            plan->groups[i].events[0].sideband = true;
            pass++;
        }
    }
}

/* Groups that were asked for by name, in their order, as many in each run. */
static void spread_passes(struct td_plan *plan, size_t first)
{
    const size_t count = plan->group_count - first;

    if (plan->passes > count)
        plan->passes = (unsigned)count;
    for (size_t i = 0; i < count; i++)
        plan->groups[first + i].pass = (unsigned)(i * plan->passes / count) + 1;
}

int td_plan_clock(struct td_plan *plan, const struct td_caps *caps,
                  const struct td_request *request, struct td_err *err)
{
    const bool tracker = td_plan_needs_tracker(request);
    const size_t first = tracker + (size_t)request->off_cpu; /* of those that were asked for */
    int rc = TD_OK;

    td_plan_decide_rate(plan, caps, request);
    td_plan_note_privilege(plan, caps, request);
    if (tracker)
        td_plan_add_tracker(plan, caps, request);
    if (request->off_cpu)
        td_plan_add_off_cpu(plan, caps, request);
    if (request->events.len == 0 && request->count)
        rc = td_plan_count_software(plan, caps, request, err);
    else if (request->events.len == 0)
        rc = td_plan_add_named(plan, caps, request, "cpu-clock", err);
    for (size_t i = 0; i < request->events.len && rc == TD_OK; i++)
        rc = td_plan_add_named(plan, caps, request, request->events.items[i], err);
    if (rc < 0)
        return rc;
    if (plan->group_count == first)
        return td_fail(err, TD_EUSAGE, "-e names no event");
    if (plan->scope == TD_SCOPE_CPUS && plan->groups[plan->group_count - 1].cpus.len == 0)
        return td_fail(err, TD_EUSAGE, "-C: none of these CPUs is online");
    for (size_t i = 0; i < plan->group_count; i++) {
        /* What was asked for by name comes from where it is counted. */
        if (td_plan_group_needs_pmu(&plan->groups[i]))
            plan->source = TD_SOURCE_PMU;
    }
    spread_passes(plan, first);
    if (!request->count)
        finish_groups(plan, caps, request, tracker);
    return td_plan_check_at_once(plan, caps, err);
}
