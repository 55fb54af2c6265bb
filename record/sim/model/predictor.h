/* SPDX-License-Identifier: MIT */
/*
 * The predictors' part of the model: what they would have said of each branch, written into the
 * trace. It depends on the order of branches only, not on time, so it may run ahead of the rest, in
 * another thread.
 */
#ifndef TD_RECORD_SIM_MODEL_PREDICTOR_H
#define TD_RECORD_SIM_MODEL_PREDICTOR_H

#include <stddef.h>
#include <stdint.h>

#include "record/sim/model/blocks.h"
#include "record/sim/model/bpred.h"
#include "record/sim/model/sim.h"

/* What the predictors know of a block. */
struct td_branch_state {
    const struct td_block *block; /* NULL: not met yet */
    uint8_t bias;                 /* enum td_bias of its conditional branch */
};

struct td_predictor {
    const struct td_blocks *blocks; /* borrowed */
    bool link;                      /* td_blocks_link */
    struct td_branch_state *states; /* by block */
    size_t state_cap;
    const struct td_block *last; /* the block whose branch is not resolved yet, or NULL */
    uint32_t last_id;
    enum td_sim_mode mode;
    struct td_bpred bpred;
};

void td_predictor_init(struct td_predictor *predictor, const struct td_blocks *blocks);
void td_predictor_release(struct td_predictor *predictor);
/* Puts TD_TRACE_OUTCOME of the branch before into each block word; see td_sim_predict. */
void td_predictor_run(struct td_predictor *predictor, uint64_t *words, size_t count,
                      enum td_sim_mode mode);

#endif
