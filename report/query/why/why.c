/* SPDX-License-Identifier: MIT */
#include "report/query/why/why.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/cores/core.h"
#include "report/query/figures/machine.h"
#include "report/attribution/stats.h"

#define LINE_BYTES 64
#define HALF_LINE  32

/* Losses that one cause explains together: they are weighed as one. */
enum family {
    FAMILY_MEMORY,
    FAMILY_STORES,
    FAMILY_TLB,
    FAMILY_BLOCKED,
    FAMILY_ALIAS,
    FAMILY_SPLIT,
    FAMILY_LOCK,
    FAMILY_SHARED,
    FAMILY_L1,
    FAMILY_ORDER,
    FAMILY_BRANCH,
    FAMILY_DIVIDER,
    FAMILY_SERIAL,
    FAMILY_CHAIN,
    FAMILY_PORT,
    FAMILY_LOAD_PORT,
    FAMILY_FRONTEND,
    FAMILY_COUNT
};

static const struct {
    enum td_tma_node node;
    enum family family;
} losses[] = {
    {TD_NODE_L2_BOUND, FAMILY_MEMORY},
    {TD_NODE_L3_BOUND, FAMILY_MEMORY},
    {TD_NODE_MEM_LATENCY, FAMILY_MEMORY},
    {TD_NODE_MEM_BANDWIDTH, FAMILY_MEMORY},
    {TD_NODE_STORE_BOUND, FAMILY_STORES},
    {TD_NODE_DTLB_LOAD, FAMILY_TLB},
    {TD_NODE_STORE_FWD_BLK, FAMILY_BLOCKED},
    {TD_NODE_ALIASING_4K, FAMILY_ALIAS},
    {TD_NODE_SPLIT_LOADS, FAMILY_SPLIT},
    {TD_NODE_LOCK_LATENCY, FAMILY_LOCK},
    {TD_NODE_L1_LATENCY_DEPENDENCY, FAMILY_L1},
    {TD_NODE_CONTESTED_ACCESSES, FAMILY_SHARED},
    {TD_NODE_FALSE_SHARING, FAMILY_SHARED},
    {TD_NODE_MACHINE_CLEARS, FAMILY_ORDER},
    {TD_NODE_BRANCH_MISPREDICTS, FAMILY_BRANCH},
    {TD_NODE_BRANCH_RESTEERS, FAMILY_BRANCH},
    {TD_NODE_DIVIDER, FAMILY_DIVIDER},
    {TD_NODE_SERIALIZING_OPERATION, FAMILY_SERIAL},
    {TD_NODE_DEPENDENCY_CHAINS, FAMILY_CHAIN},
    {TD_NODE_INTEGER_PORTS, FAMILY_PORT},
    {TD_NODE_MULTIPLY_PORT, FAMILY_PORT},
    {TD_NODE_BRANCH_PORTS, FAMILY_PORT},
    {TD_NODE_FLOAT_PORTS, FAMILY_PORT},
    {TD_NODE_SHUFFLE_PORTS, FAMILY_PORT},
    {TD_NODE_VECTOR_PORTS, FAMILY_PORT},
    {TD_NODE_STORE_PORTS, FAMILY_PORT},
    {TD_NODE_LOAD_PORTS, FAMILY_LOAD_PORT},
    {TD_NODE_ICACHE_MISSES, FAMILY_FRONTEND},
    {TD_NODE_ITLB_MISSES, FAMILY_FRONTEND},
    {TD_NODE_MS_SWITCHES, FAMILY_FRONTEND},
    {TD_NODE_MITE, FAMILY_FRONTEND},
    {TD_NODE_DSB, FAMILY_FRONTEND},
};

/* Below this share of the slots a loss is not worth a cause. */
static const double LEAST_LOST = 0.1;
/* Above this share it is the cause, whatever else is there. */
static const double STANDS_OUT = 0.25;
/* Where L1 serves so few of the accesses, that is worth a word beside another cause. */
static const double MISSES_MOSTLY = 0.5;
/* Of lines that an instruction goes to so few come into L1 by it that most are there already. */
static const double LINES_ARRIVE = 0.1;
/* Where so many of its lines had been pushed out of L1 early, and that is not a rare thing for it,
 * they conflict. */
static const double CONFLICTS_LEAST = 0.4;
/* A chain explains a loop when it takes so much of its cycles. */
static const double CHAIN_LEAST = 0.6;
/* A bound of a loop says what its code waits for when it explains so much of the cycles; less is
 * enough where no other comes near. */
static const double BOUND_EXPLAINS = 0.8, BOUND_LEAST = 0.6, BOUND_WHOLE = 0.95;

/* A predictor that can tell nothing is wrong as often as the rarer way is gone. One that is wrong
 * for fewer than this share of those knows a rule. */
static const double GUESSED = 0.5;

