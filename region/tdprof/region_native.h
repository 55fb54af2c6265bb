/* SPDX-License-Identifier: MIT */
/*
 * What a mark does natively while tdrec records: it reads the counters of its thread and adds what
 * they did since the last mark to the innermost region, in memory that tdrec reads. Part of
 * tdprof/region.h; programs do not include it.
 *
 * It includes nothing of the C library, so that programs find their names as they were, and calls
 * no more of it than strncmp and what is declared below; errno stays. All that several files of a
 * program must have in common is weak. A thread works on memory of its own, without locks.
 */
#ifndef TDPROF_REGION_NATIVE_H
#define TDPROF_REGION_NATIVE_H

#include "region_shared.h"

/* Open at a time in a thread; what is begun beyond is counted and no more. */
#define TDPROF_OPEN_MAX 256
/* Regions of a thread that are told apart, and levels of them. */
#define TDPROF_REGIONS_MAX 1024
#define TDPROF_DEPTH_MAX   64
#define TDPROF_OTHERS      "(other regions)"
#define TDPROF_NO_NAME     "(no name)"
/* A step of PERF_METRICS is 1/255 of the slots since its reset: at a million slots, the work of
 * some 60 us, a step is 4 thousand. A reset is two system calls. What remains of the steps' error
 * is held to by tests/unit/marks_test.c. */
#define TDPROF_SLOTS_MAX (UINT64_C(1) << 20)
/* So many counters are read again quickly. */
#define TDPROF_QUICK_MAX 8
/* Where rdpmc finds PERF_METRICS (Intel SDM volume 3, 20.6.4). */
#define TDPROF_METRICS_COUNTER (UINT32_C(1) << 29)
/* Descriptors of ours stand above those that programs count on. */
#define TDPROF_FD_MIN 128
/* With more of them the program's memory would have too many mappings, by their pages. */
#define TDPROF_FD_COUNT_MAX 4096
/* PERF_EVENT_IOC_ID, PERF_EVENT_IOC_RESET */
#define TDPROF_IOC_ID    UINT64_C(0x80082407)
#define TDPROF_IOC_RESET UINT64_C(0x2403)

#define TDPROF_WEAK_ __attribute__((weak, visibility("default")))

/* struct perf_event_mmap_page, the part that is read. */
struct tdprof1_page {
    uint32_t version, compat_version;
    uint32_t lock, index;
    int64_t offset;
    uint64_t time_enabled, time_running, capabilities;
    uint16_t pmc_width, time_shift;
    uint32_t time_mult;
    uint64_t time_offset;
};
#define TDPROF_CAP_RDPMC (UINT64_C(1) << 2)
#define TDPROF_CAP_TIME  (UINT64_C(1) << 3)

struct tdprof1_open {
    struct tdprof1_region_cell *region;
    uint32_t cell;  /* its number */
    uint32_t inner; /* of the others, in themselves: the length is counted already */
    uint32_t hash;  /* of the others: of the name as it was begun */
    uint64_t begun;
};

/* How a counter was read at the last mark. */
struct tdprof1_counter {
    uint64_t raw, fresh; /* `fresh`: of this mark, until its page is known to be as it was */
    int64_t offset;
    uint32_t lock;  /* of its page */
    uint32_t index; /* for rdpmc; TDPROF_NONE: the event did not count */
};

struct tdprof1_thread {
    volatile uint32_t *alive; /* 1; the kernel makes it 0 in a forked child */
    uint32_t wiped;           /* whether it does; else it is always 0 */
    struct tdprof1_head *head;
    struct tdprof1_cell *cells;
    uint32_t self; /* its cell */
    uint32_t pid, kind, event_count;
    uint32_t busy; /* a mark runs: one of a signal handler in it finds nothing to work on */
    int fds[TDPROF_EVENTS_MAX]; /* the leader first; -1: closed */
    uint64_t fd_id;             /* by which the kernel knows the leader */
    uint32_t depth, regions;
    uint64_t beyond; /* open ones that found no place */
    /* At the last mark: */
    uint64_t time, values[TDPROF_EVENTS_MAX]; /* values: of marks that were not quick */
    struct tdprof1_counter counters[TDPROF_EVENTS_MAX];
    uint64_t mask;    /* the bits of a counter */
    uint32_t quick;   /* all count, and as long as their pages stay as they are, so do they */
    uint32_t lock;    /* of the leader's page when it counted; else what it is not */
    uint32_t metrics; /* whether there are events in PERF_METRICS */
    /* What the page said of the group, ns; at the time `since`, from which on it has counted when
     * `on`. */
    uint64_t enabled, running, since;
    uint32_t on;
    uint64_t raw[TDPROF_EVENTS_MAX]; /* of PERF_METRICS, and the slots that it divides */
    uint32_t time_mult, time_shift, width_shift;
    uint32_t timed; /* whether the pages say how ticks become ns; else ticks are ns */
    const volatile struct tdprof1_page *pages[TDPROF_EVENTS_MAX];
    struct tdprof1_region_cell outside; /* what is in no region; nobody reads it */
    struct tdprof1_open open[TDPROF_OPEN_MAX + 1];
    uint32_t recent[TDPROF_OPEN_MAX + 1];   /* by depth: what was begun last */
    uint32_t known[2 * TDPROF_REGIONS_MAX]; /* by hash: a cell; TDPROF_NONE */
};

#ifdef __cplusplus
extern "C" {
#endif
extern char *tdprof1_getenv(const char *name) __asm__("secure_getenv");
extern int tdprof1_clock(int which, int64_t *got) __asm__("clock_gettime");
/* Of the C library, for C++; not every library has it. */
extern int tdprof1_at_thread_end(void (*end)(void *), void *thread,
                                 void *library) __asm__("__cxa_thread_atexit_impl")
    __attribute__((weak));
extern void *tdprof1_library __asm__("__dso_handle") __attribute__((visibility("hidden")));

/* The only ones of a program: 0: not known yet, 1: nobody records, 2: tdrec does. */
TDPROF_WEAK_ uint32_t tdprof1_state;
TDPROF_WEAK_ uint64_t tdprof1_memory; /* where it is; 0: not mapped yet */
TDPROF_WEAK_ uint32_t tdprof1_left;   /* threads that count, where nobody tells of their end */
TDPROF_WEAK_ __thread struct tdprof1_thread *tdprof1_self;
#define TDPROF_LEFT_MAX 64u
#define TDPROF_OFF      1u
#define TDPROF_ON       2u

TDPROF_WEAK_ void tdprof1_mark(const char *name, uint32_t ends);
#ifdef __cplusplus
}
#endif

