/* SPDX-License-Identifier: MIT */
#include "record/sim/model/counting.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/sim/model/sim_priv.h"

enum {
    STALLS = 128, /* times that the window was full, remembered for overlap; a power of two */
    LATE = 64,    /* uops of a block that waited for the front end */
    LINES = 2048, /* lines that wrong paths have asked for; a power of two */
    WAY_SURE = 2, /* times in a row that a branch went a way, until that is its usual one */
    WAY_BLOCKS = 64
};

/* What is counted anyway, as far as the naive ways need it. */
struct events {
    uint64_t slots;
    uint64_t mispredicts, unknown_targets;
    uint64_t code[TD_LEVEL_COUNT]; /* lines, by what served them */
    uint64_t itlb_misses, code_walks, data_walks;
    uint64_t l1d_misses, l2_misses, l3_misses;
};

struct span {
    int64_t from, to; /* cycles; `to` is the one after it */
};

/* A uop that the front end was late with. */
struct late {
    uint64_t uop;
    int64_t cycle; /* its dispatch */
    enum td_cpi_component component;
};

/* The blocks that followed a block last, when its branch was not taken and taken. */
struct way {
    uint32_t next[2]; /* id plus 1; 0: none yet */
    int8_t usual;     /* above 0: it is taken more often */
};

struct td_counting {
    bool on;
    struct events before, seen; /* at the begin of this part; of the parts before */
    uint64_t counts[TD_CPI_COUNTS];
    int64_t retired; /* cycle in which the last uop of the blocks before has retired */
    struct late late[LATE];
    uint32_t late_count;
    struct span stalls[STALLS];
    uint32_t stall_count;
    uint32_t fetch_stalls; /* of fetch->stalls, so many were looked at */
    struct way *ways;      /* by block */
    size_t way_cap;
    uint64_t lines[LINES];
};

struct td_counting *td_counting_new(void)
{
    struct td_counting *counting = td_xcalloc(1, sizeof(*counting));

    counting->on = true;
    return counting;
}

void td_counting_free(struct td_counting *counting)
{
    if (!counting)
        return;
    free(counting->ways);
    free(counting);
}

/* What waits for the data or the line of code that the cause names. */
static enum td_cpi_component component_of(enum td_cause cause)
{
    switch ((int)cause) {
    case TD_CAUSE_MISPREDICT:
    case TD_CAUSE_RESTEER: return TD_CPI_OF_BRANCHES;
    case TD_CAUSE_ICACHE: return TD_CPI_OF_ICACHE;
    case TD_CAUSE_ITLB: return TD_CPI_OF_ITLB;
    case TD_CAUSE_DTLB: return TD_CPI_OF_DTLB;
    case TD_CAUSE_L2: return TD_CPI_OF_L2;
    case TD_CAUSE_L3:
    case TD_CAUSE_CONTESTED: return TD_CPI_OF_L3;
    case TD_CAUSE_DRAM:
    case TD_CAUSE_DRAM_QUEUE: return TD_CPI_OF_DRAM;
    default: return TD_CPI_OF_OTHER;
    }
}

static void add(struct td_counting *counting, enum td_cpi_method method,
                enum td_cpi_component component, int64_t cycles)
{
    if (counting->on && cycles > 0)
        counting->counts[td_cpi_count_of(method, component)] += (uint64_t)cycles;
}

static struct events events_now(const struct td_sim *sim)
{
    const struct td_memory_counts *counts = &sim->memory.counts;
    struct events now = {
        .slots = td_core_slots(&sim->core),
        .mispredicts = sim->mispredicts,
        .unknown_targets = sim->unknown_targets,
        .itlb_misses = sim->fetch.itlb_misses,
        .code_walks = counts->tlb_misses - counts->data_walks,
        .data_walks = counts->data_walks,
        .l1d_misses = counts->l1d_misses,
        .l2_misses = counts->data_l2_misses,
        .l3_misses = counts->data_l3_misses,
    };

    memcpy(now.code, sim->fetch.served, sizeof(now.code));
    return now;
}

