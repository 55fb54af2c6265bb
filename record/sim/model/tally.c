/* SPDX-License-Identifier: MIT */
/* The ledger as tallies: retired and lost slots of each instruction on each path. */
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"
#include "record/sim/model/sim_priv.h"

_Static_assert(TD_SIM_COLUMN_COUNT - TD_SIM_FIRST_CAUSE_COLUMN == TD_CAUSE_COUNT,
               "each cause is a column, in the same order");

/* An instruction of an account. */
struct place {
    uint64_t pc;
    uint32_t account, insn;
};

static int by_pc(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return (x->account > y->account) - (x->account < y->account);
}

/* The values of one tally: what stands for itself, and what is to be scaled. */
struct sum {
    uint64_t first[TD_SIM_COLUMN_COUNT], sampled[TD_SIM_COLUMN_COUNT];
};

static void add_runs(struct sum *sum, const struct td_block *block, uint32_t insn, uint64_t first,
                     uint64_t sampled)
{
    const int retired = TD_SIM_FIRST_RETIRED_COLUMN + block->insn_retired[insn];

    sum->first[TD_SIM_COLUMN_INSTRUCTIONS] += first;
    sum->first[retired] += first * block->insn_slots[insn];
    sum->sampled[TD_SIM_COLUMN_INSTRUCTIONS] += sampled;
    sum->sampled[retired] += sampled * block->insn_slots[insn];
}

static void add_place(const struct td_sim *sim, const struct place *place, struct sum *sum)
{
    const struct td_ledger *ledger = &sim->ledger;
    const struct td_account *account = &ledger->accounts[place->account];
    const uint32_t row = account->row + place->insn;

    add_runs(sum, td_blocks_get(sim->blocks, account->block), place->insn,
             td_ledger_settled_runs(ledger, place->account), account->runs);
    td_settled_add_to(&ledger->settled_lost, row, &sum->first[TD_SIM_FIRST_CAUSE_COLUMN]);
    for (int i = 0; i < TD_CAUSE_COUNT; i++) {
        const enum td_cause cause = (enum td_cause)i;
        sum->sampled[TD_SIM_FIRST_CAUSE_COLUMN + i] += td_ledger_lost(ledger, row, cause);
    }
}

/* Puts `order` into that of their paths, or regions; equal ones stay in theirs. */
static void sort_by(const struct td_ledger *ledger, uint32_t *order, uint32_t (*key)(uint32_t spot),
                    size_t keys)
{
    const size_t count = ledger->account_count;
    uint32_t *next = td_xcalloc(keys + 1, sizeof(*next));
    uint32_t *from = td_xcalloc(count + 1, sizeof(*from));

    memcpy(from, order, count * sizeof(*from));
    for (size_t i = 0; i < count; i++)
        next[key(ledger->accounts[i].spot) + 1]++;
    for (size_t k = 1; k <= keys; k++)
        next[k] += next[k - 1];
    for (size_t i = 0; i < count; i++)
        order[next[key(ledger->accounts[from[i]].spot)]++] = from[i];
    free(next);
    free(from);
}

/* The accounts region by region and path by path: newly allocated. */
static uint32_t *sort_accounts(const struct td_sim *sim)
{
    const struct td_ledger *ledger = &sim->ledger;
    uint32_t *order = td_xcalloc(ledger->account_count + 1, sizeof(*order));

    for (size_t i = 0; i < ledger->account_count; i++)
        order[i] = (uint32_t)i;
    sort_by(ledger, order, td_spot_path, sim->calls.node_count);
    if (ledger->has_regions)
        sort_by(ledger, order, td_spot_region, TD_SIM_REGIONS_MAX + 2);
    return order;
}

/* The tallies of one path, as they are given out. */
struct gather {
    const struct td_sim *sim;
    td_sim_tally_fn *fn;
    void *ctx;
    struct td_scale scale;
    bool plain;     /* nothing is scaled, and each cell is a whole number */
    uint64_t slots; /* of all tallies so far */
    uint64_t sampled_slots, sampled_instructions;
    struct place *blocks; /* the accounts of the path, by their first instruction */
    size_t block_count, block_cap;
    struct place *places; /* of blocks that overlap */
    size_t count, cap;
};

static const struct td_block *block_of(const struct gather *gather, uint32_t account)
{
    return td_blocks_get(gather->sim->blocks, gather->sim->ledger.accounts[account].block);
}