static const struct {
    const char *id, *text;
} causes[] = {
#define X(symbol, id, text) {id, text},
    TD_WHY_CAUSES(X)
#undef X
};

const char *td_why_id(enum td_why_cause cause)
{
    return causes[cause].id;
}

const char *td_why_text(enum td_why_cause cause)
{
    return causes[cause].text;
}

/* Marks of distance: how far the middle one of those that came again was, in lines. */
static void add_reuse(struct td_why_memory *m, const struct td_habit *habit)
{
    uint64_t by_log[64] = {0}, again = 0, first = 0, sum = 0;

    m->first = m->again_bytes = NAN;
    for (uint32_t i = 0; i < habit->mark_count; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];

        if (mark->kind == TD_HABIT_REUSE && mark->key >= 0 && mark->key < 64)
            again += by_log[mark->key] += mark->count;
        else if (mark->kind == TD_HABIT_REUSE)
            first += mark->count;
    }
    if (again + first > 0)
        m->first = td_ratio(first, again + first);
    for (int log = 0; log < 64 && again > 0; log++) {
        sum += by_log[log];
        if (2 * sum >= again) {
            m->again_bytes = ldexp(LINE_BYTES, log);
            return;
        }
    }
}

/* Accesses that go on by few steps all one way, as where two alternate. */
static void add_steps(struct td_why_memory *m, const struct td_habit *habit)
{
    const uint64_t all = habit->figures[TD_HABIT_ACCESSES];
    double known = 0, sum = 0;
    bool on = false, back = false;

    for (uint32_t i = 0; i < habit->mark_count && m->step_count < TD_WHY_STEPS; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];

        if (mark->kind != TD_HABIT_STRIDE || mark->key == 0 || mark->count * 10 < all)
            continue;
        m->steps[m->step_count++] = mark->key;
        on = on || mark->key > 0;
        back = back || mark->key < 0;
        known += (double)mark->count;
        sum += (double)mark->count * (double)mark->key;
    }
    if (known >= 0.9 * (double)all && on != back)
        m->mean_step = llround(sum / known);
}

struct td_why_memory td_why_memory_of(const struct td_habit *habit)
{
    const uint64_t *f = habit->figures, all = f[TD_HABIT_ACCESSES];
    const struct td_habit_mark *stride = td_habit_most(habit, TD_HABIT_STRIDE);
    struct td_why_memory m = {
        .stride_share = stride ? td_ratio(stride->count, all) : 0,
        .stride = stride ? stride->key : 0,
        .bytes = td_ratio(f[TD_HABIT_BYTES], all),
        .new_line = td_ratio(f[TD_HABIT_NEW_LINES], all),
        .new_page = td_ratio(f[TD_HABIT_NEW_PAGES], all),
        .used = td_ratio(f[TD_HABIT_BYTES_USED], f[TD_HABIT_LINES_GONE]),
        .conflicts = td_ratio(f[TD_HABIT_CONFLICTS], f[TD_HABIT_LINES]),
        .serial = td_ratio(f[TD_HABIT_SERIAL], all),
        .from = {0, td_ratio(f[TD_HABIT_FROM_L2], all), td_ratio(f[TD_HABIT_FROM_L3], all),
                 td_ratio(f[TD_HABIT_FROM_MEMORY], all)},
        .walks = td_ratio(f[TD_HABIT_WALKS], all),
        .split = td_ratio(f[TD_HABIT_SPLIT_LINES], all),
        .split_pages = td_ratio(f[TD_HABIT_SPLIT_PAGES], all),
        .unaligned = td_ratio(f[TD_HABIT_UNALIGNED], all),
        .forwarded = td_ratio(f[TD_HABIT_FORWARDED], all),
        .blocked = td_ratio(f[TD_HABIT_BLOCKED], all),
        .aliased = td_ratio(f[TD_HABIT_ALIASED], all),
        .faults = td_ratio(f[TD_HABIT_FAULTS], all),
        .stays = (double)f[TD_HABIT_LINES] < LINES_ARRIVE * (double)f[TD_HABIT_NEW_LINES],
        .footprint = f[TD_HABIT_FOOTPRINT_LINES] * LINE_BYTES,
        .pages = f[TD_HABIT_FOOTPRINT_PAGES],
        .sets = (unsigned)__builtin_popcountll(f[TD_HABIT_SETS]),
    };

    m.from[0] = fmax(1 - m.from[1] - m.from[2] - m.from[3], 0);
    /* Lines that another instruction has asked for may still be on their way. */
    m.stays = m.stays && m.from[0] >= 1 - LINES_ARRIVE;
    m.conflicting = m.conflicts >= CONFLICTS_LEAST && f[TD_HABIT_LINES] * 20 >= all;
    add_reuse(&m, habit);
    add_steps(&m, habit);
    return m;
}

