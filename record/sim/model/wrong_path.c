/* SPDX-License-Identifier: MIT */
#include "record/sim/model/wrong_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "record/sim/model/memory/accesses.h"
#include "record/sim/model/sim_priv.h"

enum {
    NEAR_BLOCKS = 8, /* of either path are looked at for the place where they meet */
    IDLE = 8,        /* times in a row that nothing comes of a branch's wrong path, after which */
    REST = 7,        /* so many are not looked at, then one again */
    WAY_SURE = 4,    /* a way is usual when it was taken so many times more than the other */
};

/* The wrong path as it goes on. */
struct walk {
    struct td_sim *sim;
    int64_t resolved; /* when the branch resolves: all is thrown away */
    int64_t cycle;    /* dispatch is in this cycle */
    uint32_t used;    /* slots of it that are gone */
    uint32_t uops, loads, stores;
    bool late;        /* L1 had not all that was loaded */
    uint32_t waiting; /* uops that do not issue before `resolved` */
    int64_t ready[TD_REG_COUNT];
    bool foreign[TD_REG_COUNT]; /* not what the right path has there */
};

/* Blocks one after the other, each with its place in the trace when it is of the right path. */
struct path {
    uint32_t count;
    const struct td_block *blocks[NEAR_BLOCKS];
    const uint64_t *words[NEAR_BLOCKS];
};

void td_wrong_path_release(struct td_wrong_path *wrong)
{
    free(wrong->ways);
}

static struct td_way *way_of(struct td_wrong_path *wrong, const struct td_block *block)
{
    if (block->id >= wrong->way_cap)
        wrong->ways = td_grow_zeroed(wrong->ways, &wrong->way_cap, (size_t)block->id + 1,
                                     sizeof(*wrong->ways));
    return &wrong->ways[block->id];
}

static const uint64_t *next_block(const uint64_t *words, const uint64_t *end)
{
    while (words < end && !(*words & TD_TRACE_BLOCK_BIT))
        words++;
    return words;
}

static bool is_taken(uint64_t word)
{
    return (word & TD_TRACE_TAKEN) != 0;
}

static void learn_way(struct td_wrong_path *wrong, const struct td_block *block, uint64_t word)
{
    struct td_way *way = way_of(wrong, block);
    const bool taken = is_taken(word);

    way->next[taken] = (uint32_t)word + 1;
    if (taken && way->usual < WAY_SURE)
        way->usual++;
    else if (!taken && way->usual > -WAY_SURE)
        way->usual--;
}

/* The wrong path from the way `taken` of `branch` on, as far as blocks are known to follow. */
static void guess_path(struct td_sim *sim, const struct td_block *branch, bool taken,
                       struct path *path)
{
    const struct td_block *block = branch;

    path->count = 0;
    for (uint32_t next = way_of(&sim->wrong_path, block)->next[taken]; next;) {
        block = path->blocks[path->count] = td_blocks_get(sim->blocks, next - 1);
        if (++path->count == NEAR_BLOCKS)
            return;
        const struct td_way *way = way_of(&sim->wrong_path, block);
        const bool sure = way->usual == WAY_SURE || way->usual == -WAY_SURE;
        const bool usual = way->usual > 0;
        next = way->next[block == branch && !sure ? !taken : usual];
    }
}

/* The right path, from the trace. */
static void read_path(struct td_sim *sim, const uint64_t *words, const uint64_t *end,
                      struct path *path)
{
    path->count = 0;
    while (path->count < NEAR_BLOCKS && words < end && !(*words & TD_TRACE_MARK_BIT)) {
        path->blocks[path->count] = td_blocks_get(sim->blocks, (uint32_t)*words);
        path->words[path->count++] = words;
        words = next_block(words + 1, end);
    }
}

/* Where two paths meet: their blocks there. */
struct meeting {
    uint32_t wrong, right;
    const struct td_block *there, *here;
};

static bool try_meeting(const struct path *wrong, uint32_t w, const struct path *right, uint32_t r,
                        struct meeting *meeting)
{
    if (w >= wrong->count || r >= right->count)
        return false;
    *meeting = (struct meeting){
        .wrong = w, .right = r, .there = wrong->blocks[w], .here = right->blocks[r]};
    return meeting->there->end == meeting->here->end;
}

/* Equal ways first: in a loop, each path comes to the other's blocks one round later. */
static bool find_meeting(const struct path *wrong, const struct path *right,
                         struct meeting *meeting)
{
    for (uint32_t longer = 0; longer < NEAR_BLOCKS; longer++) {
        for (uint32_t shorter = 0; shorter <= longer; shorter++) {
            if (try_meeting(wrong, longer, right, shorter, meeting) ||
                try_meeting(wrong, shorter, right, longer, meeting))
                return true;
        }
    }
    return false;
}

