/* SPDX-License-Identifier: MIT */
/*
 * Branch prediction: a bimodal table under tagged tables of geometric history (TAGE), the same for
 * indirect targets, two levels of target buffer and a return stack. A branch that has only ever
 * gone one way is predicted to go that way and takes no place in the tables.
 */
#ifndef TD_RECORD_SIM_MODEL_BPRED_H
#define TD_RECORD_SIM_MODEL_BPRED_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cores/core.h"
#include "record/sim/model/memory/caches.h"

#define TD_TAGE_TABLES     6
#define TD_INDIRECT_TABLES 3
#define TD_RETURNS_MAX     64

struct td_tage_entry {
    uint16_t tag;
    int8_t counter; /* -4 to 3; taken when >= 0 */
    uint8_t useful;
};

struct td_indirect_entry {
    uint64_t target;
    uint16_t tag;
    uint8_t sure;
};

#define TD_TAGE_LANES 8 /* at least the tables, in whole vectors */

typedef int32_t td_lanes __attribute__((vector_size(16)));
typedef int16_t td_tag_lanes __attribute__((vector_size(16)));
enum { TD_LANES_AT_ONCE = 4, TD_LANE_VECTORS = TD_TAGE_LANES / TD_LANES_AT_ONCE };

/* History folded to the width of an index, for all tables at once; kept up to date bit by bit. */
struct td_folds {
    td_lanes value[TD_LANE_VECTORS];
    td_lanes mask[TD_LANE_VECTORS]; /* of its width */
    td_lanes out[TD_LANE_VECTORS];  /* where the bit that leaves the history stands in the fold */
};

/* The same for tags, which are short. */
struct td_tag_folds {
    td_tag_lanes value, mask, out;
};

struct td_bpred {
    struct td_folds index;
    struct td_tag_folds tag;
    uint8_t history[256]; /* a bit each, as a ring: newest at `newest`, older ones after it */
    uint8_t newest;
    uint64_t path;
    uint32_t random;
    uint32_t base_mask, table_mask;
    uint8_t *base; /* 2-bit counters */
    struct td_tage_entry *tables[TD_TAGE_TABLES];
    struct td_indirect_entry *indirect[TD_INDIRECT_TABLES];
    struct td_cache btb, btb2;
    uint64_t returns[TD_RETURNS_MAX];
    uint32_t return_top, return_count;
    uint64_t indirect_masks[TD_INDIRECT_TABLES]; /* of path, by table */
    bool late; /* the last prediction was right, but not the first one made */
};

/* What a conditional branch has done so far; kept by the caller with the branch. */
enum td_bias { TD_BIAS_NEW, TD_BIAS_TAKEN, TD_BIAS_NOT_TAKEN, TD_BIAS_BOTH };

enum td_target { TD_TARGET_KNOWN, TD_TARGET_LATE, TD_TARGET_UNKNOWN };

void td_bpred_init(struct td_bpred *bpred, const struct td_core_desc *desc);
void td_bpred_release(struct td_bpred *bpred);
/* Predicts, learns, and says whether the prediction was wrong. */
bool td_bpred_conditional(struct td_bpred *bpred, uint64_t pc, uint8_t *bias, bool taken);
bool td_bpred_indirect(struct td_bpred *bpred, uint64_t pc, uint64_t target);
void td_bpred_direct(struct td_bpred *bpred, uint64_t pc);
void td_bpred_call(struct td_bpred *bpred, uint64_t return_address);
/* A return that is not predicted: only the return stack takes note. */
void td_bpred_leave(struct td_bpred *bpred);
bool td_bpred_return(struct td_bpred *bpred, uint64_t target);
/* Whether the target buffer knew a taken branch; it does from now on. */
enum td_target td_bpred_target(struct td_bpred *bpred, uint64_t pc);

#endif