struct td_why_branch td_why_branch_of(const struct td_habit *habit)
{
    const uint64_t *f = habit->figures, all = f[TD_HABIT_BRANCHES];
    const struct td_habit_mark *period = td_habit_most(habit, TD_HABIT_PERIOD);
    const struct td_habit_mark *follows = td_habit_most(habit, TD_HABIT_FOLLOWS);

    return (struct td_why_branch){
        .taken = td_ratio(f[TD_HABIT_TAKEN], all),
        .wrong = td_ratio(f[TD_HABIT_WRONG], all),
        .turns = td_ratio(f[TD_HABIT_TURNS], all),
        .searched = f[TD_HABIT_STRETCHES] > 0,
        .period = period && 2 * period->count > f[TD_HABIT_STRETCHES] && period->key > 0
                      ? (uint32_t)period->key
                      : 0,
        .follows = follows && 2 * follows->count > all,
    };
}

/* What the node lost itself: lines that threads share are a family of their own. */
static uint64_t loss_of(const uint64_t *values, enum td_tma_node node)
{
    const uint64_t all = values[td_metric_of_node(node)];
    const uint64_t shared =
        node == TD_NODE_L3_BOUND      ? values[td_metric_of_node(TD_NODE_CONTESTED_ACCESSES)]
        : node == TD_NODE_STORE_BOUND ? values[td_metric_of_node(TD_NODE_FALSE_SHARING)]
                                      : 0;

    return all > shared ? all - shared : 0;
}

static uint64_t family_of(const uint64_t *values, enum family family)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(losses); i++)
        sum += losses[i].family == family ? loss_of(values, losses[i].node) : 0;
    return sum;
}

static enum family largest_family(const uint64_t *values)
{
    enum family largest = FAMILY_MEMORY;

    for (int f = 0; f < FAMILY_COUNT; f++) {
        if (family_of(values, (enum family)f) > family_of(values, largest))
            largest = (enum family)f;
    }
    return largest;
}

static enum td_tma_node largest_node(const uint64_t *values, enum family family)
{
    enum td_tma_node node = TD_NODE_NONE;
    uint64_t most = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(losses); i++) {
        const uint64_t value = loss_of(values, losses[i].node);

        if (losses[i].family == family && value > most) {
            node = losses[i].node;
            most = value;
        }
    }
    return node;
}

static void put_at(struct td_why *why, const struct td_model *model, uint32_t location)
{
    why->location = location;
    if (location == TD_NONE)
        return;
    why->module = td_model_location(model, location)->module;
    why->offset = td_model_location(model, location)->offset;
}

/* The habit of the instruction and of its copies, where it is one of several; `copies`: how many.
 */
static const struct td_habit *joined(struct td_why_basis *basis, const struct td_code_parts *parts,
                                     const struct td_habit *habit, uint32_t location,
                                     struct td_why_copies *copies)
{
    *copies = td_why_copies_of(basis->measure->model, parts, habit, location);
    if (!copies->habit)
        return habit;
    basis->joined =
        td_grow(basis->joined, &basis->joined_cap, basis->joined_len + 1, sizeof(*basis->joined));
    return basis->joined[basis->joined_len++] = copies->habit;
}

static void find_instruction(struct td_why *why, struct td_why_basis *basis,
                             const struct td_code_parts *parts, enum family family)
{
    const struct td_model *model = basis->measure->model;
    uint64_t most = 0;

    for (size_t p = 0; p < parts->len; p++) {
        for (size_t i = 0; i < parts->at[p].len; i++) {
            const struct td_code_cost *cost = &parts->at[p].at[i];
            const uint64_t value = family_of(cost->values, family);

            if (value <= most)
                continue;
            most = value;
            why->location = cost->location;
        }
    }
    why->part = td_ratio(most, family_of(why->values, family));
    put_at(why, model, why->location);
    why->habit = td_habits_find(td_model_habits(model), why->module, why->offset);
    why->habit = joined(basis, parts, why->habit, why->location, &why->copies);
}

static bool brings_lines_back(const struct td_why_memory *m, const struct td_why_core *core)
{
    return !isnan(m->again_bytes) && m->first < 0.5 && m->footprint > core->l1;
}

/* Whether most bytes of its lines are never used, or it cannot be said. */
static bool wastes_lines(const struct td_why_memory *m)
{
    return m->used > 0 ? m->used <= HALF_LINE : m->bytes <= HALF_LINE;
}

/* Farther than an unrolled loop over neighbouring data steps. Lines that are used whole in the end
 * are so by other rounds of the loop around. */
static bool steps_far(const struct td_why_memory *m, uint64_t step)
{
    enum { UNROLLED_MOST = 32 };

    return step >= LINE_BYTES && step > UNROLLED_MOST * m->bytes;
}

/* Of the lines that it brought into L1, the share of those that were there before so few bytes of
 * others came. */
