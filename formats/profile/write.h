/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile (profile.md) while it is being recorded: append-only, valid after every flush,
 * in bounded memory however long the recording. Not thread-safe: one thread owns a writer.
 *
 * Things are described before they are used; each description returns an id that is valid until
 * the end, except nodes: when the node table is full it is started anew, ids of old nodes are gone
 * and td_profile_node_epoch changes. A caller that keeps node ids compares epochs.
 */
#ifndef TD_FORMATS_PROFILE_WRITE_H
#define TD_FORMATS_PROFILE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/ran.h"
#include "formats/model.h"

struct td_profile_writer;

/* Where bytes go. Returns TD_OK or fills err; a failed writer stays failed. */
typedef int td_profile_write_fn(void *ctx, const void *data, size_t size, struct td_err *err);

struct td_profile_writer_opts {
    uint32_t max_nodes; /* nodes kept for interning; 0: the default, 262,144 (about 10 MB) */
    int zstd_level;     /* 0: the default, 3 */
    bool exact_times;   /* sample times to the nanosecond; else to about one microsecond */
    const uint8_t *id;  /* TD_PROFILE_ID_SIZE bytes; NULL: random ones */
};

/* Writes the file header at once. `ctx` is borrowed. `opts` may be NULL. */
int td_profile_writer_new(struct td_profile_writer **ret, td_profile_write_fn *write, void *ctx,
                          const struct td_profile_writer_opts *opts, struct td_err *err);
/* Frees without flushing: call td_profile_finish first. NULL is allowed. */
void td_profile_writer_free(struct td_profile_writer *writer);

/* Descriptions. Strings are given as text and interned. */
void td_profile_env(struct td_profile_writer *writer, const char *key, const char *value);

struct td_profile_module {
    enum td_module_kind kind;
    const char *path;
    uint32_t pid;
    uint64_t base;
    struct td_build_id build_id;
};
uint32_t td_profile_module(struct td_profile_writer *writer, const struct td_profile_module *m);
uint32_t td_profile_thread(struct td_profile_writer *writer, uint32_t pid, uint32_t tid,
                           const char *name, const char *process, uint64_t start_ns);
/* Which input of a merge the thread is from; not called for a recording. */
void td_profile_origin(struct td_profile_writer *writer, uint32_t thread, const char *origin);

/* The event's counters at the end; once an event. */
void td_profile_counts(struct td_profile_writer *writer, uint32_t event,
                       const struct td_event_counts *counts);

struct td_profile_event {
    const char *name;
    enum td_unit unit;
    uint32_t pmu_type;
    uint64_t config[3];
    uint64_t period, frequency_hz;
    uint32_t flags;
};
uint32_t td_profile_event(struct td_profile_writer *writer, const struct td_profile_event *e);
/* `group` as in the model, but name and cpu_type are given as text and its fields ignored. */
uint32_t td_profile_group(struct td_profile_writer *writer, const struct td_group *group,
                          const char *name, const char *cpu_type);
/* `file` may be NULL: not known, as then `line`. */
void td_profile_symbol(struct td_profile_writer *writer, uint32_t module, uint64_t offset,
                       uint64_t size, const char *name, const char *file, uint32_t line);

/* A region (formats/regions.h) in `parent` (TD_NONE: in none). */
uint32_t td_profile_region(struct td_profile_writer *writer, uint32_t parent, const char *name);
/* What is known of a region in a thread so far: in place of what was written of it before. `values`
 * are as many as its group has columns. */
void td_profile_region_row(struct td_profile_writer *writer, const struct td_region_row *row,
                           const uint64_t *values);

/* A block of code (formats/ran.h) with its module and offset. */
void td_profile_ran(struct td_profile_writer *writer, const struct td_ran_block *block);
/* How an instruction used memory, or a branch went: adds to what was written of it before. Modules
 * are the file's. */
void td_profile_habit(struct td_profile_writer *writer, const struct td_habit *habit);

/* What threads paid for a line that they share (formats/sharing.h); rows of equal sides add up. */
void td_profile_shared(struct td_profile_writer *writer, const struct td_shared_row *row);

/* The node of a frame under `parent` (0: outermost); interned. `offset` as in struct td_location.
 */
uint32_t td_profile_node(struct td_profile_writer *writer, uint32_t parent, uint32_t module,
                         uint64_t offset);
/* The same for one that the caller knows to be new in this epoch, and keeps: it is not looked up,
 * now or later. */
uint32_t td_profile_new_node(struct td_profile_writer *writer, uint32_t parent, uint32_t module,
                             uint64_t offset);
uint32_t td_profile_node_epoch(const struct td_profile_writer *writer);

/* Values: as many as the group has columns. Times may arrive in any order; per CPU they should
 * rise, or the file grows. */
void td_profile_sample(struct td_profile_writer *writer, const struct td_sample *sample,
                       const uint64_t *values);
void td_profile_tally(struct td_profile_writer *writer, uint32_t thread, uint32_t node,
                      uint32_t group, uint64_t samples, const uint64_t *values);
void td_profile_counter(struct td_profile_writer *writer, enum td_counter counter, uint64_t value);

/* Writes everything given so far, so that a reader of the file as it is now sees it. Call it at
 * least once a second while recording; the writer also flushes by itself when its buffers fill.
 * The first error of any write since the last call is returned. */
int td_profile_flush(struct td_profile_writer *writer, struct td_err *err);
/* Flush, then the end chunk, which says that the recording is complete. */
int td_profile_finish(struct td_profile_writer *writer, struct td_err *err);
/* Bytes handed to `write` so far. */
uint64_t td_profile_bytes(const struct td_profile_writer *writer);

#endif
