/* SPDX-License-Identifier: MIT */
/* Turns records into the profile: who ran, what was mapped, where the samples fell. */
#ifndef TD_RECORD_RUN_RECORDER_H
#define TD_RECORD_RUN_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "formats/profile/write.h"
#include "record/events/events.h"
#include "formats/kernel/record.h"
#include "record/plan/plan.h"
#include "formats/kernel/tasks.h"

struct td_recorder;

/* Describes the plan's events and groups in the profile. All borrowed; `ring_cpus` (one a ring,
 * TD_NONE for any) is copied. */
struct td_recorder *td_recorder_new(const struct td_plan *plan, struct td_profile_writer *writer,
                                    const struct td_ring *rings, size_t ring_count);
void td_recorder_free(struct td_recorder *recorder); /* NULL is allowed */

/* The rings of a further run of the command, whose groups the plan has too. */
void td_recorder_set_rings(struct td_recorder *recorder, const struct td_ring *rings,
                           size_t ring_count);

/* Whether lately the pairs of this ring's samples were no pairs: their samplers keep another
 * distance than they were given. What was is forgotten. */
bool td_recorder_pairs_strayed(struct td_recorder *recorder, size_t ring);

/* Where the processes are kept, to add those that run when recording begins. */
struct td_tasks *td_recorder_tasks(struct td_recorder *recorder);

/* What is a clone that was made for the recording, and no part of what is recorded. Told before the
 * clone runs, so that it is known when its samples are read. TD_CLONE_UNKNOWN: asked again. */
enum td_clone { TD_CLONE_NOT, TD_CLONE_IS, TD_CLONE_UNKNOWN };
typedef enum td_clone td_recorder_clone_fn(void *ctx, uint32_t pid);
void td_recorder_set_clones(struct td_recorder *recorder, td_recorder_clone_fn *fn, void *ctx);
/* Whether the process is a clone, or that is not known yet. */
bool td_recorder_may_be_clone(const struct td_recorder *recorder, const struct td_process *process);
/* CPU time that clones took, of which the profile has nothing. */
uint64_t td_recorder_clones_ns(const struct td_recorder *recorder);

/* The profile's thread for this one, described as `name` when no sample was of it. */
uint32_t td_recorder_thread(struct td_recorder *recorder, uint32_t pid, uint32_t tid,
                            const char *name);

/* A td_drain_fn; `ctx` is the recorder. */
void td_recorder_take(void *ctx, size_t ring, const struct td_rec *rec);

/* A td_counter_value_fn; `ctx` is the recorder: what a counter holds at the end, once each. */
void td_recorder_count(void *ctx, const struct td_counter_value *value);

void td_recorder_set_counter(struct td_recorder *recorder, enum td_counter counter, uint64_t value);
uint64_t td_recorder_counter(const struct td_recorder *recorder, enum td_counter counter);

/* Threads that wait have waited until now; what they do later is not known. */
void td_recorder_end_waits(struct td_recorder *recorder, uint64_t now_ns);

/* Writes all that is known so far. */
int td_recorder_flush(struct td_recorder *recorder, struct td_err *err);
/* Adds what is known at the end only: the names of code whose process still runs, and what each
 * event counted. */
void td_recorder_end(struct td_recorder *recorder);

#endif
