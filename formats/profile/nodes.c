/* SPDX-License-Identifier: MIT */
#include "formats/profile/nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* A slot is 24 bits of id and 8 of the hash: most probes of other nodes end without a look at
 * their rows. */
#define SLOT_ID_BITS 24
#define SLOT_ID_MASK ((UINT32_C(1) << SLOT_ID_BITS) - 1)

void td_node_table_init(struct td_node_table *table, uint32_t max_nodes)
{
    *table = (struct td_node_table){.cap = max_nodes, .slot_count = 1, .count = 1};
    if (table->cap < TD_NODE_TABLE_MIN)
        table->cap = TD_NODE_TABLE_MIN;
    if (table->cap > TD_NODE_TABLE_MAX)
        table->cap = TD_NODE_TABLE_MAX;
    while (table->slot_count < table->cap * 2)
        table->slot_count *= 2;
    table->rows = td_xcalloc(table->cap, sizeof(*table->rows));
    table->slots = td_xcalloc(table->slot_count, sizeof(*table->slots));
}

void td_node_table_release(struct td_node_table *table)
{
    free(table->rows);
    free(table->slots);
    *table = (struct td_node_table){0};
}

static uint64_t row_hash(const struct td_node_row *row)
{
    return td_hash_mix((uint64_t)row->module << 32 | row->parent, row->offset);
}

uint32_t td_node_table_put(struct td_node_table *table, struct td_node_row row)
{
    const uint64_t hash = row_hash(&row);
    const uint32_t tag = (uint32_t)(hash >> 32) & ~SLOT_ID_MASK;
    const uint32_t mask = table->slot_count - 1;
    uint32_t i = (uint32_t)hash & mask;

    assert(row.parent < table->count);
    for (; table->slots[i]; i = (i + 1) & mask) {
        const struct td_node_row *have = &table->rows[table->slots[i] & SLOT_ID_MASK];

        if ((table->slots[i] & ~SLOT_ID_MASK) == tag && have->offset == row.offset &&
            have->parent == row.parent && have->module == row.module)
            return table->slots[i] & SLOT_ID_MASK;
    }
    if (table->count == table->cap)
        return 0;
    table->rows[table->count] = row;
    table->slots[i] = table->count | tag;
    return table->count++;
}

uint32_t td_node_table_add(struct td_node_table *table, struct td_node_row row)
{
    assert(row.parent < table->count);
    if (table->count == table->cap)
        return 0;
    table->rows[table->count] = row;
    return table->count++;
}

uint32_t td_node_table_restart(struct td_node_table *table, uint32_t node)
{
    struct td_node_row *stack = NULL;
    size_t depth = 0, cap = 0;
    uint32_t id = 0;

    for (; node != 0 && depth < table->cap / 2; node = table->rows[node].parent) {
        stack = td_grow(stack, &cap, depth + 1, sizeof(*stack));
        stack[depth++] = table->rows[node];
    }
    memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
    table->count = 1;
    table->epoch++;
    while (depth > 0) {
        struct td_node_row row = stack[--depth];

        row.parent = id;
        id = td_node_table_put(table, row);
    }
    free(stack);
    return id;
}
