/* SPDX-License-Identifier: MIT */
/*
 * The shadow stack of one thread: a call pushes, the return that takes its return address from
 * the same place pops. Frames left by longjmp or an exception lie below the stack pointer and go at
 * the next call or return.
 *
 * Paths are interned: a node is a caller's path and a call. A recursive program has as many paths
 * as it has calls, so recursion has a budget of nodes of its own. When it is spent, a call that is
 * already on the path leads back to where it is on it: the levels between are folded.
 *
 * A program of many functions has paths by the hundred thousand, most of which are taken a few
 * times. The first few thousand keep what they do at once; a later one only when it has done enough
 * to matter, and what it did before is kept by the nearest path above it that does.
 *
 * Addresses of code are places (trace.h), so that paths through code that is no longer mapped stay
 * apart from those through what came after it.
 *
 * Where a call leaves its return address in a register, the place is the stack pointer at the call,
 * as far as it is known, and a return is matched by the address it goes to.
 */
#ifndef TD_RECORD_SIM_MODEL_CALLSTACK_H
#define TD_RECORD_SIM_MODEL_CALLSTACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"
#include "base/map.h"

#define TD_CALL_FRAMES_MAX    (1U << 16)
#define TD_CALL_DEPTH_MAX     256 /* calls on a path */
#define TD_CALL_RECURSIVE_MAX (1U << 12)
#define TD_CALL_NODES_MAX     (1U << 18)
#define TD_CALL_KEEPERS       (1U << 11) /* paths that keep what they do from the first */
#define TD_CALL_PROVEN_RUNS   4096       /* blocks run, after which a path keeps what it does */

/* Node 0 is the outermost frame's caller: the empty path. */
struct td_call_node {
    uint32_t parent, depth;
    uint64_t call; /* the return address minus one */
    uint32_t keeper, runs;
};

struct td_call_frame {
    uint64_t place;   /* of the return address on the stack, or the stack pointer; 0: not known */
    uint64_t returns; /* the return address */
    uint32_t node;    /* the caller's path, to return to */
};

/* The last answers, by hash of the question: most calls were made before. */
struct td_call_memo {
    uint64_t call; /* 0: empty */
    uint32_t node, callee;
};

enum { TD_CALL_MEMOS = 4096 };

struct td_callstack {
    struct td_call_node *nodes;
    size_t node_count, node_cap;
    uint32_t recursive; /* nodes whose call is on their path already */
    struct td_map ids;  /* (node, call) to the callee's node */
    struct td_call_frame *frames;
    size_t frame_cap;
    uint32_t depth;
    uint32_t node;      /* the path now */
    uint64_t folded;    /* pairs of a path and a call that were folded */
    uint64_t truncated; /* calls that got no frame, or no path of their own: too many */
    uint64_t unmatched; /* returns that matched no call */
    uint64_t unproven;  /* paths that keep nothing */
    struct td_call_memo memos[TD_CALL_MEMOS];
};

/* One more block runs on the path now, which keeps nothing yet. */
void td_callstack_prove(struct td_callstack *stack);

/* The path on which the block that runs now is counted. */
static inline uint32_t td_callstack_keeper(struct td_callstack *stack)
{
    const struct td_call_node *node = &stack->nodes[stack->node];

    if (TD_UNLIKELY(node->keeper != stack->node))
        td_callstack_prove(stack);
    return node->keeper;
}

void td_callstack_init(struct td_callstack *stack);
void td_callstack_release(struct td_callstack *stack);
/* A call that put its return address at `place`. */
void td_callstack_call(struct td_callstack *stack, uint64_t place, uint64_t return_address);
/* A return that took its address from `place`. */
void td_callstack_return(struct td_callstack *stack, uint64_t place);
/* A return to `target` with the stack pointer at `*place` (0: not known). True when a call was
 * found for it; *place is then the stack pointer at that call. */
bool td_callstack_return_to(struct td_callstack *stack, uint64_t target, uint64_t *place);
/* All calls have been left. */
void td_callstack_leave(struct td_callstack *stack);
/* A jump that may have unwound the stack: when calls have been made from just before `target` on
 * one of the paths to here, goes back to that. */
void td_callstack_unwind(struct td_callstack *stack, uint64_t target);
/* The place of the innermost call, which was not known when it was made. */
void td_callstack_found(struct td_callstack *stack, uint64_t place);
/* The stack pointer has been seen again: calls made at `place` or below it have been left. */
void td_callstack_seen(struct td_callstack *stack, uint64_t place);

#endif
