/* SPDX-License-Identifier: MIT */
#include "report/query/loops/bounds.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/query/loops/chain.h"

/* Sets of ports beyond that many are not told apart: what is bound by them is, by their union. */
enum { SETS_MAX = 12 };

/* What an iteration asks of one set of ports. */
struct demand {
    uint16_t set;
    double uops, loads, stores;
};

struct needs {
    struct demand at[SETS_MAX + 1];
    size_t len;
    double busy[TD_RAN_UNIT_COUNT];
    double slots;
};

/* `kind`: TD_RAN_LOAD, TD_RAN_STORE: the ports are for that; 0. */
static void ask(struct needs *needs, uint16_t set, double uops, int kind)
{
    size_t i = 0;

    while (i < needs->len && needs->at[i].set != set)
        i++;
    if (i == SETS_MAX)
        i = SETS_MAX - 1;
    if (i == needs->len)
        needs->at[needs->len++] = (struct demand){.set = set};
    needs->at[i].set |= set;
    needs->at[i].uops += uops;
    needs->at[i].loads += kind == TD_RAN_LOAD ? uops : 0;
    needs->at[i].stores += kind == TD_RAN_STORE ? uops : 0;
}

/* `rate`: executions per iteration. */
static void add_uop(struct needs *needs, const struct td_ran_uop *uop, double rate)
{
    needs->slots += rate * uop->slots;
    if (uop->busy > 0)
        needs->busy[uop->unit] += rate * uop->busy;
    int last = TD_RAN_PORTS - 1;
    while (last >= 0 && !uop->ports[last])
        last--;
    /* Those of a store come last, of its address and data; that of a load before them. */
    for (int p = last; p >= 0; p--) {
        const int stores = uop->flags & TD_RAN_STORE ? 2 : 0, behind = last - p;

        ask(needs, uop->ports[p], rate,
            behind < stores                                  ? TD_RAN_STORE
            : behind == stores && (uop->flags & TD_RAN_LOAD) ? TD_RAN_LOAD
                                                             : 0);
    }
}

/* The uops of the segment: the first one's index in its block, and how many. */
static size_t uops_of(const struct td_segment *segment, size_t *first)
{
    const struct td_ran_block *block = segment->block;
    uint64_t at = block->offset;
    uint32_t insn = 0;
    size_t count = 0;

    *first = 0;
    for (uint32_t u = 0; u < block->uop_count; u++) {
        for (; insn < block->uops[u].insn; insn++)
            at += block->lengths[insn];
        if (at < segment->offset)
            *first = u + 1;
        else if (at < segment->end)
            count++;
    }
    return count;
}

static uint64_t insn_offset(const struct td_ran_block *block, uint32_t insn)
{
    uint64_t at = block->offset;

    for (uint32_t i = 0; i < insn; i++)
        at += block->lengths[i];
    return at;
}

/* Ports that uops are bound to together. */
struct tight {
    uint16_t ports;
    double cycles;
    struct demand sum;
};

/* By Hall's theorem the sets whose uops need most cycles say what the ports allow. Of sets that
 * need as many, the smallest. */
static struct tight find_tightest(const struct needs *needs)
{
    struct tight tightest = {.ports = 0};

    for (uint32_t subset = 1; subset < 1U << needs->len; subset++) {
        struct tight t = {.ports = 0};

        for (size_t i = 0; i < needs->len; i++)
            t.ports |= subset >> i & 1 ? needs->at[i].set : 0;
        for (size_t i = 0; i < needs->len; i++) {
            if (needs->at[i].set & ~t.ports)
                continue;
            t.sum.uops += needs->at[i].uops;
            t.sum.loads += needs->at[i].loads;
            t.sum.stores += needs->at[i].stores;
        }
        t.cycles = t.sum.uops / __builtin_popcount(t.ports);
        if (t.cycles > tightest.cycles + 1e-9 ||
            (t.cycles > tightest.cycles - 1e-9 &&
             __builtin_popcount(t.ports) < __builtin_popcount(tightest.ports)))
            tightest = t;
    }
    return tightest;
}

