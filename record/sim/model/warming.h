/* SPDX-License-Identifier: MIT */
/*
 * Functional warming: what the caches of one core and its TLBs hold, from the order of accesses
 * alone. Of a sampled thread it sees all words, and no time passes in it. Windows begin with a copy
 * of it and leave no trace in it. So it may run ahead of the clock, in another thread, and once for
 * all models whose caches are alike (td_core_desc_warms_alike).
 */
#ifndef TD_RECORD_SIM_MODEL_WARMING_H
#define TD_RECORD_SIM_MODEL_WARMING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/sim/model/blocks.h"
#include "record/sim/model/fetch.h"
#include "record/sim/model/memory/beyond.h"
#include "record/sim/model/memory/memory.h"
#include "record/sim/model/sim.h"

/* What the caches held when a window began. */
struct td_held {
    struct td_memory memory; /* of both, the tables alone */
    struct td_fetch fetch;
    _Atomic unsigned takers; /* models that have not begun the window yet; 0: room for another */
};

/* A mark of a batch. */
struct td_warmed_mark {
    uint64_t word;
    uint64_t instructions; /* of the batch, before it */
};

/* What became of a batch, for the models that run it. */
struct td_warmed {
    unsigned takers;
    struct td_held *held;    /* of the warming; a window begins with the batch. NULL: none does */
    struct td_beyond beyond; /* outside windows: what was asked of what lies beyond L2 */
    /* For those who pass over its words; of a fast-forward no instructions. */
    uint64_t instructions;
    struct td_warmed_mark *marks;
    size_t mark_count, mark_cap;
};

struct td_warming;

/* `faults`: of the process's first thread. `blocks` is borrowed. */
struct td_warming *td_warming_new(const struct td_blocks *blocks, bool faults);
void td_warming_free(struct td_warming *warming); /* NULL is allowed */
/* Takes the next batch; *warmed says what became of it, in place of what it said before. All takers
 * of that have run then. */
void td_warming_run(struct td_warming *warming, const uint64_t *words, size_t count,
                    enum td_sim_mode mode, struct td_warmed *warmed);

#endif
