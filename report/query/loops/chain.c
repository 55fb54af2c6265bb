/* SPDX-License-Identifier: MIT */
#include "report/query/loops/chain.h"

#include <stdlib.h>

#include "base/mem.h"

enum {
    ROUNDS = 48,
    SPAN = 24,  /* growth is that of the last so many rounds */
    TAIL = 4,   /* rounds at the end that are not looked at: what leaves the chain is there */
    LEAST = 12, /* rounds that a chain is followed over: several of its periods */
    SINK = TD_RAN_REGISTERS - 1,
    NOBODY = -1,
    STORES = 256, /* as far back as a load may have its data from */
};

/* A value: when it is there, and the execution of a uop that made it. */
struct value {
    int64_t ready;
    int32_t by; /* NOBODY: it is always there */
};

struct walk {
    const struct td_chain_uop *uops;
    size_t count;
    struct value registers[TD_RAN_REGISTERS];
    struct value last;           /* the latest of all so far */
    struct value stored[STORES]; /* data of the stores that came last, by number */
    uint32_t stores;             /* so far; those before a call are not counted */
    struct value *latest;        /* by uop: what it stored last */
    size_t *sources;        /* by uop: the one whose store it has its data from; `count`: none */
    bool calls;             /* there was one */
    struct value *operands; /* by execution: the one that it waited for */
    int64_t *done;          /* by execution */
};

/* Whether callees keep the register, as the model numbers them: x86-64's System V convention keeps
 * rbx, rsp, rbp and r12 to r15; aarch64's x19 to x29, sp and v8 to v15. */
static bool survives(int reg, bool link)
{
    if (link)
        return (reg >= 20 && reg <= 30) || reg == 32 || (reg >= 42 && reg <= 49);
    return (reg >= 4 && reg <= 6) || (reg >= 13 && reg <= 16);
}

struct operands {
    struct value critical;
    int64_t start; /* when the operation begins */
};

static void wait_for(struct operands *o, struct value value, int64_t delay)
{
    if (value.by == NOBODY || (o->critical.by != NOBODY && value.ready + delay <= o->start))
        return;
    o->critical = value;
    o->start = value.ready + delay;
}

/* What the load's store stored last. Beyond a call, which makes nobody knows how many stores, it
 * is known by its place. NULL: it has its data from L1, or from a callee's store. */
static const struct value *source_of(const struct walk *w, const struct td_chain_uop *at)
{
    if (at->uop->back == 0 || at->passed)
        return NULL;
    if (at->uop->back != TD_RAN_BACK_VARIES && at->uop->back <= w->stores)
        return &w->stored[(w->stores - at->uop->back) % STORES];
    const size_t source = w->sources[at - w->uops];
    return w->calls && source < w->count ? &w->latest[source] : NULL;
}

/* The uop that stores at the place that the load has its data from; `count`: none does. */
static size_t find_source(const struct walk *w, const struct td_chain_uop *at)
{
    size_t u = at->uop->back == 0 ? w->count : 0;

    while (u < w->count &&
           (w->uops[u].offset != at->source || !(w->uops[u].uop->flags & TD_RAN_STORE)))
        u++;
    return u;
}

/* The load of the uop: from a store that it mostly has its data from, else from L1. */
static void wait_for_load(const struct walk *w, const struct td_chain_uop *at, struct operands *o)
{
    const struct td_ran_uop *uop = at->uop;
    const struct value *source = source_of(w, at);
    const bool forwards = source != NULL;

    if (forwards)
        wait_for(o, *source, uop->forward);
    /* Rename passes a register on without an address. */
    for (int a = 0; a < 2 && !(forwards && uop->forward == 0); a++)
        wait_for(o, w->registers[uop->address[a]], forwards ? uop->forward : uop->load_latency);
}

/* Whether the value comes from a uop whose like has it earlier. */
static bool comes_early(const struct walk *w, struct value value)
{
    const struct td_ran_uop *by =
        value.by == NOBODY ? NULL : w->uops[(size_t)value.by % w->count].uop;

    return by && !(by->flags & TD_RAN_LOAD) && by->load_latency > 0;
}

static struct operands operands_of(const struct walk *w, const struct td_chain_uop *at)
{
    const struct td_ran_uop *uop = at->uop;
    const bool loads = (uop->flags & TD_RAN_LOAD) != 0;
    struct operands o = {.critical = {.by = NOBODY}, .start = loads ? uop->load_latency : 0};

    wait_for(&o, w->registers[uop->src[0]], 0);
    wait_for(&o, w->registers[uop->src[1]], 0);
    const struct value sum = w->registers[uop->src[2]];
    wait_for(&o, sum, !loads && comes_early(w, sum) ? -(int64_t)uop->load_latency : 0);
    if (loads)
        wait_for_load(w, at, &o);
    if (uop->flags & TD_RAN_SERIAL)
        wait_for(&o, w->last, 0);
    return o;
}

