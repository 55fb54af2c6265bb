/* SPDX-License-Identifier: MIT */
/*
 * --count --per-thread: counters of each thread by itself, opened when the thread appears. The
 * kernel says of a new thread before it runs; what it does until its counters are open, some tens
 * of microseconds, is not counted, and how long that was is known.
 */
#ifndef TD_RECORD_COUNT_THREADS_H
#define TD_RECORD_COUNT_THREADS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/count/counts.h"
#include "record/run/run.h"

#define TD_COUNT_THREADS_MAX 4096 /* those that have ended: further ones are counted together */

struct td_count_thread {
    uint32_t pid, tid; /* 0: the further ones together */
    char name[32];
    struct td_counts now, last; /* up to now; up to the last interval */
    struct td_events events;    /* private, as is the next */
    bool open;
};

/* What was not counted of threads. */
struct td_count_misses {
    uint64_t late_ns,
        worst_ns;      /* from a thread's birth to its counters, all together; the longest */
    size_t late;       /* threads that this is of */
    size_t missed;     /* threads that had ended before, or could not be opened; */
    struct td_err why; /* the latter, the first of them; code TD_OK: none */
};

struct td_count_threads;

/* Opens the counters of the run's threads, which the run has opened the tracker for
 * (TD_EVENTS_TRACKER). `run` is borrowed; once it is closed, only what was counted can be asked
 * for. */
int td_count_threads_new(struct td_count_threads **ret, struct td_run *run, struct td_err *err);
void td_count_threads_free(struct td_count_threads *threads); /* NULL is allowed */

/* Descriptors to poll, of which those that hang up are left out by and by; as many as there are,
 * at most `max`. */
size_t td_count_threads_poll(struct td_count_threads *threads, struct pollfd *fds, size_t max);
/* Some threads' births are not polled for: look every few milliseconds. */
bool td_count_threads_blind(const struct td_count_threads *threads);
/* Takes what the kernel told of threads; `fds` as polled, or NULL. */
void td_count_threads_take(struct td_count_threads *threads, const struct pollfd *fds,
                           size_t count);

/* As td_events_enable and td_events_disable, for all threads; those that come later, too. */
void td_count_threads_enable(struct td_count_threads *threads);
void td_count_threads_disable(struct td_count_threads *threads);
/* Stops counting, or starts it again. */
void td_count_threads_switch(struct td_count_threads *threads, bool on);
/* Reads all counters, and adds all threads to *sum. */
void td_count_threads_read(struct td_count_threads *threads, struct td_counts *sum);
/* What is read becomes what the next interval begins with. */
void td_count_threads_mark(struct td_count_threads *threads);

/* The threads; borrowed, until the next are taken. */
struct td_count_thread *const *td_count_threads_all(const struct td_count_threads *threads,
                                                    size_t *count);
struct td_count_misses td_count_threads_misses(const struct td_count_threads *threads);

#endif
