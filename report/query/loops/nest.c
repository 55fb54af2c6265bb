/* SPDX-License-Identifier: MIT */
#include "report/query/loops/nest.h"

#include <stdlib.h>

#include "base/mem.h"

enum { UNSEEN = 0 };
/* Entries elsewhere than at the header, of all, that a regular loop may have: signals and jumps
 * that nobody saw come by in small numbers. */
#define SIDE_ENTRIES_MAX 0.05

/* One level of Tarjan's depth-first search. */
struct frame {
    uint32_t node, edge; /* the next edge to follow */
};

/* Segments in which loops are looked for, and the loop that they are in. */
struct scope {
    uint32_t loop;         /* TD_NONE: in none */
    uint32_t first, count; /* of `pending` */
};

struct finding {
    const struct td_graph *graph;
    struct td_nest *nest;
    uint32_t *scope_of; /* by segment: index of its scope */
    bool *cut;          /* by segment: edges to it are gone */
    uint64_t *into;     /* by segment: scratch */
    /* Tarjan's: */
    uint32_t *order, *low, *stack;
    bool *on_stack;
    struct frame *frames;
    uint32_t visited, depth, frame_count;
    /* Scopes still to be looked at, and their segments. */
    struct scope *scopes;
    size_t scope_count, scope_cap;
    uint32_t *pending;
    size_t pending_count, pending_cap;
};

static bool follows(const struct finding *f, const struct td_segment_edge *edge)
{
    return f->scope_of[edge->from] == f->scope_of[edge->to] && !f->cut[edge->to];
}

static bool is_loop(const struct finding *f, const uint32_t *nodes, uint32_t count)
{
    const struct td_segment *only = &f->graph->at[nodes[0]];

    for (uint32_t e = 0; count == 1 && e < only->edge_count; e++) {
        const struct td_segment_edge *edge = &f->graph->edges[only->edge_first + e];

        if (edge->to == nodes[0] && follows(f, edge))
            return true;
    }
    return count > 1;
}

/* How often control came to each node from nodes of the same part. */
static void count_inner(const struct finding *f, const uint32_t *nodes, uint32_t count,
                        uint32_t number)
{
    for (uint32_t i = 0; i < count; i++)
        f->into[nodes[i]] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct td_segment *s = &f->graph->at[nodes[i]];

        for (uint32_t e = 0; e < s->edge_count; e++) {
            const struct td_segment_edge *edge = &f->graph->edges[s->edge_first + e];

            if (f->scope_of[edge->to] == number)
                f->into[edge->to] += edge->count;
        }
    }
}

/* The test at the beginning that may end the loop runs once more than the body: so often did it
 * end it. 0 where the test is at the end. */
