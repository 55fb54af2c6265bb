/* SPDX-License-Identifier: MIT */
/*
 * The way from a thread of the program to its model: batches of trace words. The model runs in a
 * thread of its own, a few batches behind the program, once the program's thread has shown that it
 * goes on for long enough; until then, and where there is one CPU only, the program waits for it.
 */
#ifndef TD_RECORD_SIM_QEMU_FEED_H
#define TD_RECORD_SIM_QEMU_FEED_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sim/model/sim.h"

enum {
    TD_FEED_WORDS = 4096,                   /* a batch is full */
    TD_FEED_SLACK = TD_TRACE_INSNS_MAX * 8, /* accesses of one block after it is full */
};

struct td_feed_batch {
    uint32_t used;
    enum td_sim_mode mode;
    uint64_t skipped; /* instructions that ran in TD_SIM_SKIP */
    uint64_t words[TD_FEED_WORDS + TD_FEED_SLACK];
};

struct td_feed;

/* Takes the sim over; a feed ends with the process. `ahead`: branches are predicted in
 * the program's thread, else in the model's. */
struct td_feed *td_feed_new(struct td_sim *sim, bool ahead);
/* The batch to fill; the program's thread only. */
struct td_feed_batch *td_feed_batch(struct td_feed *feed);
/* Hands that batch over; td_feed_batch is another one then, with `used` 0. */
void td_feed_put(struct td_feed *feed);
/* Waits until all batches put have been modelled, and lets another sim, taken over, model what is
 * put from now on. Returns the former, which is the caller's; nobody puts meanwhile. */
struct td_sim *td_feed_exchange(struct td_feed *feed, struct td_sim *sim);
/* Waits until all batches put before have been modelled. From any thread. */
void td_feed_drain(struct td_feed *feed);
/* Keeps the model still, to be read. From any thread; not across a put or drain. */
const struct td_sim *td_feed_lock(struct td_feed *feed);
void td_feed_unlock(struct td_feed *feed);

#endif