/* The instruction of the block at `pc`, or all of them. */
static uint32_t insn_at(const struct td_block *block, uint64_t pc)
{
    uint32_t insn = 0;

    while (insn < block->insn_count && block->pc + block->insn_offsets[insn] < pc)
        insn++;
    return insn;
}

/* What the block's instructions before `insn` write is foreign from now on. */
static void forget_block(struct walk *walk, const struct td_block *block, uint32_t insn)
{
    for (uint32_t i = 0; i < block->uop_count && block->uops[i].insn < insn; i++) {
        walk->foreign[block->uops[i].dst[0]] = true;
        walk->foreign[block->uops[i].dst[1]] = true;
    }
    walk->foreign[TD_REG_NONE] = false;
}

static void wait_until(struct walk *walk, int64_t cycle)
{
    if (cycle <= walk->cycle)
        return;
    walk->cycle = cycle;
    walk->used = 0;
}

/* When the load that had to leave for this one has retired; no later load leaves in time. */
static int64_t load_place(const struct walk *walk)
{
    const struct td_sim *sim = walk->sim;
    const uint32_t size = (uint32_t)sim->desc->load_buffer;
    const uint64_t oldest = sim->load_uop[(sim->loads + walk->loads - size) & (TD_LOAD_RING - 1)];

    if (walk->loads >= size)
        return walk->resolved;
    if (sim->core.uops - oldest >= TD_ROB_RING)
        return 0;
    return sim->core.retire[oldest & (TD_ROB_RING - 1)];
}

static int64_t store_place(const struct walk *walk)
{
    const struct td_sim *sim = walk->sim;
    const uint32_t size = (uint32_t)sim->desc->store_buffer;

    if (walk->stores >= size)
        return walk->resolved;
    return sim->stores.commit[(sim->stores.next + walk->stores) % size];
}

/* Dispatches a uop; false when that is not before the branch resolves. */
static bool dispatch(struct walk *walk, const struct td_uop *uop)
{
    const struct td_core *core = &walk->sim->core;
    const uint64_t oldest = core->uops + walk->uops - core->rob;

    if (walk->uops >= core->rob || uop->flags & (TD_UOP_SERIAL | TD_UOP_STRING))
        return false;
    wait_until(walk, core->retire[oldest & (TD_ROB_RING - 1)]);
    if (uop->flags & TD_UOP_LOAD) {
        wait_until(walk, load_place(walk));
        walk->loads++;
    }
    if (uop->flags & TD_UOP_STORE) {
        wait_until(walk, store_place(walk));
        walk->stores++;
    }
    walk->uops++;
    walk->used += uop->slots;
    for (; walk->used > core->width; walk->used -= core->width)
        walk->cycle++;
    return walk->cycle < walk->resolved && walk->waiting < core->scheduler;
}

/* The wrong path's own code before the paths meet takes places and slots. */
static bool dispatch_block(struct walk *walk, const struct td_block *block, uint32_t insn)
{
    for (uint32_t i = 0; i < block->uop_count && block->uops[i].insn < insn; i++) {
        if (!dispatch(walk, &block->uops[i]))
            return false;
    }
    return true;
}

/* The word of the instruction's load among the block's accesses from *words on, or NULL. */
static const uint64_t *find_load(const uint64_t **words, const uint64_t *end, uint32_t insn)
{
    struct td_accesses accesses = {.at = *words, .end = end};
    const bool found = td_access_find(&accesses, insn, td_trace_key(insn, false));

    *words = accesses.at;
    return found ? accesses.at : NULL;
}

/* The cycle in which the loaded data are there. */
static int64_t load(struct walk *walk, const struct td_uop *uop, const uint64_t *word, int64_t t)
{
    struct td_sim *sim = walk->sim;

    if (!word || t >= walk->resolved)
        return t + sim->desc->l1d_latency + uop->load_latency;
    const int64_t ready = td_memory_ahead(&sim->memory, TD_TRACE_ADDRESS(*word), t, walk->resolved);
    walk->late |= ready > t + sim->desc->l1d_latency;
    return ready + uop->load_latency;
}