static uint64_t failed_tests(const struct finding *f, const struct td_nest_loop *loop,
                             uint32_t number)
{
    uint32_t at = loop->header;

    for (uint32_t steps = 0; steps < loop->count; steps++) {
        const struct td_segment *s = &f->graph->at[at];
        uint64_t stays = 0;
        uint32_t next = TD_NONE, ways = 0;

        for (uint32_t e = 0; e < s->edge_count; e++) {
            const struct td_segment_edge *edge = &f->graph->edges[s->edge_first + e];

            if (f->scope_of[edge->to] != number)
                continue;
            if (edge->to == loop->header)
                return 0;
            stays += edge->count;
            next = edge->to;
            ways++;
        }
        if (stays < s->runs && ways > 0 && s->runs <= loop->header_runs)
            return s->runs - stays;
        if (ways != 1)
            return 0;
        at = next;
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Header, entries and iterations of the part whose nodes have scope `number`. */
static void measure_loop(const struct finding *f, struct td_nest_loop *loop, uint32_t number)
{
    const uint32_t *nodes = f->nest->members + loop->first;
    uint64_t most = 0, all = 0;

    loop->header = nodes[0];
    count_inner(f, nodes, loop->count, number);
    for (uint32_t i = 0; i < loop->count; i++) {
        const uint64_t runs = f->graph->at[nodes[i]].runs, inner = f->into[nodes[i]];
        const uint64_t outside = runs > inner ? runs - inner : 0;

        all += outside;
        if (outside > most) {
            most = outside;
            loop->header = nodes[i];
        }
    }
    loop->irregular = (double)(all - most) > SIDE_ENTRIES_MAX * (double)all && all - most > 1;
    loop->entries = all;
    loop->header_runs = f->graph->at[loop->header].runs;
    const uint64_t failed = loop->irregular ? 0 : failed_tests(f, loop, number);
    loop->iterations = loop->header_runs > failed ? loop->header_runs - failed : 0;
}

/* Takes away the edges back to where the loop is entered. */
static void cut_entries(struct finding *f, const struct td_nest_loop *loop)
{
    const uint32_t *nodes = f->nest->members + loop->first;

    f->cut[loop->header] = true;
    for (uint32_t i = 0; loop->irregular && i < loop->count; i++) {
        const uint64_t runs = f->graph->at[nodes[i]].runs, inner = f->into[nodes[i]];

        if (runs > inner && (double)(runs - inner) > SIDE_ENTRIES_MAX * (double)loop->entries)
            f->cut[nodes[i]] = true;
    }
}

static void push_scope(struct finding *f, uint32_t loop, const uint32_t *nodes, uint32_t count)
{
    f->scopes = td_grow(f->scopes, &f->scope_cap, f->scope_count + 1, sizeof(*f->scopes));
    f->pending =
        td_grow(f->pending, &f->pending_cap, f->pending_count + count, sizeof(*f->pending));
    f->scopes[f->scope_count++] =
        (struct scope){.loop = loop, .first = (uint32_t)f->pending_count, .count = count};
    for (uint32_t i = 0; i < count; i++)
        f->pending[f->pending_count++] = nodes[i];
}

/* So many iterations for each entry, or fewer, make no loop of their own. */
#define HARDLY 1.25

static uint64_t runs_of(const struct finding *f, const struct td_nest_loop *loop)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < loop->count; i++)
        sum += f->graph->at[f->nest->members[loop->first + i]].runs;
    return sum;
}

/* A part that is not told by itself: hardly any entry comes round again, or it is most of an outer
 * loop and comes round as often: a loop of several ways round, as an interpreter's, which sheds one
 * header after the other. */
static bool is_part_of(const struct finding *f, const struct td_nest_loop *loop, uint32_t outer)
{
    const double entries = (double)loop->entries, iterations = (double)loop->iterations;
    struct td_nest_loop *above = outer == TD_NONE ? NULL : &f->nest->at[outer];

    if (iterations < entries / 4)
        return true;
    if (!above || 2 * runs_of(f, loop) < runs_of(f, above))
        return false;
    if (iterations < HARDLY * entries && !loop->irregular)
        above->irregular = true;
    return above->irregular && (loop->irregular || iterations < HARDLY * entries);
}

/* A part that is strongly connected is a loop of `outer`. Parts of an irregular loop that are
 * irregular, too, are the same loop still. */
static void add_loop(struct finding *f, uint32_t outer, const uint32_t *nodes, uint32_t count)
{
    struct td_nest *nest = f->nest;
    const uint32_t number = (uint32_t)f->scope_count;
    struct td_nest_loop loop = {
        .parent = outer, .first = (uint32_t)nest->member_count, .count = count};

    nest->members = td_grow(nest->members, &nest->member_cap, nest->member_count + count,
                            sizeof(*nest->members));
    for (uint32_t i = 0; i < count; i++) {
        nest->members[nest->member_count + i] = nodes[i];
        f->scope_of[nodes[i]] = number;
    }
    qsort(nest->members + loop.first, count, sizeof(*nest->members), by_number);
    measure_loop(f, &loop, number);
    cut_entries(f, &loop);
    uint32_t own = outer;
    if (!is_part_of(f, &loop, outer)) {
        own = (uint32_t)nest->len;
        nest->at = td_grow(nest->at, &nest->cap, nest->len + 1, sizeof(*nest->at));
        nest->at[nest->len++] = loop;
        nest->member_count += count;
        for (uint32_t i = 0; i < count; i++)
            nest->inner[nodes[i]] = own;
    }
    push_scope(f, own, nodes, count);
}

