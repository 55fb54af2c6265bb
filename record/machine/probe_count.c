/* SPDX-License-Identifier: MIT */
/* The counting of record/probe, on this machine. */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/machine/probe.h"

#define ROUNDS 200000

/* Branches that no predictor learns, and a load each: slots are lost to every category. */
static uint64_t work(void)
{
    static const uint32_t table[64] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t state = 88172645463325252u, sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        /* xorshift64 (Marsaglia 2003) */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        if (state & 1)
            sum += table[state >> 58];
        else
            sum ^= state;
        __asm__ volatile("" : "+r"(sum));
    }
    return sum;
}

static int open_one(const struct td_pmu *pmu, const struct td_pmu_core *core, uint32_t event,
                    int leader)
{
    const struct td_pmu_event *e = &core->events[event];
    struct perf_event_attr attr = {
        .type = core->type >= 0 ? (uint32_t)core->type : pmu->type,
        .size = sizeof(attr),
        .config = e->config,
        .config1 = e->config1,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .disabled = leader < 0,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };

    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* Goes to the CPUs that the PMU counts on, of those that this process may use. False when there is
 * none, as in a container that has cores of the other kind only. */
static bool move_to(const struct td_pmu *pmu, const cpu_set_t *allowed)
{
    cpu_set_t cpus;
    bool any = false;

    CPU_ZERO(&cpus);
    for (size_t i = 0; i < pmu->cpus.len; i++) {
        if (pmu->cpus.cpus[i] >= CPU_SETSIZE || !CPU_ISSET(pmu->cpus.cpus[i], allowed))
            continue;
        CPU_SET(pmu->cpus.cpus[i], &cpus);
        any = true;
    }
    return any && sched_setaffinity(0, sizeof(cpus), &cpus) == 0;
}

/* Opens the group, works, reads. */
static int count_here(const struct td_pmu *pmu, const struct td_pmu_core *core,
                      const struct td_pmu_group *group, uint64_t *values)
{
    int fds[TD_PMU_GROUP_EVENTS_MAX] = {-1};
    uint64_t words[2 + TD_PMU_GROUP_EVENTS_MAX] = {0}; /* how many, time running, values */
    uint32_t count = 0;
    bool good = group->count > 0;
    int refused = 0;

    for (; count < group->count && good; count++) {
        fds[count] = open_one(pmu, core, group->events[count], count ? fds[0] : -1);
        good = fds[count] >= 0;
        refused = good ? 0 : errno;
    }
    if (good) {
        ioctl(fds[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
        volatile uint64_t sink = work();
        (void)sink;
        ioctl(fds[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
        const size_t size = (2 + (size_t)group->count) * sizeof(words[0]);
        /* Without its turn on the counters, it counted nothing and says nothing. */
        good = read(fds[0], words, sizeof(words)) == (ssize_t)size && words[1] > 0;
    }
    for (uint32_t i = 0; i < group->count; i++)
        values[i] = words[2 + i];
    for (uint32_t i = 0; i < count; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return refused ? refused : good ? 0 : -1;
}

int td_probe_count(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                   const struct td_pmu_group *group, uint64_t *values)
{
    cpu_set_t before;

    (void)ctx;
    if (pmu->cpus.len == 0)
        return count_here(pmu, core, group, values);
    if (sched_getaffinity(0, sizeof(before), &before) < 0 || !move_to(pmu, &before))
        return -1;
    const int code = count_here(pmu, core, group, values);
    sched_setaffinity(0, sizeof(before), &before);
    return code;
}