static double share_nearer(const struct td_habit *habit, double bytes)
{
    uint64_t near = 0, all = 0;

    for (uint32_t i = 0; i < habit->mark_count; i++) {
        const struct td_habit_mark *mark = &habit->marks[i];

        if (mark->kind != TD_HABIT_REUSE || mark->key >= 64)
            continue;
        all += mark->count;
        near += mark->key >= 0 && ldexp(2 * LINE_BYTES, (int)mark->key) <= bytes ? mark->count : 0;
    }
    return td_ratio(near, all);
}

/* Lines come back before L2 can be full of others, and L2 has them no more: more come from beyond
 * it than are new or were away for long. */
static bool conflicts_in_l2(const struct td_habit *habit, const struct td_why_memory *m,
                            const struct td_why_core *core)
{
    const double beyond = m->from[2] + m->from[3], missed = beyond + m->from[1];

    return beyond >= 0.2 && m->footprint > core->l1 &&
           beyond / missed > 1.2 - share_nearer(habit, (double)core->l2 / 2);
}

/* Of accesses that do not wait for one another. */
static enum td_why_cause cause_of_order(const struct td_why_memory *memory,
                                        const struct td_why_core *core)
{
    const struct td_why_memory m = *memory;
    const bool one = m.stride_share >= 0.5 && m.stride != 0;
    const int64_t stride = one ? m.stride : m.mean_step;
    const bool steady = stride != 0;
    const uint64_t step = (uint64_t)(stride < 0 ? -stride : stride);

    if (steady && (step >= LINE_BYTES || step > 2 * m.bytes) && wastes_lines(&m))
        return TD_WHY_STRIDE;
    if (steady && brings_lines_back(&m, core))
        return TD_WHY_FOOTPRINT;
    if (steady)
        return steps_far(&m, step) ? TD_WHY_STRIDE : TD_WHY_STREAM;
    if (m.new_line >= 0.3)
        return TD_WHY_RANDOM;
    return brings_lines_back(&m, core) ? TD_WHY_FOOTPRINT : TD_WHY_MISSES;
}

static enum td_why_cause cause_of_memory(const struct td_habit *habit,
                                         const struct td_why_core *core, bool tlb)
{
    const struct td_why_memory m = td_why_memory_of(habit);

    if (m.conflicting)
        return TD_WHY_CONFLICT;
    if (tlb)
        return TD_WHY_TLB;
    if (conflicts_in_l2(habit, &m, core))
        return TD_WHY_CONFLICT;
    if (m.first >= 0.5 && m.footprint <= core->l1)
        return TD_WHY_FIRST;
    return m.serial >= 0.5 ? TD_WHY_CHASE : cause_of_order(&m, core);
}

/* Stores whose lines are in L1 wait for nothing of their own: what they did when they brought them
 * is no reason. */
static enum td_why_cause cause_of_stores(const struct td_habit *habit,
                                         const struct td_why_core *core)
{
    if (!habit || td_why_memory_of(habit).stays)
        return TD_WHY_STORES;
    const enum td_why_cause cause = cause_of_memory(habit, core, false);

    return cause == TD_WHY_MISSES || cause == TD_WHY_CHASE ? TD_WHY_STORES : cause;
}

static enum td_why_cause cause_of_branch(const struct td_why *why)
{
    if (!why->habit || why->habit->figures[TD_HABIT_BRANCHES] == 0)
        return TD_WHY_BRANCH;
    const struct td_why_branch b = td_why_branch_of(why->habit);

    if (b.period > 1)
        return TD_WHY_BRANCH_PERIODIC;
    if (b.follows)
        return TD_WHY_BRANCH_CORRELATED;
    if (b.taken >= 0.9999)
        return b.turns > 0.01 ? TD_WHY_BRANCH_INDIRECT : TD_WHY_BRANCH;
    if (b.wrong < GUESSED * fmin(b.taken, 1 - b.taken))
        return TD_WHY_BRANCH;
    return b.taken > 0.8 || b.taken < 0.2 ? TD_WHY_BRANCH_BIASED : TD_WHY_BRANCH_RANDOM;
}

/* A load that L1 serves, or whose port is taken. */
static enum td_why_cause cause_of_l1(const struct td_why *why, enum td_why_cause otherwise)
{
    if (!why->habit || why->habit->figures[TD_HABIT_ACCESSES] == 0)
        return otherwise;
    const struct td_why_memory m = td_why_memory_of(why->habit);

    if (m.split >= 0.2)
        return TD_WHY_ALIGNMENT;
    if (otherwise == TD_WHY_PORT)
        return otherwise;
    if (m.blocked >= 0.2)
        return TD_WHY_BLOCKED;
    if (m.forwarded >= 0.3)
        return TD_WHY_FORWARDED;
    return m.serial >= 0.3 ? TD_WHY_CHASE : otherwise;
}

