/* SPDX-License-Identifier: MIT */
/* The rules of kernel/events/core.c: sys_perf_event_open and what it calls, in its order. */
#include "tests/plan/double.h"

#include <errno.h>
#include <string.h>
#include <sys/user.h>
#include <time.h>

/* Later than the installed header. */
#define SAMPLE_TYPE_MAX  (UINT64_C(1) << 25)
#define BRANCH_COUNTERS  (UINT64_C(1) << 19)
#define BRANCH_PLM       (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)
#define GROUP_READ_MAX   (16 * 1024)
#define X86_REGS_REFUSED UINT64_C(0xf000) /* DS, ES, FS, GS */
#define X86_REGS_MAX     24
#define ARM64_REGS_MAX   34
#define FLAGS_ALL \
    (PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT | PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC)

bool double_kernel(const struct perf_double *d, unsigned major, unsigned minor)
{
    return td_caps_kernel_at_least(d->caps, major, minor);
}

bool double_sampling(const struct perf_event_attr *attr)
{
    return attr->sample_period != 0;
}

static bool may_kernel(const struct perf_double *d)
{
    return d->caps->cap_perfmon || d->caps->paranoid <= 1;
}

static bool may_cpu(const struct perf_double *d)
{
    return d->caps->cap_perfmon || d->caps->paranoid <= 0;
}

void double_init(struct perf_double *d, const struct td_caps *caps)
{
    memset(d, 0, sizeof(*d));
    d->caps = caps;
    double_find_pmus(d);
}

/* How much of perf_event_attr this kernel knows. */
static uint32_t attr_size(const struct perf_double *d)
{
    return double_kernel(d, 6, 3) ? 136 : double_kernel(d, 5, 13) ? 128 : 120;
}

static int check_branches(const struct perf_double *d, struct perf_event_attr *attr)
{
    const uint64_t known = double_kernel(d, 6, 8)   ? PERF_SAMPLE_BRANCH_MAX << 1
                           : double_kernel(d, 6, 1) ? PERF_SAMPLE_BRANCH_MAX
                                                    : PERF_SAMPLE_BRANCH_PRIV_SAVE;
    uint64_t mask = attr->branch_sample_type;

    if (mask & ~(known - 1) || !(mask & ~(uint64_t)BRANCH_PLM))
        return -EINVAL;
    if (!(mask & BRANCH_PLM)) {
        mask |= attr->exclude_user ? 0 : PERF_SAMPLE_BRANCH_USER;
        mask |= attr->exclude_kernel ? 0 : PERF_SAMPLE_BRANCH_KERNEL;
        mask |= attr->exclude_hv ? 0 : PERF_SAMPLE_BRANCH_HV;
        attr->branch_sample_type = mask;
    }
    if (mask & (PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV) && !may_kernel(d))
        return -EACCES;
    return 0;
}

static bool good_regs(const struct perf_double *d, uint64_t mask)
{
    if (strcmp(d->caps->machine, "aarch64") == 0)
        return mask && mask >> ARM64_REGS_MAX == 0;
    return mask && !(mask & X86_REGS_REFUSED) && mask >> X86_REGS_MAX == 0;
}

/* The bits that newer kernels gave a meaning. */
static bool knows_bits(const struct perf_double *d, const struct perf_event_attr *attr)
{
    if (attr->__reserved_1 || attr->__reserved_2 || attr->__reserved_3)
        return false;
    if (attr->build_id && !double_kernel(d, 5, 12))
        return false;
    return !((attr->inherit_thread || attr->remove_on_exec || attr->sigtrap) &&
             !double_kernel(d, 5, 13));
}