/* The ports are full: what may go elsewhere does. */
static void take_away(struct needs *needs, uint16_t ports)
{
    size_t kept = 0;

    for (size_t i = 0; i < needs->len; i++) {
        struct demand demand = needs->at[i];

        demand.set &= (uint16_t)~ports;
        if (demand.set)
            needs->at[kept++] = demand;
    }
    needs->len = kept;
}

/* The tightest ports are the bound; the others share the rest as evenly as they can. */
static void bound_ports(struct td_loop *loop, const struct needs *needs)
{
    struct needs left = *needs;

    loop->bounds[TD_LOOP_PORTS] = 0;
    for (bool first = true; left.len > 0; first = false) {
        const struct tight t = find_tightest(&left);

        if (t.cycles <= 0)
            return;
        if (first) {
            loop->bounds[TD_LOOP_PORTS] = t.cycles;
            loop->ports = t.ports;
            loop->port_uops = t.sum.uops;
            loop->port_loads = t.sum.loads > 0.9 * t.sum.uops;
            loop->port_stores = t.sum.stores > 0.9 * t.sum.uops;
        }
        for (int p = 0; p < TD_LOOP_EACH_PORT; p++)
            loop->each_port[p] = t.ports >> p & 1 ? t.cycles : loop->each_port[p];
        take_away(&left, t.ports);
    }
}

/* The segment where control goes on most often within the loop; TD_NONE. */
static uint32_t next_of(const struct td_loop_code *code, uint32_t at, const bool *member,
                        double *share)
{
    const struct td_segment *s = &code->graph->at[at];
    const struct td_segment_edge *best = NULL;

    for (uint32_t e = 0; e < s->edge_count; e++) {
        const struct td_segment_edge *edge = &code->graph->edges[s->edge_first + e];

        if (member[edge->to] && (!best || edge->count > best->count))
            best = edge;
    }
    if (!best)
        return TD_NONE;
    *share = fmin(*share, (double)best->count);
    return best->to;
}

struct path {
    struct td_chain_uop *uops;
    size_t len, cap;
    bool complete;
    double runs; /* at most so often was it gone through */
};

/* Where the store is that the uop's load mostly has its data from; UINT64_MAX. */
static uint64_t source_of(const struct td_loop_code *code, const struct td_segment *s,
                          const struct td_ran_uop *uop)
{
    const struct td_habit *habit =
        uop->back == 0 ? NULL
                       : td_habits_find(code->habits, s->module, insn_offset(s->block, uop->insn));
    const struct td_habit_mark *by = habit ? td_habit_most(habit, TD_HABIT_FORWARDED_BY) : NULL;

    return by && by->module == s->module ? (uint64_t)by->key : UINT64_MAX;
}

static void add_segment(struct path *path, const struct td_loop_code *code,
                        const struct td_segment *s, bool after_call)
{
    size_t first = 0;
    const size_t count = uops_of(s, &first);

    if (count == 0)
        path->complete = false;
    for (size_t u = first; u < first + count; u++) {
        path->uops = td_grow(path->uops, &path->cap, path->len + 1, sizeof(*path->uops));
        path->uops[path->len++] =
            (struct td_chain_uop){.uop = &s->block->uops[u],
                                  .offset = insn_offset(s->block, s->block->uops[u].insn),
                                  .source = source_of(code, s, &s->block->uops[u]),
                                  .after_call = after_call && u == first,
                                  .link = code->link};
    }
}