static enum td_why_cause cause_of(const struct td_why *why, enum family family)
{
    const struct td_habit *habit =
        why->habit && why->habit->figures[TD_HABIT_ACCESSES] > 0 ? why->habit : NULL;

    switch (family) {
    case FAMILY_MEMORY: return habit ? cause_of_memory(habit, &why->core, false) : TD_WHY_MISSES;
    case FAMILY_STORES: return cause_of_stores(habit, &why->core);
    case FAMILY_TLB: return habit ? cause_of_memory(habit, &why->core, true) : TD_WHY_TLB;
    case FAMILY_BLOCKED: return TD_WHY_BLOCKED;
    case FAMILY_ALIAS: return TD_WHY_ALIAS;
    case FAMILY_SPLIT: return TD_WHY_ALIGNMENT;
    case FAMILY_LOCK: return TD_WHY_LOCK;
    case FAMILY_SHARED: return TD_WHY_SHARED;
    case FAMILY_L1: return cause_of_l1(why, TD_WHY_CHAIN);
    case FAMILY_ORDER: return TD_WHY_ORDER;
    case FAMILY_BRANCH: return cause_of_branch(why);
    case FAMILY_DIVIDER: return TD_WHY_DIVIDER;
    case FAMILY_SERIAL:
        return habit && habit->figures[TD_HABIT_FAULTS] > 0 ? TD_WHY_FAULTS : TD_WHY_SERIAL;
    case FAMILY_CHAIN: return TD_WHY_CHAIN;
    case FAMILY_PORT: return TD_WHY_PORT;
    case FAMILY_LOAD_PORT: return cause_of_l1(why, TD_WHY_PORT);
    case FAMILY_FRONTEND: return TD_WHY_FRONTEND;
    case FAMILY_COUNT: break;
    }
    return TD_WHY_NOTHING;
}

static struct td_why_core core_of(const struct td_measure *measure)
{
    const struct td_machine machine = td_machine_of(measure);
    struct td_why_core core = {.l1 = machine.cache_kb[TD_CACHE_L1D] << 10,
                               .l2 = machine.cache_kb[TD_CACHE_L2] << 10,
                               .l3 = machine.cache_kb[TD_CACHE_L3] << 10,
                               .tlb_pages = td_machine_parameter(measure->model, "dtlb"),
                               .stlb_pages = td_machine_parameter(measure->model, "stlb")};

    return core;
}

static uint32_t find_location(const struct td_model *model, uint32_t module, uint64_t offset)
{
    for (uint32_t i = 0; i < td_model_location_count(model); i++) {
        const struct td_location *at = td_model_location(model, i);

        if (at->module == module && at->offset == offset)
            return i;
    }
    return TD_NONE;
}

/* The store that was most often in the way or had the data, and how it uses memory; the branch that
 * is followed. */
static void find_partner(struct td_why *why, const struct td_model *model)
{
    /* No cause has a partner among the first marks, of strides. */
    static const enum td_habit_mark_kind kinds[TD_WHY_CAUSE_COUNT] = {
        [TD_WHY_BLOCKED] = TD_HABIT_BLOCKED_BY,
        [TD_WHY_ALIAS] = TD_HABIT_ALIASED_BY,
        [TD_WHY_FORWARDED] = TD_HABIT_FORWARDED_BY,
        [TD_WHY_BRANCH_CORRELATED] = TD_HABIT_FOLLOWS,
    };

    if (!why->habit || kinds[why->cause] == 0)
        return;
    why->partner = td_habit_most(why->habit, kinds[why->cause]);
    if (!why->partner || why->partner->module == TD_NONE) {
        why->partner = NULL;
        return;
    }
    const uint64_t offset = (uint64_t)why->partner->key;
    why->partner_habit = td_habits_find(td_model_habits(model), why->partner->module, offset);
    why->partner_location = find_location(model, why->partner->module, offset);
}

static struct td_why_shared shared_of(const struct td_why *why, const struct td_model *model)
{
    struct td_why_shared ret = {.falsely = NAN, .location = TD_NONE};
    uint64_t all = 0, falsely = 0, most = 0;

    for (uint32_t i = 0; i < td_model_shared_count(model); i++) {
        const struct td_shared_row *row = td_model_shared(model, i);

        if (row->mine.module != why->module || row->mine.offset != why->offset)
            continue;
        all += row->cycles;
        falsely += row->is_false ? row->cycles : 0;
        if (row->cycles <= most)
            continue;
        most = row->cycles;
        ret.location = row->theirs.location;
        ret.store = row->theirs.store;
    }
    if (all > 0)
        ret.falsely = td_ratio(falsely, all);
    return ret;
}

/* What is plain to see in how an instruction uses memory, though other losses weigh as much;
 * `beside` one of them also why most of its accesses miss L1. */