static int check_types(const struct perf_double *d, struct perf_event_attr *attr)
{
    const uint64_t formats = double_kernel(d, 6, 0) ? PERF_FORMAT_MAX : PERF_FORMAT_LOST;
    const uint64_t types = double_kernel(d, 5, 12) ? SAMPLE_TYPE_MAX : PERF_SAMPLE_WEIGHT_STRUCT;

    if (!knows_bits(d, attr) || attr->sample_type & ~(types - 1) ||
        attr->read_format & ~(formats - 1))
        return -EINVAL;
    if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK) {
        const int rc = check_branches(d, attr);

        if (rc < 0)
            return rc;
    }
    if (attr->sample_type & PERF_SAMPLE_REGS_USER && !good_regs(d, attr->sample_regs_user))
        return -EINVAL;
    if (attr->sample_type & PERF_SAMPLE_STACK_USER &&
        (attr->sample_stack_user >= UINT16_MAX || attr->sample_stack_user % 8))
        return -EINVAL;
    if (attr->sample_type & PERF_SAMPLE_REGS_INTR && !good_regs(d, attr->sample_regs_intr))
        return -EINVAL;
    if (attr->sample_type & PERF_SAMPLE_WEIGHT && attr->sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
        return -EINVAL;
    if (!attr->inherit && attr->inherit_thread)
        return -EINVAL;
    if (attr->remove_on_exec && attr->enable_on_exec)
        return -EINVAL;
    return attr->sigtrap && !attr->remove_on_exec ? -EINVAL : 0;
}

/* perf_copy_attr: the size rules, then the fields. */
static int copy_attr(const struct perf_double *d, const struct perf_event_attr *from,
                     struct perf_event_attr *to)
{
    const uint32_t known = attr_size(d);
    const uint32_t size = from->size ? from->size : PERF_ATTR_SIZE_VER0;

    if (size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE)
        return -E2BIG;
    for (uint32_t i = known; i < size; i++) {
        if (((const unsigned char *)from)[i])
            return -E2BIG;
    }
    memset(to, 0, sizeof(*to));
    memcpy(to, from, size < sizeof(*to) ? size : sizeof(*to));
    return check_types(d, to);
}

/* What is asked before the event is made. */
static int check_permission(const struct perf_double *d, const struct perf_event_attr *attr)
{
    if (!attr->exclude_kernel && !may_kernel(d))
        return -EACCES;
    if (attr->namespaces && !d->caps->cap_perfmon)
        return -EACCES;
    if (attr->freq && attr->sample_freq > (uint64_t)d->caps->max_sample_rate)
        return -EINVAL;
    if (!attr->freq && attr->sample_period >> 63)
        return -EINVAL;
    if (attr->sample_type & PERF_SAMPLE_PHYS_ADDR && !may_kernel(d))
        return -EACCES;
    return 0;
}

/* perf_event_alloc, before and after the driver. */
static int make_event(const struct perf_double *d, const struct double_event *event)
{
    const struct perf_event_attr *attr = &event->attr;
    const bool task = event->pid != -1 && !(event->flags & PERF_FLAG_PID_CGROUP);

    if (event->cpu < -1 || (event->cpu == -1 && !task))
        return -EINVAL;
    if (attr->inherit && attr->sample_type & PERF_SAMPLE_READ &&
        (!double_kernel(d, 6, 12) || !(attr->sample_type & PERF_SAMPLE_TID)))
        return -EINVAL;
    const int rc = double_pmu_init(d, event);
    if (rc < 0)
        return rc;
    if (attr->sample_type & PERF_SAMPLE_CALLCHAIN && attr->sample_max_stack > d->caps->max_stack)
        return -EOVERFLOW;
    return 0;
}

static int check_clock(const struct perf_event_attr *attr)
{
    if (!attr->use_clockid)
        return 0;
    /* The clocks that may be read in an NMI. */
    return attr->clockid == CLOCK_MONOTONIC || attr->clockid == CLOCK_MONOTONIC_RAW ? 0 : -EINVAL;
}