static uint64_t end_of(const struct gather *gather, uint32_t account)
{
    const struct td_block *block = block_of(gather, account);

    return td_block_place(block, block->end);
}

static void add_account(struct gather *gather, uint32_t account)
{
    gather->blocks = td_grow(gather->blocks, &gather->block_cap, gather->block_count + 1,
                             sizeof(*gather->blocks));
    gather->blocks[gather->block_count++] =
        (struct place){.pc = block_of(gather, account)->place, .account = account};
}

static void add_places(struct gather *gather, uint32_t account)
{
    const struct td_block *block = block_of(gather, account);

    gather->places = td_grow(gather->places, &gather->cap, gather->count + block->insn_count,
                             sizeof(*gather->places));
    for (uint32_t i = 0; i < block->insn_count; i++)
        gather->places[gather->count++] = (struct place){
            .pc = block->place + block->insn_offsets[i], .account = account, .insn = i};
}

/* A column's value; what is scaled adds up to what the sum scales to. */
static uint64_t value_of(struct gather *gather, const struct sum *sum, int column, uint64_t *done)
{
    const uint64_t first = sum->first[column], sampled = sum->sampled[column];

    if (gather->scale.all)
        return td_scale_add(&gather->scale, done, first + sampled);
    return first + td_scale_add(&gather->scale, done, sampled);
}

static struct td_sim_tally tally_at(uint32_t spot, uint64_t pc)
{
    return (struct td_sim_tally){
        .region = td_spot_region(spot), .path = td_spot_path(spot), .pc = pc};
}

static void give(struct gather *gather, struct td_sim_tally *tally)
{
    const uint64_t before = gather->slots;

    tally->runs = tally->values[TD_SIM_COLUMN_INSTRUCTIONS];
    for (int c = TD_SIM_FIRST_RETIRED_COLUMN; c < TD_SIM_COLUMN_COUNT; c++)
        gather->slots += tally->values[c];
    if (tally->runs > 0 || gather->slots > before)
        gather->fn(gather->ctx, tally);
}

static void give_sum(struct gather *gather, const struct sum *sum, struct td_sim_tally *tally)
{
    tally->values[TD_SIM_COLUMN_INSTRUCTIONS] =
        value_of(gather, sum, TD_SIM_COLUMN_INSTRUCTIONS, &gather->sampled_instructions);
    for (int c = TD_SIM_FIRST_RETIRED_COLUMN; c < TD_SIM_COLUMN_COUNT; c++)
        tally->values[c] = value_of(gather, sum, c, &gather->sampled_slots);
    give(gather, tally);
}

/* Instructions that several blocks have in common come once. */
static void give_places(struct gather *gather, uint32_t spot)
{
    qsort(gather->places, gather->count, sizeof(*gather->places), by_pc);
    for (size_t i = 0; i < gather->count;) {
        struct td_sim_tally tally = tally_at(spot, gather->places[i].pc);
        struct sum sum = {.first = {0}};

        for (; i < gather->count && gather->places[i].pc == tally.pc; i++)
            add_place(gather->sim, &gather->places[i], &sum);
        give_sum(gather, &sum, &tally);
    }
    gather->count = 0;
}

/* The usual case, straight from the ledger: a block that shares no instruction with another. */
static void give_block(struct gather *gather, uint32_t spot, uint32_t index)
{
    const struct td_account *account = &gather->sim->ledger.accounts[index];
    const struct td_block *block = block_of(gather, index);
    const uint32_t *cells =
        gather->sim->ledger.cells + td_ledger_cell(account->row, (enum td_cause)0);

    for (uint32_t i = 0; i < block->insn_count; i++, cells += TD_ROW_CELLS) {
        struct td_sim_tally tally = tally_at(spot, block->place + block->insn_offsets[i]);

        tally.values[TD_SIM_COLUMN_INSTRUCTIONS] = account->runs;
        tally.values[TD_SIM_FIRST_RETIRED_COLUMN + block->insn_retired[i]] =
            account->runs * block->insn_slots[i];
        for (int cause = 0; cause < TD_CAUSE_COUNT; cause++)
            tally.values[TD_SIM_FIRST_CAUSE_COLUMN + cause] = cells[cause];
        give(gather, &tally);
    }
}