static enum td_why_cause plain_cause(const struct td_habit *habit, const struct td_why_core *core,
                                     bool beside)
{
    if (!habit || habit->figures[TD_HABIT_ACCESSES] == 0)
        return TD_WHY_NOTHING;
    const struct td_why_memory m = td_why_memory_of(habit);

    if (m.split >= 0.5)
        return TD_WHY_ALIGNMENT;
    if (m.blocked >= 0.5)
        return TD_WHY_BLOCKED;
    if (m.aliased >= 0.5)
        return TD_WHY_ALIAS;
    if (!beside || (m.from[0] > MISSES_MOSTLY && !m.conflicting))
        return TD_WHY_NOTHING;
    const enum td_why_cause cause = cause_of_memory(habit, core, false);
    return cause == TD_WHY_MISSES ? TD_WHY_NOTHING : cause;
}

/* What is plain to see, of the instruction that costs most: `instead` of a cause, where no loss
 * stands out, or beside it. */
static void look_for_plain_cause(struct td_why *why, struct td_why_basis *basis,
                                 const struct td_code_parts *parts, enum family family,
                                 bool instead)
{
    const struct td_model *model = basis->measure->model;
    uint64_t most = 0;

    for (size_t p = 0; p < parts->len; p++) {
        for (size_t i = 0; i < parts->at[p].len; i++) {
            const struct td_code_cost *cost = &parts->at[p].at[i];
            const struct td_habit *habit =
                td_habits_find(td_model_habits(model), parts->at[p].module, cost->offset);
            const enum td_why_cause cause = plain_cause(habit, &why->core, !instead);

            if (cause == TD_WHY_NOTHING || cost->values[TD_METRIC_SLOTS] <= most)
                continue;
            most = cost->values[TD_METRIC_SLOTS];
            if (!instead) {
                why->also_habit = joined(basis, parts, habit, cost->location, &why->also_copies);
                why->also = plain_cause(why->also_habit, &why->core, true);
                continue;
            }
            why->cause = cause;
            why->habit = habit;
            why->copies = (struct td_why_copies){.count = 1};
            why->beside = true;
            why->module = parts->at[p].module;
            why->offset = cost->offset;
            why->location = cost->location;
            why->part = td_ratio(family_of(cost->values, family), family_of(why->values, family));
        }
    }
}

static bool is_plain(enum td_why_cause cause)
{
    return cause == TD_WHY_ALIGNMENT || cause == TD_WHY_BLOCKED || cause == TD_WHY_ALIAS;
}

static bool is_of_execution(enum td_why_cause cause)
{
    return cause == TD_WHY_CHAIN || cause == TD_WHY_PORT || cause == TD_WHY_DIVIDER ||
           cause == TD_WHY_NOTHING;
}

/* What the execution units take is known of loops, and where their code lies; so is what bounds
 * code that loses nothing. */
static bool is_of_loops(enum td_why_cause cause)
{
    return is_of_execution(cause) || cause == TD_WHY_FORWARDED || cause == TD_WHY_CHASE ||
           cause == TD_WHY_FRONTEND;
}

static int by_offset(const void *key, const void *cost)
{
    const uint64_t a = *(const uint64_t *)key, b = ((const struct td_code_cost *)cost)->offset;

    return (a > b) - (a < b);
}

static bool is_code_of(const struct td_code_parts *parts, uint32_t module, uint64_t offset)
{
    for (size_t p = 0; p < parts->len; p++) {
        const struct td_code_part *part = &parts->at[p];

        if (part->module == module &&
            bsearch(&offset, part->at, part->len, sizeof(*part->at), by_offset))
            return true;
    }
    return false;
}

/* What the links of a loop that are code of the parts take, of all of the links. */
static double part_of_links(const struct td_loop *loop, const struct td_loop_link *links,
                            size_t count, const struct td_code_parts *parts)
{
    double own = 0, all = 0;

    for (size_t k = 0; k < count; k++) {
        own += is_code_of(parts, loop->module, links[k].offset) ? links[k].cycles : 0;
        all += links[k].cycles;
    }
    return all > 0 ? own / all : 0;
}

static bool has_loads(const struct td_loop *loop)
{
    for (size_t i = 0; i < loop->link_count; i++) {
        if (loop->links[i].loads)
            return true;
    }
    return false;
}

/* Whether a chain with loads in it computes with what they give. */
static bool computes(const struct td_loop *loop)
{
    const double loads = td_loop_chain_loads(loop);
    double all = 0;

    for (size_t i = 0; i < loop->link_count; i++)
        all += loop->links[i].cycles;
    return loads > 0 && loads < 0.9 * all;
}

