/* SPDX-License-Identifier: MIT */
#include "record/sim/callstack.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

/* Frames farther away belong to another stack (coroutine, signal stack), not to one unwound. */
#define STACK_REACH (UINT64_C(8) << 20)
/* Returns look this deep for their call. */
enum { RETURN_REACH = 64 };

void td_callstack_init(struct td_callstack *stack)
{
    *stack = (struct td_callstack){.depth = 0};
    stack->nodes = td_grow(NULL, &stack->node_cap, 64, sizeof(*stack->nodes));
    stack->nodes[0] = (struct td_call_node){.parent = 0};
    stack->node_count = 1;
}

void td_callstack_release(struct td_callstack *stack)
{
    free(stack->nodes);
    td_map_release(&stack->ids);
    *stack = (struct td_callstack){.depth = 0};
}

static uint32_t child(struct td_callstack *stack, uint64_t call)
{
    bool added;

    if (stack->node_count >= TD_CALL_NODES_MAX) {
        const uint32_t *known = td_map_find(&stack->ids, stack->node, call);
        stack->truncated += known == NULL;
        return known ? *known : stack->node;
    }
    const uint32_t *place =
        td_map_put(&stack->ids, stack->node, call, (uint32_t)stack->node_count, &added);
    if (!added)
        return *place;
    stack->nodes =
        td_grow(stack->nodes, &stack->node_cap, stack->node_count + 1, sizeof(*stack->nodes));
    stack->nodes[stack->node_count] = (struct td_call_node){.parent = stack->node, .call = call};
    return (uint32_t)stack->node_count++;
}

static void drop_to(struct td_callstack *stack, uint32_t depth)
{
    if (depth == stack->depth)
        return;
    stack->node = stack->frames[depth].node;
    stack->depth = depth;
}

/* The stack grows down: what lies below `place`, and near, has been left. */
static void drop_left(struct td_callstack *stack, uint64_t place)
{
    uint32_t depth = stack->depth;

    while (depth > 0 && stack->frames[depth - 1].place <= place &&
           place - stack->frames[depth - 1].place < STACK_REACH)
        depth--;
    drop_to(stack, depth);
}

void td_callstack_call(struct td_callstack *stack, uint64_t place, uint64_t return_address)
{
    drop_left(stack, place);
    if (stack->depth == TD_CALL_DEPTH_MAX) {
        stack->truncated++;
        return;
    }
    stack->frames[stack->depth++] = (struct td_call_frame){.place = place, .node = stack->node};
    stack->node = child(stack, return_address - 1);
}

void td_callstack_return(struct td_callstack *stack, uint64_t place)
{
    const uint32_t least = stack->depth > RETURN_REACH ? stack->depth - RETURN_REACH : 0;

    for (uint32_t depth = stack->depth; depth > least; depth--) {
        if (stack->frames[depth - 1].place == place) {
            drop_to(stack, depth - 1);
            return;
        }
    }
    stack->unmatched++;
    drop_left(stack, place);
}
