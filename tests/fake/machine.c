/* SPDX-License-Identifier: MIT */
/*
 * A machine that is not there, for one program: loaded before it (LD_PRELOAD), this library gives
 * it a recorded /proc and /sys in place of the real ones, and answers perf_event_open, ioctl, read
 * mmap, poll and close of events. What opens is decided by the double of the kernel's rules
 * (tests/plan), what is counted by a text (rules.h) or, with samples, by what is run (run.h). The
 * programs that it starts see the real machine.
 *
 *     FAKE_ROOT    folder of the unpacked machine (tests/plan/unpack)
 *     FAKE_COUNTS  file of the counts
 *     FAKE_RUN     file of what is run, in place of the counts
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/machine/caps.h"
#include "tests/fake/opened.h"
#include "tests/fake/rules.h"
#include "tests/fake/sampling.h"
#include "tests/plan/double.h"

#define NS_PER_MS UINT64_C(1000000)
/* Longer than tdrec holds records back to put them in order. */
#define SETTLE_MS 12

static struct fake_opened opened[FAKE_FDS_MAX];
static struct fake_run run;
static struct fake_sampling *sampling; /* NULL: it only counts */
static struct fake_rules rules;
static struct perf_double kernel;
static struct td_caps caps;
static char root[PATH_MAX];

typedef int open_fn(const char *path, int flags, ...);
typedef DIR *opendir_fn(const char *path);
typedef ssize_t read_fn(int fd, void *to, size_t size);
typedef int close_fn(int fd);
typedef int ioctl_fn(int fd, unsigned long request, ...);
typedef long syscall_fn(long number, ...);
typedef int poll_fn(struct pollfd *fds, nfds_t count, int timeout_ms);
typedef pid_t fork_fn(void);
typedef pid_t wait4_fn(pid_t pid, int *status, int options, struct rusage *usage);

struct fake_opened *fake_opened_all(void)
{
    return opened;
}

/* The next definition of a function: libc's, or a sanitizer's before it. */
static void *next(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (!found)
        abort();
    return found;
}

/* /sys is the recorded one, and of /proc what the recording has. */
static const char *recorded(const char *path, char *buf, size_t size)
{
    const bool sys = strncmp(path, "/sys/", 5) == 0;

    if (!root[0] || (!sys && strncmp(path, "/proc/", 6) != 0))
        return path;
    snprintf(buf, size, "%s%s", root, path);
    return sys || access(buf, F_OK) == 0 ? buf : path;
}

