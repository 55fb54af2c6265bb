/* SPDX-License-Identifier: MIT */
/* --off-cpu: the event that tells when threads leave the CPU and come back, and from where. */
#include <linux/perf_event.h>
#include <stdio.h>

#include "record/plan/plan.h"

/* Of a stack that waits: enough for those who called the C library. With -g it is as with -g. */
#define WAIT_STACK_BYTES 8192

/* The kernel takes the sample in its own code: who may not see that gets no samples of it, but may
 * know when the threads left and came back. */
void td_plan_add_off_cpu(struct td_plan *plan, const struct td_caps *caps,
                         const struct td_request *request)
{
    struct td_request stacks = *request;
    struct td_plan_group *group = td_plan_add_group(plan);
    struct td_plan_event *event = &group->events[0];
    const bool samples = td_caps_kernel(caps);

    *event = td_plan_event_init(plan, caps, request);
    snprintf(group->name, sizeof(group->name), "off-cpu");
    snprintf(event->name, sizeof(event->name), samples ? "context-switches" : "dummy");
    td_plan_cpus(&group->cpus, plan, caps, request);
    event->type = PERF_TYPE_SOFTWARE;
    event->config[0] = samples ? PERF_COUNT_SW_CONTEXT_SWITCHES : PERF_COUNT_SW_DUMMY;
    event->period = 1;
    event->switches = true;
    event->exclude_idle = false;
    event->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    group->event_count = 1;
    group->sampler = samples ? 0 : 1;
    group->role = TD_ROLE_METRIC;
    group->waits = true;
    group->pass = 0;
    if (!samples) {
        td_plan_leave_out(plan, "stacks of waits",
                          "the kernel samples them in its own code, which perf_event_paranoid "
                          "hides from users: waiting is told by thread");
        return;
    }
    event->sample_type |= PERF_SAMPLE_IP;
    /* The C library keeps no frame pointers, and branch records are of hardware events. */
    if (request->call_graph == TD_CALL_GRAPH_NONE || request->call_graph == TD_CALL_GRAPH_LBR) {
        stacks.call_graph = TD_CALL_GRAPH_AUTO;
        stacks.stack_bytes = WAIT_STACK_BYTES;
    }
    td_plan_add_call_graph(event, caps, &stacks);
}
