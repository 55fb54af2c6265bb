/* SPDX-License-Identifier: MIT */
#include "record/count/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "record/events/drain.h"

struct td_count_threads {
    struct td_run *run;
    struct td_count_thread **at;
    size_t count, cap, ended;
    struct td_map ids;             /* tid: its index, of the last thread that had it */
    struct td_count_thread *other; /* those beyond the maximum; in `at` */
    struct td_drain drain;
    size_t *watched;    /* a ring: which opened event is polled for it; opened_count: none is */
    bool enabled, over; /* new threads are counted at once; not any more */
    struct td_count_misses misses;
};

/* Threads. */

static struct td_count_thread *add_thread(struct td_count_threads *t, uint32_t pid, uint32_t tid,
                                          const char *name)
{
    struct td_count_thread *thread = td_xcalloc(1, sizeof(*thread));

    thread->pid = pid;
    thread->tid = tid;
    snprintf(thread->name, sizeof(thread->name), "%s", name);
    td_counts_init(&thread->now, t->run->plan);
    td_counts_init(&thread->last, t->run->plan);
    t->at = td_grow(t->at, &t->cap, t->count + 1, sizeof(*t->at));
    t->at[t->count] = thread;
    if (tid)
        *td_map_put(&t->ids, tid, 0, 0, NULL) = (uint32_t)t->count;
    t->count++;
    return thread;
}

static void free_thread(struct td_count_thread *thread)
{
    td_events_close(&thread->events);
    td_counts_release(&thread->now);
    td_counts_release(&thread->last);
    free(thread);
}

static struct td_count_thread *find_thread(const struct td_count_threads *t, uint32_t tid)
{
    const uint32_t *index = td_map_find(&t->ids, tid, 0);

    return index && *index != TD_NONE ? t->at[*index] : NULL;
}

static int open_thread(struct td_count_threads *t, struct td_count_thread *thread,
                       struct td_err *err)
{
    const struct td_events_target target = {.tids = &thread->tid,
                                            .tid_count = 1,
                                            .cgroup_fd = -1,
                                            .pass = t->run->pass,
                                            .part = TD_EVENTS_COUNTERS};
    const int rc = td_events_open(&thread->events, t->run->plan, t->run->caps, &target, err);

    thread->open = rc == TD_OK;
    if (rc < 0)
        td_events_close(&thread->events);
    return rc;
}

/* A thread that the kernel told of, or that was found running. */
static void attach(struct td_count_threads *t, uint32_t pid, uint32_t tid, const char *name,
                   uint64_t born_ns)
{
    struct td_err err = TD_ERR_INIT;
    struct td_count_thread *thread = add_thread(t, pid, tid, name);

    if (open_thread(t, thread, &err) < 0) {
        t->misses.missed++;
        if (err.sys_errno != ESRCH && t->misses.why.code == TD_OK)
            t->misses.why = err;
        return;
    }
    if (!t->enabled)
        return;
    td_events_enable_now(&thread->events);
    const uint64_t late_ns = born_ns ? td_clock_ns() - born_ns : 0;
    t->misses.late += born_ns > 0;
    t->misses.late_ns += late_ns;
    t->misses.worst_ns = late_ns > t->misses.worst_ns ? late_ns : t->misses.worst_ns;
}

static void read_thread(struct td_count_thread *thread)
{
    if (!thread->open)
        return;
    td_counts_clear(&thread->now);
    td_events_each_value(&thread->events, td_counts_take, &thread->now);
}

/* Of a program that starts thousands, the first are told one by one. */
static void join_others(struct td_count_threads *t, struct td_count_thread *thread)
{
    uint32_t *index = td_map_find(&t->ids, thread->tid, 0);
    struct td_count_thread *last = t->at[t->count - 1];

    if (!t->other) {
        t->other = add_thread(t, 0, 0, "");
        last = t->other;
    }
    snprintf(t->other->name, sizeof(t->other->name), "%zu others", t->ended - TD_COUNT_THREADS_MAX);
    td_counts_add(&t->other->now, &thread->now);
    td_counts_add(&t->other->last, &thread->last);
    t->at[*index] = last;
    if (last->tid && td_map_find(&t->ids, last->tid, 0))
        *td_map_find(&t->ids, last->tid, 0) = *index;
    *td_map_find(&t->ids, thread->tid, 0) = TD_NONE;
    t->count--;
    free_thread(thread);
}

