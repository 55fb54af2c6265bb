/* SPDX-License-Identifier: MIT */
#include "record/sim/model/callstack.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"

/* Frames farther away belong to another stack (coroutine, signal stack), not to one unwound. */
#define STACK_REACH (UINT64_C(8) << 20)
/* Returns look this deep for their call. */
enum { RETURN_REACH = 64 };

void td_callstack_init(struct td_callstack *stack)
{
    memset(stack, 0, sizeof(*stack));
    stack->nodes = td_grow(NULL, &stack->node_cap, 64, sizeof(*stack->nodes));
    stack->nodes[0] = (struct td_call_node){.parent = 0};
    stack->node_count = 1;
}

void td_callstack_release(struct td_callstack *stack)
{
    free(stack->nodes);
    free(stack->frames);
    td_map_release(&stack->ids);
    memset(stack, 0, sizeof(*stack));
}

/* The innermost node of the path that ends with the call, or 0. */
static uint32_t earlier(const struct td_callstack *stack, uint64_t call)
{
    uint32_t node = stack->node;

    while (node != 0 && stack->nodes[node].call != call)
        node = stack->nodes[node].parent;
    return node;
}

static uint32_t add_callee(struct td_callstack *stack, uint64_t call)
{
    const uint32_t known = earlier(stack, call), depth = stack->nodes[stack->node].depth + 1;

    if (known && (stack->recursive >= TD_CALL_RECURSIVE_MAX || depth > TD_CALL_DEPTH_MAX)) {
        stack->folded++;
        return known;
    }
    if (stack->node_count >= TD_CALL_NODES_MAX || depth > TD_CALL_DEPTH_MAX) {
        stack->truncated++;
        return stack->node;
    }
    stack->recursive += known != 0;
    stack->nodes =
        td_grow(stack->nodes, &stack->node_cap, stack->node_count + 1, sizeof(*stack->nodes));
    const uint32_t id = (uint32_t)stack->node_count++;
    const bool keeps = id < TD_CALL_KEEPERS;
    TD_INVARIANT(stack->node < id);
    stack->unproven += !keeps;
    stack->nodes[id] =
        (struct td_call_node){.parent = stack->node,
                              .depth = depth,
                              .call = call,
                              .keeper = keeps ? id : stack->nodes[stack->node].keeper};
    return id;
}

void td_callstack_prove(struct td_callstack *stack)
{
    struct td_call_node *node = &stack->nodes[stack->node];

    if (++node->runs < TD_CALL_PROVEN_RUNS) {
        node->keeper = stack->nodes[node->parent].keeper;
        return;
    }
    node->keeper = stack->node;
    stack->unproven--;
}

static uint32_t find_callee(struct td_callstack *stack, uint64_t call)
{
    const uint32_t *known = td_map_find(&stack->ids, stack->node, call);

    if (known)
        return *known;
    const uint32_t callee = add_callee(stack, call);
    td_map_put(&stack->ids, stack->node, call, callee, NULL);
    return callee;
}

static uint32_t callee_of(struct td_callstack *stack, uint64_t call)
{
    const uint32_t hash = (uint32_t)(call ^ call >> 12) ^ stack->node * 0x9e3779b1U;
    struct td_call_memo *memo = &stack->memos[(hash ^ hash >> 16) & (TD_CALL_MEMOS - 1)];

    if (memo->call != call || memo->node != stack->node)
        *memo = (struct td_call_memo){
            .call = call, .node = stack->node, .callee = find_callee(stack, call)};
    return memo->callee;
}

static void drop_to(struct td_callstack *stack, uint32_t depth)
{
    TD_INVARIANT(depth <= stack->depth);
    if (depth == stack->depth)
        return;
    stack->node = stack->frames[depth].node;
    stack->depth = depth;
}

/* The stack grows down: what lies below `place`, and near, has been left. */
static void drop_left(struct td_callstack *stack, uint64_t place)
{
    uint32_t keep = stack->depth;

    for (uint32_t depth = stack->depth; depth > 0; depth--) {
        const uint64_t at = stack->frames[depth - 1].place;

        if (at > place || (at && place - at >= STACK_REACH))
            break;
        if (at)
            keep = depth - 1;
    }
    drop_to(stack, keep);
}

void td_callstack_call(struct td_callstack *stack, uint64_t place, uint64_t return_address)
{
    if (place)
        drop_left(stack, place);
    if (stack->depth == TD_CALL_FRAMES_MAX) {
        stack->truncated++;
        return;
    }
    if (stack->depth == stack->frame_cap)
        stack->frames =
            td_grow(stack->frames, &stack->frame_cap, stack->depth + 1, sizeof(*stack->frames));
    stack->frames[stack->depth++] =
        (struct td_call_frame){.place = place, .returns = return_address, .node = stack->node};
    stack->node = callee_of(stack, return_address - 1);
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

bool td_callstack_return_to(struct td_callstack *stack, uint64_t target, uint64_t *place)
{
    if (*place)
        td_callstack_seen(stack, *place - 1);
    const uint32_t least = stack->depth > RETURN_REACH ? stack->depth - RETURN_REACH : 0;

    for (uint32_t depth = stack->depth; depth > least; depth--) {
        if (stack->frames[depth - 1].returns == target) {
            *place = stack->frames[depth - 1].place;
            drop_to(stack, depth - 1);
            return true;
        }
    }
    stack->unmatched++;
    return false;
}

void td_callstack_leave(struct td_callstack *stack)
{
    drop_to(stack, 0);
}

void td_callstack_unwind(struct td_callstack *stack, uint64_t target)
{
    if (td_map_find(&stack->ids, stack->node, target - 1))
        return;
    for (uint32_t depth = stack->depth; depth > 0; depth--) {
        if (td_map_find(&stack->ids, stack->frames[depth - 1].node, target - 1)) {
            drop_to(stack, depth - 1);
            return;
        }
    }
}

void td_callstack_found(struct td_callstack *stack, uint64_t place)
{
    if (stack->depth == 0 || stack->frames[stack->depth - 1].place)
        return;
    const uint64_t returns = stack->frames[stack->depth - 1].returns;
    drop_to(stack, stack->depth - 1);
    td_callstack_call(stack, place, returns);
}

void td_callstack_seen(struct td_callstack *stack, uint64_t place)
{
    drop_left(stack, place);
}
