/* SPDX-License-Identifier: MIT */
/*
 * What one process image did so far, as bytes on their way from the image to tdrec: a snapshot.
 * Both are of one build and the bytes are never stored, so that they have no version; but the image
 * shares its memory with the program that it runs, so that they are read as bytes from outside.
 *
 * A task is what a thread did on one core. A snapshot has a head (struct td_snapshot) and, task by
 * task, paths and the tallies on them, and the replicates of what was sampled, the regions that the
 * program marked, the code that it ran, and habits. Tallies come in the order of tasks, paths and
 * addresses (within a task by region first), so that two snapshots of one image can be compared by
 * walking through both. Tasks and paths keep their numbers from snapshot to snapshot.
 */
#ifndef TD_RECORD_SIM_SHARE_SNAPSHOT_H
#define TD_RECORD_SIM_SHARE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/range.h"
#include "formats/model.h"
#include "formats/sharing.h"
#include "record/sim/model/sim.h"

/* Paths are numbered below this. */
#define TD_SNAPSHOT_PATHS_MAX (1U << 18)
/* A task has no more regions. */
#define TD_SNAPSHOT_REGIONS_MAX 4096

/* What is not as it was asked for. X(symbol, sentence for the user) */
#define TD_SNAPSHOT_WARNINGS(X)                                                               \
    X(UNPROVEN, "rarely run call paths are merged into their callers; functions, lines and "  \
                "totals do not change")                                                       \
    X(FOLDED, "deep recursion is folded: beyond some thousand paths a call counts where its " \
              "function stands in the path already")                                          \
    X(TRUNCATED, "call paths beyond the limit are merged into their callers")

enum td_snapshot_warning {
#define X(symbol, text) TD_SNAPSHOT_##symbol,
    TD_SNAPSHOT_WARNINGS(X)
#undef X
        TD_SNAPSHOT_WARNING_COUNT
};

struct td_snapshot_module {
    const char *path; /* of the file; NULL: code that the program made itself */
    struct td_build_id build_id;
};

struct td_snapshot_task {
    uint32_t tid;
    const char *name; /* comm */
    uint32_t variant; /* 0: of the core itself; else of this variant, numbered from 1, and of the
                         thread of the last task before it that has a 0 */
};

struct td_snapshot {
    uint32_t pid;
    uint32_t warnings; /* 1 << enum td_snapshot_warning */
    uint64_t start_ns;
    const char *process; /* comm of the main thread */
    uint64_t cycles, instructions, detailed, cycles_error;
    uint64_t events[TD_SIM_EVENT_COUNT];
    uint64_t cpi[TD_CPI_COUNTS]; /* td_sim_counting */
    struct td_sim_region_misuse misuse;
    struct td_snapshot_module *modules;
    struct td_snapshot_task *tasks;
    uint32_t module_count, task_count;
    /* Where the places (trace.h) are; value: an index of modules. Places in none of them are of
     * code in no file. */
    struct td_range_set ranges;
};

struct td_snapshot_tally {
    uint32_t task;
    uint32_t region; /* td_sim_tally.region: described before it */
    uint32_t path;
    uint64_t pc;
    uint64_t values[TD_SIM_COLUMN_COUNT];
};

struct td_snapshot_path {
    uint32_t id, parent;
    uint64_t call; /* the last byte of the call instruction */
};

struct td_snapshot_replicates {
    uint32_t task;
    uint32_t region; /* as of a tally */
    uint32_t column; /* enum td_sim_column */
    uint64_t pc;
    int64_t values[TD_REPLICATES];
};

struct td_snapshot_region {
    uint32_t task;
    uint32_t parent;  /* index of one before it in the task; TD_NONE: in none */
    const char *name; /* not terminated when it was read */
    size_t name_len;
    struct td_region_row row; /* its thread, region and group say nothing */
    uint64_t values[TD_SIM_COLUMN_COUNT];
};

/* A block of code, as td_ran_put wrote it; borrowed from the snapshot. */
struct td_snapshot_code {
    uint64_t place;
    const uint8_t *bytes;
    size_t size;
};

