/* SPDX-License-Identifier: MIT */
/*
 * The way from a thread of the program to its models: batches of trace words. The first model is of
 * the core itself; the others are of variants of it (formats/cores/variant.h) and take the same
 * batches. Each model runs in a thread of its own, some batches behind the program, once the
 * program's thread has shown that it goes on for long enough; until then, and where there is one
 * CPU only, the program waits for them. Branches are predicted once, in the thread that has less to
 * do: the program's when a model is behind, else a model's. Caches are warmed once, in the first
 * model's thread that comes to it. What comes out does not depend on which one is ahead.
 */
#ifndef TD_RECORD_SIM_QEMU_QUEUE_H
#define TD_RECORD_SIM_QEMU_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sim/model/sim.h"

enum {
    TD_QUEUE_WORDS = 4096,                   /* a batch is full */
    TD_QUEUE_SLACK = TD_TRACE_INSNS_MAX * 8, /* accesses of one block after it is full */
};

struct td_queue_batch {
    uint32_t used;
    enum td_sim_mode mode;
    uint64_t skipped; /* instructions that ran in TD_SIM_FAST_FORWARD */
    uint64_t words[TD_QUEUE_WORDS + TD_QUEUE_SLACK];
};

struct td_queue;

struct td_queue_model {
    struct td_sim *sim;
    bool prepares; /* its core does not predict or warm as the first model's does */
};

/* Takes the sims of `count` models over, at least one; a queue ends with the process. `sampled`:
 * not all is modelled in time, so that the program has much to do at times, and the model at
 * others. Without it, what is in another mode than TD_SIM_EXACT leaves no trace. */
struct td_queue *td_queue_new(const struct td_queue_model *models, unsigned count, bool sampled);
/* The models get their threads at once, and not when the program has shown that it goes on. */
void td_queue_start(struct td_queue *queue);
/* The batch to fill; the program's thread only. */
struct td_queue_batch *td_queue_batch(struct td_queue *queue);
/* Hands that batch over; td_queue_batch is another one then, with `used` 0. */
void td_queue_put(struct td_queue *queue);
/* Waits until all batches put have been modelled, and lets another sim, taken over, be the model
 * `index` of what is put from now on. Returns the former, which is the caller's; nobody puts
 * meanwhile. */
struct td_sim *td_queue_exchange(struct td_queue *queue, unsigned index, struct td_sim *sim);
/* Waits until all batches put before have been modelled. From any thread. */
void td_queue_drain(struct td_queue *queue);
/* Keeps the models still, to be read, and returns the first. From any thread; not across a put or
 * drain. */
const struct td_sim *td_queue_lock(struct td_queue *queue);
/* The model `index`, for who holds the lock, or is the only one to have the queue. */
struct td_sim *td_queue_locked(const struct td_queue *queue, unsigned index);
void td_queue_unlock(struct td_queue *queue);

#endif