/* What most iterations go through, from the header to the header. */
static void take_path(const struct td_loop_code *code, struct path *path)
{
    const struct td_graph *graph = code->graph;
    bool *member = td_xcalloc(graph->len + 1, sizeof(*member));
    uint32_t at = code->from->header;
    bool after_call = false;

    for (uint32_t i = 0; i < code->from->count; i++)
        member[code->nest->members[code->from->first + i]] = true;
    path->complete = true;
    path->runs = (double)code->from->header_runs;
    for (uint32_t steps = 0; path->complete; steps++) {
        add_segment(path, code, &graph->at[at], after_call);
        after_call = graph->at[at].calls;
        at = next_of(code, at, member, &path->runs);
        if (at == code->from->header)
            break;
        if (at == TD_NONE || steps > code->from->count || path->len > TD_CHAIN_UOPS_MAX)
            path->complete = false;
    }
    if (after_call && path->len > 0)
        path->uops[0].after_call = true;
    free(member);
}

/* Most iterations take the path, one after the other. */
static bool is_in_all(const struct td_loop *loop, const struct td_loop_code *code,
                      const struct path *path)
{
    const double iterations = (double)code->from->iterations;

    return path->runs + (double)code->from->entries >= 0.95 * iterations && !td_loop_overlaps(loop);
}

/* A chain that is longer than each iteration takes is none: the core passes on what stores had
 * without a way through memory, as where rename does. */
static void find_chain(struct td_chain *chain, struct td_loop *loop,
                       const struct td_loop_code *code, struct path *path)
{
    td_chain_find(chain, path->uops, path->len);
    if (chain->cycles <= TD_LOOP_LONGER * loop->cycles || !is_in_all(loop, code, path))
        return;
    for (size_t u = 0; u < path->len; u++)
        path->uops[u].passed = true;
    loop->passed = chain->cycles;
    td_chain_release(chain);
    *chain = (struct td_chain){.cycles = 0};
    td_chain_find(chain, path->uops, path->len);
}

static void bound_chain(struct td_loop *loop, const struct td_loop_code *code)
{
    struct path path = {.uops = NULL};
    struct td_chain chain = {.cycles = 0};

    take_path(code, &path);
    if (path.complete && path.len <= TD_CHAIN_UOPS_MAX) {
        find_chain(&chain, loop, code, &path);
        loop->bounds[TD_LOOP_CHAIN] = chain.cycles;
        for (size_t u = 0; u < path.len; u++)
            loop->calls = loop->calls || path.uops[u].after_call;
        /* The last iteration of each entry does not come back. */
        loop->path_share =
            fmin(1, (path.runs + (double)code->from->entries) / (double)code->from->iterations);
        loop->links = td_xcalloc(chain.part_count + 1, sizeof(*loop->links));
        for (size_t i = 0; i < chain.part_count; i++)
            loop->links[loop->link_count++] = (struct td_loop_link){.offset = chain.parts[i].offset,
                                                                    .location = TD_NONE,
                                                                    .cycles = chain.parts[i].cycles,
                                                                    .loads = chain.parts[i].loads};
    }
    td_chain_release(&chain);
    free(path.uops);
}

/* A uop of the loop, and its executions per iteration. */
struct rated {
    const struct td_ran_block *block;
    const struct td_ran_uop *uop;
    double rate;
};

/* All of the loop's; for the caller to free. */
static struct rated *rated_uops(const struct td_loop_code *code, size_t *len)
{
    struct rated *ret = NULL;
    size_t cap = 0;

    *len = 0;
    for (uint32_t i = 0; i < code->from->count; i++) {
        const struct td_segment *s = &code->graph->at[code->nest->members[code->from->first + i]];
        size_t first = 0;
        const size_t count = uops_of(s, &first);
        const double rate = (double)s->runs / (double)code->from->iterations;

        ret = td_grow(ret, &cap, *len + count + 1, sizeof(*ret));
        for (size_t u = first; u < first + count; u++)
            ret[(*len)++] = (struct rated){s->block, &s->block->uops[u], rate};
    }
    return ret;
}