int open(const char *path, int flags, ...)
{
    char buf[PATH_MAX];
    va_list args;

    va_start(args, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    return ((open_fn *)next("open"))(recorded(path, buf, sizeof(buf)), flags, mode);
}

DIR *opendir(const char *path)
{
    char buf[PATH_MAX];

    return ((opendir_fn *)next("opendir"))(recorded(path, buf, sizeof(buf)));
}

static struct fake_opened *find(int fd)
{
    return fd >= 0 && fd < FAKE_FDS_MAX && opened[fd].used ? &opened[fd] : NULL;
}

/* Also one that was closed before its members has its place. */
static struct fake_opened *leader_of(const struct fake_opened *event)
{
    return &opened[event->leader];
}

static size_t members_of(int leader, struct fake_event *events, int *fds)
{
    size_t count = 0;

    for (int fd = 0; fd < FAKE_FDS_MAX && count < FAKE_MEMBERS_MAX; fd++) {
        if (!opened[fd].used || opened[fd].leader != leader)
            continue;
        fds[count] = fd;
        events[count++] = opened[fd].event;
    }
    return count;
}

static uint64_t now_ns(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t counted_ns(const struct fake_opened *event)
{
    return event->for_ns + (event->from_ns ? now_ns() - event->from_ns : 0);
}

static const struct fake_rule *rule_of(const struct fake_opened *event)
{
    struct fake_event members[FAKE_MEMBERS_MAX];
    int fds[FAKE_MEMBERS_MAX];

    return fake_rules_find(&rules, &event->event, members, members_of(event->leader, members, fds));
}

/* A group has its counters or has them not: the leader's line says for which part of the time. */
static double share_of(const struct fake_opened *event)
{
    static const struct fake_event other = {.config = UINT64_MAX};
    double share = rule_of(leader_of(event))->share;

    if (isnan(share) && !event->event.software)
        share = fake_rules_find(&rules, &other, NULL, 0)->share;
    return isnan(share) ? 1 : share;
}

/* How long a group was to count, and how long it had its counters. */
struct times {
    uint64_t enabled_ns, running_ns;
};

static struct times times_of(const struct fake_opened *event)
{
    const struct fake_opened *leader = leader_of(event);
    const uint64_t enabled_ns = counted_ns(leader);

    if (sampling)
        return (struct times){leader->enabled_ns, leader->running_ns};
    return (struct times){enabled_ns, (uint64_t)llround((double)enabled_ns * share_of(event))};
}

/* What a counter that ran for this part of the time has counted. */
static uint64_t value_of(const struct fake_opened *event, struct times times)
{
    const struct fake_rule *rule = rule_of(event);
    const double whole = rule->count + rule->step * (double)leader_of(event)->reads +
                         rule->rate * (double)times.enabled_ns / (double)NS_PER_MS;

    if (sampling)
        return fake_sampling_value(event);
    if (times.enabled_ns == 0)
        return 0;
    return (uint64_t)llround(whole * (double)times.running_ns / (double)times.enabled_ns);
}

static size_t put_value(uint64_t *words, const struct fake_opened *event, struct times times)
{
    const uint64_t format = event->attr.read_format;
    size_t count = 0;

    words[count++] = value_of(event, times);
    if (!(format & PERF_FORMAT_GROUP)) {
        if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
            words[count++] = times.enabled_ns;
        if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
            words[count++] = times.running_ns;
    }
    if (format & PERF_FORMAT_ID)
        words[count++] = (uint64_t)event->number + 1;
    if (format & PERF_FORMAT_LOST)
        words[count++] = event->lost;
    return count;
}

/* As perf_read of the kernel: one value, or the whole group's at any of its members. */
static ssize_t read_event(struct fake_opened *event, void *to, size_t size)
{
    uint64_t words[3 + 3 * FAKE_MEMBERS_MAX];
    struct fake_event members[FAKE_MEMBERS_MAX];
    int fds[FAKE_MEMBERS_MAX];
    const size_t members_count = members_of(event->leader, members, fds);
    const struct times times = times_of(event);
    size_t count = 0;

    leader_of(event)->reads++;
    if (event->attr.read_format & PERF_FORMAT_GROUP) {
        words[count++] = members_count;
        if (event->attr.read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
            words[count++] = times.enabled_ns;
        if (event->attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
            words[count++] = times.running_ns;
        for (size_t i = 0; i < members_count; i++)
            count += put_value(words + count, &opened[fds[i]], times);
    } else {
        count = put_value(words, event, times);
    }
    if (size < count * sizeof(*words)) {
        errno = ENOSPC;
        return -1;
    }
    memcpy(to, words, count * sizeof(*words));
    return (ssize_t)(count * sizeof(*words));
}

ssize_t read(int fd, void *to, size_t size)
{
    struct fake_opened *event = find(fd);

    return event ? read_event(event, to, size) : ((read_fn *)next("read"))(fd, to, size);
}

int close(int fd)
{
    struct fake_opened *event = find(fd);

    if (event) {
        event->used = false;
        event->ring.page = NULL;
    }
    return ((close_fn *)next("close"))(fd);
}

static void disable(struct fake_opened *event)
{
    if (sampling)
        fake_sampling_finish(sampling);
    event->for_ns = counted_ns(event);
    event->from_ns = 0;
}

static int control(struct fake_opened *event, unsigned long request, void *arg)
{
    const struct fake_opened *other = find((int)(intptr_t)arg);

    switch (request) {
    case PERF_EVENT_IOC_ENABLE: event->from_ns = event->from_ns ? event->from_ns : now_ns(); break;
    case PERF_EVENT_IOC_DISABLE: disable(event); break;
    case PERF_EVENT_IOC_RESET: event->reads = 0; break;
    case PERF_EVENT_IOC_ID: *(uint64_t *)arg = (uint64_t)event->number + 1; break;
    case PERF_EVENT_IOC_SET_OUTPUT:
        if (!sampling || !other || other->cpu != event->cpu) {
            errno = EINVAL;
            return -1;
        }
        event->output = other->output;
        break;
    case PERF_EVENT_IOC_PERIOD:
        if (sampling)
            fake_sampling_period(sampling, event, *(uint64_t *)arg);
        break;
    default: errno = ENOTTY; return -1;
    }
    return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
    struct fake_opened *event = find(fd);
    va_list args;

    va_start(args, request);
    void *arg = va_arg(args, void *);
    va_end(args);
    return event ? control(event, request, arg) : ((ioctl_fn *)next("ioctl"))(fd, request, arg);
}

/* A page that tells how far the kernel has written, then the buffer (man 2 perf_event_open). */
static void *map_ring(struct fake_opened *event, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = (void *)((syscall_fn *)next("syscall"))(SYS_mmap, NULL, size, PROT_READ | PROT_WRITE,
                                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return at;
    event->ring = (struct fake_ring){.page = at, .data = (uint8_t *)at + page, .size = size - page};
    event->ring.page->data_offset = page;
    event->ring.page->data_size = size - page;
    return at;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    struct fake_opened *event = sampling ? find(fd) : NULL;

    return event ? map_ring(event, size)
                 : (void *)((syscall_fn *)next("syscall"))(SYS_mmap, at, size, protection, flags,
                                                           fd, offset);
}

pid_t fork(void)
{
    const pid_t pid = ((fork_fn *)next("fork"))();

    if (pid > 0 && sampling)
        fake_sampling_command(sampling, pid);
    return pid;
}

static struct timeval timeval_of(uint64_t ns)
{
    return (struct timeval){.tv_sec = (time_t)(ns / 1000000000),
                            .tv_usec = (suseconds_t)(ns % 1000000000 / 1000)};
}

/* The command does not end before what it runs, and took the time of that. */
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
    if (sampling && options & WNOHANG && fake_sampling_is_left(sampling))
        return 0;
    const pid_t ended = ((wait4_fn *)next("wait4"))(pid, status, options, usage);

    if (ended > 0 && usage && sampling) {
        usage->ru_utime = timeval_of(fake_run_cpu_ns(&run, false));
        usage->ru_stime = timeval_of(fake_run_cpu_ns(&run, true));
    }
    return ended;
}

/* While there is something to run, nothing else happens. */
static int poll_run(struct pollfd *fds, nfds_t count)
{
    int ready = 0;

    ((poll_fn *)next("poll"))(NULL, 0, SETTLE_MS);
    for (nfds_t i = 0; i < count; i++) {
        struct fake_opened *event = find(fds[i].fd);

        fds[i].revents = event && fake_sampling_wakes(event) ? POLLIN : 0;
        ready += fds[i].revents != 0;
    }
    return ready;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    bool rings = false;

    for (nfds_t i = 0; i < count && sampling; i++)
        rings = rings || find(fds[i].fd);
    if (rings && fake_sampling_go_on(sampling))
        return poll_run(fds, count);
    return ((poll_fn *)next("poll"))(fds, count, timeout_ms);
}

/* The PMU's name; "" for those of the core. */
static void name_pmu(struct fake_event *event, uint32_t type)
{
    for (size_t i = 0; i < caps.pmu_count && type >= PERF_TYPE_MAX; i++) {
        if (caps.pmus[i].type == type && !caps.pmus[i].core)
            snprintf(event->pmu, sizeof(event->pmu), "%.15s", caps.pmus[i].name);
    }
}

static long open_event(const struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                       unsigned long flags)
{
    const struct fake_opened *leader = find(group_fd);
    struct fake_event event = {.software = attr->type == PERF_TYPE_SOFTWARE,
                               .config = attr->config,
                               .config1 = attr->config1};

    name_pmu(&event, attr->type);
    const int refused = fake_rules_find(&rules, &event, NULL, 0)->error;
    const int number = refused ? -refused
                               : double_open(&kernel, attr, pid >= 0 ? DOUBLE_TASK : pid, cpu,
                                             leader ? leader->number : group_fd, flags);

    if (number < 0) {
        errno = -number;
        return -1;
    }
    const int fd = eventfd(0, EFD_CLOEXEC);
    if (fd < 0 || fd >= FAKE_FDS_MAX)
        abort();
    opened[fd] = (struct fake_opened){.used = true,
                                      .event = event,
                                      .pid = pid,
                                      .cpu = cpu,
                                      .leader = leader ? group_fd : fd,
                                      .output = fd,
                                      .number = number};
    memcpy(&opened[fd].attr, attr,
           attr->size < sizeof(opened[fd].attr) ? attr->size : sizeof(opened[fd].attr));
    if (sampling)
        fake_sampling_open(sampling, &opened[fd]);
    /* The command's exec is not seen: what waits for it counts from here on, or from where the run
     * begins. */
    if (!attr->disabled || (attr->enable_on_exec && !sampling))
        opened[fd].from_ns = now_ns();
    return fd;
}

long syscall(long number, ...)
{
    long args[6];
    va_list list;

    va_start(list, number);
    for (size_t i = 0; i < 6; i++)
        args[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open && root[0])
        return open_event((const struct perf_event_attr *)args[0], (pid_t)args[1], (int)args[2],
                          (int)args[3], (unsigned long)args[4]);
    return ((syscall_fn *)next("syscall"))(number, args[0], args[1], args[2], args[3], args[4],
                                           args[5]);
}

__attribute__((noreturn)) static void give_up(const char *what, unsigned line)
{
    fprintf(stderr, "faked machine: %s", what);
    if (line)
        fprintf(stderr, ", line %u", line);
    fputc('\n', stderr);
    _exit(99);
}

static FILE *open_text(const char *variable)
{
    const char *path = getenv(variable);

    return path ? fopen(path, "re") : NULL;
}

static void read_texts(void)
{
    FILE *counts = open_text("FAKE_COUNTS"), *runs = open_text("FAKE_RUN");
    unsigned wrong = 0;

    if (!counts && !runs)
        give_up("FAKE_COUNTS and FAKE_RUN are missing", 0);
    if (counts && (wrong = fake_rules_read(&rules, counts)))
        give_up(getenv("FAKE_COUNTS"), wrong);
    if (runs && (wrong = fake_run_read(&run, runs)))
        give_up(getenv("FAKE_RUN"), wrong);
    if (runs) {
        sampling = fake_sampling_new(&run);
        fclose(runs);
    }
    if (counts)
        fclose(counts);
}

__attribute__((constructor)) static void begin(void)
{
    const char *machine = getenv("FAKE_ROOT");

    unsetenv("LD_PRELOAD"); /* what the program starts is not meant */
    if (!machine)
        give_up("FAKE_ROOT is missing", 0);
    read_texts();
    if (td_caps_read(&caps, machine, NULL) < 0)
        give_up("the recorded machine cannot be read", 0);
    double_init(&kernel, &caps);
    snprintf(root, sizeof(root), "%s", machine);
}

__attribute__((destructor)) static void end(void)
{
    td_caps_release(&caps);
    fake_sampling_free(sampling);
    sampling = NULL;
    fake_run_release(&run);
}
