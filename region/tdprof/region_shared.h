/* SPDX-License-Identifier: MIT */
/*
 * The memory that a marked program and tdrec share while a native run is recorded: what to count,
 * by tdrec, and what was counted, by the program. tdrec reads it when it wants, also after a
 * program was killed.
 */
#ifndef TDPROF_REGION_SHARED_H
#define TDPROF_REGION_SHARED_H

#include <stdint.h>

#include "region_marks.h"

#define TDPROF_VARIABLE "TDPROF_REGIONS" /* of the environment: the memory's name */
/* Before the name where tdrec is confined by a filter of system calls. */
#define TDPROF_CONFINED   "+"
#define TDPROF_MAGIC      UINT64_C(0x31736e6f69676572)
#define TDPROF_EVENTS_MAX 16
#define TDPROF_NONE       UINT32_MAX

/* One event of the group, in the kernel's words (struct perf_event_attr). */
struct tdprof1_event {
    uint32_t type;
    uint32_t metric; /* 1 + the number of its 8 bits in Intel's PERF_METRICS; 0: a counter */
    uint64_t config, config1, config2;
    uint64_t flags; /* what of the machine counts */
};

/* The first TDPROF_HEAD_BYTES; cells follow. */
struct tdprof1_head {
    uint64_t magic;
    uint32_t cell_count; /* cells that there is room for */
    uint32_t event_count;
    struct tdprof1_event events[TDPROF_EVENTS_MAX];
    uint32_t used;     /* cells taken; grows for ever, beyond cell_count too */
    uint32_t confined; /* whether tdrec is, by a filter of system calls */
};
#define TDPROF_HEAD_BYTES 4096

enum {
    TDPROF_CELL_FREE,
    TDPROF_CELL_THREAD,
    TDPROF_CELL_REGION,
};

/* How a thread counts. */
enum {
    TDPROF_KIND_TIME = 1, /* time only */
    TDPROF_KIND_READ,     /* read(), as user access to counters is off */
    TDPROF_KIND_USER,     /* rdpmc */
};

/* A thread of a process. */
struct tdprof1_thread_cell {
    uint32_t kind, error; /* errno of what could not be opened; 0 */
    uint32_t pid, tid;
    /* ns = ticks * time_mult >> time_shift */
    uint32_t time_mult, time_shift;
    uint64_t strays, left_open;
    uint64_t lost; /* marks that found no place */
    uint32_t user_only, ended;
    char name[16];
};

/* A region in it. Times and values are its own, without those of regions in it. */
struct tdprof1_region_cell {
    uint32_t owner, parent; /* cells, below this one; TDPROF_NONE */
    uint64_t begun, ended;
    uint64_t timed, sum, min, max, squares[2]; /* of calls, with what is in them; in ticks */
    uint64_t on;                               /* ticks in which all was counted that ran */
    uint64_t whole, seen; /* ns beside them that it ran, and in which it was counted */
    uint64_t values[TDPROF_EVENTS_MAX];
    char name[TDPROF_NAME_MAX]; /* not ended by a null byte when it is as long as that */
};

struct tdprof1_cell {
    uint32_t kind, unused_;
    union {
        struct tdprof1_thread_cell thread;
        struct tdprof1_region_cell region;
        char room[376];
    } of;
};

#endif
