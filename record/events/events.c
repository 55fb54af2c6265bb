/* SPDX-License-Identifier: MIT */
#include "record/events/events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "record/plan/attr.h"

/* A ring holds half a second of samples: the recorder may have to wait for a CPU that long. Less
 * than the kernel lets everybody lock (perf_event_mlock_kb) saves nothing. */
#define RING_MIN_BYTES ((size_t)512 << 10)
#define RING_MAX_BYTES ((size_t)16 << 20)
/* Waking at a fixed fill, not at a part of a large ring, leaves the rest for when we get no CPU,
 * and finds the newest megabyte in the cache. */
#define WATERMARK_BYTES ((size_t)1 << 20)
/* What all rings together may take: a machine of many CPUs gets smaller ones. */
#define RINGS_BYTES ((size_t)256 << 20)
/* How often threads are taken to wait in a second, on a CPU. */
#define WAITS_HZ 1000
/* A record without and with a deep chain. */
#define PLAIN_BYTES 64
#define CHAIN_BYTES 800

static int open_attr(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                     unsigned long flags)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
                        flags | PERF_FLAG_FD_CLOEXEC);
}

/* Parts of an attr that an older kernel may refuse. Those that are optional are done without; the
 * others are named when leaving them out alone helps. */
struct feature {
    const char *name;
    size_t flag; /* offset of a bool in struct td_events; 0: not optional */
    void (*drop)(struct perf_event_attr *attr);
};

static void drop_build_id(struct perf_event_attr *attr)
{
    attr->build_id = 0;
}

static void drop_lost(struct perf_event_attr *attr)
{
    attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
}

static void drop_clock(struct perf_event_attr *attr)
{
    attr->use_clockid = 0;
    attr->clockid = 0;
}

static void drop_inherit(struct perf_event_attr *attr)
{
    attr->inherit = 0;
}

static void drop_precise(struct perf_event_attr *attr)
{
    attr->precise_ip = 0;
}

static void drop_branches(struct perf_event_attr *attr)
{
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
    attr->branch_sample_type = 0;
}

static void drop_weight(struct perf_event_attr *attr)
{
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
}

static void drop_rate(struct perf_event_attr *attr)
{
    attr->freq = 0;
    attr->sample_period = 1000000;
}

static const struct feature features[] = {
    {"build-ids of mappings", offsetof(struct td_events, no_build_id), drop_build_id},
    {"counts of lost samples", offsetof(struct td_events, no_lost), drop_lost},
    {"sample times by CLOCK_MONOTONIC", 0, drop_clock},
    {"inheritance by children", 0, drop_inherit},
    {"precise_ip", 0, drop_precise},
    {"branch records", 0, drop_branches},
    {"retire latencies", 0, drop_weight},
    {"the sampling rate", 0, drop_rate},
};

static struct perf_event_attr make_attr(const struct td_events *events,
                                        const struct td_plan_event *event)
{
    const size_t bytes = events->ring_pages * events->caps->page_bytes;
    const size_t fill = bytes / 4 < WATERMARK_BYTES ? bytes / 4 : WATERMARK_BYTES;
    const size_t watermark = events->part == TD_EVENTS_TRACKER ? 1 : fill;
    struct perf_event_attr attr = td_attr_make(event, (uint32_t)watermark);

    if (events->no_build_id)
        drop_build_id(&attr);
    if (events->no_lost)
        drop_lost(&attr);
    return attr;
}

/* What an open is tried with, beside the attr. */
struct place {
    pid_t pid;
    int cpu, group_fd;
    unsigned long flags;
};

/* After EINVAL: finds the feature without which it opens. Returns the descriptor when that one is
 * optional, and fails with its name when it is not. */
static int bisect(struct td_events *events, const struct td_plan_event *event,
                  const struct place *place, struct td_err *err)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(features); i++) {
        struct perf_event_attr attr = make_attr(events, event);

        features[i].drop(&attr);
        const int fd = open_attr(&attr, place->pid, place->cpu, place->group_fd, place->flags);
        if (fd < 0)
            continue;
        if (features[i].flag) {
            *(bool *)((char *)events + features[i].flag) = true;
            return fd;
        }
        close(fd);
        return td_fail_errno(err, TD_EUNSUPPORTED, EINVAL, "this kernel (%s) refuses %s for %s",
                             events->caps->kernel, features[i].name, event->name);
    }
    return td_fail_errno(err, TD_EUNSUPPORTED, EINVAL, "this kernel (%s) refuses %s",
                         events->caps->kernel, event->name);
}

