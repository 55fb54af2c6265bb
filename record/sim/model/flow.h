/* SPDX-License-Identifier: MIT */
/* Where indirect jumps of one thread went: of other blocks, how often each ran says it. */
#ifndef TD_RECORD_SIM_MODEL_FLOW_H
#define TD_RECORD_SIM_MODEL_FLOW_H

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

/* A zeroed one is empty. */
struct td_flow {
    struct td_flow_jump *jumps;
    size_t count, cap;
    struct td_map ids;
    uint32_t memos[TD_FLOW_MEMOS]; /* by hash of both: index of jumps, plus 1 */
};

void td_flow_release(struct td_flow *flow);
/* The jump that ends `from` went to `to`. */
void td_flow_jump(struct td_flow *flow, uint32_t from, uint32_t to);

#endif
