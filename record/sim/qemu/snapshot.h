/* SPDX-License-Identifier: MIT */
/*
 * The snapshots (snapshot.h) of the process image that this is. One is written again and again
 * while the process runs, each time whole (mailbox.h), so that a process that is killed leaves its
 * last one.
 */
#ifndef TD_RECORD_SIM_QEMU_SNAPSHOT_H
#define TD_RECORD_SIM_QEMU_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/range.h"
#include "formats/file_id.h"
#include "formats/model.h"
#include "record/sim/model/mappings.h"
#include "record/sim/model/memory/sharing.h"
#include "record/sim/model/sim.h"
#include "record/sim/qemu/regions.h"

struct td_snapshot_file {
    struct td_file_inode inode;
    uint64_t start, end; /* where it was mapped first */
    struct td_build_id id;
    bool looked; /* at the file */
};

/* The files that are or were mapped. */
struct td_snapshot_maps {
    struct td_mappings code; /* value: an index of paths */
    bool stale;              /* what was mapped is not there any more */
    bool more;               /* something was mapped that is not in it yet */
    uint32_t updates;        /* so often it was read */
    char **paths;
    struct td_snapshot_file *files; /* of the paths; one path may stand for several files in turn */
    size_t path_count, path_cap, file_cap;
};

/* Reads /proc/self/maps again. */
void td_snapshot_maps_update(struct td_snapshot_maps *maps);
/* The place (trace.h) of code that is about to run. Reads what is mapped when that has changed. */
uint64_t td_snapshot_maps_place(struct td_snapshot_maps *maps, uint64_t pc, const uint8_t *code,
                                size_t size);

struct td_snapshot_thread {
    uint32_t tid;
    char name[16];            /* comm */
    unsigned variant;         /* 0: the core itself; else of the thread before that has a 0 */
    const struct td_sim *sim; /* borrowed; NULL: the thread has ended */
    struct td_buf ended;      /* then what it did, as a snapshot of its own */
};

/* Keeps what the thread did; its sim is no longer needed then. */
void td_snapshot_end_thread(struct td_snapshot_thread *thread,
                            const struct td_region_names *region_names);

/* Where data is that lies in no file; empty: not known. */
struct td_snapshot_areas {
    uint64_t heap_start, heap_end;
    uint64_t stack_start, stack_end; /* as the model is told it */
};

struct td_snapshot_source {
    uint32_t pid;
    const char *process; /* comm of the main thread */
    uint64_t start_ns;
    struct td_snapshot_maps *maps;
    const struct td_region_names *region_names;
    const struct td_snapshot_thread *threads;
    size_t thread_count;
    struct td_sharing *sharing; /* threads in the order in which they joined; NULL: nothing of it */
    uint32_t tasks_each;        /* of the threads there: one, and one for each variant */
    struct td_snapshot_areas areas;
};

/* Appends the snapshot to the buffer. */
void td_snapshot_write(struct td_buf *ret, const struct td_snapshot_source *image);

#endif
