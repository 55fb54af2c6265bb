/* SPDX-License-Identifier: MIT */
#include "record/plan/source.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "record/plan/plan.h"

static const struct td_source sources[] = {
    {.name = "pmu", .about = "hardware top-down events", .plan = td_plan_pmu},
    {.name = "sim", .about = "the modelled core under qemu", .plan = td_plan_sim},
    {.name = "clock", .about = "time, by cpu-clock", .plan = td_plan_clock},
    {.name = "hybrid", .about = "measured time, modelled categories", .plan = td_plan_hybrid},
};

static const struct td_source *find(const char *name)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(sources); i++) {
        if (strcmp(sources[i].name, name) == 0)
            return &sources[i];
    }
    return NULL;
}

static int choose_named(const struct td_source **ret, const char *name, struct td_err *err)
{
    const char *names[TD_ARRAY_SIZE(sources) + 2] = {"auto"};
    const struct td_source *source = find(name);

    for (size_t i = 0; i < TD_ARRAY_SIZE(sources); i++)
        names[i + 1] = sources[i].name;
    if (!source) {
        const char *near = td_nearest(name, names);

        return td_fail(err, TD_EUSAGE,
                       "--source %s: there is auto, pmu, sim, clock and hybrid%s%s%s", name,
                       near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    if (!source->plan)
        return td_fail(err, TD_EUNSUPPORTED,
                       "--source %s (%s) is not in this build: use --source clock", name,
                       source->about);
    *ret = source;
    return TD_OK;
}

/* Without a PMU: the modelled core where it can run the command, else the clock. Adds to the
 * reason why it is the clock. */
static const struct td_source *choose_without_pmu(const struct td_caps *caps,
                                                  const struct td_request *request, char *reason,
                                                  size_t reason_size)
{
    const char *option = td_request_sampling_option(request);
    const size_t len = strlen(reason);

    if (request->scope != TD_SCOPE_COMMAND || request->count)
        return find("clock");
    if (!option && caps->can_model)
        return find("sim");
    if (caps->can_model)
        snprintf(reason + len, reason_size - len, "; %s is for sampling", option);
    else if (caps->cannot_model)
        snprintf(reason + len, reason_size - len, "; %s", caps->cannot_model);
    return find("clock");
}

/* Whether the plan of the hardware source counts what it is for; else why not. */
static bool can_count(const struct td_caps *caps, const struct td_request *request, char *reason,
                      size_t reason_size)
{
    struct td_request hardware = *request;
    struct td_plan plan = {0};
    struct td_err err = TD_ERR_INIT;

    if (td_caps_core_pmu_count(caps) == 0) {
        snprintf(reason, reason_size, "no core PMU%s%s%s", caps->hypervisor[0] ? " (" : "",
                 caps->hypervisor, caps->hypervisor[0] ? " hides it)" : "");
        return false;
    }
    if (!td_caps_core_pmu(caps)) {
        const struct td_pmu *dead = td_caps_dead_pmu(caps);

        snprintf(reason, reason_size, "PMU %s: %s", dead->name, dead->fault);
        return false;
    }
    hardware.source = "pmu";
    const int rc = td_plan_make(&plan, caps, &hardware, &err);
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

int td_source_choose(const struct td_source **ret, const struct td_caps *caps,
                     const struct td_request *request, char *reason, size_t reason_size,
                     struct td_err *err)
{
    reason[0] = '\0';
    if (strcmp(request->source, "auto") != 0)
        return choose_named(ret, request->source, err);
    *ret = find("clock");
    /* An event asked for by name is its own reason. */
    if (request->events.len)
        return TD_OK;
    if (can_count(caps, request, reason, reason_size)) {
        *ret = find("pmu");
        return TD_OK;
    }
    *ret = choose_without_pmu(caps, request, reason, reason_size);
    return TD_OK;
}
