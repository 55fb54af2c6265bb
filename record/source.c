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

/* An option that only sampling has a meaning for; NULL when there is none. */
static const char *sampling_option(const struct td_request *request)
{
    const struct {
        bool given;
        const char *name;
    } options[] = {
        {request->frequency_given, "-F"},
        {request->period != 0, "-c"},
        {request->delay_ms != 0, "-D"},
        {request->duration_s > 0, "--duration"},
        {request->method != TD_METHOD_AUTO, "--method"},
        {request->ring_pages != 0, "-m"},
        {request->call_graph == TD_CALL_GRAPH_FP || request->call_graph == TD_CALL_GRAPH_DWARF ||
             request->call_graph == TD_CALL_GRAPH_LBR,
         "--call-graph"},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(options); i++) {
        if (options[i].given)
            return options[i].name;
    }
    return NULL;
}

/* Without a PMU: the modelled core where it can run the command, else the clock. Adds to the
 * reason why it is the clock. */
static const struct td_source *choose_without_pmu(const struct td_caps *caps,
                                                  const struct td_request *request, char *reason,
                                                  size_t reason_size)
{
    const char *option = sampling_option(request);
    const size_t len = strlen(reason);

    if (request->scope != TD_SCOPE_COMMAND)
        return find("clock");
    if (!option && caps->can_model)
        return find("sim");
    if (caps->can_model)
        snprintf(reason + len, reason_size - len, "; %s is for sampling", option);
    else if (caps->cannot_model)
        snprintf(reason + len, reason_size - len, "; %s", caps->cannot_model);
    return find("clock");
}

int td_source_choose(const struct td_source **ret, const struct td_caps *caps,
                     const struct td_request *request, char *reason, size_t reason_size,
                     struct td_err *err)
{
    const struct td_pmu *pmu = td_caps_core_pmu(caps);

    reason[0] = '\0';
    if (strcmp(request->source, "auto") != 0)
        return choose_named(ret, request->source, err);
    *ret = find("clock");
    /* An event asked for by name is its own reason. */
    if (request->events.len)
        return TD_OK;
    if (pmu) {
        snprintf(reason, reason_size, "hardware top-down is not in this build");
        return TD_OK;
    }
    snprintf(reason, reason_size, "no core PMU%s%s%s", caps->hypervisor[0] ? " (" : "",
             caps->hypervisor, caps->hypervisor[0] ? " hides it)" : "");
    *ret = choose_without_pmu(caps, request, reason, reason_size);
    return TD_OK;
}
