/* SPDX-License-Identifier: MIT */
/* What the columns of a tally are; tdrec, which has no model, asks too. */
#include "record/sim/model/sim.h"

static const struct td_sim_column_info columns[TD_SIM_COLUMN_COUNT] = {
#define X(symbol, column_name, column_node) \
    [TD_SIM_COLUMN_##symbol] = {.name = (column_name), .node = TD_NODE_##column_node},
    TD_SIM_COLUMNS(X)
#undef X
};

const struct td_sim_column_info *td_sim_column_info(enum td_sim_column column)
{
    return &columns[column];
}