static void set(struct walk *w, uint8_t reg, int64_t ready, int32_t by)
{
    if (reg != 0 && reg != SINK)
        w->registers[reg] = (struct value){.ready = ready, .by = by};
}

static void run(struct walk *w, int32_t index)
{
    const struct td_chain_uop *at = &w->uops[(size_t)index % w->count];
    const struct td_ran_uop *uop = at->uop;

    for (int r = 1; at->after_call && r < TD_RAN_REGISTERS; r++) {
        if (!survives(r, at->link))
            w->registers[r] = (struct value){.by = NOBODY};
    }
    if (at->after_call) {
        w->stores = 0;
        w->calls = true;
    }
    const struct operands operands = operands_of(w, at);
    const struct value done = {.ready = operands.start + uop->latency, .by = index};

    w->operands[index] = operands.critical;
    w->done[index] = done.ready;
    if (uop->flags & TD_RAN_STORE)
        w->stored[w->stores++ % STORES] = w->latest[(size_t)index % w->count] = done;
    set(w, uop->dst[0], uop->flags & TD_RAN_FOLD ? operands.start : done.ready, index);
    set(w, uop->dst[1], done.ready, index);
    if (w->last.by == NOBODY || done.ready > w->last.ready)
        w->last = done;
}

/* The result of the last round that came later and later, by the most. */
static struct value steepest(const struct walk *w)
{
    const size_t last = (ROUNDS - 1) * w->count, before = last - SPAN * w->count;
    struct value found = {.by = NOBODY};
    int64_t most = 0;

    for (size_t u = 0; u < w->count; u++) {
        if (w->done[last + u] - w->done[before + u] <= most)
            continue;
        most = w->done[last + u] - w->done[before + u];
        found = (struct value){.ready = w->done[last + u], .by = (int32_t)(last + u)};
    }
    return found;
}

/* From `value` back to where the chain goes through the same uop as some rounds later. Adds what
 * each uop took to `took`; returns the rounds between, 0: the chain does not go on from round to
 * round. */
static int64_t follow(const struct walk *w, struct value value, int64_t *took)
{
    const int32_t count = (int32_t)w->count;

    while (value.by != NOBODY && value.by / count >= ROUNDS - TAIL)
        value = w->operands[value.by];
    if (value.by == NOBODY)
        return 0;
    const int32_t anchor = value.by;
    while (value.by != NOBODY) {
        const struct value operand = w->operands[value.by];

        if (operand.by == NOBODY)
            return 0;
        took[value.by % count] += value.ready - operand.ready;
        value = operand;
        if (value.by % count == anchor % count && anchor / count - value.by / count >= LEAST)
            return anchor / count - value.by / count;
    }
    return 0;
}

static void tell_parts(struct td_chain *ret, const struct td_chain_uop *uops, size_t count,
                       const int64_t *took, int64_t rounds)
{
    ret->parts = td_xcalloc(count, sizeof(*ret->parts));
    for (size_t i = 0; i < count; i++) {
        const double cycles = (double)took[i] / (double)rounds;

        if (took[i] <= 0)
            continue;
        if (ret->part_count == 0 || ret->parts[ret->part_count - 1].offset != uops[i].offset)
            ret->parts[ret->part_count++].offset = uops[i].offset;
        struct td_chain_part *part = &ret->parts[ret->part_count - 1];
        part->cycles += cycles;
        part->loads = part->loads || (uops[i].uop->flags & TD_RAN_LOAD);
        ret->cycles += cycles;
    }
}

void td_chain_find(struct td_chain *ret, const struct td_chain_uop *uops, size_t count)
{
    struct walk w = {.uops = uops, .count = count, .last = {.by = NOBODY}};

    *ret = (struct td_chain){.cycles = 0};
    if (count == 0 || count > TD_CHAIN_UOPS_MAX)
        return;
    for (int r = 0; r < TD_RAN_REGISTERS; r++)
        w.registers[r] = (struct value){.by = NOBODY};
    w.operands = td_xcalloc(count * ROUNDS, sizeof(*w.operands));
    w.done = td_xcalloc(count * ROUNDS, sizeof(*w.done));
    w.latest = td_xcalloc(count, sizeof(*w.latest));
    w.sources = td_xcalloc(count, sizeof(*w.sources));
    for (size_t u = 0; u < count; u++) {
        w.latest[u] = (struct value){.by = NOBODY};
        w.sources[u] = find_source(&w, &uops[u]);
    }
    for (size_t i = 0; i < count * ROUNDS; i++)
        run(&w, (int32_t)i);
    int64_t *took = td_xcalloc(count, sizeof(*took));
    const int64_t rounds = follow(&w, steepest(&w), took);

    if (rounds > 0)
        tell_parts(ret, uops, count, took, rounds);
    free(took);
    free(w.sources);
    free(w.latest);
    free(w.operands);
    free(w.done);
}

void td_chain_release(struct td_chain *chain)
{
    free(chain->parts);
    *chain = (struct td_chain){.parts = NULL};
}
