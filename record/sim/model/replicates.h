/* SPDX-License-Identifier: MIT */
/*
 * What each window saw at each instruction, as replicates (formats/replicates.h): from them follows
 * how far the sampled figures of any place may be from the whole. Of several call paths to an
 * instruction the sum is kept.
 */
#ifndef TD_RECORD_SIM_MODEL_REPLICATES_H
#define TD_RECORD_SIM_MODEL_REPLICATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/replicates.h"
#include "record/sim/model/blocks.h"
#include "record/sim/model/charge.h"

/* An instruction's slots of one column, in one region. */
struct td_replicate_cell {
    uint64_t pc;
    uint32_t column; /* enum td_sim_column, or TD_SIM_ALL_SLOTS */
    uint32_t region; /* td_sim_tally.region */
    float sum;       /* of the present part's windows: slots, */
    float signed_sums[TD_REPLICATES];
    float settled[TD_REPLICATES]; /* replicates of the parts before, scaled */
};

/* An account that ran since the pipeline began to fill for a window. */
struct td_replicate_touched {
    uint32_t account;
    uint64_t runs; /* when the window began */
    size_t lost;   /* index in `before` */
};

struct td_replicates {
    bool whole;            /* columns are not told apart: TD_SIM_ALL_SLOTS; set while it is empty */
    bool open;             /* a window goes on, or the pipeline fills for one */
    uint32_t serial;       /* of the window; 0: there was none */
    uint32_t part_windows; /* in the present part; */
    uint64_t sum;          /* their instructions, */
    float signed_sums[TD_REPLICATES];
    struct td_replicate_touched *touched;
    size_t touched_count, touched_cap;
    uint32_t *before; /* the ledger's cells of the touched accounts when the window began */
    size_t before_count, before_cap;
    uint32_t *firsts; /* by block: of `indices`, plus 1 */
    size_t first_cap;
    struct td_map region_firsts; /* the same by block and region, of those in one */
    uint32_t *indices;           /* of an instruction's columns: of `cells`, plus 1 */
    size_t index_count, index_cap;
    struct td_replicate_cell *cells;
    size_t count, cap;
};

/* A zeroed struct is empty. */
void td_replicates_release(struct td_replicates *replicates);
/* Makes `*ret`, which must be empty, equal to `from`; released on its own. */
void td_replicates_copy(struct td_replicates *ret, const struct td_replicates *from);

/* The pipeline begins to fill for a window. */
void td_replicates_open(struct td_replicates *replicates);
/* Notes what the account has so far: before its first run in the window. */
void td_replicates_touch(struct td_replicates *replicates, const struct td_ledger *ledger,
                         uint32_t account, uint32_t insn_count);
/* The window is over; it was of so many instructions. */
void td_replicates_close(struct td_replicates *replicates, const struct td_ledger *ledger,
                         const struct td_blocks *blocks, uint64_t instructions);
/* The part is over: its windows stand for what `scale` says. */
void td_replicates_settle(struct td_replicates *replicates, const struct td_scale *scale);

/* The cell's replicates in slots, when the windows since the last settlement stand for what `scale`
 * says. False when all are 0. */
bool td_replicates_of(const struct td_replicates *replicates, const struct td_replicate_cell *cell,
                      const struct td_scale *scale, int64_t ret[TD_REPLICATES]);

#endif