/* Adds what came between `from` and `to`. */
static void add_events(struct events *sum, const struct events *from, const struct events *to)
{
    sum->slots += to->slots - from->slots;
    sum->mispredicts += to->mispredicts - from->mispredicts;
    sum->unknown_targets += to->unknown_targets - from->unknown_targets;
    sum->itlb_misses += to->itlb_misses - from->itlb_misses;
    sum->code_walks += to->code_walks - from->code_walks;
    sum->data_walks += to->data_walks - from->data_walks;
    sum->l1d_misses += to->l1d_misses - from->l1d_misses;
    sum->l2_misses += to->l2_misses - from->l2_misses;
    sum->l3_misses += to->l3_misses - from->l3_misses;
    for (int i = 0; i < TD_LEVEL_COUNT; i++)
        sum->code[i] += to->code[i] - from->code[i];
}

void td_counting_begin(struct td_counting *counting, const struct td_sim *sim)
{
    counting->on = true;
    counting->before = events_now(sim);
}

void td_counting_end(struct td_counting *counting, const struct td_sim *sim)
{
    const struct events now = events_now(sim);

    if (counting->on)
        add_events(&counting->seen, &counting->before, &now);
    counting->on = false;
}

void td_counting_stall(struct td_counting *counting, int64_t from, int64_t to, enum td_cause cause)
{
    if (to <= from)
        return;
    counting->stalls[counting->stall_count++ & (STALLS - 1)] = (struct span){from, to};
    add(counting, TD_CPI_METHOD_INTERVAL, component_of(cause), to - from);
}

/* Of these cycles, those in which the window was full. */
static int64_t overlap(const struct td_counting *counting, int64_t from, int64_t to)
{
    int64_t both = 0;

    for (uint32_t back = 1; back <= STALLS && back <= counting->stall_count; back++) {
        const struct span *stall = &counting->stalls[(counting->stall_count - back) & (STALLS - 1)];
        const int64_t begin = stall->from > from ? stall->from : from;
        const int64_t end = stall->to < to ? stall->to : to;

        if (stall->to <= from)
            break;
        both += end > begin ? end - begin : 0;
    }
    return both;
}

/* The front end waits for these cycles. */
static void wait_in_front(struct td_counting *counting, enum td_cpi_component component,
                          int64_t from, int64_t to)
{
    const int64_t both = overlap(counting, from, to);

    add(counting, TD_CPI_METHOD_INTERVAL, component, to - from - both);
    if (counting->on)
        counting->counts[TD_CPI_COUNT_OVERLAP] += (uint64_t)both;
}

static enum td_cpi_component late_component(const struct td_redirect *redirect, enum td_cause cause)
{
    return component_of(redirect->pending ? redirect->cause : cause);
}

void td_counting_late(struct td_counting *counting, const struct td_redirect *redirect,
                      enum td_cause cause, uint64_t uop, int64_t from, int64_t to)
{
    if (counting->late_count < LATE)
        counting->late[counting->late_count++] =
            (struct late){.uop = uop, .cycle = to, .component = late_component(redirect, cause)};
    if (!redirect->pending)
        return;
    const int64_t refilled = redirect->resolved + redirect->refill;
    wait_in_front(counting, component_of(redirect->cause), from, refilled < to ? refilled : to);
}

static void look_at_fetch(struct td_counting *counting, const struct td_fetch *fetch)
{
    if (fetch->stall_count - counting->fetch_stalls > TD_FETCH_STALLS)
        counting->fetch_stalls = fetch->stall_count - TD_FETCH_STALLS;
    while (counting->fetch_stalls != fetch->stall_count) {
        const struct td_fetch_stall *stall =
            &fetch->stalls[counting->fetch_stalls++ & (TD_FETCH_STALLS - 1)];

        wait_in_front(counting, component_of(stall->cause), stall->from, stall->to);
    }
}