/* The descriptor, or a code; *gone: the CPU or the task does not exist any more. */
static int open_event(struct td_events *events, const struct td_plan_event *event,
                      const struct place *place, bool *gone, struct td_err *err)
{
    struct perf_event_attr attr = make_attr(events, event);
    const int fd = open_attr(&attr, place->pid, place->cpu, place->group_fd, place->flags);
    const int sys_errno = errno;

    *gone = false;
    if (fd >= 0)
        return fd;
    if (sys_errno == EINVAL)
        return bisect(events, event, place, err);
    *gone = (sys_errno == ENODEV && place->cpu >= 0) || sys_errno == ESRCH;
    if (sys_errno == EOPNOTSUPP && event->branch_sample_type)
        return td_fail(err, TD_EUNSUPPORTED,
                       "%s: this CPU or hypervisor has no branch records that follow calls "
                       "(--call-graph lbr): use -g",
                       event->name);
    return td_events_explain(events->caps, event->name, sys_errno, err);
}

static struct td_ring *find_ring(const struct td_events *events, unsigned cpu, size_t *index)
{
    for (size_t i = 0; i < events->ring_count; i++) {
        if (events->rings[i].cpu == cpu && cpu != TD_NONE) {
            *index = i;
            return &events->rings[i];
        }
    }
    return NULL;
}

/* Maps a ring. Where the kernel allows no such one, all are to be of half the size: what it allows
 * is for the rings together, and the first must not take it from the others. */
static int map_ring(struct td_events *events, struct td_ring *ring, int fd, struct td_err *err)
{
    const struct td_caps *caps = events->caps;
    const size_t least = td_plan_least_ring_pages(events->plan, caps);
    const int rc = td_ring_map(ring, fd, events->ring_pages, caps->page_bytes);
    const uint64_t need = (events->ring_pages + 1) * caps->page_bytes / 1024;

    if (rc == 0)
        return TD_OK;
    events->too_large =
        (rc == -EPERM || rc == -ENOMEM) && events->ring_pages > 2 && events->ring_pages > least;
    return td_fail_errno(
        err, TD_EPERM, -rc,
        "a ring buffer of %llu kB per CPU cannot be locked: allowed are "
        "perf_event_mlock_kb (%lld) per CPU and ulimit -l (%llu kB), together with "
        "what you record already; raise one of them",
        (unsigned long long)need, (long long)caps->mlock_kb,
        (unsigned long long)(caps->memlock_bytes / 1024));
}

/* Gives the event a ring: its CPU's, or a new one. */
static int attach_ring(struct td_events *events, struct td_opened *opened, struct td_err *err)
{
    const struct td_ring *ring = find_ring(events, opened->cpu, &opened->ring);

    if (ring) {
        int owner = -1;

        for (size_t i = 0; owner < 0; i++)
            owner = events->opened[i].ring == opened->ring ? events->opened[i].fd : -1;
        if (ioctl(opened->fd, PERF_EVENT_IOC_SET_OUTPUT, owner) < 0)
            return td_fail_errno(err, TD_EIO, errno, "events cannot share a ring buffer");
        return TD_OK;
    }
    events->rings =
        td_grow(events->rings, &events->ring_cap, events->ring_count + 1, sizeof(*events->rings));
    struct td_ring fresh = {0};
    const int rc = map_ring(events, &fresh, opened->fd, err);
    if (rc < 0)
        return rc;
    fresh.cpu = opened->cpu;
    opened->ring = events->ring_count;
    events->rings[events->ring_count++] = fresh;
    return TD_OK;
}

/* Opens a group on one CPU for one task; a group whose CPU or task is gone is left out. */
static int open_group(struct td_events *events, size_t index, struct place place,
                      struct td_err *err)
{
    const struct td_plan_group *group = &events->plan->groups[index];

    for (size_t i = 0; i < group->event_count; i++) {
        bool gone = false;
        const int fd = open_event(events, &group->events[i], &place, &gone, err);

        if (fd < 0 && gone && i == 0) {
            events->skipped_cpus += place.cpu >= 0 && err && err->sys_errno == ENODEV;
            return TD_ENODATA;
        }
        if (fd < 0)
            return fd;
        if (i == 0)
            place.group_fd = fd;
        events->opened = td_grow(events->opened, &events->opened_cap, events->opened_count + 1,
                                 sizeof(*events->opened));
        struct td_opened *opened = &events->opened[events->opened_count];
        *opened = (struct td_opened){.fd = fd,
                                     .cpu = place.cpu < 0 ? TD_NONE : (unsigned)place.cpu,
                                     .tid = place.pid > 0 ? (uint32_t)place.pid : 0,
                                     .group = (uint16_t)index,
                                     .event = (uint16_t)i,
                                     .ring = SIZE_MAX};
        const int rc =
            events->part == TD_EVENTS_COUNTERS ? TD_OK : attach_ring(events, opened, err);
        events->opened_count++;
        if (rc < 0)
            return rc;
    }
    return TD_OK;
}

