/* SPDX-License-Identifier: MIT */
/*
 * The front end: prediction runs ahead and asks for lines of code, delivery follows from the uop
 * cache or the decoders, the queue holds both back. Times are in ticks, for rates below a cycle.
 */
#ifndef TD_RECORD_SIM_MODEL_FETCH_H
#define TD_RECORD_SIM_MODEL_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sim/model/memory/caches.h"
#include "record/sim/model/causes.h"
#include "record/sim/model/blocks.h"
#include "record/sim/model/memory/memory.h"

#define TD_AHEAD_MAX    64
#define TD_FETCH_RING   512
#define TD_FETCH_JUMPS  64 /* a power of two */
#define TD_FETCH_STALLS 64 /* the last waits for lines or pages; a power of two */

/* Cycles in which fetch waited. */
struct td_fetch_stall {
    int64_t from, to; /* `to` is the cycle after it */
    enum td_cause cause;
};

/* A part has begun to leave the queue. */
struct td_fetch_dispatch {
    uint64_t until; /* number of the first uop that had to wait for that */
    int64_t ticks;
};

struct td_fetch {
    const struct td_core_desc *desc;
    int64_t predicted;             /* ticks: when the next part's address is known */
    int64_t delivered;             /* ticks: when the next uop can be there */
    int64_t asked;                 /* ticks: when the uop cache was first asked for the run */
    int64_t looks;                 /* ticks: when it can be for the next one */
    int64_t started[TD_AHEAD_MAX]; /* ticks: delivery of the last parts, in order */
    uint32_t part_count;
    struct td_fetch_dispatch dispatched[TD_FETCH_RING]; /* of parts, for the queue's limit */
    uint32_t newest, limit;
    uint64_t last_line, last_page;
    /* Of the run: where it entered last_line, its slots so far, how many more the line of the uop
     * cache that they are in holds, lines so far, and how many of them the looks so far have found.
     */
    uint32_t entry, run_slots, line_room, run_lines, run_found;
    int64_t walked;      /* cycle in which the last translation was done */
    int64_t translating; /* cycles that it took of the last line's */
    int64_t filled;      /* cycle in which the last line from L2 was there */
    uint32_t epoch;      /* counts what was put into L1I, its TLB or the uop cache */
    bool decoding;       /* the last part came from the decoders */
    enum td_cause cause; /* why delivery is late, if it is */
    enum td_cause rate;  /* the same of the next part, when only the last one is in its way */
    uint64_t taken_pc;   /* the branch last taken, */
    bool again;          /* which was the one before, too */
    /* The last branches taken, by a hash: each with its number among all of them. So many in a row
     * had been taken shortly before: then code repeats in a small loop. */
    struct td_fetch_jump {
        uint64_t pc;
        uint32_t number;
    } jumps[TD_FETCH_JUMPS];
    uint32_t jump_count, loop_count;
    struct td_cache l1i, itlb, itlb2, uop_cache; /* itlb2: when the core has one */
    int64_t *l1i_pending;
    struct td_pool misses;
    uint64_t l1i_misses, itlb_misses;
    uint64_t served[TD_LEVEL_COUNT]; /* of the misses of L1I, by what served them */
    struct td_fetch_stall stalls[TD_FETCH_STALLS];
    uint32_t stall_count; /* so far; the last are there */
};

void td_fetch_init(struct td_fetch *fetch, const struct td_core_desc *desc);
void td_fetch_release(struct td_fetch *fetch);
/* Fetches a part of a block whose first uop is the `uop`-th of the thread. Returns the cycle from
 * which it can be dispatched; fetch->cause says why not earlier. `known`: a look found the whole
 * block in the caches since the last change to them. */
int64_t td_fetch_part(struct td_fetch *fetch, struct td_memory *memory,
                      const struct td_fetch_part *part, uint64_t uop, bool known);
/* The part's first uop was dispatched in `cycle`. */
void td_fetch_dispatched(struct td_fetch *fetch, uint64_t uop, int64_t cycle);
/* After a branch that was taken, at `pc`; `end` is the address after it. */
void td_fetch_taken(struct td_fetch *fetch, uint64_t pc, uint64_t end, bool plain);
/* Prediction resumes in `cycle`, delivery `refill` cycles later. */
void td_fetch_redirect(struct td_fetch *fetch, int64_t cycle, int refill);
/* Prediction loses so many ticks. */
void td_fetch_slow(struct td_fetch *fetch, int ticks);
/* Prediction loses `cycles`; when `delivery`, delivery too. */
void td_fetch_delay(struct td_fetch *fetch, int cycles, bool delivery);
/* What has not been delivered yet comes in `cycle` at the earliest: it waits for a branch. */
void td_fetch_wait(struct td_fetch *fetch, int64_t cycle);
/* Functional only: the part is in the caches of code, in no time. */
void td_fetch_warm(struct td_fetch *fetch, struct td_memory *memory,
                   const struct td_fetch_part *part);
/* The same of the uop cache, whose lines are each core's own: what fits into one depends on what
 * its instructions are made of. */
void td_fetch_warm_uops(struct td_fetch *fetch, const struct td_fetch_part *part);
/* L1I and its TLBs are from now on what they are in `from`; nothing is on its way. */
void td_fetch_go_on_from(struct td_fetch *fetch, const struct td_fetch *from);

#endif