/* What threads of the image paid for a line that they share; TD_NONE: not known. */
struct td_snapshot_side {
    uint32_t task; /* TD_NONE: of several */
    bool store;
    uint64_t pc; /* a place; 0: of several */
};
struct td_snapshot_shared {
    uint64_t address; /* of the line, 0: of many */
    uint32_t area;    /* enum td_shared_area */
    uint32_t module;  /* of TD_SHARED_MODULE */
    uint64_t offset;  /* in what is mapped of it */
    struct td_snapshot_side mine, theirs;
    bool is_false;
    uint64_t transfers, invalidations, cycles;
};

/* Writing. A zeroed writer is empty; its bytes are the items', without the head. */
struct td_snapshot_writer {
    struct td_buf body;
    uint32_t region, path;
    uint64_t pc, call, replicates_pc, code_place;
};

/* Tasks follow one another as in the head. A path is described before it is used and after its
 * parent; path 0, of no caller, needs no description; so is a region. Tallies come by region, path
 * and pc. */
void td_snapshot_put_path(struct td_snapshot_writer *writer, const struct td_snapshot_path *path);
void td_snapshot_put_tally(struct td_snapshot_writer *writer, uint32_t region, uint32_t path,
                           uint64_t pc, const uint64_t values[TD_SIM_COLUMN_COUNT]);
/* `replicates->task` is not looked at. */
void td_snapshot_put_replicates(struct td_snapshot_writer *writer,
                                const struct td_snapshot_replicates *replicates);
/* In the order of their numbers; `region->task` is not looked at. */
void td_snapshot_put_region(struct td_snapshot_writer *writer,
                            const struct td_snapshot_region *region);
/* `block->offset` is its place. */
void td_snapshot_put_code(struct td_snapshot_writer *writer, const struct td_ran_block *block);
/* The same of one that was read. */
void td_snapshot_copy_code(struct td_snapshot_writer *writer, const struct td_snapshot_code *code);
/* Of all tasks together: among the items of the first. */
void td_snapshot_put_shared(struct td_snapshot_writer *writer,
                            const struct td_snapshot_shared *shared);
/* As td_sim_each_habit gives them. */
void td_snapshot_put_habit(struct td_snapshot_writer *writer, const struct td_habit *habit);
void td_snapshot_end_task(struct td_snapshot_writer *writer);
/* Appends the whole snapshot, and empties the writer. */
void td_snapshot_put(struct td_buf *ret, const struct td_snapshot *snapshot,
                     struct td_snapshot_writer *writer);

/* Reading. */
struct td_snapshot_view {
    struct td_snapshot snapshot;
    struct td_rd items;
    struct td_arena texts;
};

/* Reads the head. TD_EFORMAT. `data` is borrowed by the view. */
int td_snapshot_open(struct td_snapshot_view *view, const void *data, size_t size);
void td_snapshot_close(struct td_snapshot_view *view);

enum td_snapshot_item {
    TD_SNAPSHOT_END,
    TD_SNAPSHOT_PATH,
    TD_SNAPSHOT_TALLY,
    TD_SNAPSHOT_REPLICATES,
    TD_SNAPSHOT_REGION,
    TD_SNAPSHOT_CODE,
    TD_SNAPSHOT_SHARED,
    TD_SNAPSHOT_HABIT
};

/* A walk through the items of a snapshot. */
struct td_snapshot_walk {
    struct td_rd rd;
    uint32_t task_count;
    bool on_path; /* a tally of the path came already */
    uint64_t call;
    uint64_t mask;                  /* of the values of the last tally that are not 0 */
    struct td_snapshot_path path;   /* as the last item said */
    struct td_snapshot_tally tally; /* likewise; `task` is of both */
    struct td_snapshot_replicates replicates;
    struct td_snapshot_region region;
    struct td_snapshot_code code;
    struct td_snapshot_shared shared;
    uint32_t module_count;
    struct td_habit habit; /* as td_sim_each_habit gives them */
    uint32_t region_count; /* of the task, so far */
    uint8_t region_depths[TD_SNAPSHOT_REGIONS_MAX];
};

struct td_snapshot_walk td_snapshot_walk(const struct td_snapshot_view *view);
/* The next item. At what cannot be, the walk ends and its cursor is bad. */
enum td_snapshot_item td_snapshot_next(struct td_snapshot_walk *walk);

#endif