static void give_spot(struct gather *gather, uint32_t spot)
{
    qsort(gather->blocks, gather->block_count, sizeof(*gather->blocks), by_pc);
    for (size_t i = 0; i < gather->block_count;) {
        const uint32_t first = gather->blocks[i].account;
        uint64_t end = end_of(gather, first);
        size_t next = i + 1;

        for (; next < gather->block_count && gather->blocks[next].pc < end; next++) {
            const uint64_t other = end_of(gather, gather->blocks[next].account);

            end = other > end ? other : end;
        }
        if (gather->plain && next == i + 1) {
            give_block(gather, spot, first);
        } else {
            for (size_t k = i; k < next; k++)
                add_places(gather, gather->blocks[k].account);
            give_places(gather, spot);
        }
        i = next;
    }
    gather->block_count = 0;
}

/* Every slot of the ledger was given out once, and no other. */
static void check_whole(const struct gather *gather)
{
    struct td_sim_totals totals;

    td_sim_totals(gather->sim, &totals);
    TD_INVARIANT(gather->slots == totals.slots);
    TD_INVARIANT(gather->slots / gather->sim->core.width == totals.cycles);
}

void td_sim_each_tally(const struct td_sim *sim, td_sim_tally_fn *fn, void *ctx)
{
    struct gather gather = {.sim = sim, .fn = fn, .ctx = ctx, .scale = td_sim_scale(sim)};
    const size_t count = sim->ledger.account_count;
    uint32_t *order = sort_accounts(sim);

    gather.plain = sim->ledger.settled_accounts == 0 && gather.scale.seen == gather.scale.whole &&
                   sim->ledger.carries.len == 0;
    for (size_t i = 0; i < count;) {
        const uint32_t spot = sim->ledger.accounts[order[i]].spot;

        for (; i < count && sim->ledger.accounts[order[i]].spot == spot; i++)
            add_account(&gather, order[i]);
        give_spot(&gather, spot);
    }
    check_whole(&gather);
    free(gather.blocks);
    free(gather.places);
    free(order);
}

void td_sim_each_replicates(const struct td_sim *sim, td_sim_replicates_fn *fn, void *ctx)
{
    const struct td_scale scale = td_sim_scale(sim);
    const uint64_t open = sim->instructions - sim->windows.from_instructions;
    int64_t values[TD_REPLICATES];
    struct td_replicates now = {.open = false};
    const struct td_replicates *replicates = &sim->replicates;

    /* What the window that is under way has seen is in the totals. */
    if (sim->windows.open && sim->windows.sampled && open > 0) {
        td_replicates_copy(&now, &sim->replicates);
        td_replicates_close(&now, &sim->ledger, sim->blocks, open);
        replicates = &now;
    }
    for (size_t i = 0; i < replicates->count; i++) {
        const struct td_replicate_cell *cell = &replicates->cells[i];

        if (td_replicates_of(replicates, cell, &scale, values))
            fn(ctx, cell->region, cell->pc, (enum td_sim_column)cell->column, values);
    }
    td_replicates_release(&now);
}

struct habits {
    const struct td_sim *sim;
    td_sim_habit_fn *fn;
    void *ctx;
};

static uint64_t place_of_row(const struct td_sim *sim, uint32_t row)
{
    const struct td_account *account =
        &sim->ledger.accounts[td_ledger_account_of(&sim->ledger, row)];
    const struct td_block *block = td_blocks_get(sim->blocks, account->block);

    return block->place + block->insn_offsets[row - account->row];
}

static void give_usage(void *ctx, const struct td_habit *habit)
{
    const struct habits *habits = ctx;
    struct td_habit ours = *habit;

    for (uint32_t i = 0; i < ours.mark_count; i++) {
        struct td_habit_mark *mark = &ours.marks[i];

        if (mark->module != UINT32_MAX)
            mark->key = (int64_t)place_of_row(habits->sim, (uint32_t)mark->key);
    }
    habits->fn(habits->ctx, &ours);
}

void td_sim_each_habit(const struct td_sim *sim, td_sim_habit_fn *fn, void *ctx)
{
    struct habits habits = {.sim = sim, .fn = fn, .ctx = ctx};

    td_usage_each(sim->usage, give_usage, &habits);
    td_outcomes_each(sim->turns, fn, ctx);
}
