/* SPDX-License-Identifier: MIT */
/* What --count changes in a plan: nothing samples, every counter says how long it ran. */
#include <linux/perf_event.h>
#include <string.h>

#include "record/plan/plan.h"
#include "record/plan/named.h"

/* What any kernel counts, as perf stat's first lines. Switches and migrations happen in the
 * kernel: without the right to count there, they are 0 whatever happens. */
#define SOFTWARE_USER   "task-clock,page-faults"
#define SOFTWARE_KERNEL "task-clock,context-switches,cpu-migrations,page-faults"

void td_plan_count_only(struct td_plan_group *group)
{
    group->sampler = group->event_count;
    group->column_count = 0;
    for (size_t i = 0; i < group->event_count; i++) {
        struct td_plan_event *event = &group->events[i];

        event->period = event->frequency_hz = 0;
        event->precise_ip = 0; /* of samples */
        event->sample_type = event->branch_sample_type = 0;
        event->build_id = false;
        event->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
        if (group->event_count > 1)
            event->read_format |= PERF_FORMAT_GROUP;
    }
}

int td_plan_count_software(struct td_plan *plan, const struct td_caps *caps,
                           const struct td_request *request, struct td_err *err)
{
    const size_t first = plan->group_count;
    const int rc = td_plan_add_named(plan, caps, request,
                                     td_caps_kernel(caps) ? SOFTWARE_KERNEL : SOFTWARE_USER, err);

    /* They take no counter and so no turn: each run counts them. The first run's are told. */
    for (size_t i = first; i < plan->group_count; i++)
        plan->groups[i].pass = 1;
    return rc;
}

int td_plan_count_check(const struct td_plan *plan, const struct td_request *request,
                        struct td_err *err)
{
    const char *source = td_source_name(plan->source);

    if (td_source_is_modelled(plan->source))
        return td_fail(err, TD_EUSAGE,
                       "--count counts what runs, and %s models it: tdrec --source %s, then "
                       "tdreport, has the modelled slots",
                       source, source);
    if (request->stalls && plan->source != TD_SOURCE_PMU)
        return td_fail(err, TD_EUNSUPPORTED,
                       "--report stalls needs hardware counters, and there are none to be had here "
                       "(tdrec --doctor says why)");
    if (request->method == TD_METHOD_CPU && plan->scope != TD_SCOPE_SYSTEM &&
        plan->scope != TD_SCOPE_CPUS && plan->scope != TD_SCOPE_CGROUP)
        return td_fail(err, TD_EUSAGE,
                       "--method cpu with --count would count all that runs: -a does that");
    return TD_OK;
}
