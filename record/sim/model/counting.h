/* SPDX-License-Identifier: MIT */
/*
 * Four ways in which counters of a real core would divide the cycles (formats/cpi_methods.h),
 * beside the slots that the model charges. They change nothing of the model. The rules:
 *
 * - naive: how often something missed, times how long it takes then: a line its level's latency, a
 *   page its walk, a mispredicted branch the refill of the front end.
 *   That of the right path counts what the program did; the other one adds what wrong paths would
 *   ask for. A wrong path goes the way that was last gone from the branch, up to the cycle in which
 *   the branch resolves; its loads go where the stride of each would lead. The model fetches none
 *   of it, so a line that is noted here is taken to be there from then on.
 * - POWER5: cycles in which nothing completes. Where the reorder buffer is empty then, they are the
 *   front end's: of what the next instruction is late for. Else they are what the oldest
 *   instruction waits for.
 * - interval analysis: cycles in which nothing is dispatched because a buffer of the window is
 *   full, by what the oldest instruction waits for; cycles in which fetch waits for a line or page;
 *   and for a mispredicted branch the cycles from its dispatch to its resolution, and the refill. A
 *   front end that waits while the window is full is counted as overlap, and for the window alone.
 */
#ifndef TD_RECORD_SIM_MODEL_COUNTING_H
#define TD_RECORD_SIM_MODEL_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cpi_methods.h"
#include "record/sim/model/causes.h"

struct td_sim;
struct td_block;
struct td_redirect;
struct td_counting;

struct td_counting *td_counting_new(void);
void td_counting_free(struct td_counting *counting); /* NULL is allowed */

/* What is modelled from now on counts; no longer. */
void td_counting_begin(struct td_counting *counting, const struct td_sim *sim);
void td_counting_end(struct td_counting *counting, const struct td_sim *sim);

/* The window was full from cycle `from` on, and dispatch goes on in `to`. */
void td_counting_stall(struct td_counting *counting, int64_t from, int64_t to, enum td_cause cause);
/* The block `next` comes after `last` (may be NULL), as its word says. */
void td_counting_branch(struct td_counting *counting, const struct td_sim *sim,
                        const struct td_block *last, uint64_t word, const struct td_block *next);
/* The uop of this number waited for the front end from cycle `from` to `to`. */
void td_counting_late(struct td_counting *counting, const struct td_redirect *redirect,
                      enum td_cause cause, uint64_t uop, int64_t from, int64_t to);
/* A block was modelled; `first_uop` is the number of its first. */
void td_counting_block(struct td_counting *counting, struct td_sim *sim, uint64_t first_uop);

/* All up to now. */
void td_counting_result(const struct td_counting *counting, const struct td_sim *sim,
                        uint64_t ret[TD_CPI_COUNTS]);

#endif
