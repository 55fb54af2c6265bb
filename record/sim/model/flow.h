/* SPDX-License-Identifier: MIT */
/* Where indirect jumps of one thread went: of other blocks, how often each ran says it. */
#ifndef TD_RECORD_SIM_MODEL_FLOW_H
#define TD_RECORD_SIM_MODEL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

enum {
    TD_FLOW_MEMOS = 1024,
    TD_FLOW_JUMPS_MAX = 1 << 16, /* what comes after is not told */
};

struct td_flow_jump {
    uint32_t from, to; /* blocks */
    uint64_t count;
};

/* Which store the loads of an instruction had their data from: mostly, so many stores back. */
struct td_flow_forward {
    uint32_t count; /* that it was so, less that it was not (Boyer and Moore's majority vote) */
    uint32_t all;   /* that it was any */
    uint16_t back;
    bool renamed; /* rename passed the register on, the last time */
};

/* A zeroed one is empty. */
struct td_flow {
    struct td_flow_jump *jumps;
    size_t count, cap;
    struct td_map ids;
    uint32_t memos[TD_FLOW_MEMOS];    /* by hash of both: index of jumps, plus 1 */
    struct td_flow_forward *forwards; /* by row of the ledger */
    size_t forward_cap;
};

void td_flow_release(struct td_flow *flow);
/* A load of the row had its data from `back` stores ago. */
void td_flow_forward(struct td_flow *flow, uint32_t row, uint32_t back, bool renamed);
/* The jump that ends `from` went to `to`. */
void td_flow_jump(struct td_flow *flow, uint32_t from, uint32_t to);

#endif
