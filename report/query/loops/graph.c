/* SPDX-License-Identifier: MIT */
#include "report/query/loops/graph.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/mem.h"

/* Where a block begins or ends. */
struct cut {
    uint32_t module;
    uint64_t offset;
};

static int by_place(const void *a, const void *b)
{
    const struct cut *x = a, *y = b;

    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static int by_ends(const void *a, const void *b)
{
    const struct td_segment_edge *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* All cuts, each once. */
static struct cut *cuts_of(const struct td_ran *ran, size_t *count)
{
    const size_t blocks = td_ran_count(ran);
    struct cut *cuts = td_xcalloc(2 * blocks + 1, sizeof(*cuts));
    size_t kept = 0;

    for (size_t i = 0; i < blocks; i++) {
        const struct td_ran_block *block = td_ran_block(ran, i);

        cuts[2 * i] = (struct cut){block->module, block->offset};
        cuts[2 * i + 1] = (struct cut){block->module, block->offset + block->size};
    }
    qsort(cuts, 2 * blocks, sizeof(*cuts), by_place);
    for (size_t i = 0; i < 2 * blocks; i++) {
        if (kept == 0 || by_place(&cuts[kept - 1], &cuts[i]) != 0)
            cuts[kept++] = cuts[i];
    }
    *count = kept;
    return cuts;
}

/* The segment that begins at the place; TD_NONE. Those without runs are none. */
static uint32_t segment_at(const struct td_graph *graph, uint32_t module, uint64_t offset)
{
    const uint32_t i = td_graph_find(graph, module, offset);

    return i != TD_NONE && graph->at[i].offset == offset ? i : TD_NONE;
}

uint32_t td_graph_find(const struct td_graph *graph, uint32_t module, uint64_t offset)
{
    size_t first = 0;

    TD_SEARCH(first, graph->len, i,
              graph->at[i].module < module ||
                  (graph->at[i].module == module && graph->at[i].end <= offset))
    if (first >= graph->len || graph->at[first].module != module ||
        offset < graph->at[first].offset)
        return TD_NONE;
    return (uint32_t)first;
}

static bool covers_better(const struct td_ran_block *block, const struct td_ran_block *known)
{
    return !known || (known->uop_count == 0 && block->uop_count > 0);
}

/* What a block that runs over several segments says of each. */
static void add_runs(struct td_graph *graph, const struct td_ran_block *block)
{
    const uint64_t end = block->offset + block->size;
    uint32_t i = segment_at(graph, block->module, block->offset);

    for (; i < graph->len && graph->at[i].module == block->module && graph->at[i].offset < end;
         i++) {
        struct td_segment *s = &graph->at[i];

        s->runs += block->runs;
        s->calls = s->calls || (s->end == end && block->branch == TD_RAN_CALL);
        if (covers_better(block, s->block))
            s->block = block;
    }
}

struct edges {
    struct td_graph *graph;
    size_t cap;
};

static void add_edge(struct edges *e, uint32_t from, uint32_t to, uint64_t count)
{
    struct td_graph *graph = e->graph;

    if (count == 0 || to == TD_NONE)
        return;
    graph->edges = td_grow(graph->edges, &e->cap, graph->edge_count + 1, sizeof(*graph->edges));
    graph->edges[graph->edge_count++] = (struct td_segment_edge){from, to, count};
}

static void add_edges(struct edges *e, const struct td_ran_block *block)
{
    const struct td_graph *graph = e->graph;
    const uint64_t end = block->offset + block->size;
    uint32_t last = segment_at(graph, block->module, block->offset);
    const bool calls = block->branch == TD_RAN_CALL;

    while (graph->at[last].end < end) {
        add_edge(e, last, last + 1, block->runs);
        last++;
    }
    add_edge(e, last, segment_at(graph, block->module, end),
             calls ? block->runs : block->runs - block->taken);
    if (block->branch == TD_RAN_CONDITIONAL || block->branch == TD_RAN_JUMP)
        add_edge(e, last, segment_at(graph, block->module, block->offset + (uint64_t)block->target),
                 block->taken);
    for (uint32_t i = 0; i < block->edge_count; i++)
        add_edge(e, last,
                 segment_at(graph, block->module, block->offset + (uint64_t)block->edges[i].delta),
                 block->edges[i].count);
}

/* Equal edges become one; each segment gets its own. */
static void sort_edges(struct td_graph *graph)
{
    size_t kept = 0;

    qsort(graph->edges, graph->edge_count, sizeof(*graph->edges), by_ends);
    for (size_t i = 0; i < graph->edge_count; i++) {
        struct td_segment_edge *last = kept > 0 ? &graph->edges[kept - 1] : NULL;

        if (last && by_ends(last, &graph->edges[i]) == 0)
            last->count += graph->edges[i].count;
        else
            graph->edges[kept++] = graph->edges[i];
    }
    graph->edge_count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct td_segment *from = &graph->at[graph->edges[i].from];

        if (from->edge_count++ == 0)
            from->edge_first = (uint32_t)i;
    }
}

void td_graph_init(struct td_graph *graph, const struct td_model *model)
{
    const struct td_ran *ran = td_model_ran_of(model);
    struct edges edges = {.graph = graph};
    size_t count = 0, kept = 0;
    struct cut *cuts = cuts_of(ran, &count);

    *graph = (struct td_graph){.at = td_xcalloc(count + 1, sizeof(*graph->at))};
    for (size_t i = 0; i + 1 < count; i++) {
        if (cuts[i].module == cuts[i + 1].module)
            graph->at[graph->len++] = (struct td_segment){
                .module = cuts[i].module, .offset = cuts[i].offset, .end = cuts[i + 1].offset};
    }
    free(cuts);
    for (size_t i = 0; i < td_ran_count(ran); i++)
        add_runs(graph, td_ran_block(ran, i));
    for (size_t i = 0; i < graph->len; i++) {
        if (graph->at[i].block)
            graph->at[kept++] = graph->at[i];
    }
    graph->len = kept;
    for (size_t i = 0; i < td_ran_count(ran); i++)
        add_edges(&edges, td_ran_block(ran, i));
    sort_edges(graph);
}

void td_graph_release(struct td_graph *graph)
{
    free(graph->at);
    free(graph->edges);
    *graph = (struct td_graph){.at = NULL};
}
