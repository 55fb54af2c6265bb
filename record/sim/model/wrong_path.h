/* SPDX-License-Identifier: MIT */
/*
 * What a core has begun on the wrong path when a mispredicted branch resolves late. Wrong and right
 * path soon meet again, most often; loads beyond that place whose addresses do not depend on which
 * way was taken are the right path's own, begun early: it finds their lines on the way. The rules:
 *
 * - Only conditional branches that resolve later than L3 answers.
 * - The wrong path goes the wrong way at the branch and the usual way at all others. Where no way
 *   is usual it goes the way taken more often; but when it comes to the branch itself again, it is
 *   right there.
 * - It meets the right path at the instructions that both have in common up to the same branch,
 *   in the first few blocks of both; of several such places at that with the shortest longer way.
 * - Registers that either path writes before they meet are foreign, and so is what is computed from
 *   them. A load from a foreign address is left alone.
 * - Uops are dispatched at the core's width from the branch on, while the reorder buffer, the load
 *   and the store buffer have places and the scheduler is not full of uops that cannot issue. Only
 *   what issues before the branch resolves counts.
 * - A later branch that was mispredicted on the right path is taken for mispredicted here too.
 * - A branch whose wrong path again and again loads nothing but what L1 has is left alone for a
 *   while, then tried again.
 *
 * Nothing else of the wrong path is modelled: not lines that only it asks for, not its stores. It
 * ends with the batch of words.
 */
#ifndef TD_RECORD_SIM_MODEL_WRONG_PATH_H
#define TD_RECORD_SIM_MODEL_WRONG_PATH_H

#include <stddef.h>
#include <stdint.h>

/* The blocks that followed a block last, when its branch was not taken and taken. */
struct td_way {
    uint32_t next[2]; /* id plus 1; 0: none yet */
    int8_t usual;     /* above 0: it is taken more often */
    uint8_t idle;     /* times in a row that nothing has come of its wrong path */
    uint8_t rest;     /* so many more are not looked at */
};

struct td_wrong_path {
    struct td_way *ways; /* by block */
    size_t way_cap;
};

struct td_sim;

void td_wrong_path_release(struct td_wrong_path *wrong);
/* Begins what the wrong path begins of the right one. sim->redirect is the mispredicted branch,
 * which ended sim->last; `words` begins with the block that followed it in fact. */
void td_wrong_path_run(struct td_sim *sim, const uint64_t *words, const uint64_t *end);

#endif
