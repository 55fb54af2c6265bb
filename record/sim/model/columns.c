/* SPDX-License-Identifier: MIT */
/* What the columns of a tally are; tdrec, which has no model, asks too. */
#include "record/sim/model/sim.h"

static const enum td_tma_node nodes[TD_SIM_COLUMN_COUNT] = {[TD_SIM_COLUMN_INSTRUCTIONS] =
                                                                TD_NODE_NONE,
#define X(symbol, node, meaning) [TD_SIM_COLUMN_RETIRED_##symbol] = TD_NODE_##node,
                                                            TD_RETIRED(X)
#undef X
#define X(symbol, node, meaning) [TD_SIM_COLUMN_##symbol] = TD_NODE_##node,
                                                                TD_CAUSES(X)
#undef X
};

struct td_sim_column_info td_sim_column_info(enum td_sim_column column)
{
    const enum td_tma_node node = nodes[column];

    return (struct td_sim_column_info){
        .name = node == TD_NODE_NONE ? "instructions" : td_tma_info(node)->id, .node = node};
}
