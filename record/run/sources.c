/* SPDX-License-Identifier: MIT */
#include "record/run/sources.h"

#include <stdio.h>
#include <string.h>

static const struct td_source *const sources[] = {
#define X(symbol, number, name, modelled, meaning) [number] = &td_source_##name,
    TD_RECORDED_SOURCES(X)
#undef X
};

const struct td_source *td_source_of(const struct td_plan *plan)
{
    return sources[plan->source];
}

/* Without a PMU: the modelled core where it can run the command, or windows of what runs already,
 * else the clock. Adds to the reason why it is the clock. */
static const struct td_source *choose_without_pmu(const struct td_caps *caps,
                                                  const struct td_request *request, char *reason,
                                                  size_t reason_size)
{
    const char *option = td_request_sampling_option(request);
    const bool attached = request->scope == TD_SCOPE_PROCESS;
    const size_t len = strlen(reason);

    if (request->count || (!attached && request->scope != TD_SCOPE_COMMAND))
        return &td_source_clock;
    if (attached && caps->can_model)
        return &td_source_live; /* it samples, too */
    if (!option && caps->can_model)
        return &td_source_sim;
    if (caps->can_model)
        snprintf(reason + len, reason_size - len, "; %s is for sampling", option);
    else if (caps->cannot_model)
        snprintf(reason + len, reason_size - len, "; %s", caps->cannot_model);
    return &td_source_clock;
}

/* Whether the plan of the hardware source counts what it is for; else why not. */
static bool can_count(const struct td_caps *caps, const struct td_request *request, char *reason,
                      size_t reason_size)
{
    struct td_plan plan = {0};
    struct td_err err = TD_ERR_INIT;

    if (td_caps_core_pmu_count(caps) == 0) {
        const bool in_vm = caps->hypervisor[0] != '\0';

        snprintf(reason, reason_size, "no hardware counters%s (no core PMU%s%s)",
                 in_vm ? " in this VM" : "", in_vm ? " under " : "", caps->hypervisor);
        return false;
    }
    if (!td_caps_core_pmu(caps)) {
        const struct td_pmu *dead = td_caps_dead_pmu(caps);

        snprintf(reason, reason_size, "PMU %s: %s", dead->name, dead->fault);
        return false;
    }
    const int rc = td_plan_make(&plan, &td_source_pmu, caps, request, &err);
    bool counts = rc == TD_OK && plan.topdown;
    if (rc < 0)
        snprintf(reason, reason_size, "%s", err.text);
    else if (plan.forbidden)
        snprintf(reason, reason_size,
                 "perf_event_paranoid %s %lld and forbids hardware events to users",
                 td_caps_is(caps), (long long)caps->paranoid);
    else if (!counts)
        snprintf(reason, reason_size, "%s",
                 plan.left_out_count ? plan.left_out[0].why : "the PMU counts no slots");
    for (size_t i = 0; i < caps->pmu_count && counts; i++) {
        counts = !caps->pmus[i].refused;
        if (!counts)
            snprintf(reason, reason_size, "PMU %s: %s", caps->pmus[i].name, caps->pmus[i].fault);
    }
    td_plan_release(&plan);
    return counts;
}

/* `reason`: why it is not `pmu`, "" when the user's words say so. */
static const struct td_source *choose(const struct td_caps *caps, const struct td_request *request,
                                      char *reason, size_t reason_size)
{
    reason[0] = '\0';
    if (request->source != TD_SOURCE_NONE)
        return sources[request->source];
    if (request->toggle)
        return &td_source_sim;
    if (request->groups.len)
        return &td_source_pmu;
    /* An event asked for by name is its own reason. */
    if (request->events.len)
        return &td_source_clock;
    if (can_count(caps, request, reason, reason_size))
        return &td_source_pmu;
    return choose_without_pmu(caps, request, reason, reason_size);
}

int td_source_plan(struct td_plan *plan, const struct td_caps *caps,
                   const struct td_request *request, struct td_err *err)
{
    char reason[sizeof(plan->source_reason)];
    const struct td_source *source = choose(caps, request, reason, sizeof(reason));
    const int rc = td_plan_make(plan, source, caps, request, err);

    memcpy(plan->source_reason, reason, sizeof(reason));
    return rc;
}
