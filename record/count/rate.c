/* SPDX-License-Identifier: MIT */
#include "record/count/rate.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

/* The time that the command had CPUs for, or the time that passed, in place of an event. */
#define CPU_TIME "CPU time"
#define ELAPSED  "elapsed"

/* Rates of events by the names that perf gives them, and the descriptions. */
static const struct rate {
    const char *event, *over;
    double factor;
    const char *unit;
    int digits;
} rates[] = {
    {"task-clock", ELAPSED, 1e-9, "CPUs used", 2},
    {"cpu-clock", ELAPSED, 1e-9, "CPUs used", 2},
    {"page-faults", CPU_TIME, 1e9, "per second", 0},
    {"minor-faults", CPU_TIME, 1e9, "per second", 0},
    {"major-faults", CPU_TIME, 1e9, "per second", 0},
    {"context-switches", CPU_TIME, 1e9, "per second", 0},
    {"cpu-migrations", CPU_TIME, 1e9, "per second", 0},
    {"instructions", "cycles", 1, "a cycle", 2},
    {"inst_retired", "cycles", 1, "a cycle", 2},
    {"cycles", CPU_TIME, 1, "GHz", 3},
    {"branch-misses", "branch-instructions", 100, "% of branches", 2},
    {"br_misp_retired", "br_inst_retired", 100, "% of branches", 2},
    {"cache-misses", "cache-references", 100, "% of references", 2},
    {"L1-dcache-load-misses", "L1-dcache-loads", 100, "% of L1 loads", 2},
    {"LLC-load-misses", "LLC-loads", 100, "% of LLC loads", 2},
    {"dTLB-load-misses", "dTLB-loads", 100, "% of loads", 2},
    {"iTLB-load-misses", "iTLB-loads", 100, "% of fetches", 2},
    {"stalled-cycles-frontend", "cycles", 100, "% of cycles", 1},
    {"stalled-cycles-backend", "cycles", 100, "% of cycles", 1},
};

/* The event of this name on the same type of CPU; of the same group when that has one. */
static double find(const struct td_counts *counts, size_t group, const char *name)
{
    const struct td_plan *plan = counts->plan;
    double found = NAN;

    for (size_t g = 0; g < plan->group_count; g++) {
        if (strcmp(plan->groups[g].cpu_type, plan->groups[group].cpu_type) != 0)
            continue;
        for (size_t e = 0; e < plan->groups[g].event_count; e++) {
            if (strcmp(plan->groups[g].events[e].name, name) == 0 && (isnan(found) || g == group))
                found = td_count_estimate(td_counts_get(counts, g, e));
        }
    }
    return found;
}

/* Software clocks count on every type of CPU. */
static double cpu_time_ns(const struct td_counts *counts)
{
    const struct td_plan *plan = counts->plan;

    for (size_t g = 0; g < plan->group_count; g++) {
        if (plan->groups[g].events[0].unit == TD_UNIT_NS)
            return td_count_estimate(td_counts_get(counts, g, 0));
    }
    return NAN;
}

static double divisor_of(const struct td_counts *counts, size_t group, const char *over,
                         double elapsed_s)
{
    if (strcmp(over, ELAPSED) == 0)
        return elapsed_s;
    if (strcmp(over, CPU_TIME) == 0)
        return cpu_time_ns(counts);
    return find(counts, group, over);
}

struct td_count_rate td_count_rate_of(const struct td_counts *counts, size_t group, size_t event,
                                      double elapsed_s)
{
    const char *name = counts->plan->groups[group].events[event].name;
    const double value = td_count_estimate(td_counts_get(counts, group, event));

    for (size_t i = 0; i < TD_ARRAY_SIZE(rates); i++) {
        const struct rate *rate = &rates[i];

        if (strcmp(rate->event, name) != 0)
            continue;
        const double divisor = divisor_of(counts, group, rate->over, elapsed_s);
        if (divisor > 0 && !isnan(value))
            return (struct td_count_rate){value / divisor * rate->factor, rate->unit, rate->digits};
    }
    return (struct td_count_rate){.value = NAN, .unit = ""};
}