static void note_link(struct td_loop_link **links, size_t *count, const struct rated *at,
                      double cycles)
{
    *links = td_xrealloc(*links, *count + 1, sizeof(**links));
    (*links)[(*count)++] = (struct td_loop_link){
        .offset = insn_offset(at->block, at->uop->insn), .location = TD_NONE, .cycles = cycles};
}

/* The instruction, when it takes a divider alone. */
static void note_divide(struct td_loop *loop, const struct rated *at)
{
    const struct td_ran_uop *uop = at->uop;

    if (uop->busy > 0 && (uop->unit == TD_RAN_DIVIDER || uop->unit == TD_RAN_FLOAT_DIVIDER))
        note_link(&loop->divides, &loop->divide_count, at, at->rate * uop->busy);
}

/* The instruction, when it can go to none but the ports that are the bound of all. */
static void note_taker(struct td_loop *loop, const struct rated *at)
{
    int taken = 0;

    for (int p = 0; p < TD_RAN_PORTS; p++)
        taken += at->uop->ports[p] && !(at->uop->ports[p] & ~loop->ports);
    if (taken > 0)
        note_link(&loop->takers, &loop->taker_count, at,
                  at->rate * taken / __builtin_popcount(loop->ports));
}

/* The segment, when the loop does not run around it mostly; NULL. */
static const struct td_segment *usual_segment(const struct td_loop_code *code, uint32_t i)
{
    const struct td_segment *s = &code->graph->at[code->nest->members[code->from->first + i]];

    return 2 * s->runs >= code->from->iterations && s->end > s->offset ? s : NULL;
}

static void find_code(struct td_loop *loop, const struct td_loop_code *code)
{
    uint64_t first = UINT64_MAX, lines = 0, bytes = 0;

    for (uint32_t i = 0; i < code->from->count; i++) {
        const struct td_segment *s = usual_segment(code, i);

        if (s && s->offset / TD_CODE_LINE < first)
            first = s->offset / TD_CODE_LINE;
    }
    for (uint32_t i = 0; i < code->from->count; i++) {
        const struct td_segment *s = usual_segment(code, i);

        if (!s)
            continue;
        if ((s->end - 1) / TD_CODE_LINE - first >= 64)
            return; /* far too large for its lines to matter */
        for (uint64_t at = s->offset / TD_CODE_LINE; at <= (s->end - 1) / TD_CODE_LINE; at++)
            lines |= UINT64_C(1) << (at - first);
        bytes += s->end - s->offset;
    }
    loop->code_bytes = bytes;
    loop->code_lines = (uint32_t)__builtin_popcountll(lines);
}

void td_loop_find_bounds(struct td_loop *loop, const struct td_loop_code *code, bool innermost)
{
    struct needs needs = {.len = 0};
    size_t count = 0;

    if (code->from->iterations == 0)
        return;
    find_code(loop, code);
    struct rated *uops = rated_uops(code, &count);
    for (size_t u = 0; u < count; u++) {
        add_uop(&needs, uops[u].uop, uops[u].rate);
        note_divide(loop, &uops[u]);
    }
    /* The share of its uops of which is known what they need. */
    const double known = loop->uops > 0 ? needs.slots * loop->iterations / loop->uops : 0;
    if (known < 0.9)
        goto out;
    bound_ports(loop, &needs);
    for (size_t u = 0; u < count; u++)
        note_taker(loop, &uops[u]);
    loop->bounds[TD_LOOP_DIVIDER] =
        fmax(needs.busy[TD_RAN_DIVIDER], needs.busy[TD_RAN_FLOAT_DIVIDER]);
    loop->bounds[TD_LOOP_LOCK] = needs.busy[TD_RAN_LOCK];
    loop->bounds[TD_LOOP_UNIT] = needs.busy[TD_RAN_OTHER_UNIT];
    if (innermost && !loop->irregular)
        bound_chain(loop, code);
out:
    free(uops);
}
