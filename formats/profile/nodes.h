/* SPDX-License-Identifier: MIT */
/*
 * The writer's table of nodes: interns (parent, module, offset) in a fixed amount of memory. When
 * it is full it starts anew, in a new epoch, with the one stack that is being built.
 */
#ifndef TD_FORMATS_PROFILE_NODES_H
#define TD_FORMATS_PROFILE_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/profile/columns.h"

/* The smallest table is for tests; a table should hold many of the deepest stacks. */
#define TD_NODE_TABLE_MIN 128
#define TD_NODE_TABLE_MAX (UINT32_C(1) << 24)

struct td_node_table {
    struct td_node_row *rows; /* by id; rows[0] is the empty stack */
    uint32_t *slots;          /* id and a tag of the hash, or 0 */
    uint32_t slot_count;      /* a power of two */
    uint32_t cap;
    uint32_t count; /* ids given out in this epoch, with 0 */
    uint32_t epoch;
};

void td_node_table_init(struct td_node_table *table, uint32_t max_nodes);
void td_node_table_release(struct td_node_table *table);
/* The node's id, or 0 when it is new and the table is full. `parent` must be of this epoch. */
uint32_t td_node_table_put(struct td_node_table *table, struct td_node_row row);
/* The same for a node that is new, and that nobody will ask for again: it is not looked up. */
uint32_t td_node_table_add(struct td_node_table *table, struct td_node_row row);
/* Begins a new epoch that holds the stack of `node` only; returns its id there. A stack deeper
 * than half of the table keeps its inner part. */
uint32_t td_node_table_restart(struct td_node_table *table, uint32_t node);

#endif
