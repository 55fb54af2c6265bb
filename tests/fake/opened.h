/* SPDX-License-Identifier: MIT */
/* The events that a program has opened on a faked machine. */
#ifndef TD_TESTS_FAKE_OPENED_H
#define TD_TESTS_FAKE_OPENED_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/fake/run.h"

#define FAKE_FDS_MAX     4096
#define FAKE_MEMBERS_MAX 64

/* The buffer that the event's descriptor is mapped to. */
struct fake_ring {
    struct perf_event_mmap_page *page; /* NULL: none */
    uint8_t *data;
    uint64_t size;
    uint64_t lost;     /* records that found no room, not told yet */
    uint64_t awake_at; /* where the head was when its reader was last woken */
};

/* What an event counts of one task; an event of a CPU has one for all. */
struct fake_counter {
    uint64_t value;
    uint64_t next; /* overflows there; 0: never */
};

struct fake_opened {
    bool used;
    struct fake_event event;
    struct perf_event_attr attr;
    pid_t pid; /* -1: whatever runs on the CPU */
    int cpu;
    int leader; /* descriptor; its own for a leader */
    int output; /* descriptor whose ring it writes to */
    int number; /* of the double */
    uint64_t reads;
    uint64_t from_ns, for_ns; /* counting since, 0: not; for how long before that */
    struct fake_ring ring;
    struct fake_counter counters[FAKE_TASKS_MAX];
    uint64_t enabled_ns, running_ns; /* of what was run */
    uint64_t lost;                   /* samples */
    uint64_t samples;                /* in the present line: details come one after the other */
};

/* By descriptor; those that are not `used` are none. */
struct fake_opened *fake_opened_all(void);

#endif
