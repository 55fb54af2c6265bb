/* SPDX-License-Identifier: MIT */
#include "report/query/waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

/* The beginning of a name, or with '=' before it all of it. */
struct known {
    const char *name, *reason;
};

/* What the C and C++ libraries call it. A thread waits by a futex for several things, which only
 * these tell apart. */
static const struct known library[] = {
    {"pthread_mutex_", "lock"},
    {"__pthread_mutex_", "lock"},
    {"___pthread_mutex_", "lock"},
    {"pthread_rwlock_", "lock"},
    {"__pthread_rwlock_", "lock"},
    {"___pthread_rwlock_", "lock"},
    {"pthread_spin_", "lock"},
    {"__pthread_spin_", "lock"},
    {"___pthread_spin_", "lock"},
    {"__lll_lock_wait", "lock"},
    {"__lll_clocklock", "lock"},
    {"lll_mutex_lock_optimized", "lock"},
    {"pthread_cond_", "condition"},
    {"__pthread_cond_", "condition"},
    {"___pthread_cond_", "condition"},
    {"pthread_barrier_", "barrier"},
    {"__pthread_barrier_", "barrier"},
    {"___pthread_barrier_", "barrier"},
    {"gomp_", "barrier"},
    {"sem_", "semaphore"},
    {"__new_sem_", "semaphore"},
    {"pthread_join", "thread"},
    {"___pthread_join", "thread"},
    {"__pthread_join", "thread"},
    {"__pthread_clockjoin", "thread"},
    {"=nanosleep", "sleep"},
    {"=__nanosleep", "sleep"},
    {"=clock_nanosleep", "sleep"},
    {"clock_nanosleep@", "sleep"},
    {"__clock_nanosleep", "sleep"},
    {"__GI___clock_nanosleep", "sleep"},
    {"__GI___nanosleep", "sleep"},
    {"=usleep", "sleep"},
    {"=sleep", "sleep"},
    {"=__sleep", "sleep"},
    {"=poll", "poll"},
    {"=__poll", "poll"},
    {"__GI___poll", "poll"},
    {"=ppoll", "poll"},
    {"=select", "poll"},
    {"=__select", "poll"},
    {"=pselect", "poll"},
    {"=epoll_wait", "poll"},
    {"=epoll_pwait", "poll"},
    {"=wait4", "child"},
    {"=__wait4", "child"},
    {"__GI___wait4", "child"},
    {"=waitpid", "child"},
    {"=__waitpid", "child"},
    {"=waitid", "child"},
    {"=recv", "socket"},
    {"=__libc_recv", "socket"},
    {"=recvfrom", "socket"},
    {"=recvmsg", "socket"},
    {"=accept", "socket"},
    {"=__libc_accept", "socket"},
    {"=accept4", "socket"},
    {"=connect", "socket"},
    {"=read", "read"},
    {"=__read", "read"},
    {"__GI___libc_read", "read"},
    {"=__libc_read", "read"},
    {"=write", "write"},
    {"__GI___libc_write", "write"},
    {"=__libc_write", "write"},
    {"=fsync", "disk"},
    {"=fdatasync", "disk"},
    {"__futex_abstimed_wait", ""},
    {"__GI___futex_abstimed_wait", ""},
    {"=futex_wait", ""},
    {"=syscall", ""},
    {"std::", ""},
    {"__gnu_cxx::", ""},
    {"__gthread_", ""},
};

/* What the kernel's functions wait for (Linux 5.10 to 6.18), the innermost that is named. */
static const struct known kernel[] = {
    {"futex_", "lock"},
    {"__futex_", "lock"},
    {"do_futex", "lock"},
    {"do_nanosleep", "sleep"},
    {"hrtimer_nanosleep", "sleep"},
    {"pipe_", "pipe"},
    {"anon_pipe_", "pipe"},
    {"fifo_pipe_", "pipe"},
    {"wait_for_partner", "pipe"},
    {"ep_poll", "poll"},
    {"do_epoll_", "poll"},
    {"do_poll", "poll"},
    {"do_sys_poll", "poll"},
    {"do_select", "poll"},
    {"do_wait", "child"},
    {"kernel_wait", "child"},
    {"wait_for_vfork_done", "child"},
    {"tcp_", "socket"},
    {"inet_", "socket"},
    {"udp_", "socket"},
    {"unix_", "socket"},
    {"sk_wait_", "socket"},
    {"__skb_", "socket"},
    {"skb_", "socket"},
    {"sock_", "socket"},
    {"vsock_", "socket"},
    {"netlink_", "socket"},
    {"io_schedule", "disk"},
    {"folio_wait_", "disk"},
    {"wait_on_page_", "disk"},
    {"submit_bio_wait", "disk"},
    {"bit_wait_io", "disk"},
    {"jbd2_", "disk"},
    {"blk_", "disk"},
    {"n_tty_", "terminal"},
    {"tty_", "terminal"},
    {"do_sigtimedwait", "signal"},
    {"sigsuspend", "signal"},
    {"__do_sys_pause", "signal"},
    {"do_signal_stop", "stopped"},
    {"eventfd_", "eventfd"},
    {"timerfd_", "timer"},
    {"signalfd_", "signal"},
    {"inotify_", "inotify"},
    {"io_cqring_", "io_uring"},
    {"do_semtimedop", "semaphore"},
    {"do_msgrcv", "message"},
    {"do_msgsnd", "message"},
    {"rwsem_", "kernel"},
    {"__mutex_lock", "kernel"},
    {"mutex_lock", "kernel"},
    {"down_", "kernel"},
    {"synchronize_rcu", "kernel"},
    {"wait_rcu_gp", "kernel"},
    {"flock_", "file lock"},
    {"fcntl_setlk", "file lock"},
    {"do_sched_yield", "yield"},
};

