/* SPDX-License-Identifier: MIT */
/* What programs wrote into the memory that they share with tdrec (region/tdprof/region_shared.h),
 * read as bytes that may be anything. */
#ifndef TD_RECORD_RUN_REGION_CELLS_H
#define TD_RECORD_RUN_REGION_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/regions.h"
#include "region/tdprof/region_shared.h"

/* A thread of a process that set a mark. */
struct td_marked_thread {
    uint32_t pid, tid;
    uint32_t kind;  /* how it counts: TDPROF_KIND_* */
    uint32_t error; /* errno of the event that could not be opened; 0 */
    bool user_only; /* the kernel's part was not to be counted */
    uint64_t strays, left_open, lost;
    uint32_t time_mult, time_shift;
    char name[17];
};

/* A region in one, with all that is in it. */
struct td_marked_region {
    uint32_t thread, parent; /* in the arrays below; parent: TD_REGION_NONE, or before it */
    uint32_t depth;
    struct td_region_row row;           /* lengths in ns; thread, region and group say nothing */
    uint64_t values[TDPROF_EVENTS_MAX]; /* by event */
    char name[TDPROF_NAME_MAX + 1];
};

struct td_marked {
    struct td_marked_thread *threads;
    size_t thread_count, thread_cap;
    struct td_marked_region *regions;
    size_t region_count, region_cap;
    uint64_t bad; /* cells that say what cannot be */
};

/* `cells` is of whole cells. Release in any case. */
void td_marked_read(struct td_marked *ret, const void *cells, size_t size);
void td_marked_release(struct td_marked *marked);

#endif