/* A group on all its CPUs, for all tasks. */
static int open_instances(struct td_events *events, size_t index,
                          const struct td_events_target *target, struct td_err *err)
{
    const struct td_plan *plan = events->plan;
    const struct td_cpulist *cpus = &plan->groups[index].cpus;
    const bool whole = plan->method == TD_METHOD_CPU;
    const size_t tasks = whole ? 1 : target->tid_count;
    size_t opened = 0;

    for (size_t task = 0; task < tasks; task++) {
        for (size_t i = 0; i < (cpus->len ? cpus->len : 1); i++) {
            struct place place = {.pid = -1, .cpu = -1, .group_fd = -1};

            if (cpus->len)
                place.cpu = (int)cpus->cpus[i];
            if (!whole)
                place.pid = (pid_t)target->tids[task];
            if (target->cgroup_fd >= 0) {
                place.pid = target->cgroup_fd;
                place.flags = PERF_FLAG_PID_CGROUP;
            }
            const int rc = open_group(events, index, place, err);
            if (rc < 0 && !whole && plan->scope != TD_SCOPE_COMMAND)
                td_err_prefix(err, "process %u", target->tids[task]);
            if (rc < 0 && rc != TD_ENODATA)
                return rc;
            opened += rc == TD_OK;
        }
    }
    return opened ? TD_OK : TD_ENODATA; /* err was filled by the last that was gone */
}

