/* SPDX-License-Identifier: MIT */
/*
 * The call tree of a measure, for a picture of it: a node a path of functions from the outermost
 * in, with what ends there. Sums over a node and all below it are what the path costs; sums over
 * all nodes are the measure's totals, to the unit, whatever was cut.
 */
#ifndef TD_REPORT_QUERY_STACKS_H
#define TD_REPORT_QUERY_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/call_tree.h"
#include "formats/measure.h"

enum td_stack_frame_kind {
    TD_STACK_FUNCTION,
    TD_STACK_UNNAMED, /* code of a module that has no name; of TD_NONE: a place that is not known */
    TD_STACK_PROCESS  /* below the root, where there are several */
};

struct td_stack_frame {
    enum td_stack_frame_kind kind;
    uint32_t function; /* FUNCTION; else TD_NONE */
    uint32_t module;   /* may be TD_NONE */
    uint32_t process;  /* string, of PROCESS; else 0 */
};

#define TD_STACK_ROOT TD_NONE        /* frame of node 0 */
#define TD_STACK_REST (TD_NONE - 1u) /* frame of what td_stacks_cut put together */

struct td_stacks {
    const struct td_measure *measure; /* borrowed */
    struct td_stack_frame *frames;
    size_t frame_count;
    struct td_call *at; /* at[0] is the root, and its own `outer`; of others that stands before;
                           frame: index, or TD_STACK_ROOT, TD_STACK_REST */
    size_t len;
    uint64_t *values[TD_METRIC_COUNT]; /* by node: what ends there; NULL: the measure has none */
    size_t left_out;                   /* nodes that were put together */
    double left_out_share;             /* of the primary metric */
};

/* With `no_inline` inlined code counts to the function that contains it. Release afterwards. */
void td_stacks_init(struct td_stacks *stacks, const struct td_measure *measure, bool no_inline);
/* Keeps the `max` nodes that cost most; what is cut becomes one node (TD_STACK_REST) below the
 * nearest node that stays. */
void td_stacks_cut(struct td_stacks *stacks, size_t max);
void td_stacks_release(struct td_stacks *stacks);

#endif