/* The cycles before this uop completes in which nothing does. */
static void complete(struct td_counting *counting, const struct td_core *core, uint64_t uop,
                     uint32_t *late)
{
    const uint64_t k = uop & (TD_ROB_RING - 1);
    const int64_t retires = core->retire[k];
    int64_t from = counting->retired + 1;

    if (*late < counting->late_count && counting->late[*late].uop == uop) {
        const struct late *front = &counting->late[(*late)++];
        const int64_t filled = front->cycle < retires ? front->cycle : retires;

        add(counting, TD_CPI_METHOD_POWER5, front->component, filled - from);
        from = td_cycle_later(from, filled);
    }
    add(counting, TD_CPI_METHOD_POWER5, component_of(td_ledger_cause(core->blame[k])),
        retires - from);
    counting->retired = td_cycle_later(counting->retired, retires);
}

void td_counting_block(struct td_counting *counting, struct td_sim *sim, uint64_t first_uop)
{
    const struct td_core *core = &sim->core;
    uint32_t late = 0;

    look_at_fetch(counting, &sim->fetch);
    if (core->uops - first_uop > TD_ROB_RING)
        first_uop = core->uops - TD_ROB_RING;
    while (late < counting->late_count && counting->late[late].uop < first_uop)
        late++;
    for (uint64_t uop = first_uop; uop < core->uops; uop++)
        complete(counting, core, uop, &late);
    counting->late_count = 0;
}

static struct way *way_of(struct td_counting *counting, uint32_t id)
{
    if (id >= counting->way_cap)
        counting->ways = td_grow_zeroed(counting->ways, &counting->way_cap, (size_t)id + 1,
                                        sizeof(*counting->ways));
    return &counting->ways[id];
}

static void learn(struct td_counting *counting, const struct td_block *last, bool taken,
                  const struct td_block *next)
{
    struct way *way = way_of(counting, last->id);

    way->next[taken] = next->id + 1;
    if (taken && way->usual < WAY_SURE)
        way->usual++;
    else if (!taken && way->usual > -WAY_SURE)
        way->usual--;
}

/* Whether a wrong path asks for the line for the first time; it is there from then on. */
static bool is_new(struct td_counting *counting, uint64_t line)
{
    uint64_t *place = &counting->lines[(line ^ line >> 11) & (LINES - 1)];
    const bool is = *place != line;

    *place = line;
    return is;
}

static enum td_cpi_component data_component(enum td_level level)
{
    return level == TD_LEVEL_L2   ? TD_CPI_OF_L2
           : level == TD_LEVEL_L3 ? TD_CPI_OF_L3
                                  : TD_CPI_OF_DRAM;
}

static int latency_of(const struct td_core_desc *desc, enum td_level level)
{
    return level == TD_LEVEL_L2   ? desc->l2_latency
           : level == TD_LEVEL_L3 ? desc->l3_latency
                                  : desc->dram_latency;
}

static void ask(struct td_counting *counting, const struct td_sim *sim, const struct td_cache *l1,
                uint64_t line)
{
    if (td_cache_holds(l1, line) || !is_new(counting, line))
        return;
    const enum td_level level = td_memory_probe(&sim->memory, line);
    const bool code = l1 == &sim->fetch.l1i;

    add(counting, TD_CPI_METHOD_NAIVE, code ? TD_CPI_OF_ICACHE : data_component(level),
        latency_of(sim->desc, level));
}

static void ask_page(struct td_counting *counting, const struct td_sim *sim, uint64_t page)
{
    const struct td_cache *second = sim->desc->itlb2 ? &sim->fetch.itlb2 : &sim->memory.stlb;

    if (td_cache_holds(&sim->fetch.itlb, page) || !is_new(counting, ~page))
        return;
    add(counting, TD_CPI_METHOD_NAIVE, TD_CPI_OF_ITLB,
        td_cache_holds(second, page) ? sim->desc->stlb_latency : sim->desc->walk);
}

/* Where the loads of a block go, by the stride of each. */
static void ask_data(struct td_counting *counting, const struct td_sim *sim,
                     const struct td_block *block)
{
    const uint64_t pc_hash = block->pc ^ block->pc >> 10;

    for (uint32_t i = 0; i < block->uop_count; i++) {
        const struct td_uop *uop = &block->uops[i];
        const uint32_t key = (uint32_t)pc_hash + uop->insn;
        const struct td_stride *stride = &sim->memory.prefetch.strides[key & (TD_STRIDES - 1)];

        if (uop->flags & TD_UOP_LOAD && stride->last)
            ask(counting, sim, &sim->memory.l1d,
                (stride->last + (uint64_t)(int64_t)stride->stride) >> TD_LINE_BITS);
    }
}