static void execute(struct walk *walk, const struct td_uop *uop, const uint64_t **words,
                    const uint64_t *end)
{
    int64_t t = walk->cycle + 1;
    bool foreign = walk->foreign[uop->src[0]] | walk->foreign[uop->src[1]];

    if (uop->flags & TD_UOP_LOAD) {
        const bool elsewhere = walk->foreign[uop->address[0]] | walk->foreign[uop->address[1]];
        const uint64_t *word = find_load(words, end, uop->insn);
        t = td_cycle_later(
            t, td_cycle_later(walk->ready[uop->address[0]], walk->ready[uop->address[1]]));
        t = load(walk, uop, elsewhere ? NULL : word, t);
        *words += word != NULL;
        foreign |= elsewhere;
    }
    t = td_cycle_later(t, td_cycle_later(walk->ready[uop->src[0]], walk->ready[uop->src[1]]));
    t = td_cycle_later(t, walk->ready[uop->src[2]] - uop->forward);
    foreign |= walk->foreign[uop->src[2]];
    walk->waiting += t >= walk->resolved;
    walk->ready[uop->dst[0]] = walk->ready[uop->dst[1]] = t + uop->latency;
    walk->foreign[uop->dst[0]] = walk->foreign[uop->dst[1]] = foreign;
}

/* Goes through a block of the right path from `insn` on; false when the path ends in it. */
static bool run_block(struct walk *walk, const struct td_block *block, uint32_t insn,
                      const uint64_t *words, const uint64_t *end)
{
    if (block->repeats)
        return false;
    for (uint32_t i = 0; i < block->uop_count; i++) {
        const struct td_uop *uop = &block->uops[i];
        if (uop->insn < insn)
            continue;
        if (!dispatch(walk, uop))
            return false;
        execute(walk, uop, &words, end);
    }
    return true;
}

/* Learns the way from `block` on along `count` blocks of the right path. */
static void learn_path(struct td_wrong_path *wrong, const struct td_block *block,
                       const struct path *right, uint32_t count)
{
    for (uint32_t i = 0; i < count && i < right->count; i++) {
        learn_way(wrong, block, *right->words[i]);
        block = right->blocks[i];
    }
}

/* Goes the wrong way at `branch` to where it meets the right one, whose words follow; NULL when
 * that is nowhere near, or not reached. */
static const uint64_t *rejoin(struct walk *walk, const struct td_block *branch,
                              const uint64_t *words, const uint64_t *end, uint32_t *insn)
{
    struct path wrong = {.count = 0}, right = {.count = 0};
    struct meeting meeting = {0};

    guess_path(walk->sim, branch, !is_taken(*words), &wrong);
    read_path(walk->sim, words, end, &right);
    const bool meet = find_meeting(&wrong, &right, &meeting);
    learn_path(&walk->sim->wrong_path, branch, &right, meet ? meeting.right + 1 : right.count);
    if (!meet)
        return NULL;
    const struct td_block *here = meeting.here;
    const uint64_t pc = meeting.there->pc > here->pc ? meeting.there->pc : here->pc;
    *insn = insn_at(here, pc);
    for (uint32_t i = 0; i < meeting.right && i < right.count; i++)
        forget_block(walk, right.blocks[i], TD_TRACE_INSNS_MAX);
    forget_block(walk, here, *insn);
    for (uint32_t i = 0; i <= meeting.wrong && i < wrong.count; i++) {
        const struct td_block *block = wrong.blocks[i];
        const uint32_t before = i < meeting.wrong ? TD_TRACE_INSNS_MAX : insn_at(block, pc);
        forget_block(walk, block, before);
        if (!dispatch_block(walk, block, before))
            return NULL;
    }
    return right.words[meeting.right];
}

/* Goes along the right path from the branch that ended `last`. */
static void follow(struct walk *walk, const struct td_block *last, const uint64_t *words,
                   const uint64_t *end)
{
    struct td_sim *sim = walk->sim;

    while (words < end && !(*words & TD_TRACE_MARK_BIT)) {
        uint32_t insn = 0;
        if (!(*words & TD_TRACE_WRONG))
            learn_way(&sim->wrong_path, last, *words);
        else if (!(words = rejoin(walk, last, words, end, &insn)))
            return;
        last = td_blocks_get(sim->blocks, (uint32_t)*words);
        if (!run_block(walk, last, insn, words + 1, end))
            return;
        words = next_block(words + 1, end);
    }
}

void td_wrong_path_run(struct td_sim *sim, const uint64_t *words, const uint64_t *end)
{
    struct td_way *way = way_of(&sim->wrong_path, sim->last);

    if (way->rest) {
        way->rest--;
        return;
    }
    struct walk walk = {.sim = sim,
                        .resolved = sim->redirect.resolved,
                        .cycle = sim->core.cycle,
                        .used = sim->core.used};
    memcpy(walk.ready, sim->core.ready, sizeof(walk.ready));
    follow(&walk, sim->last, words, end);
    /* Anew: learning may have moved it. */
    way = way_of(&sim->wrong_path, sim->last);
    if (walk.late)
        way->idle = 0;
    else if (way->idle < IDLE)
        way->idle++;
    way->rest = way->idle == IDLE ? REST : 0;
}
