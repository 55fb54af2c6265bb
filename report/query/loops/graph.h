/* SPDX-License-Identifier: MIT */
/*
 * The code that ran as a graph of flow. Blocks of the model may overlap, since each begins where a
 * jump went; here they are cut, so that each byte of code is in one segment. Calls go on behind
 * themselves; returns and jumps to another module end.
 */
#ifndef TD_REPORT_QUERY_LOOPS_GRAPH_H
#define TD_REPORT_QUERY_LOOPS_GRAPH_H

#include "formats/model.h"

struct td_segment {
    uint32_t module;
    uint64_t offset, end;
    uint64_t runs;
    uint32_t edge_first, edge_count;
    bool calls; /* it ends with a call */
    const struct td_ran_block
        *block; /* one that covers it, with uops when there is such; borrowed */
};

struct td_segment_edge {
    uint32_t from, to;
    uint64_t count; /* not 0 */
};

struct td_graph {
    struct td_segment *at; /* by module and offset */
    size_t len;
    struct td_segment_edge *edges; /* by `from`, `to` */
    size_t edge_count;
};

void td_graph_init(struct td_graph *graph, const struct td_model *model);
void td_graph_release(struct td_graph *graph);
/* The segment that the offset is in; TD_NONE. */
uint32_t td_graph_find(const struct td_graph *graph, uint32_t module, uint64_t offset);

#endif
