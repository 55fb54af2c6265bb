/* SPDX-License-Identifier: MIT */
/*
 * The shadow stack of one thread: a call pushes, the return that takes its return address from
 * the same place pops. Frames left by longjmp or an exception lie below the stack pointer and go at
 * the next call or return. Paths are interned: a node is a caller's path and a call.
 */
#ifndef TD_RECORD_SIM_CALLSTACK_H
#define TD_RECORD_SIM_CALLSTACK_H

#include <stdint.h>

#include "base/map.h"

#define TD_CALL_DEPTH_MAX 1024
#define TD_CALL_NODES_MAX (1U << 22)

/* Node 0 is the outermost frame's caller: the empty path. */
struct td_call_node {
    uint32_t parent;
    uint64_t call; /* the return address minus one */
};

struct td_call_frame {
    uint64_t place; /* address of the return address on the stack */
    uint32_t node;  /* the caller's path, to return to */
};

struct td_callstack {
    struct td_call_node *nodes;
    size_t node_count, node_cap;
    struct td_map ids; /* (parent, call) to node */
    struct td_call_frame frames[TD_CALL_DEPTH_MAX];
    uint32_t depth;
    uint32_t node;      /* the path now */
    uint64_t truncated; /* calls that got no frame: too deep, or too many paths */
    uint64_t unmatched; /* returns that matched no call */
};

void td_callstack_init(struct td_callstack *stack);
void td_callstack_release(struct td_callstack *stack);
/* A call that put its return address at `place`. */
void td_callstack_call(struct td_callstack *stack, uint64_t place, uint64_t return_address);
/* A return that took its address from `place`. */
void td_callstack_return(struct td_callstack *stack, uint64_t place);

#endif
