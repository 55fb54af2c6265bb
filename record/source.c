/* SPDX-License-Identifier: MIT */
#include "record/source.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "record/plan.h"

static const struct td_source sources[] = {
    {.name = "pmu", .about = "hardware top-down events", .plan = td_plan_pmu},
    {.name = "sim", .about = "the modelled core under qemu", .plan = td_plan_sim},
    {.name = "clock", .about = "time, by cpu-clock", .plan = td_plan_clock},
    {.name = "hybrid", .about = "measured time, modelled categories"},
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

int td_source_choose(const struct td_source **ret, const struct td_caps *caps,
                     const struct td_request *request, char *reason, size_t reason_size,
                     struct td_err *err)
{
    const struct td_pmu *pmu = td_caps_core_pmu(caps);

    reason[0] = '\0';
    if (strcmp(request->source, "auto") != 0)
        return choose_named(ret, request->source, err);
    /* An event asked for by name is its own reason. */
    if (request->events.len == 0 && pmu)
        snprintf(reason, reason_size, "hardware top-down is not in this build");
    else if (request->events.len == 0)
        snprintf(reason, reason_size, "no core PMU%s%s%s", caps->hypervisor[0] ? " (" : "",
                 caps->hypervisor, caps->hypervisor[0] ? " hides it)" : "");
    *ret = find("clock");
    return TD_OK;
}
