/* SPDX-License-Identifier: MIT */
#include "formats/cores/tma.h"

#include <assert.h>
#include <string.h>

static const struct td_tma_info infos[TD_NODE_COUNT] = {
#define X(symbol, node_id, node_parent, node_level, node_name, node_meaning) \
    [TD_NODE_##symbol] = {.id = (node_id),                                   \
                          .name = (node_name),                               \
                          .meaning = (node_meaning),                         \
                          .parent = TD_NODE_##node_parent,                   \
                          .level = (node_level)},
    TD_TMA_NODES(X)
#undef X
};

const struct td_tma_info *td_tma_info(enum td_tma_node node)
{
    assert(node >= 0 && node < TD_NODE_COUNT);
    return &infos[node];
}

enum td_tma_node td_tma_by_id(const char *id)
{
    for (int i = 0; i < TD_NODE_COUNT; i++) {
        if (strcmp(infos[i].id, id) == 0)
            return (enum td_tma_node)i;
    }
    return TD_NODE_NONE;
}