static const char *find(const struct known *known, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        const bool whole = known[i].name[0] == '=';
        const char *word = known[i].name + whole;

        if (whole ? strcmp(name, word) == 0 : strncmp(name, word, strlen(word)) == 0)
            return known[i].reason;
    }
    return NULL;
}

const char *td_wait_reason(const char *function, bool in_kernel)
{
    return in_kernel ? find(kernel, TD_ARRAY_SIZE(kernel), function)
                     : find(library, TD_ARRAY_SIZE(library), function);
}

bool td_waits_known(const struct td_model *model)
{
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const uint32_t event = td_model_group(model, g)->sampler;

        if (event != TD_NONE && strcmp(td_model_string(model, td_model_event(model, event)->name),
                                       TD_OFF_CPU_EVENT) == 0)
            return true;
    }
    return false;
}

static bool is_kernel(const struct td_model *model, const struct td_frame *frame)
{
    const enum td_module_kind kind =
        frame->module == TD_NONE ? TD_MODULE_UNKNOWN : td_model_module(model, frame->module)->kind;

    return kind == TD_MODULE_KERNEL || kind == TD_MODULE_KERNEL_MODULE;
}

/* The C library and what loads it. */
static bool is_library(const struct td_model *model, const struct td_frame *frame)
{
    static const char *const names[] = {"libc.so",  "libc-",   "libpthread",
                                        "ld-linux", "ld-musl", "libc.musl"};
    const char *module = td_module_name(model, frame->module);

    for (size_t i = 0; i < TD_ARRAY_SIZE(names); i++) {
        if (strncmp(module, names[i], strlen(names[i])) == 0)
            return true;
    }
    return false;
}

/* The place and the reason of a stack. The library's word counts more than the kernel's: of its
 * futex it alone knows what it is for. */
static void look_at(struct td_wait_place *place, const struct td_model *model,
                    const struct td_frames *frames)
{
    const char *of_kernel = NULL, *of_library = NULL;
    bool user = false;
    char buf[512];

    place->frame = (struct td_frame){.location = TD_NONE, .module = TD_NONE, .function = TD_NONE};
    for (size_t i = 0; i < frames->len; i++) {
        const struct td_frame *frame = &frames->at[i];
        const bool in_kernel = is_kernel(model, frame);
        const char *reason =
            td_wait_reason(td_frame_name(model, frame, buf, sizeof(buf)), in_kernel);

        if (in_kernel)
            of_kernel = of_kernel ? of_kernel : reason;
        else if (reason && *reason)
            of_library = reason;
        if (in_kernel && user)
            break;
        place->frame = *frame;
        user = !in_kernel;
        if (user && !reason && !is_library(model, frame))
            break;
    }
    const bool futex = of_kernel && strcmp(of_kernel, "lock") == 0;
    place->reason = of_library && (futex || !of_kernel) ? of_library : of_kernel ? of_kernel : "";
}

static int longest_first(const void *a, const void *b)
{
    const struct td_wait_place *x = a, *y = b;

    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    if (x->frame.location != y->frame.location)
        return x->frame.location < y->frame.location ? -1 : 1;
    return strcmp(x->reason, y->reason);
}

struct adding {
    struct td_wait_places *places;
    size_t cap;
    struct td_map by_place; /* function, line and reason */
};

static void add(struct adding *a, const struct td_wait_place *place)
{
    bool added = false;
    const bool known_place = place->frame.location != TD_NONE;
    const uint64_t what = known_place ? td_function_key(&place->frame) : place->thread;
    const uint64_t where =
        td_hash_mix(td_hash_bytes(place->reason, strlen(place->reason)), place->frame.line);
    const uint32_t index = *td_map_put(&a->by_place, what, where, (uint32_t)a->places->len, &added);

    if (added) {
        a->places->at = td_grow(a->places->at, &a->cap, a->places->len + 1, sizeof(*a->places->at));
        a->places->at[a->places->len++] = *place;
        return;
    }
    struct td_wait_place *known = &a->places->at[index];
    known->ns += place->ns;
    known->waits += place->waits;
    if (known->thread != place->thread)
        known->thread = 0;
}

int td_waits_of(struct td_wait_places *ret, const struct td_model *model,
                const struct td_filter *filter, struct td_err *err)
{
    struct td_filter waits = *filter;
    struct td_measure *measure = NULL;
    struct td_frames frames = {0};
    struct adding a = {.places = ret};

    *ret =
        (struct td_wait_places){.preempted_ns = td_model_counter(model, TD_COUNTER_PREEMPTED_NS)};
    waits.event = TD_OFF_CPU_EVENT;
    waits.by_sample = false;
    waits.metrics = 0;
    const int rc = td_measure_new(&measure, model, &waits, err);
    for (size_t i = 0; rc == TD_OK && i < measure->row_count; i++) {
        const struct td_measure_row *row = &measure->rows[i];
        struct td_wait_place place = {.thread = td_model_thread(model, row->thread)->name,
                                      .ns = measure->values[TD_METRIC_TIME_NS][i],
                                      .waits = measure->values[TD_METRIC_SAMPLES][i]};

        td_frames_fill(&frames, model, row->node, false);
        look_at(&place, model, &frames);
        add(&a, &place);
        ret->ns += place.ns;
        ret->waits += place.waits;
    }
    if (ret->len)
        qsort(ret->at, ret->len, sizeof(*ret->at), longest_first);
    td_frames_release(&frames);
    td_map_release(&a.by_place);
    td_measure_free(measure);
    return rc;
}

void td_waits_release(struct td_wait_places *places)
{
    free(places->at);
    *places = (struct td_wait_places){.at = NULL};
}
