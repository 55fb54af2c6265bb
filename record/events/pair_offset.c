/* SPDX-License-Identifier: MIT */
#include "record/events/pair_offset.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "base/clock.h"

/* How often it is tried on a CPU where something came between, so that it took so many times as
 * long as it should. */
#define TRIES    8
#define TOO_LONG 6

/* What the counters of whole CPUs count in between is us, in user mode at least. */
static void wait_ns(uint64_t ns)
{
    const uint64_t begin = td_clock_ns();

    while (td_clock_ns() - begin < ns)
        continue;
}

static const struct td_opened *find_first(const struct td_events *events,
                                          const struct td_opened *second)
{
    const struct td_plan_group *group = &events->plan->groups[second->group];

    for (size_t i = 0; i < events->opened_count; i++) {
        const struct td_opened *first = &events->opened[i];

        if (first->group == second->group && first->cpu == second->cpu &&
            first->tid == second->tid && first->event == group->sampler)
            return first;
    }
    return NULL;
}

/* Whether they are apart, and no further than it took. */
static bool try_pair(const struct td_events *events, const struct td_opened *first,
                     const struct td_opened *second)
{
    const struct td_plan_group *group = &events->plan->groups[second->group];
    uint64_t period = group->events[second->event].period;
    const uint64_t before = td_events_value(events, first), begin_ns = td_clock_ns();

    if (ioctl(first->fd, PERF_EVENT_IOC_PERIOD, &period) < 0)
        return false;
    wait_ns(group->pair_ns);
    if (ioctl(second->fd, PERF_EVENT_IOC_PERIOD, &period) < 0)
        return false;
    return td_clock_ns() - begin_ns < TOO_LONG * group->pair_ns &&
           td_events_value(events, first) > before;
}

static void set_pair(const struct td_events *events, const struct td_opened *second)
{
    const struct td_opened *first = find_first(events, second);
    cpu_set_t here;

    if (!first || second->cpu >= CPU_SETSIZE)
        return;
    /* From another CPU it takes two interrupts there, of which nobody knows what they come between.
     */
    CPU_ZERO(&here);
    CPU_SET(second->cpu, &here);
    sched_setaffinity(0, sizeof(here), &here);
    for (int i = 0; i < TRIES && !try_pair(events, first, second); i++)
        continue;
}

void td_pair_offset_set(const struct td_events *events, unsigned cpu)
{
    cpu_set_t before;
    bool moved = false;

    if (sched_getaffinity(0, sizeof(before), &before) < 0)
        return;
    for (size_t i = 0; i < events->opened_count; i++) {
        const struct td_opened *opened = &events->opened[i];

        if (!td_plan_is_second(&events->plan->groups[opened->group], opened->event) ||
            (cpu != TD_NONE && opened->cpu != cpu))
            continue;
        set_pair(events, opened);
        moved = true;
    }
    if (moved)
        sched_setaffinity(0, sizeof(before), &before);
}