static void end_thread(struct td_count_threads *t, uint32_t tid)
{
    struct td_count_thread *thread = find_thread(t, tid);

    if (!thread || !thread->open)
        return;
    read_thread(thread);
    thread->open = false;
    td_events_close(&thread->events);
    if (++t->ended > TD_COUNT_THREADS_MAX)
        join_others(t, thread);
}

/* What the kernel tells. */

static void take_record(void *ctx, size_t ring, const struct td_rec *rec)
{
    struct td_count_threads *t = ctx;
    struct td_count_thread *thread = NULL;
    const struct td_count_thread *born = NULL;

    (void)ring;
    switch (rec->kind) {
    case TD_REC_FORK:
        thread = find_thread(t, rec->u.task.ptid);
        born = find_thread(t, rec->u.task.tid);
        if (!t->over && (!born || !born->open))
            attach(t, rec->u.task.pid, rec->u.task.tid, thread ? thread->name : "", rec->time_ns);
        break;
    case TD_REC_EXIT: end_thread(t, rec->u.task.tid); break;
    case TD_REC_COMM:
        thread = find_thread(t, rec->tid);
        if (thread)
            snprintf(thread->name, sizeof(thread->name), "%.*s", (int)rec->u.comm.len,
                     rec->u.comm.name);
        break;
    case TD_REC_LOST: t->misses.missed += rec->u.lost; break;
    case TD_REC_SWITCH:
    case TD_REC_OTHER:
    case TD_REC_SAMPLE:
    case TD_REC_MMAP:
    case TD_REC_KSYMBOL:
    case TD_REC_LOST_SAMPLES:
    case TD_REC_THROTTLE: break;
    }
}

static size_t opened_of(const struct td_events *events, size_t ring, size_t from)
{
    while (from < events->opened_count && events->opened[from].ring != ring)
        from++;
    return from;
}

size_t td_count_threads_poll(struct td_count_threads *threads, struct pollfd *fds, size_t max)
{
    const struct td_events *events = &threads->run->events;
    size_t count = 0;

    for (size_t ring = 0; ring < events->ring_count && count < max; ring++) {
        const size_t at = threads->watched[ring];

        fds[count++] = (struct pollfd){.fd = at < events->opened_count ? events->opened[at].fd : -1,
                                       .events = POLLIN};
    }
    return count;
}

bool td_count_threads_blind(const struct td_count_threads *threads)
{
    const struct td_events *events = &threads->run->events;

    for (size_t ring = 0; ring < events->ring_count; ring++) {
        if (threads->watched[ring] == events->opened_count)
            return true;
    }
    return false;
}

void td_count_threads_take(struct td_count_threads *threads, const struct pollfd *fds, size_t count)
{
    const struct td_events *events = &threads->run->events;

    /* An event whose task has ended says so for ever. */
    for (size_t ring = 0; ring < count && ring < events->ring_count; ring++) {
        if (fds[ring].revents & (POLLHUP | POLLERR))
            threads->watched[ring] = opened_of(events, ring, threads->watched[ring] + 1);
    }
    td_drain_run(&threads->drain, UINT64_MAX, take_record, threads);
}

/* Starting. */

