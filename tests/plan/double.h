/* SPDX-License-Identifier: MIT */
/*
 * A test double of perf_event_open: takes what the kernel would take and refuses what it would
 * refuse, with its errno, for the machine of a recorded tree. The rules are the kernel's
 * (kernel/events/core.c, arch/x86/events, drivers/perf/arm_pmu.c of Linux 6.1 and 6.12); what the
 * hardware can count is a table of its own (double_pmu.c), not the core descriptions under test.
 */
#ifndef TD_TESTS_PLAN_DOUBLE_H
#define TD_TESTS_PLAN_DOUBLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/machine/caps.h"

#define DOUBLE_TASK    100 /* a task of the user */
#define DOUBLE_FOREIGN 200 /* a task of another user */
/* A descriptor of a cgroup. */
#define DOUBLE_CGROUP     300
#define DOUBLE_EVENTS_MAX 4096

enum double_kind {
    DOUBLE_SOFTWARE,
    DOUBLE_INTEL,
    DOUBLE_AMD,
    DOUBLE_ARM,
    DOUBLE_IBS_OP,
    DOUBLE_IBS_FETCH,
    DOUBLE_SPE,
    DOUBLE_OTHER, /* refuses what is not its type; opens nothing */
};

struct double_model; /* double_pmu.c */

struct double_pmu {
    const struct td_pmu *pmu; /* of the caps */
    enum double_kind kind;
    const struct double_model *model; /* of a core PMU */
    bool metrics;                     /* the machine has the perf metrics */
};

struct double_event {
    struct perf_event_attr attr; /* as it was opened */
    pid_t pid;
    int cpu;
    unsigned long flags;
    size_t leader; /* index; its own for a leader */
    const struct double_pmu *pmu;
};

struct perf_double {
    const struct td_caps *caps; /* borrowed */
    struct double_pmu pmus[32];
    size_t pmu_count;
    struct double_event events[DOUBLE_EVENTS_MAX];
    size_t event_count;
};

void double_init(struct perf_double *d, const struct td_caps *caps);
/* A descriptor, or -errno. attr->size bytes are read. */
int double_open(struct perf_double *d, const struct perf_event_attr *attr, pid_t pid, int cpu,
                int group_fd, unsigned long flags);
/* PERF_EVENT_IOC_PERIOD on both, one a while after the other: 0 when from then on the second
 * overflows as long after the first each time; -EINVAL when the kernel refuses the call, -ERANGE
 * when it begins periods that do not stay apart. */
int double_pair(const struct perf_double *d, int first_fd, int second_fd, uint64_t period);
/* How many CPUs and tasks have more events open than they can count at once, so that the kernel
 * would take turns or never count some of them (the NMI watchdog's share included). */
size_t double_starved(const struct perf_double *d);

/* Between the two files. */
bool double_sampling(const struct perf_event_attr *attr);
bool double_kernel(const struct perf_double *d, unsigned major, unsigned minor);
void double_find_pmus(struct perf_double *d);
/* What the driver of the event's PMU says: 0 or -errno. The event is the last of d->events. */
int double_pmu_init(const struct perf_double *d, const struct double_event *event);
/* Whether these events can be counted at the same time; `busy`: with the NMI watchdog's. */
bool double_fit(const struct perf_double *d, const struct double_event *const *events, size_t count,
                bool busy);

#endif