/* The wrong way from `branch`, of so many uops at most. */
static void go_wrong(struct td_counting *counting, const struct td_sim *sim,
                     const struct td_block *branch, bool taken, int64_t uops)
{
    uint32_t next = way_of(counting, branch->id)->next[taken];

    for (int i = 0; next && uops > 0 && i < WAY_BLOCKS; i++) {
        const struct td_block *block = td_blocks_get(sim->blocks, next - 1);

        for (uint32_t p = 0; p < block->part_count; p++) {
            ask_page(counting, sim, block->parts[p].line >> (TD_PAGE_BITS - TD_LINE_BITS));
            ask(counting, sim, &sim->fetch.l1i, block->parts[p].line);
        }
        ask_data(counting, sim, block);
        uops -= block->uop_count;
        const struct way *way = way_of(counting, block->id);
        next = way->next[way->usual > 0 || !way->next[0]];
    }
}

void td_counting_branch(struct td_counting *counting, const struct td_sim *sim,
                        const struct td_block *last, uint64_t word, const struct td_block *next)
{
    const bool taken = (word & TD_TRACE_TAKEN) != 0;

    if (!last || !(word & TD_TRACE_RESOLVED))
        return;
    if (word & TD_TRACE_WRONG) {
        const int64_t cycles = sim->branch_done + sim->desc->refill - sim->core.cycle;
        const int64_t uops = cycles * sim->core.width;
        const bool way = last->branch == TD_BRANCH_CONDITIONAL ? !taken : true;

        go_wrong(counting, sim, last, way, uops < sim->core.rob ? uops : sim->core.rob);
    }
    learn(counting, last, taken, next);
}

/* How often it missed, times how long that takes. */
static void add_naive(uint64_t *ret, const struct events *seen, const struct td_core_desc *desc)
{
    const struct {
        uint64_t count;
        enum td_cpi_component component;
        int cycles;
    } misses[] = {
        {seen->code[TD_LEVEL_L2], TD_CPI_OF_ICACHE, desc->l2_latency},
        {seen->code[TD_LEVEL_L3], TD_CPI_OF_ICACHE, desc->l3_latency},
        {seen->code[TD_LEVEL_DRAM] + seen->code[TD_LEVEL_DRAM_QUEUE], TD_CPI_OF_ICACHE,
         desc->dram_latency},
        {seen->itlb_misses - seen->code_walks, TD_CPI_OF_ITLB, desc->stlb_latency},
        {seen->code_walks, TD_CPI_OF_ITLB, desc->walk},
        {seen->mispredicts, TD_CPI_OF_BRANCHES, desc->refill},
        {seen->unknown_targets, TD_CPI_OF_BRANCHES, desc->unknown},
        {seen->data_walks, TD_CPI_OF_DTLB, desc->walk},
        {seen->l1d_misses - seen->l2_misses, TD_CPI_OF_L2, desc->l2_latency},
        {seen->l2_misses - seen->l3_misses, TD_CPI_OF_L3, desc->l3_latency},
        {seen->l3_misses, TD_CPI_OF_DRAM, desc->dram_latency},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(misses); i++) {
        const uint64_t cycles = misses[i].count * (uint64_t)misses[i].cycles;

        ret[td_cpi_count_of(TD_CPI_METHOD_NAIVE, misses[i].component)] += cycles;
        ret[td_cpi_count_of(TD_CPI_METHOD_RIGHT_PATH, misses[i].component)] += cycles;
    }
}

void td_counting_result(const struct td_counting *counting, const struct td_sim *sim,
                        uint64_t ret[TD_CPI_COUNTS])
{
    const struct events now = events_now(sim);
    struct events seen = counting->seen;

    if (counting->on)
        add_events(&seen, &counting->before, &now);
    memcpy(ret, counting->counts, sizeof(counting->counts));
    ret[TD_CPI_COUNT_CYCLES] = seen.slots / sim->core.width;
    add_naive(ret, &seen, sim->desc);
}