static void name_of(char *name, size_t size, uint32_t tid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/comm", tid);
    char *text = td_procfs_text(NULL, path);
    snprintf(name, size, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
    free(text);
}

/* Those that the run is about; the first says whether anything can be opened at all. */
static int attach_first(struct td_count_threads *t, struct td_err *err)
{
    const bool launches = td_run_launches(t->run);
    int rc = TD_OK;

    for (size_t i = 0; i < t->run->tid_count && rc == TD_OK; i++) {
        const uint32_t tid = t->run->tids[i];
        char name[32];

        name_of(name, sizeof(name), tid);
        struct td_count_thread *thread =
            add_thread(t, launches ? tid : td_target_process_of(tid), tid, launches ? "" : name);
        rc = open_thread(t, thread, err);
        if (rc < 0 && i > 0) { /* it ended while the others were opened */
            t->misses.missed++;
            rc = TD_OK;
        }
    }
    return rc;
}

/* Threads that came between the first look and the tracker. */
static int attach_newer(struct td_count_threads *t, struct td_err *err)
{
    const struct td_request *request = t->run->request;
    uint32_t *tids = NULL;
    size_t count = 0;

    if (request->scope != TD_SCOPE_PROCESS)
        return TD_OK;
    const int rc = td_target_threads(request->ids, request->id_count, &tids, &count, err);
    for (size_t i = 0; i < count && rc == TD_OK; i++) {
        char name[32];

        name_of(name, sizeof(name), tids[i]);
        if (!find_thread(t, tids[i]))
            attach(t, td_target_process_of(tids[i]), tids[i], name, 0);
    }
    free(tids);
    return rc;
}

int td_count_threads_new(struct td_count_threads **ret, struct td_run *run, struct td_err *err)
{
    struct td_count_threads *t = td_xcalloc(1, sizeof(*t));
    const struct td_layouts layouts = td_events_layouts(&run->events);

    t->run = run;
    t->watched = td_xcalloc(run->events.ring_count + 1, sizeof(*t->watched));
    for (size_t ring = 0; ring < run->events.ring_count; ring++)
        t->watched[ring] = opened_of(&run->events, ring, 0);
    td_drain_init(&t->drain, run->events.rings, run->events.ring_count, &layouts);
    int rc = attach_first(t, err);
    if (rc == TD_OK)
        rc = attach_newer(t, err);
    if (rc == TD_OK)
        *ret = t;
    else
        td_count_threads_free(t);
    return rc;
}

void td_count_threads_free(struct td_count_threads *threads)
{
    if (!threads)
        return;
    for (size_t i = 0; i < threads->count; i++)
        free_thread(threads->at[i]);
    td_drain_release(&threads->drain);
    td_map_release(&threads->ids);
    free(threads->watched);
    free(threads->at);
    free(threads);
}

void td_count_threads_enable(struct td_count_threads *threads)
{
    threads->enabled = true;
    for (size_t i = 0; i < threads->count; i++) {
        if (threads->at[i]->open)
            td_events_enable(&threads->at[i]->events);
    }
}

void td_count_threads_disable(struct td_count_threads *threads)
{
    threads->enabled = false;
    threads->over = true;
    for (size_t i = 0; i < threads->count; i++) {
        if (threads->at[i]->open)
            td_events_disable(&threads->at[i]->events);
    }
}

void td_count_threads_switch(struct td_count_threads *threads, bool on)
{
    threads->enabled = on;
    for (size_t i = 0; i < threads->count; i++) {
        if (threads->at[i]->open && on)
            td_events_resume(&threads->at[i]->events);
        else if (threads->at[i]->open)
            td_events_pause(&threads->at[i]->events);
    }
}

void td_count_threads_read(struct td_count_threads *threads, struct td_counts *sum)
{
    for (size_t i = 0; i < threads->count; i++) {
        read_thread(threads->at[i]);
        td_counts_add(sum, &threads->at[i]->now);
    }
}

void td_count_threads_mark(struct td_count_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        td_counts_copy(&threads->at[i]->last, &threads->at[i]->now);
}

struct td_count_thread *const *td_count_threads_all(const struct td_count_threads *threads,
                                                    size_t *count)
{
    *count = threads->count;
    return threads->at;
}

struct td_count_misses td_count_threads_misses(const struct td_count_threads *threads)
{
    return threads->misses;
}