/* The context: a task's, or a CPU's. */
static int check_context(const struct perf_double *d, const struct double_event *event)
{
    bool online = event->cpu == -1;

    if (event->flags & PERF_FLAG_PID_CGROUP || event->pid == -1) {
        if (!may_cpu(d))
            return -EACCES;
    } else if (event->pid == DOUBLE_FOREIGN && !d->caps->cap_perfmon && !d->caps->cap_ptrace) {
        return -EACCES;
    }
    for (size_t i = 0; i < d->caps->online.len; i++)
        online = online || (int)d->caps->online.cpus[i] == event->cpu;
    return online ? 0 : -ENODEV;
}

/* What binds the members of a group (rule 9 of the fact sheet's 1.2). */
static int check_group(const struct perf_double *d, const struct double_event *event)
{
    const struct double_event *leader = &d->events[event->leader];

    if (leader->attr.use_clockid != event->attr.use_clockid ||
        leader->attr.clockid != event->attr.clockid)
        return -EINVAL;
    if (leader->cpu != event->cpu || leader->pid != event->pid)
        return -EINVAL;
    if (event->attr.exclusive || event->attr.pinned)
        return -EINVAL;
    /* Software events may join hardware ones, and lead them; two hardware PMUs never meet. */
    const struct double_pmu *hardware = NULL;
    for (size_t i = 0; i < d->event_count; i++) {
        if (d->events[i].leader == event->leader && d->events[i].pmu->kind != DOUBLE_SOFTWARE)
            hardware = d->events[i].pmu;
    }
    if (hardware && event->pmu->kind != DOUBLE_SOFTWARE && event->pmu != hardware)
        return -EINVAL;
    return 0;
}

/* perf_event_validate_size: what a group read may take in a record of 64 KiB. */
static int check_size(const struct perf_double *d, const struct double_event *event)
{
    size_t members = 1;

    for (size_t i = 0; i < d->event_count; i++)
        members += d->events[i].leader == event->leader && &d->events[i] != event;
    return members * 24 + 24 > GROUP_READ_MAX ? -E2BIG : 0;
}

static const struct double_pmu *find_pmu(const struct perf_double *d,
                                         const struct perf_event_attr *attr)
{
    uint32_t type = attr->type;

    if (type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE) {
        type = (uint32_t)(attr->config >> 32);
        for (size_t i = 0; i < d->pmu_count && type == 0; i++) {
            if (d->pmus[i].pmu && d->pmus[i].pmu->core)
                return &d->pmus[i];
        }
    }
    for (size_t i = 0; i < d->pmu_count; i++) {
        const uint32_t its = d->pmus[i].pmu ? d->pmus[i].pmu->type : PERF_TYPE_SOFTWARE;

        if (its == type)
            return &d->pmus[i];
    }
    /* PERF_TYPE_RAW is the first core PMU's where that has another number (Arm). */
    for (size_t i = 0; i < d->pmu_count && type == PERF_TYPE_RAW; i++) {
        if (d->pmus[i].pmu && d->pmus[i].pmu->core)
            return &d->pmus[i];
    }
    return NULL;
}

static int open_checked(struct perf_double *d, const struct perf_event_attr *attr, pid_t pid,
                        int cpu, int group_fd, unsigned long flags)
{
    struct double_event *event = &d->events[d->event_count];
    int rc = 0;

    if (flags & ~(unsigned long)FLAGS_ALL)
        return -EINVAL;
    /* Debian's and Ubuntu's level above the kernel's own. */
    if (d->caps->paranoid >= 3 && !d->caps->cap_perfmon)
        return -EACCES;
    *event = (struct double_event){.pid = pid, .cpu = cpu, .flags = flags};
    rc = copy_attr(d, attr, &event->attr);
    rc = rc ? rc : check_permission(d, &event->attr);
    if (rc)
        return rc;
    if (flags & PERF_FLAG_PID_CGROUP && (pid == -1 || cpu == -1))
        return -EINVAL;
    if (group_fd != -1 && (group_fd < 3 || (size_t)group_fd - 3 >= d->event_count))
        return -EBADF;
    event->leader = group_fd < 0 ? d->event_count : (size_t)group_fd - 3;
    if (pid != -1 && !(flags & PERF_FLAG_PID_CGROUP) && pid != DOUBLE_TASK && pid != DOUBLE_FOREIGN)
        return -ESRCH;
    if (pid != -1 && group_fd != -1 && d->events[event->leader].attr.inherit != event->attr.inherit)
        return -EINVAL;
    event->pmu = find_pmu(d, &event->attr);
    if (!event->pmu)
        return -ENOENT;
    rc = make_event(d, event);
    rc = rc ? rc : check_clock(&event->attr);
    rc = rc ? rc : check_context(d, event);
    if (rc == 0 && group_fd != -1 && d->events[event->leader].leader != event->leader)
        rc = -EINVAL;
    if (rc == 0 && group_fd != -1)
        rc = check_group(d, event);
    return rc ? rc : check_size(d, event);
}