#define TDPROF_SIZE_(bytes) ((((uint64_t)(bytes)) + 4095) & ~UINT64_C(4095))

/* System calls. */

#if defined(__x86_64__)
enum {
    TDPROF_SYS_READ = 0,
    TDPROF_SYS_CLOSE = 3,
    TDPROF_SYS_MMAP = 9,
    TDPROF_SYS_MUNMAP = 11,
    TDPROF_SYS_IOCTL = 16,
    TDPROF_SYS_PREAD = 17,
    TDPROF_SYS_MADVISE = 28,
    TDPROF_SYS_GETPID = 39,
    TDPROF_SYS_FCNTL = 72,
    TDPROF_SYS_PRCTL = 157,
    TDPROF_SYS_GETTID = 186,
    TDPROF_SYS_CLOCK = 228,
    TDPROF_SYS_OPENAT = 257,
    TDPROF_SYS_PERF = 298,
    TDPROF_SYS_PRLIMIT = 302,
};
static inline int64_t tdprof1_call(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t e, uint64_t f)
{
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    int64_t ret;

    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#else
enum {
    TDPROF_SYS_FCNTL = 25,
    TDPROF_SYS_IOCTL = 29,
    TDPROF_SYS_OPENAT = 56,
    TDPROF_SYS_CLOSE = 57,
    TDPROF_SYS_READ = 63,
    TDPROF_SYS_PREAD = 67,
    TDPROF_SYS_CLOCK = 113,
    TDPROF_SYS_PRCTL = 167,
    TDPROF_SYS_GETPID = 172,
    TDPROF_SYS_GETTID = 178,
    TDPROF_SYS_MUNMAP = 215,
    TDPROF_SYS_MMAP = 222,
    TDPROF_SYS_MADVISE = 233,
    TDPROF_SYS_PERF = 241,
    TDPROF_SYS_PRLIMIT = 261,
};
static inline int64_t tdprof1_call(int64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                                   uint64_t e, uint64_t f)
{
    register int64_t x8 __asm__("x8") = number;
    register uint64_t x0 __asm__("x0") = a;
    register uint64_t x1 __asm__("x1") = b;
    register uint64_t x2 __asm__("x2") = c;
    register uint64_t x3 __asm__("x3") = d;
    register uint64_t x4 __asm__("x4") = e;
    register uint64_t x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return (int64_t)x0;
}
#endif

static inline uint64_t tdprof1_address(const volatile void *pointer)
{
    return (uint64_t)(uintptr_t)pointer;
}

/* `bytes` of nothing, or of a file; NULL when there is no room. */
static inline void *tdprof1_map(uint64_t bytes, uint64_t protection, int fd)
{
    /* MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED */
    const int64_t at = tdprof1_call(TDPROF_SYS_MMAP, 0, bytes, protection, fd < 0 ? 0x22 : 1,
                                    (uint64_t)(int64_t)fd, 0);

    return at < 0 && at > -4096 ? (void *)0 : (void *)(uintptr_t)at;
}

static inline void tdprof1_unmap(const volatile void *at, uint64_t bytes)
{
    if (at)
        tdprof1_call(TDPROF_SYS_MUNMAP, tdprof1_address(at), bytes, 0, 0, 0, 0);
}

static inline void tdprof1_close(int fd)
{
    if (fd >= 0)
        tdprof1_call(TDPROF_SYS_CLOSE, (uint64_t)fd, 0, 0, 0, 0, 0);
}

/* Of a clock of the kernel, in ns. */
static inline uint64_t tdprof1_clock_ns(int which)
{
    int64_t got[2] = {0, 0};

    if (which == 1) /* CLOCK_MONOTONIC: without a system call */
        tdprof1_clock(which, got);
    else
        tdprof1_call(TDPROF_SYS_CLOCK, (uint64_t)which, tdprof1_address(got), 0, 0, 0, 0);
    return (uint64_t)got[0] * 1000000000u + (uint64_t)got[1];
}

/* Whether this thread has confined itself: a filter may kill it for a call that the program does
 * not make. Where tdrec is confined too, as in a container, it cannot be told. */
static inline int tdprof1_is_confined(int tdrec_is)
{
    return !tdrec_is && tdprof1_call(TDPROF_SYS_PRCTL, 21, 0, 0, 0, 0, 0) != 0; /* PR_GET_SECCOMP */
}

/* Counters. */

/* Tests count without a PMU: they define these before. */
#ifndef TDPROF_RESET
#    define TDPROF_RESET(t) tdprof1_reset_group(t)
#endif
#ifndef TDPROF_RDPMC
#    if defined(__x86_64__)
#        define TDPROF_RDPMC(counter) tdprof1_rdpmc(counter)
#        define TDPROF_TICKS()        tdprof1_rdtsc()
static inline uint64_t tdprof1_rdpmc(uint32_t counter)
{
    uint32_t low, high;

    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
    return (uint64_t)high << 32 | low;
}
static inline uint64_t tdprof1_rdtsc(void)
{
    uint32_t low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
#    else
#        define TDPROF_RDPMC(counter) tdprof1_rdpmc(counter)
#        define TDPROF_TICKS()        tdprof1_cntvct()
#        define TDPROF_PMEV_(n)                                           \
        case n:                                                           \
            __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(value)); \
            break;
/* The counter of this index; 31 is that of cycles (arch/arm64/kernel/perf_event.c). */
static inline uint64_t tdprof1_rdpmc(uint32_t counter)
{
    uint64_t value = 0;

    /* clang-format off */
    switch (counter) {
        TDPROF_PMEV_(0) TDPROF_PMEV_(1) TDPROF_PMEV_(2) TDPROF_PMEV_(3) TDPROF_PMEV_(4)
        TDPROF_PMEV_(5) TDPROF_PMEV_(6) TDPROF_PMEV_(7) TDPROF_PMEV_(8) TDPROF_PMEV_(9)
        TDPROF_PMEV_(10) TDPROF_PMEV_(11) TDPROF_PMEV_(12) TDPROF_PMEV_(13) TDPROF_PMEV_(14)
        TDPROF_PMEV_(15) TDPROF_PMEV_(16) TDPROF_PMEV_(17) TDPROF_PMEV_(18) TDPROF_PMEV_(19)
        TDPROF_PMEV_(20) TDPROF_PMEV_(21) TDPROF_PMEV_(22) TDPROF_PMEV_(23) TDPROF_PMEV_(24)
        TDPROF_PMEV_(25) TDPROF_PMEV_(26) TDPROF_PMEV_(27) TDPROF_PMEV_(28) TDPROF_PMEV_(29)
        TDPROF_PMEV_(30)
    default: __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value)); break;
    }
    /* clang-format on */
    return value;
}
static inline uint64_t tdprof1_cntvct(void)
{
    uint64_t value;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
#    endif
#endif
#define TDPROF_BARRIER_() __asm__ volatile("" ::: "memory")

/* A counter of 64 - shift bits, with its sign. */
static inline int64_t tdprof1_extend(uint64_t value, uint32_t shift)
{
    return (int64_t)(value << shift) >> shift;
}

/* The slots of one field of PERF_METRICS, which is its share of them in 255ths; half a slot is
 * rounded up. No overflow below 2^56 slots. */
static inline uint64_t tdprof1_metric_slots(uint64_t metrics, uint32_t field, uint64_t slots)
{
    const uint64_t share = metrics >> 8 * field & 0xff;

    return (slots * share + 127) / 255;
}

/* Ticks in ns, where the product has more than 64 bits too. */
static inline uint64_t tdprof1_ns(uint64_t ticks, uint32_t mult, uint32_t shift)
{
    const uint64_t whole = ticks >> shift, rest = ticks & ((UINT64_C(1) << shift) - 1);

    return whole * mult + (rest * mult >> shift);
}

/* What an event had counted at the last mark. */
static inline uint64_t tdprof1_known(const struct tdprof1_counter *counter, uint32_t shift)
{
    return (uint64_t)(counter->offset + tdprof1_extend(counter->raw, shift));
}

/* What one event has counted (the kernel's struct perf_event_mmap_page says how). Of an event that
 * does not count now, all of it is in `offset`. */
static inline uint64_t tdprof1_counted(const volatile struct tdprof1_page *page, uint32_t shift,
                                       struct tdprof1_counter *counter)
{
    uint32_t index;

    do {
        counter->lock = page->lock;
        TDPROF_BARRIER_();
        index = page->index;
        counter->offset = page->offset;
        counter->raw = index ? TDPROF_RDPMC(index - 1) : 0;
        TDPROF_BARRIER_();
    } while (page->lock != counter->lock);
    counter->index = index - 1;
    return tdprof1_known(counter, shift);
}

/* A program that closes all descriptors closes ours too, and its next one may have our number. */
static inline int tdprof1_is_ours(struct tdprof1_thread *t)
{
    uint64_t id = 0;

    tdprof1_call(TDPROF_SYS_IOCTL, (uint64_t)t->fds[0], TDPROF_IOC_ID, tdprof1_address(&id), 0, 0,
                 0);
    return t->fd_id && id == t->fd_id;
}

/* By read(): how long the group was to count and did, and what it counted. */
static __attribute__((noinline)) int tdprof1_read_group(struct tdprof1_thread *t,
                                                        uint64_t got[3 + TDPROF_EVENTS_MAX])
{
    const uint64_t size = 8 * (3 + (uint64_t)t->event_count);

    return tdprof1_is_ours(t) && tdprof1_call(TDPROF_SYS_READ, (uint64_t)t->fds[0],
                                              tdprof1_address(got), size, 0, 0, 0) == (int64_t)size;
}

/* Adds one event's count. */
static inline void tdprof1_count(struct tdprof1_thread *t, struct tdprof1_region_cell *region,
                                 uint32_t e, uint64_t value)
{
    region->values[e] += value - t->values[e];
    t->values[e] = value;
}

/* The group was moved, or shares its counters: for how long it was to count, and did. */
static __attribute__((noinline)) void
tdprof1_moved(struct tdprof1_thread *t, struct tdprof1_region_cell *region, uint64_t now)
{
    const volatile struct tdprof1_page *page = t->pages[0];
    const uint64_t passed = t->on ? tdprof1_ns(t->time - t->since, t->time_mult, t->time_shift) : 0;
    uint64_t enabled, running, since, got[3 + TDPROF_EVENTS_MAX] = {0};
    uint32_t lock, index;

    do {
        lock = page->lock;
        TDPROF_BARRIER_();
        index = page->index;
        since = t->timed ? page->time_offset + tdprof1_ns(now, t->time_mult, t->time_shift) : 0;
        enabled = page->time_enabled + since;
        running = page->time_running + (index ? since : 0);
        TDPROF_BARRIER_();
    } while (page->lock != lock);
    if (!t->timed && tdprof1_read_group(t, got)) {
        enabled = got[1];
        running = got[2];
    }
    /* The page of a group that waits for counters is not written when its thread sleeps: what was
     * too much before is not counted again. */
    if ((int64_t)(enabled - t->enabled - passed) < 0)
        enabled = t->enabled + passed;
    if ((int64_t)(running - t->running - passed) < 0)
        running = t->running + passed;
    region->whole += enabled - t->enabled - passed;
    region->seen += running - t->running - passed;
    t->enabled = enabled;
    t->running = running;
    t->since = now;
    t->on = index != 0;
    t->lock = index ? lock : ~lock;
}

/* Intel's slots and their fields, since they were reset; the kernel keeps them over switches of
 * tasks, so `offset` is not looked at. The slots. */
static inline uint64_t tdprof1_read_metrics(struct tdprof1_thread *t,
                                            struct tdprof1_region_cell *region)
{
    uint32_t e;
    const volatile struct tdprof1_page *page = t->pages[0];
    uint64_t slots, metrics;
    uint32_t lock, index;

    do {
        lock = page->lock;
        TDPROF_BARRIER_();
        index = page->index;
        slots = index ? TDPROF_RDPMC(index - 1) & (~UINT64_C(0) >> t->width_shift) : 0;
        metrics = index ? TDPROF_RDPMC(TDPROF_METRICS_COUNTER) : 0;
        TDPROF_BARRIER_();
    } while (page->lock != lock);
    if (!index)
        return 0;
    const int reset = slots < t->raw[0]; /* by somebody, meanwhile */
    for (e = 0; e < t->event_count; e++) {
        const uint32_t metric = t->head->events[e].metric;
        const uint64_t raw = metric ? tdprof1_metric_slots(metrics, metric - 1, slots) : slots;

        if (e > 0 && !metric)
            continue;
        region->values[e] += raw - (reset ? 0 : t->raw[e]);
        t->raw[e] = raw;
    }
    return slots;
}

static inline int tdprof1_reset_group(struct tdprof1_thread *t)
{
    return tdprof1_is_ours(t) &&
           tdprof1_call(TDPROF_SYS_IOCTL, (uint64_t)t->fds[0], TDPROF_IOC_RESET, 0, 0, 0, 0) == 0;
}

/* So that a step of the fields stays small. */
static inline void tdprof1_reset_metrics(struct tdprof1_thread *t)
{
    if (TDPROF_RESET(t))
        tdprof1_read_metrics(t, &t->outside);
}

/* By a system call each time, where user access is off. */
static inline void tdprof1_pass_read(struct tdprof1_thread *t, struct tdprof1_region_cell *region)
{
    uint32_t e;
    uint64_t got[3 + TDPROF_EVENTS_MAX] = {0};

    if (!tdprof1_read_group(t, got)) {
        for (e = 0; e < TDPROF_EVENTS_MAX; e++)
            t->fds[e] = -1;
        t->kind = TDPROF_KIND_TIME;
        t->event_count = 0;
        t->enabled = tdprof1_clock_ns(3);
        return;
    }
    region->whole += got[1] - t->enabled;
    region->seen += got[2] - t->running;
    t->enabled = got[1];
    t->running = got[2];
    for (e = 0; e < t->event_count; e++)
        tdprof1_count(t, region, e, got[3 + e]);
}

/* Without a system call, but with a look at all that the pages say. */
static inline uint64_t tdprof1_pass_user(struct tdprof1_thread *t,
                                         struct tdprof1_region_cell *region)
{
    const uint32_t lock = t->pages[0]->lock;
    const uint64_t slots = t->metrics ? tdprof1_read_metrics(t, region) : 0;
    uint32_t e, all = t->timed && !t->metrics && t->event_count <= TDPROF_QUICK_MAX;

    for (e = 0; t->quick && e < t->event_count; e++)
        t->values[e] = tdprof1_known(&t->counters[e], t->width_shift);
    for (e = t->metrics ? 1 : 0; e < t->event_count; e++) {
        struct tdprof1_counter *counter = &t->counters[e];

        if (t->metrics && t->head->events[e].metric)
            continue;
        tdprof1_count(t, region, e, tdprof1_counted(t->pages[e], t->width_shift, counter));
        all = all && counter->index != TDPROF_NONE;
    }
    const uint64_t now = t->timed ? TDPROF_TICKS() : tdprof1_clock_ns(1);
    if (!t->metrics && lock == t->lock && t->pages[0]->lock == lock)
        region->on += now - t->time;
    else
        tdprof1_moved(t, region, now);
    t->mask = ~UINT64_C(0) >> t->width_shift;
    t->quick = all && t->lock == t->counters[0].lock;
    if (slots >= TDPROF_SLOTS_MAX)
        tdprof1_reset_metrics(t);
    return now;
}

static __attribute__((noinline)) uint64_t tdprof1_pass_slowly(struct tdprof1_thread *t,
                                                              struct tdprof1_region_cell *region)
{
    if (t->kind == TDPROF_KIND_USER)
        return tdprof1_pass_user(t, region);
    if (t->kind == TDPROF_KIND_READ) {
        tdprof1_pass_read(t, region);
        return tdprof1_clock_ns(1);
    }
    const uint64_t cpu = tdprof1_clock_ns(3); /* CLOCK_THREAD_CPUTIME_ID */
    region->whole += cpu - t->enabled;
    t->enabled = cpu;
    return tdprof1_clock_ns(1);
}

/* One event, and those before it. */
/* clang-format off */
#define TDPROF_EACH_QUICK_(each)                        \
    case 8: each(7) __attribute__((fallthrough));       \
    case 7: each(6) __attribute__((fallthrough));       \
    case 6: each(5) __attribute__((fallthrough));       \
    case 5: each(4) __attribute__((fallthrough));       \
    case 4: each(3) __attribute__((fallthrough));       \
    case 3: each(2) __attribute__((fallthrough));       \
    case 2: each(1) __attribute__((fallthrough));       \
    case 1: each(0) __attribute__((fallthrough));
/* clang-format on */
#define TDPROF_READ_(e)                                        \
    t->counters[e].fresh = TDPROF_RDPMC(t->counters[e].index); \
    TDPROF_BARRIER_();                                         \
    changed |= t->pages[e]->lock ^ t->counters[e].lock;
#define TDPROF_ADD_(e)                                                          \
    region->values[e] += (t->counters[e].fresh - t->counters[e].raw) & t->mask; \
    t->counters[e].raw = t->counters[e].fresh;

/* Adds what passed since the last mark to the region. */
static inline void tdprof1_pass(struct tdprof1_thread *t, struct tdprof1_region_cell *region)
{
    uint32_t changed = 0;

    if (__builtin_expect(!t->quick, 0)) {
        t->time = tdprof1_pass_slowly(t, region);
        return;
    }
    /* No loops: they would be a third of it. */
    switch (t->event_count) {
        TDPROF_EACH_QUICK_(TDPROF_READ_)
    default: break;
    }
    const uint64_t now = TDPROF_TICKS();
    TDPROF_BARRIER_();
    if (__builtin_expect(changed, 0)) {
        t->time = tdprof1_pass_slowly(t, region);
        return;
    }
    switch (t->event_count) {
        TDPROF_EACH_QUICK_(TDPROF_ADD_)
    default: break;
    }
    region->on += now - t->time;
    t->time = now;
}

/* Opening. */

static inline int64_t tdprof1_open_event(const struct tdprof1_event *event, int leader,
                                         uint64_t more_flags, uint64_t more_config1)
{
    /* struct perf_event_attr up to config2; read_format: group, enabled, running. */
    uint64_t attr[9] = {event->type | UINT64_C(72) << 32,
                        event->config,
                        0,
                        0,
                        1 | 2 | 8,
                        event->flags | more_flags,
                        0,
                        event->config1 | more_config1,
                        event->config2};

    /* This thread, any CPU; PERF_FLAG_FD_CLOEXEC */
    return tdprof1_call(TDPROF_SYS_PERF, tdprof1_address(attr), 0, (uint64_t)-1,
                        (uint64_t)(int64_t)leader, 8, 0);
}

/* Closes what is open from this event on, and is an event still (tdprof1_is_ours). */
static inline void tdprof1_close_events(struct tdprof1_thread *t, uint32_t first)
{
    uint32_t e;

    for (e = first; e < TDPROF_EVENTS_MAX; e++) {
        uint64_t id = 0;

        if (t->fds[e] >= 0 && tdprof1_call(TDPROF_SYS_IOCTL, (uint64_t)t->fds[e], TDPROF_IOC_ID,
                                           tdprof1_address(&id), 0, 0, 0) == 0)
            tdprof1_close(t->fds[e]);
        t->fds[e] = -1;
    }
}

static inline void tdprof1_forget_pages(struct tdprof1_thread *t)
{
    uint32_t e;

    for (e = 0; e < TDPROF_EVENTS_MAX; e++) {
        tdprof1_unmap(t->pages[e], 4096);
        t->pages[e] = (const volatile struct tdprof1_page *)0;
    }
}

/* A number that programs do not count on. Half of the rest of what the process may have is left to
 * it: else -EMFILE. */
static inline int64_t tdprof1_lift(int fd)
{
    const int64_t high = tdprof1_call(TDPROF_SYS_FCNTL, (uint64_t)fd, 1030, TDPROF_FD_MIN, 0, 0,
                                      0); /* F_DUPFD_CLOEXEC */
    const uint64_t first = high < 0 ? 0 : TDPROF_FD_MIN;
    uint64_t limits[2] = {1024, 0}; /* RLIMIT_NOFILE: soft, hard */

    if (high >= 0) {
        tdprof1_close(fd);
        fd = (int)high;
    }
    tdprof1_call(TDPROF_SYS_PRLIMIT, 0, 7, 0, tdprof1_address(limits), 0, 0);
    const uint64_t ours = limits[0] > first ? (limits[0] - first) / 2 : 0;
    if ((uint64_t)fd - first < (ours < TDPROF_FD_COUNT_MAX ? ours : TDPROF_FD_COUNT_MAX))
        return fd;
    tdprof1_close(fd);
    return -24;
}

/* Opens the events, and maps the page of each where the kernel lets one; 0, or -errno. */
static inline int64_t tdprof1_open_group(struct tdprof1_thread *t, uint64_t flags, uint64_t config1)
{
    uint32_t e;
    const uint32_t count = t->head->event_count;
    int64_t fd = -2; /* ENOENT */

    t->kind = TDPROF_KIND_USER;
    t->event_count = count < TDPROF_EVENTS_MAX ? count : TDPROF_EVENTS_MAX;
    for (e = 0; e < t->event_count; e++) {
        fd = tdprof1_open_event(&t->head->events[e], e ? t->fds[0] : -1, flags, config1);
        if (fd >= 0)
            fd = tdprof1_lift((int)fd);
        if (fd < 0)
            break;
        t->fds[e] = (int)fd;
        t->pages[e] = (const volatile struct tdprof1_page *)tdprof1_map(4096, 1, t->fds[e]);
        if (!t->pages[e] || !(t->pages[e]->capabilities & TDPROF_CAP_RDPMC))
            t->kind = TDPROF_KIND_READ;
    }
    if (fd < 0 || t->kind == TDPROF_KIND_READ)
        tdprof1_forget_pages(t);
    if (fd < 0)
        tdprof1_close_events(t, 0);
    else if (t->kind == TDPROF_KIND_USER)
        tdprof1_close_events(t, 1); /* events live as long as their pages */
    return fd < 0 ? fd : 0;
}

/* The best way to count that this thread has. */
static inline void tdprof1_open_events(struct tdprof1_thread *t, struct tdprof1_thread_cell *cell)
{
    uint32_t e;
    const uint64_t user_only = 1 << 5 | 1 << 6; /* without kernel and hypervisor */
    int64_t rc = 0;

    for (e = 0; e < TDPROF_EVENTS_MAX; e++) {
        t->pages[e] = (const volatile struct tdprof1_page *)0;
        t->fds[e] = -1;
    }
    t->metrics = t->event_count = t->timed = t->quick = 0;
    t->fd_id = 0;
    t->time_mult = 1;
    t->time_shift = 0;
    t->kind = TDPROF_KIND_TIME;
    if (t->head->event_count == 0)
        return;
    /* Threads that end would leave their descriptors behind: a bounded number of them has some. */
    if (!tdprof1_at_thread_end &&
        __atomic_fetch_add(&tdprof1_left, 1, __ATOMIC_RELAXED) >= TDPROF_LEFT_MAX)
        return;
#if defined(__aarch64__)
    /* This bit asks for user access (Documentation/arch/arm64/perf.rst). */
    rc = tdprof1_open_group(t, 0, 2);
    if (rc < 0)
#endif
        rc = tdprof1_open_group(t, 0, 0);
    if (rc == -13 || rc == -1) { /* EACCES, EPERM */
        rc = tdprof1_open_group(t, user_only, 0);
        cell->user_only = rc == 0;
    }
    if (rc < 0) {
        cell->error = (uint32_t)-rc;
        t->kind = TDPROF_KIND_TIME;
        t->event_count = 0;
        return;
    }
    tdprof1_call(TDPROF_SYS_IOCTL, (uint64_t)t->fds[0], TDPROF_IOC_ID, tdprof1_address(&t->fd_id),
                 0, 0, 0);
    for (e = 0; e < t->event_count; e++)
        t->metrics |= t->head->events[e].metric;
    if (t->kind == TDPROF_KIND_READ)
        return;
    t->timed = (t->pages[0]->capabilities & TDPROF_CAP_TIME) != 0;
    if (t->timed) {
        t->time_mult = t->pages[0]->time_mult;
        t->time_shift = t->pages[0]->time_shift;
    }
    t->width_shift = t->pages[0]->pmc_width < 64 ? 64u - t->pages[0]->pmc_width : 0;
}

/* Cells. */

static inline uint32_t tdprof1_take_cell(struct tdprof1_head *head)
{
    const uint32_t room = head->cell_count;

    if (__atomic_load_n(&head->used, __ATOMIC_RELAXED) >= room)
        return TDPROF_NONE;
    const uint32_t cell = __atomic_fetch_add(&head->used, 1, __ATOMIC_RELAXED);
    return cell < room ? cell : TDPROF_NONE;
}

static inline struct tdprof1_region_cell *tdprof1_region_of(struct tdprof1_thread *t, uint32_t cell)
{
    return &t->cells[cell].of.region;
}

static inline uint32_t tdprof1_hash(uint32_t parent, const char *name)
{
    uint32_t i;
    uint64_t hash = (parent + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);

    for (i = 0; i < TDPROF_NAME_MAX && name[i]; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash >> 32 ^ hash);
}

static inline int tdprof1_is(struct tdprof1_thread *t, uint32_t cell, uint32_t parent,
                             const char *name)
{
    const struct tdprof1_region_cell *region = tdprof1_region_of(t, cell);

    return region->parent == parent && __builtin_strncmp(region->name, name, TDPROF_NAME_MAX) == 0;
}

/* The region of the name in the parent, new or known; TDPROF_NONE when there is no room. */
static inline uint32_t tdprof1_put(struct tdprof1_thread *t, uint32_t parent, const char *name)
{
    uint32_t i;
    const uint32_t mask = 2 * TDPROF_REGIONS_MAX - 1;
    uint32_t at = tdprof1_hash(parent, name) & mask;

    for (; t->known[at] != TDPROF_NONE; at = (at + 1) & mask) {
        if (tdprof1_is(t, t->known[at], parent, name))
            return t->known[at];
    }
    /* One place is kept for the others. */
    const int room = t->regions < TDPROF_REGIONS_MAX - 1 ||
                     (t->regions < TDPROF_REGIONS_MAX && parent == TDPROF_NONE &&
                      __builtin_strncmp(name, TDPROF_OTHERS, sizeof(TDPROF_OTHERS)) == 0);
    const uint32_t cell = room ? tdprof1_take_cell(t->head) : TDPROF_NONE;
    if (cell == TDPROF_NONE)
        return cell;
    struct tdprof1_region_cell *region = tdprof1_region_of(t, cell);
    region->owner = t->self;
    region->parent = parent;
    for (i = 0; i < TDPROF_NAME_MAX && name[i]; i++)
        region->name[i] = name[i];
    __atomic_store_n(&t->cells[cell].kind, (uint32_t)TDPROF_CELL_REGION, __ATOMIC_RELEASE);
    t->known[at] = cell;
    t->regions++;
    return cell;
}

static __attribute__((noinline)) uint32_t tdprof1_find(struct tdprof1_thread *t, uint32_t parent,
                                                       const char *name)
{
    uint32_t cell = TDPROF_NONE;

    if (!name[0])
        name = TDPROF_NO_NAME;
    if (t->depth <= TDPROF_DEPTH_MAX)
        cell = tdprof1_put(t, parent, name);
    return cell == TDPROF_NONE ? tdprof1_put(t, TDPROF_NONE, TDPROF_OTHERS) : cell;
}

/* Marks. */

static inline uint32_t tdprof1_innermost(const struct tdprof1_thread *t)
{
    return t->depth ? t->open[t->depth - 1].cell : TDPROF_NONE;
}

static inline uint32_t tdprof1_is_open(const struct tdprof1_thread *t, uint32_t cell)
{
    uint32_t i;

    for (i = 0; i < t->depth; i++) {
        if (t->open[i].cell == cell)
            return 1;
    }
    return 0;
}

static inline int tdprof1_is_others(const struct tdprof1_region_cell *region)
{
    return region->parent == TDPROF_NONE && region->name[0] == '(' &&
           __builtin_strncmp(region->name, TDPROF_OTHERS, sizeof(TDPROF_OTHERS)) == 0;
}

static inline void tdprof1_begin(struct tdprof1_thread *t, const char *name)
{
    struct tdprof1_open *open = &t->open[t->depth]; /* there is one more than are used */
    const uint32_t parent = tdprof1_innermost(t);
    uint32_t cell = t->recent[t->depth];

    open->inner = open->hash = 0;
    if (cell == TDPROF_NONE || !tdprof1_is(t, cell, parent, name)) {
        cell = tdprof1_find(t, parent, name);
        t->recent[t->depth] = cell;
        if (cell != TDPROF_NONE && tdprof1_is_others(tdprof1_region_of(t, cell))) {
            t->recent[t->depth] = TDPROF_NONE;
            open->inner = tdprof1_is_open(t, cell);
            open->hash = tdprof1_hash(0, name[0] ? name : TDPROF_NO_NAME) | 1;
        }
    }
    if (cell == TDPROF_NONE) {
        t->cells[t->self].of.thread.lost++;
        t->beyond++;
        return;
    }
    struct tdprof1_region_cell *region = tdprof1_region_of(t, cell);
    region->begun++;
    if (t->depth >= TDPROF_OPEN_MAX) {
        t->beyond++;
        return;
    }
    tdprof1_pass(t, t->depth ? open[-1].region : &t->outside);
    open->region = region;
    open->cell = cell;
    open->begun = t->time;
    t->depth++;
}

static inline void tdprof1_close_innermost(struct tdprof1_thread *t)
{
    const struct tdprof1_open *open = &t->open[--t->depth];
    struct tdprof1_region_cell *region = open->region;
    const uint64_t length = t->time - open->begun;

    region->ended++;
    if (open->inner)
        return;
    if (region->timed == 0 || length < region->min)
        region->min = length;
    if (length > region->max)
        region->max = length;
    region->timed++;
    region->sum += length;
    /* 128 bits: the square's two halves. */
    __extension__ const unsigned __int128 before =
        region->squares[0] | (unsigned __int128)region->squares[1] << 64;
    __extension__ const unsigned __int128 sum = before + (unsigned __int128)length * length;
    region->squares[0] = (uint64_t)sum;
    region->squares[1] = (uint64_t)(sum >> 64);
}

/* Whether it was begun by this name. */
static inline int tdprof1_was_begun(const struct tdprof1_open *open, const char *name)
{
    if (open->hash)
        return open->hash == (tdprof1_hash(0, name) | 1);
    return __builtin_strncmp(open->region->name, name, TDPROF_NAME_MAX) == 0;
}

static inline void tdprof1_end(struct tdprof1_thread *t, const char *name)
{
    uint32_t at = t->depth;

    if (t->beyond) {
        t->beyond--;
        return;
    }
    if (t->depth)
        tdprof1_pass(t, t->open[t->depth - 1].region);
    if (!name[0])
        name = TDPROF_NO_NAME;
    while (at && !tdprof1_was_begun(&t->open[at - 1], name))
        at--;
    if (!at) {
        t->cells[t->self].of.thread.strays++;
        return;
    }
    if (t->depth > at)
        t->cells[t->self].of.thread.left_open += t->depth - at;
    while (t->depth >= at)
        tdprof1_close_innermost(t);
}

/* Threads. */

/* A cell for this thread of this process, and its counters. */
static inline int tdprof1_enter(struct tdprof1_thread *t)
{
    uint32_t e, i;
    const uint32_t cell = tdprof1_take_cell(t->head);

    if (cell == TDPROF_NONE)
        return 0;
    struct tdprof1_thread_cell *thread = &t->cells[cell].of.thread;
    t->self = cell;
    t->pid = (uint32_t)tdprof1_call(TDPROF_SYS_GETPID, 0, 0, 0, 0, 0, 0);
    t->regions = 0;
    for (i = 0; i < 2 * TDPROF_REGIONS_MAX; i++)
        t->known[i] = TDPROF_NONE;
    for (i = 0; i <= TDPROF_OPEN_MAX; i++)
        t->recent[i] = TDPROF_NONE;
    thread->pid = t->pid;
    thread->tid = (uint32_t)tdprof1_call(TDPROF_SYS_GETTID, 0, 0, 0, 0, 0, 0);
    /* PR_GET_NAME */
    tdprof1_call(TDPROF_SYS_PRCTL, 16, tdprof1_address(thread->name), 0, 0, 0, 0);
    tdprof1_open_events(t, thread);
    thread->kind = t->kind;
    thread->time_mult = t->time_mult;
    thread->time_shift = t->time_shift;
    t->on = 0;
    t->lock = 1; /* the kernel's is even when nobody writes the page */
    t->since = t->time = t->enabled = t->running = 0;
    for (e = 0; e < TDPROF_EVENTS_MAX; e++)
        t->values[e] = t->raw[e] = 0;
    tdprof1_pass(t, &t->outside);
    __atomic_store_n(&t->cells[cell].kind, (uint32_t)TDPROF_CELL_THREAD, __ATOMIC_RELEASE);
    *t->alive = t->wiped;
    return 1;
}

static void tdprof1_thread_ends(void *thread)
{
    struct tdprof1_thread *t = (struct tdprof1_thread *)thread;
    const uint32_t pid = (uint32_t)tdprof1_call(TDPROF_SYS_GETPID, 0, 0, 0, 0, 0, 0);

    tdprof1_self = (struct tdprof1_thread *)(uintptr_t)1;
    if (t->pid == pid) { /* a child that forked and set no mark has none of it */
        tdprof1_forget_pages(t);
        if (!tdprof1_is_confined((int)t->head->confined))
            tdprof1_close_events(t, 0);
        t->cells[t->self].of.thread.ended = 1;
    }
    tdprof1_unmap(t->alive, 4096);
    tdprof1_unmap(t, TDPROF_SIZE_(sizeof(*t)));
}

/* tdrec's memory; NULL: nobody records. */
static inline struct tdprof1_head *tdprof1_find_memory(void)
{
    uint64_t known = __atomic_load_n(&tdprof1_memory, __ATOMIC_ACQUIRE);
    const char *variable = TDPROF_VARIABLE;
    __asm__("" : "+r"(variable)); /* stands in the program as text: tdrec looks for it there */
    const char *name = tdprof1_getenv(variable);
    struct tdprof1_head *head = (struct tdprof1_head *)(uintptr_t)known;

    if (known || !name)
        return head;
    const int tdrec_is_confined = *name == TDPROF_CONFINED[0];
    name += tdrec_is_confined;
    if (tdprof1_is_confined(tdrec_is_confined))
        return (struct tdprof1_head *)0;
    /* AT_FDCWD; O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY */
    const int64_t fd = tdprof1_call(TDPROF_SYS_OPENAT, (uint64_t)-100, tdprof1_address(name),
                                    2 | 02000000 | 04000 | 0400, 0, 0, 0);
    if (fd < 0)
        return (struct tdprof1_head *)0;
    /* The head first, and not in memory: a file may be shorter. By pread: after tdrec's end the
     * name may be another process's pipe, from which nothing must be taken. */
    uint64_t magic[2] = {0, 0};
    const int64_t got = tdprof1_call(TDPROF_SYS_PREAD, (uint64_t)fd, tdprof1_address(magic),
                                     sizeof(magic), 0, 0, 0);
    if (got == (int64_t)sizeof(magic) && magic[0] == TDPROF_MAGIC) {
        const uint64_t cells = (uint32_t)magic[1];

        head = (struct tdprof1_head *)tdprof1_map(
            TDPROF_HEAD_BYTES + cells * sizeof(struct tdprof1_cell), 3, (int)fd);
    }
    tdprof1_close((int)fd);
    if (head && !__atomic_compare_exchange_n(&tdprof1_memory, &known, tdprof1_address(head), 0,
                                             __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        tdprof1_unmap(head,
                      TDPROF_HEAD_BYTES + (uint64_t)head->cell_count * sizeof(struct tdprof1_cell));
        head = (struct tdprof1_head *)(uintptr_t)known;
    }
    return head;
}

/* The first mark of a thread. */
static __attribute__((noinline)) struct tdprof1_thread *tdprof1_thread_new(void)
{
    struct tdprof1_head *head = tdprof1_find_memory();
    struct tdprof1_thread *t = (struct tdprof1_thread *)0;

    __atomic_store_n(&tdprof1_state, head ? TDPROF_ON : TDPROF_OFF, __ATOMIC_RELAXED);
    if (!head)
        return t;
    tdprof1_self = (struct tdprof1_thread *)(uintptr_t)1; /* for signals meanwhile, and failures */
    if (tdprof1_is_confined((int)head->confined))
        return t;
    t = (struct tdprof1_thread *)tdprof1_map(TDPROF_SIZE_(sizeof(*t)), 3, -1);
    volatile uint32_t *alive = (volatile uint32_t *)tdprof1_map(4096, 3, -1);
    if (t && alive) {
        /* MADV_WIPEONFORK; without it, tdprof1_forked asks the kernel each time. */
        t->wiped = tdprof1_call(TDPROF_SYS_MADVISE, tdprof1_address(alive), 4096, 18, 0, 0, 0) == 0;
        t->alive = alive;
        t->head = head;
        t->cells = (struct tdprof1_cell *)(void *)((char *)head + TDPROF_HEAD_BYTES);
        if (tdprof1_enter(t)) {
            /* The first thread ends with its process, which may set marks up to there. */
            if (tdprof1_at_thread_end && t->cells[t->self].of.thread.tid != t->pid)
                tdprof1_at_thread_end(tdprof1_thread_ends, t, &tdprof1_library);
            tdprof1_self = t;
            return t;
        }
    }
    tdprof1_unmap(alive, 4096);
    tdprof1_unmap(t, TDPROF_SIZE_(sizeof(*t)));
    return (struct tdprof1_thread *)0;
}

/* In a forked child: its own counters; what is open in its parent is open in it. */
static __attribute__((noinline)) struct tdprof1_thread *tdprof1_forked(struct tdprof1_thread *t)
{
    uint32_t i;
    const uint32_t depth = t->depth;

    if ((uint32_t)tdprof1_call(TDPROF_SYS_GETPID, 0, 0, 0, 0, 0, 0) == t->pid)
        return t;
    tdprof1_self = (struct tdprof1_thread *)(uintptr_t)1; /* for signals meanwhile, and failures */
    if (tdprof1_is_confined((int)t->head->confined))
        return (struct tdprof1_thread *)0;
    tdprof1_close_events(t, 0);
    t->busy = 0;
    t->depth = 0;
    t->beyond = 0;
    if (!tdprof1_enter(t))
        return (struct tdprof1_thread *)0;
    for (i = 0; i < depth; i++) {
        const uint32_t parent = tdprof1_innermost(t);
        char name[TDPROF_NAME_MAX + 1];

        __builtin_memcpy(name, tdprof1_region_of(t, t->open[i].cell)->name, TDPROF_NAME_MAX);
        name[TDPROF_NAME_MAX] = '\0';
        const uint32_t cell = tdprof1_find(t, parent, name);
        if (cell == TDPROF_NONE)
            break;
        tdprof1_region_of(t, cell)->begun++;
        t->open[i].region = tdprof1_region_of(t, cell);
        t->open[i].cell = cell;
        t->open[i].inner = t->open[i].hash != 0 && tdprof1_is_open(t, cell);
        t->open[i].begun = t->time;
        t->depth = i + 1;
    }
    tdprof1_self = t;
    return t;
}

TDPROF_WEAK_ void tdprof1_mark(const char *name, uint32_t ends)
{
    struct tdprof1_thread *t = tdprof1_self;

    if (__builtin_expect(!t, 0))
        t = tdprof1_thread_new();
    if (tdprof1_address(t) <= 1)
        return;
    if (__builtin_expect(*t->alive != 1, 0))
        t = tdprof1_forked(t);
    if (!t)
        return;
    if (t->busy) {
        t->cells[t->self].of.thread.lost++;
        return;
    }
    t->busy = 1;
    TDPROF_BARRIER_();
    if (ends)
        tdprof1_end(t, name);
    else
        tdprof1_begin(t, name);
    TDPROF_BARRIER_();
    t->busy = 0;
}

#endif