static void visit(struct finding *f, uint32_t node)
{
    f->order[node] = f->low[node] = ++f->visited;
    f->stack[f->depth++] = node;
    f->on_stack[node] = true;
    f->frames[f->frame_count++] = (struct frame){.node = node};
}

/* Goes one edge on from the node on top; false when it has no more. */
static bool step(struct finding *f)
{
    struct frame *top = &f->frames[f->frame_count - 1];
    const struct td_segment *s = &f->graph->at[top->node];

    if (top->edge >= s->edge_count)
        return false;
    const struct td_segment_edge *edge = &f->graph->edges[s->edge_first + top->edge++];
    if (!follows(f, edge))
        return true;
    if (f->order[edge->to] == UNSEEN)
        visit(f, edge->to);
    else if (f->on_stack[edge->to] && f->order[edge->to] < f->low[top->node])
        f->low[top->node] = f->order[edge->to];
    return true;
}

/* All that can be reached from `root` in the scope. */
static void search(struct finding *f, uint32_t root, uint32_t loop)
{
    visit(f, root);
    while (f->frame_count > 0) {
        if (step(f))
            continue;
        const uint32_t node = f->frames[--f->frame_count].node;
        if (f->frame_count > 0) {
            const uint32_t above = f->frames[f->frame_count - 1].node;

            if (f->low[node] < f->low[above])
                f->low[above] = f->low[node];
        }
        if (f->low[node] != f->order[node])
            continue;
        const uint32_t end = f->depth;
        do {
            f->on_stack[f->stack[--f->depth]] = false;
        } while (f->stack[f->depth] != node);
        if (is_loop(f, f->stack + f->depth, end - f->depth))
            add_loop(f, loop, f->stack + f->depth, end - f->depth);
    }
}

static void search_scope(struct finding *f, size_t number)
{
    const struct scope scope = f->scopes[number];

    for (uint32_t i = 0; i < scope.count; i++)
        f->order[f->pending[scope.first + i]] = UNSEEN;
    for (uint32_t i = 0; i < scope.count; i++) {
        const uint32_t node = f->pending[scope.first + i];

        /* A part that was found has a scope of its own. */
        if (f->order[node] == UNSEEN && f->scope_of[node] == number)
            search(f, node, scope.loop);
    }
}

void td_nest_init(struct td_nest *nest, const struct td_graph *graph)
{
    const size_t n = graph->len + 1;
    struct finding f = {.graph = graph,
                        .nest = nest,
                        .scope_of = td_xcalloc(n, sizeof(uint32_t)),
                        .cut = td_xcalloc(n, sizeof(bool)),
                        .into = td_xcalloc(n, sizeof(uint64_t)),
                        .order = td_xcalloc(n, sizeof(uint32_t)),
                        .low = td_xcalloc(n, sizeof(uint32_t)),
                        .stack = td_xcalloc(n, sizeof(uint32_t)),
                        .on_stack = td_xcalloc(n, sizeof(bool)),
                        .frames = td_xcalloc(n, sizeof(struct frame))};

    *nest = (struct td_nest){.inner = td_xcalloc(n, sizeof(uint32_t))};
    uint32_t *all = td_xcalloc(n, sizeof(*all));
    for (uint32_t i = 0; i < graph->len; i++) {
        all[i] = i;
        nest->inner[i] = TD_NONE;
    }
    push_scope(&f, TD_NONE, all, (uint32_t)graph->len);
    free(all);
    for (size_t s = 0; s < f.scope_count; s++)
        search_scope(&f, s);
    free(f.scope_of);
    free(f.cut);
    free(f.into);
    free(f.order);
    free(f.low);
    free(f.stack);
    free(f.on_stack);
    free(f.frames);
    free(f.scopes);
    free(f.pending);
}

void td_nest_release(struct td_nest *nest)
{
    free(nest->at);
    free(nest->members);
    free(nest->inner);
    *nest = (struct td_nest){.at = NULL};
}
