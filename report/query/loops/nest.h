/* SPDX-License-Identifier: MIT */
/*
 * Loops in the graph of what ran: its strongly connected parts, and those in them once the edges
 * back to their headers are gone (Steensgaard 1993). Natural loops are found so as by dominators; a
 * loop that is entered in several places, as an interpreter's of computed jumps, is one loop, too.
 */
#ifndef TD_REPORT_QUERY_LOOPS_NEST_H
#define TD_REPORT_QUERY_LOOPS_NEST_H

#include "report/query/loops/graph.h"

struct td_nest_loop {
    uint32_t parent;  /* index of a loop before it; TD_NONE */
    uint32_t header;  /* the segment where it is entered most */
    bool irregular;   /* it is entered elsewhere, too */
    uint64_t entries; /* from outside */
    uint64_t iterations;
    uint64_t header_runs;
    uint32_t first, count; /* of td_nest.members: its segments, inner loops' included */
};

struct td_nest {
    struct td_nest_loop *at;
    size_t len, cap;
    uint32_t *members; /* segments, by offset in each loop */
    size_t member_count, member_cap;
    uint32_t *inner; /* by segment: its innermost loop; TD_NONE */
};

/* `graph` is borrowed for the call. */
void td_nest_init(struct td_nest *nest, const struct td_graph *graph);
void td_nest_release(struct td_nest *nest);

#endif