/* Whether the loop's bound is a chain, or none that says that another unit needs longer. */
static bool may_wait_for_chain(const struct td_loop *loop)
{
    return loop->bound != TD_LOOP_PORTS && loop->bound != TD_LOOP_DIVIDER &&
           loop->bound != TD_LOOP_WIDTH;
}

/* Of what seemed a chase in a loop whose chain holds no load: addresses are computed one from
 * another, and the data of each come when the next is known. */
static enum td_why_cause unchained(const struct td_why *why)
{
    const struct td_why_memory m = td_why_memory_of(why->habit);

    return why->node == TD_NODE_L1_LATENCY_DEPENDENCY ? TD_WHY_CHAIN
                                                      : cause_of_order(&m, &why->core);
}

/* The chain through the loop is of a counter or the like, and the ports need far longer. */
static bool is_counter_only(const struct td_loop *loop)
{
    return loop->bound == TD_LOOP_PORTS &&
           !(loop->bounds[TD_LOOP_CHAIN] > 0.5 * loop->bounds[TD_LOOP_PORTS]);
}

/* One of the bounds that hold whatever is late takes all of the loop's cycles: what arrives late
 * arrives in time for that. */
static bool is_whole(const struct td_loop *loop)
{
    return (loop->bound == TD_LOOP_CHAIN || loop->bound == TD_LOOP_PORTS ||
            loop->bound == TD_LOOP_WIDTH) &&
           loop->explained >= BOUND_WHOLE;
}

/* Where a slot was lost is not always where the reason is: what waits for a quotient is charged for
 * a chain, though it is the divider that is always busy, and what runs beside the chain that bounds
 * its loop loses nothing. The loop's bound says which, when it explains the cycles and the code has
 * a part in it. */
static enum td_why_cause settle(struct td_why *why, const struct td_code_parts *parts)
{
    const struct td_loop *loop = why->loop;

    if (why->cause == TD_WHY_FRONTEND && is_whole(loop))
        why->cause = TD_WHY_NOTHING;
    if (loop->bound == TD_LOOP_CALLS &&
        (is_of_execution(why->cause) || why->cause == TD_WHY_FRONTEND))
        return TD_WHY_NOTHING;
    /* Other units need longer than the chain, or its data come another way. */
    if (why->cause == TD_WHY_FORWARDED && loop->passed <= 0 && !may_wait_for_chain(loop) &&
        loop->explained >= BOUND_LEAST)
        why->cause = TD_WHY_CHAIN;

    if (why->cause == TD_WHY_CHASE && loop->link_count > 0 && !has_loads(loop))
        return unchained(why);
    if (why->cause == TD_WHY_CHASE && computes(loop) &&
        td_why_memory_of(why->habit).from[0] >= 1 - LINES_ARRIVE)
        why->cause = TD_WHY_CHAIN;
    if (!is_of_execution(why->cause) || loop->explained < BOUND_LEAST)
        return why->cause;
    if (why->cause == TD_WHY_CHAIN && is_counter_only(loop) &&
        part_of_links(loop, loop->takers, loop->taker_count, parts) > 0.1)
        return TD_WHY_PORT;
    if (loop->explained < BOUND_EXPLAINS)
        return why->cause;
    if (loop->bound == TD_LOOP_DIVIDER &&
        part_of_links(loop, loop->divides, loop->divide_count, parts) > 0.1)
        return TD_WHY_DIVIDER;
    if (loop->bound == TD_LOOP_CHAIN &&
        part_of_links(loop, loop->links, loop->link_count, parts) > 0.25)
        return TD_WHY_CHAIN;
    if (why->cause == TD_WHY_NOTHING && loop->bounds[TD_LOOP_WIDTH] >= 0.9 * loop->cycles)
        return why->cause;
    if ((why->cause == TD_WHY_CHAIN || why->cause == TD_WHY_NOTHING) &&
        loop->bound == TD_LOOP_PORTS &&
        part_of_links(loop, loop->takers, loop->taker_count, parts) > 0.25)
        return TD_WHY_PORT;
    return why->cause;
}

/* Of what waits for loads from afar, what computes with their data waits as well, and is charged
 * for a chain. Where the chain from one iteration to the next is short, it is the loads. */
static bool waits_for_loads(const struct td_why *why)
{
    const struct td_loop *loop = why->loop;
    const uint64_t lost = family_of(why->values, FAMILY_MEMORY);

    return why->cause == TD_WHY_CHAIN && !why->beside && loop && loop->explained < BOUND_EXPLAINS &&
           loop->bounds[TD_LOOP_CHAIN] < CHAIN_LEAST * loop->cycles &&
           td_ratio(lost, why->values[TD_METRIC_SLOTS]) >= LEAST_LOST &&
           2 * lost >= family_of(why->values, FAMILY_CHAIN);
}

/* Nothing that is known of the loop takes most of its cycles, and most of the lines that it asks
 * for are not in L1: a short chain or few instructions are not what it waits for. */