static int compare_layouts(const void *a, const void *b)
{
    const struct td_layout *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* One layout an instance when records carry identifiers, else the one there is. */
static int make_layouts(struct td_events *events, struct td_err *err)
{
    const struct td_plan *plan = events->plan;
    const bool ids = plan->groups[0].events[0].sample_type & PERF_SAMPLE_IDENTIFIER;

    events->layouts = td_xcalloc(events->opened_count, sizeof(*events->layouts));
    for (size_t i = 0; i < events->opened_count; i++) {
        struct td_opened *opened = &events->opened[i];
        const struct td_plan_event *event = &plan->groups[opened->group].events[opened->event];

        if (ids && ioctl(opened->fd, PERF_EVENT_IOC_ID, &opened->id) < 0)
            return td_fail_errno(err, TD_EIO, errno, "the kernel gives no id for %s", event->name);
        events->layouts[i] = (struct td_layout){
            .id = opened->id,
            .sample_type = event->sample_type,
            .read_format = event->read_format & ~(events->no_lost ? (uint64_t)PERF_FORMAT_LOST : 0),
            .branch_sample_type = event->branch_sample_type,
            .branch_most = plan->branches,
            .user_regs = event->user_regs,
            .sample_id_all = true,
            .group = opened->group,
            .event = opened->event,
        };
    }
    qsort(events->layouts, events->opened_count, sizeof(*events->layouts), compare_layouts);
    events->layout_count = ids ? events->opened_count : 1;
    return TD_OK;
}

/* What a CPU's samples may take in a second, all groups together. */
static size_t bytes_a_second(const struct td_plan *plan)
{
    size_t bytes = 0;

    for (size_t i = 0; i < plan->group_count; i++) {
        const struct td_plan_group *group = &plan->groups[i];
        uint64_t hz = 0;

        if (group->sampler >= group->event_count)
            continue;
        const struct td_plan_event *event = &group->events[group->sampler];
        hz = event->frequency_hz ? event->frequency_hz : TD_DEFAULT_FREQUENCY_HZ;
        if (group->waits)
            hz = WAITS_HZ;
        else if (event->period && event->unit == TD_UNIT_NS)
            hz = 1000000000 / event->period + 1;
        const size_t each = event->sample_type & PERF_SAMPLE_CALLCHAIN ? CHAIN_BYTES : PLAIN_BYTES;
        bytes += (size_t)hz * (each + event->stack_bytes);
    }
    return bytes;
}

static size_t default_pages(const struct td_plan *plan, const struct td_caps *caps)
{
    const size_t wanted = bytes_a_second(plan) / 2;
    size_t bytes = RING_MIN_BYTES;

    while (bytes < wanted && bytes < RING_MAX_BYTES && bytes * caps->online.len < RINGS_BYTES)
        bytes *= 2;
    while (bytes * caps->online.len > RINGS_BYTES && bytes > 4 * (size_t)caps->page_bytes)
        bytes /= 2;
    const size_t pages = bytes / caps->page_bytes, least = td_plan_least_ring_pages(plan, caps);
    return pages > least ? pages : least;
}

/* As many descriptors as the hard limit allows; the command was started with its own limit. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool takes(const struct td_plan_group *group, const struct td_events_target *target)
{
    if (target->pass && group->pass && group->pass != target->pass)
        return false;
    return target->part == TD_EVENTS_ALL ||
           (target->part == TD_EVENTS_TRACKER) == td_plan_is_tracker(group);
}

static int open_all(struct td_events *events, const struct td_events_target *target,
                    struct td_err *err)
{
    int rc = TD_OK;

    for (size_t i = 0; i < events->plan->group_count && rc == TD_OK; i++) {
        if (takes(&events->plan->groups[i], target))
            rc = open_instances(events, i, target, err);
    }
    return rc;
}

/* By memset: clang 14's analyzer loses the freed pointers of a struct that is assigned whole. */
static void begin(struct td_events *events, const struct td_plan *plan, const struct td_caps *caps,
                  const struct td_events_target *target, size_t pages, size_t wanted)
{
    memset(events, 0, sizeof(*events));
    events->plan = plan;
    events->caps = caps;
    events->part = target->part;
    events->ring_pages = pages;
    events->ring_wanted = wanted;
}

int td_events_open(struct td_events *events, const struct td_plan *plan, const struct td_caps *caps,
                   const struct td_events_target *target, struct td_err *err)
{
    const size_t wanted = target->ring_pages ? target->ring_pages : default_pages(plan, caps);
    size_t pages = wanted;
    int rc = TD_OK;

    raise_descriptor_limit();
    for (bool again = true; again; pages /= 2) {
        begin(events, plan, caps, target, pages, wanted);
        rc = open_all(events, target, err);
        again = events->too_large;
        if (again)
            td_events_close(events);
    }
    if (rc < 0)
        return rc;
    return target->part == TD_EVENTS_COUNTERS ? TD_OK : make_layouts(events, err);
}

void td_events_close(struct td_events *events)
{
    for (size_t i = 0; i < events->ring_count; i++)
        td_ring_unmap(&events->rings[i]);
    for (size_t i = 0; i < events->opened_count; i++)
        close(events->opened[i].fd);
    free(events->rings);
    free(events->opened);
    free(events->layouts);
    *events = (struct td_events){0};
}

static void control(const struct td_events *events, unsigned long request)
{
    for (size_t i = 0; i < events->opened_count; i++) {
        const struct td_opened *opened = &events->opened[i];
        const struct td_plan_event *event =
            &events->plan->groups[opened->group].events[opened->event];

        if (event->member)
            continue;
        if (request == PERF_EVENT_IOC_DISABLE || !(event->at_once || event->on_exec))
            ioctl(opened->fd, request, 0);
    }
}

void td_events_enable(const struct td_events *events)
{
    control(events, PERF_EVENT_IOC_ENABLE);
}

void td_events_enable_now(const struct td_events *events)
{
    for (size_t i = 0; i < events->opened_count; i++) {
        const struct td_opened *opened = &events->opened[i];

        if (!events->plan->groups[opened->group].events[opened->event].member)
            ioctl(opened->fd, PERF_EVENT_IOC_ENABLE, 0);
    }
}

void td_events_disable(const struct td_events *events)
{
    control(events, PERF_EVENT_IOC_DISABLE);
}

static void control_counting(const struct td_events *events, unsigned long request)
{
    for (size_t i = 0; i < events->opened_count; i++) {
        const struct td_opened *opened = &events->opened[i];
        const struct td_plan_event *event =
            &events->plan->groups[opened->group].events[opened->event];

        if (!event->member && !event->at_once)
            ioctl(opened->fd, request, 0);
    }
}

void td_events_pause(const struct td_events *events)
{
    control_counting(events, PERF_EVENT_IOC_DISABLE);
}

void td_events_resume(const struct td_events *events)
{
    control_counting(events, PERF_EVENT_IOC_ENABLE);
}

/* Whether the kernel makes one sample of the event for all who record it. The clocks have timers of
 * their own. */
static bool is_shared(const struct td_plan_group *group)
{
    const struct td_plan_event *event = &group->events[group->sampler];

    return group->sampler < group->event_count && event->type == PERF_TYPE_SOFTWARE &&
           event->config[0] != PERF_COUNT_SW_CPU_CLOCK &&
           event->config[0] != PERF_COUNT_SW_TASK_CLOCK;
}

/* Of several such groups it cannot be told which one a sample with another's id is of. */
static const struct td_layout *shared_layout(const struct td_events *events)
{
    const struct td_layout *shared = NULL;

    for (size_t i = 0; i < events->layout_count; i++) {
        const struct td_layout *layout = &events->layouts[i];

        if (!is_shared(&events->plan->groups[layout->group]))
            continue;
        if (shared && shared->group != layout->group)
            return NULL;
        shared = layout;
    }
    return shared;
}

struct td_layouts td_events_layouts(const struct td_events *events)
{
    return (struct td_layouts){
        .items = events->layouts, .count = events->layout_count, .shared = shared_layout(events)};
}

/* One read of a descriptor: its own value, or those of the group that it leads. */
static void each_value_of(const struct td_opened *opened, uint64_t format, const uint8_t *bytes,
                          size_t size, td_counter_value_fn *fn, void *ctx)
{
    struct td_rd rd = td_rd_init(bytes, size, 0);
    const bool grouped = format & PERF_FORMAT_GROUP;
    const uint64_t members = grouped ? td_rd_u64(&rd) : 1;
    struct td_counter_value value = {.group = opened->group, .event = opened->event};

    if (!grouped)
        value.value = td_rd_u64(&rd);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        value.enabled_ns = td_rd_u64(&rd);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        value.running_ns = td_rd_u64(&rd);
    for (uint64_t i = 0; i < members; i++) {
        if (grouped)
            value.value = td_rd_u64(&rd);
        value.id = format & PERF_FORMAT_ID ? td_rd_u64(&rd) : 0;
        value.lost = format & PERF_FORMAT_LOST ? td_rd_u64(&rd) : 0;
        if (!td_rd_ok(&rd))
            return;
        fn(ctx, &value);
        value.event++;
    }
}

static uint64_t read_format(const struct td_events *events, const struct td_opened *opened)
{
    const uint64_t known = ~(events->no_lost ? (uint64_t)PERF_FORMAT_LOST : 0);

    return events->plan->groups[opened->group].events[opened->event].read_format & known;
}

static void read_values(const struct td_events *events, const struct td_opened *opened,
                        td_counter_value_fn *fn, void *ctx)
{
    uint8_t bytes[8 * (3 + 3 * TD_PLAN_EVENTS_MAX)];
    const ssize_t size = read(opened->fd, bytes, sizeof(bytes));

    if (size > 0)
        each_value_of(opened, read_format(events, opened), bytes, (size_t)size, fn, ctx);
}

void td_events_each_value(const struct td_events *events, td_counter_value_fn *fn, void *ctx)
{
    for (size_t i = 0; i < events->opened_count; i++) {
        const struct td_opened *opened = &events->opened[i];

        /* A group is read at its leader. */
        if (opened->event == 0 || !(read_format(events, opened) & PERF_FORMAT_GROUP))
            read_values(events, opened, fn, ctx);
    }
}

struct wanted_value {
    uint16_t event;
    uint64_t value;
};

static void take_value(void *ctx, const struct td_counter_value *value)
{
    struct wanted_value *wanted = ctx;

    if (value->event == wanted->event)
        wanted->value = value->value;
}

uint64_t td_events_value(const struct td_events *events, const struct td_opened *opened)
{
    struct wanted_value wanted = {.event = opened->event};
    struct td_opened first = *opened;

    /* A read of any member is one of the group, from its leader on. */
    if (read_format(events, opened) & PERF_FORMAT_GROUP)
        first.event = 0;
    read_values(events, &first, take_value, &wanted);
    return wanted.value;
}

struct totals {
    const struct td_plan *plan;
    struct td_events_counts counts;
};

static void add_counts(void *ctx, const struct td_counter_value *value)
{
    struct totals *totals = ctx;
    const struct td_plan_group *group = &totals->plan->groups[value->group];

    if (value->event == group->sampler && !group->waits)
        totals->counts.count += value->value;
    if (value->event == group->sampler || td_plan_is_second(group, value->event))
        totals->counts.lost += value->lost;
}

struct td_events_counts td_events_read(const struct td_events *events)
{
    struct totals totals = {.plan = events->plan};

    td_events_each_value(events, add_counts, &totals);
    return totals.counts;
}
