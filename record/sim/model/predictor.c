/* SPDX-License-Identifier: MIT */
#include "record/sim/model/predictor.h"

#include <stdlib.h>

#include "base/likely.h"
#include "base/mem.h"

void td_predictor_init(struct td_predictor *predictor, const struct td_blocks *blocks)
{
    *predictor = (struct td_predictor){.blocks = blocks, .link = td_blocks_link(blocks)};
    td_bpred_init(&predictor->bpred, td_blocks_desc(blocks));
}

void td_predictor_release(struct td_predictor *predictor)
{
    td_bpred_release(&predictor->bpred);
    free(predictor->states);
}

static inline const struct td_block *block_of(struct td_predictor *predictor, uint32_t id)
{
    if (TD_UNLIKELY(id >= predictor->state_cap))
        predictor->states = td_grow_zeroed(predictor->states, &predictor->state_cap, (size_t)id + 1,
                                           sizeof(*predictor->states));
    struct td_branch_state *state = &predictor->states[id];
    if (TD_UNLIKELY(!state->block))
        state->block = td_blocks_get(predictor->blocks, id);
    return state->block;
}

/* A target that the buffer has late, or not at all. */
static uint64_t look_for_target(struct td_predictor *predictor, const struct td_block *block)
{
    switch (td_bpred_target(&predictor->bpred, block->branch_pc)) {
    case TD_TARGET_KNOWN: break;
    case TD_TARGET_LATE: return TD_TRACE_TARGET_LATE;
    case TD_TARGET_UNKNOWN: return TD_TRACE_TARGET_UNKNOWN;
    }
    return 0;
}

/* Predicts the branch and says whether that was wrong. */
static inline bool is_wrong(struct td_predictor *predictor, const struct td_block *block,
                            uint64_t next, bool taken)
{
    struct td_bpred *bpred = &predictor->bpred;

    switch ((enum td_branch_kind)block->branch) {
    case TD_BRANCH_CONDITIONAL:
        return td_bpred_conditional(bpred, block->branch_pc,
                                    &predictor->states[predictor->last_id].bias, taken);
    case TD_BRANCH_JUMP:
    case TD_BRANCH_CALL: td_bpred_direct(bpred, block->branch_pc); return false;
    case TD_BRANCH_INDIRECT_JUMP:
    case TD_BRANCH_INDIRECT_CALL: return td_bpred_indirect(bpred, block->branch_pc, next);
    case TD_BRANCH_RETURN: return td_bpred_return(bpred, next);
    case TD_BRANCH_NONE: break;
    }
    return false;
}

/* A conditional branch that went neither way was not executed: a signal came before it. */
static inline bool is_interrupted(const struct td_block *block, uint64_t next)
{
    return block->branch == TD_BRANCH_CONDITIONAL && next != block->end && next != block->target;
}

/* What becomes of the last block's branch, now that `next` is known. */
static inline uint64_t outcome_of(struct td_predictor *predictor, uint64_t next)
{
    const struct td_block *block = predictor->last;
    uint64_t outcome = TD_TRACE_RESOLVED;

    if (!block || block->branch == TD_BRANCH_NONE || is_interrupted(block, next))
        return 0;
    const bool taken = block->branch != TD_BRANCH_CONDITIONAL || next != block->end;
    if (is_wrong(predictor, block, next, taken))
        outcome |= TD_TRACE_WRONG;
    else if (predictor->bpred.late)
        outcome |= TD_TRACE_LATE;
    if (taken) {
        outcome |= TD_TRACE_TAKEN;
        if (block->branch != TD_BRANCH_RETURN)
            outcome |= look_for_target(predictor, block);
    }
    if (td_block_calls(block))
        td_bpred_call(&predictor->bpred, block->end);
    return outcome;
}

/* Only the return stack takes note of the last block. */
static void settle(struct td_predictor *predictor)
{
    const struct td_block *block = predictor->last;

    if (block && td_block_calls(block))
        td_bpred_call(&predictor->bpred, block->end);
    else if (block && block->branch == TD_BRANCH_RETURN)
        td_bpred_leave(&predictor->bpred);
    predictor->last = NULL;
}

static void run_skip(struct td_predictor *predictor, const uint64_t *words, const uint64_t *end)
{
    for (; words < end; words++) {
        if (td_trace_is_aside(*words))
            continue;
        if (td_trace_is_mark(*words)) {
            predictor->last = NULL;
        } else if ((*words & TD_TRACE_BLOCK_BIT) && !(*words & TD_TRACE_CODE)) {
            settle(predictor);
            predictor->last = block_of(predictor, (uint32_t)*words);
            if (!predictor->link && words + 1 < end)
                settle(predictor);
        }
    }
}

void td_predictor_run(struct td_predictor *predictor, uint64_t *words, size_t count,
                      enum td_sim_mode mode)
{
    const uint64_t *end = words + count;

    /* Between modes that have all branches in the stream none is missed. */
    if (mode != predictor->mode &&
        (mode == TD_SIM_FAST_FORWARD || predictor->mode == TD_SIM_FAST_FORWARD))
        settle(predictor);
    predictor->mode = mode;
    if (mode == TD_SIM_FAST_FORWARD) {
        run_skip(predictor, words, end);
        return;
    }
    for (; words < end; words++) {
        if (!(*words & TD_TRACE_BLOCK_BIT) || td_trace_is_aside(*words))
            continue;
        if (td_trace_is_mark(*words)) {
            predictor->last = NULL;
            continue;
        }
        const uint32_t id = (uint32_t)*words;
        const struct td_block *block = block_of(predictor, id);
        if (!td_sim_is_functional(mode) && td_block_is_next_round(predictor->last, block))
            continue;
        *words = td_trace_block(id) | outcome_of(predictor, block->pc);
        predictor->last = block;
        predictor->last_id = id;
    }
}
