/* SPDX-License-Identifier: MIT */
/* The parts of one thread's model, for the files of this folder that drive them. */
#ifndef TD_RECORD_SIM_MODEL_SIM_PRIV_H
#define TD_RECORD_SIM_MODEL_SIM_PRIV_H

#include "record/sim/model/callstack.h"
#include "record/sim/model/charge.h"
#include "record/sim/model/core.h"
#include "record/sim/model/counting.h"
#include "record/sim/model/fetch.h"
#include "record/sim/model/flow.h"
#include "record/sim/model/sampling/learning.h"
#include "record/sim/model/sampling/pace.h"
#include "record/sim/model/memory/memory.h"
#include "record/sim/model/habits/outcomes.h"
#include "record/sim/model/habits/usage.h"
#include "record/sim/model/predictor.h"
#include "record/sim/model/regions.h"
#include "record/sim/model/replicates.h"
#include "record/sim/model/sim.h"
#include "record/sim/model/memory/stores.h"
#include "record/sim/model/sampling/windows.h"
#include "record/sim/model/warming.h"
#include "record/sim/model/wrong_path.h"

/* What one thread knows of a block. */
struct td_block_state {
    const struct td_block *block; /* NULL: not met yet */
    uint32_t account, spot;       /* the account last used, and what it is of */
    uint32_t epoch;               /* fetch->epoch when all of it was found in the caches */
    bool charged;                 /* there is an account */
    uint64_t went[2];             /* so often it went on behind it, or elsewhere */
};

#define TD_LOAD_RING 512 /* at least the largest load buffer */

/* A machine clear or mispredict whose consequence for fetch is still to come. */
struct td_redirect {
    bool pending;
    enum td_cause cause;
    uint32_t row;     /* the instruction to blame */
    int64_t resolved; /* cycle */
    int recovery;     /* cycles after it that count as `cause` */
    int refill;       /* cycles after it until fetch is back: what is not `cause` is resteer */
};

struct td_sim {
    const struct td_blocks *blocks;
    const struct td_core_desc *desc;
    struct td_block_state *states; /* by block */
    size_t state_cap;
    const struct td_block *last; /* the block whose branch is not resolved yet, or NULL */
    int64_t branch_done;         /* cycle in which its branch was executed */
    uint64_t stack_place;        /* where its call put, or its return found, the return address */
    uint64_t stack_pointer;      /* 0: not known; then what is known of it follows */
    int64_t stack_moved;         /* since it was lost, or since the call in which it is not known */
    enum { TD_STACK_LOST, TD_STACK_CALLED, TD_STACK_UNWOUND } stack_since;
    uint32_t last_row; /* of `last` */
    struct td_redirect redirect;
    uint64_t string_line[2]; /* lines that a repeated string instruction read, wrote last */
    uint32_t string_bytes;
    int string_ticks;
    uint64_t load_uop[TD_LOAD_RING]; /* numbers of the uops of the last loads */
    uint32_t loads;
    enum td_sim_mode mode;
    uint64_t outcomes;     /* what of a block word is looked at: perfect branches are never wrong */
    uint64_t instructions; /* modelled exactly */
    uint64_t warmed, primed, skipped, clears;
    uint64_t branches, mispredicts, indirect_mispredicts, unknown_targets;
    struct td_windows windows;
    struct td_pace pace;
    struct td_learning learning;
    struct td_replicates replicates;
    struct td_ledger ledger;
    struct td_core core;
    struct td_fetch fetch;
    struct td_memory memory;
    struct td_stores stores;
    struct td_usage *usage;    /* its lines are the memory's, too */
    struct td_outcomes *turns; /* how branches go */
    uint32_t met_row; /* of the store that the last load met in the buffer, while that is watched */
    uint32_t watch_left; /* blocks until habits are watched, or not any more */
    bool watching;
    bool bare;     /* it keeps no habits */
    bool link;     /* td_blocks_link: stack_pointer counts instead of stack_place */
    bool followed; /* there is a PMU, or somebody who counts */
    struct td_wrong_path wrong_path;
    struct td_callstack calls;
    struct td_flow flow;
    struct td_sim_pmu *pmu;         /* NULL: none */
    struct td_sim_regions *regions; /* NULL: none were marked */
    struct td_counting *counting;   /* NULL: nobody asks */
    /* Of td_sim_predict and td_sim_warm alone: other threads may be at it. */
    struct td_predictor predictor;
    struct td_warming *warming; /* NULL: nobody asked for it yet */
};

/* What the windows stand for. */
struct td_scale td_sim_scale(const struct td_sim *sim);

/* Runs the body of a block in its account's rows. `words` are what follows its block word; returns
 * the first that is not an access of it. */
const uint64_t *td_execute_block(struct td_sim *sim, const struct td_block *block,
                                 struct td_block_state *state, uint32_t row, const uint64_t *words,
                                 const uint64_t *end);
/* One more round of a repeated string instruction, blamed on `row`. */
const uint64_t *td_execute_string(struct td_sim *sim, uint32_t row, const uint64_t *words,
                                  const uint64_t *end);

#endif