int double_open(struct perf_double *d, const struct perf_event_attr *attr, pid_t pid, int cpu,
                int group_fd, unsigned long flags)
{
    if (d->event_count + 1 >= DOUBLE_EVENTS_MAX)
        return -EMFILE;
    const int rc = open_checked(d, attr, pid, cpu, group_fd, flags);
    if (rc < 0)
        return rc;
    return (int)d->event_count++ + 3;
}

/* _perf_event_period. */
static int check_period(const struct perf_double *d, const struct double_event *event,
                        uint64_t period)
{
    if (!double_sampling(&event->attr) || period == 0)
        return -EINVAL;
    if (event->attr.freq && period > (uint64_t)d->caps->max_sample_rate)
        return -EINVAL;
    return period >> 63 ? -EINVAL : 0;
}

/* Whether both count the same at all times. */
static bool counts_same(const struct double_event *a, const struct double_event *b)
{
    return a->leader == b->leader && a->cpu == b->cpu && a->pid == b->pid && a->pmu == b->pmu &&
           a->attr.type == b->attr.type && a->attr.config == b->attr.config &&
           a->attr.config1 == b->attr.config1 && a->attr.config2 == b->attr.config2 &&
           a->attr.exclude_user == b->attr.exclude_user &&
           a->attr.exclude_kernel == b->attr.exclude_kernel &&
           a->attr.exclude_hv == b->attr.exclude_hv && a->attr.exclude_idle == b->attr.exclude_idle;
}

int double_pair(const struct perf_double *d, int first_fd, int second_fd, uint64_t period)
{
    const struct double_event *first = &d->events[first_fd - 3],
                              *second = &d->events[second_fd - 3];
    int rc = check_period(d, first, period);

    rc = rc ? rc : check_period(d, second, period);
    if (rc)
        return rc;
    /* A frequency's control moves each period by itself; copies of the events that a thread
     * inherits are not reached, and events that do not run both begin when they next do. */
    if (first->attr.freq || second->attr.freq || first->attr.inherit || first->pid != -1)
        return -ERANGE;
    if (first->attr.sample_period != period || second->attr.sample_period != period)
        return -ERANGE;
    return counts_same(first, second) ? 0 : -ERANGE;
}

/* All events that want this CPU at once: the CPU's own and those of one task that runs there. */
static bool starved(const struct perf_double *d, int cpu, pid_t pid)
{
    const struct double_event *events[DOUBLE_EVENTS_MAX];

    for (size_t p = 0; p < d->pmu_count; p++) {
        size_t count = 0;

        for (size_t i = 0; i < d->event_count; i++) {
            const struct double_event *e = &d->events[i];

            if (e->pmu == &d->pmus[p] && (e->cpu == cpu || e->cpu == -1) &&
                (e->pid == pid || e->pid == -1))
                events[count++] = e;
        }
        if (count && !double_fit(d, events, count, true))
            return true;
    }
    return false;
}

size_t double_starved(const struct perf_double *d)
{
    size_t count = 0;

    for (size_t i = 0; i < d->caps->online.len; i++)
        count += starved(d, (int)d->caps->online.cpus[i], DOUBLE_TASK);
    return count;
}