static bool waits_for_lines(const struct td_why *why)
{
    const struct td_loop *loop = why->loop;

    if ((why->cause != TD_WHY_CHAIN && why->cause != TD_WHY_FRONTEND) || why->beside || !loop ||
        why->also == TD_WHY_NOTHING || is_plain(why->also))
        return false;
    return loop->explained < BOUND_EXPLAINS && !td_loop_is_of_code_lines(loop) &&
           td_loop_binding(loop, TD_LOOP_CHAIN) < CHAIN_LEAST * loop->cycles;
}

static void find_loop(struct td_why *why, struct td_why_basis *basis,
                      const struct td_code_parts *parts)
{
    if (!is_of_loops(why->cause))
        return;
    if (!basis->looped)
        td_loops_init(&basis->loops, basis->measure, basis->stacks);
    basis->looped = true;
    why->loop = td_loops_at(&basis->loops, why->location);
    if (why->loop && why->loop->iterations <= 0)
        why->loop = NULL;
    if (why->loop && !why->beside)
        why->cause = settle(why, parts);
    if (!is_of_loops(why->cause))
        why->loop = NULL;
}

struct td_why_basis td_why_basis_init(const struct td_measure *measure,
                                      const struct td_measure *stacks)
{
    return (struct td_why_basis){.measure = measure, .stacks = stacks};
}

void td_why_basis_release(struct td_why_basis *basis)
{
    if (basis->looped)
        td_loops_release(&basis->loops);
    basis->looped = false;
    for (size_t i = 0; i < basis->joined_len; i++)
        free(basis->joined[i]);
    free(basis->joined);
    basis->joined = NULL;
    basis->joined_len = basis->joined_cap = 0;
}

/* The losses of the family, and what they are from. */
static void blame(struct td_why *why, struct td_why_basis *basis, const struct td_code_parts *parts,
                  enum family family)
{
    why->lost = td_ratio(family_of(why->values, family), why->values[TD_METRIC_SLOTS]);
    if (why->lost < LEAST_LOST)
        return;
    why->node = largest_node(why->values, family);
    find_instruction(why, basis, parts, family);
    why->cause = cause_of(why, family);
}

/* The instruction of the parts that took most slots. */
static uint32_t find_dearest(const struct td_code_parts *parts)
{
    uint32_t dearest = TD_NONE;
    uint64_t most = 0;

    for (size_t p = 0; p < parts->len; p++) {
        for (size_t i = 0; i < parts->at[p].len; i++) {
            if (parts->at[p].at[i].values[TD_METRIC_SLOTS] <= most)
                continue;
            most = parts->at[p].at[i].values[TD_METRIC_SLOTS];
            dearest = parts->at[p].at[i].location;
        }
    }
    return dearest;
}

void td_why_of(struct td_why *why, struct td_why_basis *basis, const struct td_code_parts *parts)
{
    const struct td_measure *measure = basis->measure;

    *why = (struct td_why){.node = TD_NODE_NONE,
                           .module = TD_NONE,
                           .location = TD_NONE,
                           .partner_location = TD_NONE,
                           .core = core_of(measure)};
    for (size_t p = 0; p < parts->len; p++) {
        for (int m = 0; m < TD_METRIC_COUNT; m++)
            why->values[m] += parts->at[p].values[m];
    }
    const enum family family = largest_family(why->values);
    const uint64_t slots = why->values[TD_METRIC_SLOTS];

    why->retiring = td_ratio(why->values[td_metric_of_node(TD_NODE_RETIRING)], slots);
    blame(why, basis, parts, family);
    if (why->lost < STANDS_OUT && !is_plain(why->cause))
        look_for_plain_cause(why, basis, parts, family, true);
    if (!why->beside && (is_of_execution(why->cause) || why->cause == TD_WHY_FRONTEND))
        look_for_plain_cause(why, basis, parts, family, false);
    if (why->cause == TD_WHY_NOTHING)
        put_at(why, measure->model, find_dearest(parts));
    find_partner(why, measure->model);
    if (why->cause == TD_WHY_SHARED)
        why->shared = shared_of(why, measure->model);
    find_loop(why, basis, parts);
    if (waits_for_loads(why)) {
        blame(why, basis, parts, FAMILY_MEMORY);
        why->loop = is_of_loops(why->cause) ? why->loop : NULL;
    } else if (waits_for_lines(why)) {
        why->cause = why->also;
        why->habit = why->also_habit;
        why->copies = why->also_copies;
        why->also = TD_WHY_NOTHING;
        why->loop = is_of_loops(why->cause) ? why->loop : NULL;
    }
    if (family == FAMILY_BRANCH && why->node != TD_NODE_NONE && !why->beside)
        why->caller_count = td_why_callers_of(why->callers, basis->stacks, why->location);
}
