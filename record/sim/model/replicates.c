/* SPDX-License-Identifier: MIT */
#include "record/sim/model/replicates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "record/sim/model/sim.h"

void td_replicates_release(struct td_replicates *replicates)
{
    free(replicates->touched);
    free(replicates->before);
    free(replicates->firsts);
    td_map_release(&replicates->region_firsts);
    free(replicates->indices);
    free(replicates->cells);
    *replicates = (struct td_replicates){.open = false};
}

static void *copy_of(const void *from, size_t cap, size_t size)
{
    void *ret = cap ? td_xcalloc(cap, size) : NULL;

    if (ret)
        memcpy(ret, from, cap * size);
    return ret;
}

void td_replicates_copy(struct td_replicates *ret, const struct td_replicates *from)
{
    *ret = *from;
    ret->touched = copy_of(from->touched, from->touched_cap, sizeof(*from->touched));
    ret->before = copy_of(from->before, from->before_cap, sizeof(*from->before));
    ret->firsts = copy_of(from->firsts, from->first_cap, sizeof(*from->firsts));
    ret->region_firsts.slots =
        copy_of(from->region_firsts.slots, from->region_firsts.cap, sizeof(struct td_map_slot));
    ret->indices = copy_of(from->indices, from->index_cap, sizeof(*from->indices));
    ret->cells = copy_of(from->cells, from->cap, sizeof(*from->cells));
}

void td_replicates_open(struct td_replicates *replicates)
{
    replicates->open = true;
    replicates->serial++;
    replicates->touched_count = replicates->before_count = 0;
}

void td_replicates_touch(struct td_replicates *replicates, const struct td_ledger *ledger,
                         uint32_t account, uint32_t insn_count)
{
    const size_t count = (size_t)insn_count * TD_ROW_CELLS;
    const struct td_account *from = &ledger->accounts[account];

    replicates->touched = td_grow(replicates->touched, &replicates->touched_cap,
                                  replicates->touched_count + 1, sizeof(*replicates->touched));
    replicates->before = td_grow(replicates->before, &replicates->before_cap,
                                 replicates->before_count + count, sizeof(*replicates->before));
    replicates->touched[replicates->touched_count++] = (struct td_replicate_touched){
        .account = account, .runs = from->runs, .lost = replicates->before_count};
    memcpy(replicates->before + replicates->before_count,
           ledger->cells + td_ledger_cell(from->row, (enum td_cause)0), count * sizeof(uint32_t));
    replicates->before_count += count;
}

/* Rows of a Hadamard matrix of order 16, so that among 16 windows one after another no two have
 * signs in common on balance; each 16 have the columns' signs changed at random. */
static void signs_of(uint32_t window, float ret[TD_REPLICATES])
{
    const uint64_t changed = td_hash_u64(window / TD_REPLICATES + 1);

    _Static_assert(TD_REPLICATES == 16, "the matrix is of this order");
    for (unsigned r = 0; r < TD_REPLICATES; r++) {
        const unsigned odd = (unsigned)__builtin_popcount(window % TD_REPLICATES & r);

        ret[r] = (odd ^ (unsigned)(changed >> r)) & 1 ? -1 : 1;
    }
}

static void add_signed(float sums[TD_REPLICATES], const float signs[TD_REPLICATES], float value)
{
    for (int r = 0; r < TD_REPLICATES; r++)
        sums[r] += signs[r] * value;
}

static uint32_t *first_of(struct td_replicates *replicates, uint32_t block, uint32_t region)
{
    if (region > 0)
        return td_map_put(&replicates->region_firsts, block, region, 0, NULL);
    replicates->firsts = td_grow_zeroed(replicates->firsts, &replicates->first_cap,
                                        (size_t)block + 1, sizeof(*replicates->firsts));
    return &replicates->firsts[block];
}

static size_t columns_of(const struct td_replicates *replicates)
{
    return replicates->whole ? 1 : TD_SIM_COLUMN_COUNT;
}

/* The indices of a block's cells in a region: of each instruction as many as it can have. */
static size_t indices_of(struct td_replicates *replicates, const struct td_block *block,
                         uint32_t region)
{
    uint32_t *first = first_of(replicates, block->id, region);

    if (*first)
        return *first - 1;
    const size_t at = replicates->index_count;

    replicates->index_count += block->insn_count * columns_of(replicates);
    replicates->indices = td_grow_zeroed(replicates->indices, &replicates->index_cap,
                                         replicates->index_count, sizeof(*replicates->indices));
    *first = (uint32_t)at + 1;
    return at;
}

/* To the instruction and column of `place`. */
static void add_value(struct td_replicates *replicates, size_t index,
                      const struct td_replicate_cell *place, uint32_t value,
                      const float signs[TD_REPLICATES])
{
    const uint32_t column = replicates->whole ? TD_SIM_ALL_SLOTS : place->column;
    uint32_t *cell = &replicates->indices[index + column];

    if (!*cell) {
        replicates->cells = td_grow(replicates->cells, &replicates->cap, replicates->count + 1,
                                    sizeof(*replicates->cells));
        replicates->cells[replicates->count] = *place;
        replicates->cells[replicates->count].column = column;
        *cell = (uint32_t)++replicates->count;
    }
    struct td_replicate_cell *to = &replicates->cells[*cell - 1];
    to->sum += (float)value;
    add_signed(to->signed_sums, signs, (float)value);
}

/* What an instruction had lost when the window ended, and when it began. */
struct lost {
    const uint32_t *now, *before; /* by cause */
};

static uint32_t all_lost(const struct lost *lost)
{
    uint32_t sum = 0;

    for (int cause = 0; cause < TD_CAUSE_COUNT; cause++)
        sum += lost->now[cause] - lost->before[cause];
    return sum;
}

static void add_columns(struct td_replicates *replicates, size_t index,
                        struct td_replicate_cell *place, const struct lost *lost,
                        const float signs[TD_REPLICATES])
{
    for (int cause = 0; cause < TD_CAUSE_COUNT; cause++) {
        place->column = (uint32_t)(TD_SIM_FIRST_CAUSE_COLUMN + cause);
        if (lost->now[cause] != lost->before[cause])
            add_value(replicates, index, place, lost->now[cause] - lost->before[cause], signs);
    }
}

static void add_account(struct td_replicates *replicates, const struct td_ledger *ledger,
                        const struct td_block *block, const struct td_replicate_touched *touched,
                        const float signs[TD_REPLICATES])
{
    const struct td_account *account = &ledger->accounts[touched->account];
    const uint32_t runs = (uint32_t)(account->runs - touched->runs);
    struct lost lost = {.now = ledger->cells + td_ledger_cell(account->row, (enum td_cause)0),
                        .before = replicates->before + touched->lost};
    struct td_replicate_cell place = {.region = td_spot_region(account->spot)};
    size_t index = indices_of(replicates, block, place.region);

    for (uint32_t i = 0; i < block->insn_count; i++) {
        const uint32_t retired = runs * block->insn_slots[i], sum = all_lost(&lost);
        const uint32_t first = replicates->whole ? retired + sum : retired;

        place.pc = block->pc + block->insn_offsets[i];
        place.column = (uint32_t)TD_SIM_FIRST_RETIRED_COLUMN + block->insn_retired[i];
        if (first)
            add_value(replicates, index, &place, first, signs);
        if (sum && !replicates->whole)
            add_columns(replicates, index, &place, &lost, signs);
        index += columns_of(replicates);
        lost.now += TD_ROW_CELLS;
        lost.before += TD_ROW_CELLS;
    }
}

void td_replicates_close(struct td_replicates *replicates, const struct td_ledger *ledger,
                         const struct td_blocks *blocks, uint64_t instructions)
{
    float signs[TD_REPLICATES];

    if (!replicates->open)
        return;
    replicates->open = false;
    signs_of(replicates->serial - 1, signs);
    for (size_t i = 0; i < replicates->touched_count; i++) {
        const struct td_replicate_touched *touched = &replicates->touched[i];

        add_account(replicates, ledger,
                    td_blocks_get(blocks, ledger->accounts[touched->account].block), touched,
                    signs);
    }
    replicates->part_windows++;
    replicates->sum += instructions;
    add_signed(replicates->signed_sums, signs, (float)instructions);
}

/* The present part's replicates of a cell: what its windows differ from the mean an instruction.
 * Of one window it is not known by how much it differs; it may be by all of it. Windows that have
 * weights have all they stand for in it, so that who reads it finds mean and number. */
static void replicate(const struct td_replicates *replicates, const struct td_replicate_cell *cell,
                      const struct td_scale *scale, double ret[TD_REPLICATES])
{
    const uint32_t n = replicates->part_windows;
    /* Their mean is taken from the same windows. */
    const double mean = n > 1 ? sqrt((double)n / (n - 1)) : 1;
    const double widen = scale->weighed ? 1 : mean * td_windows_widening(n) / TD_REPLICATES_T;

    for (int r = 0; r < TD_REPLICATES; r++)
        ret[r] = cell->settled[r];
    if (n == 0 || replicates->sum == 0 || scale->all || scale->seen == 0)
        return;
    /* What was seen stands for itself, too. */
    const uint64_t unseen = scale->weighed ? scale->whole : scale->whole - scale->seen;
    const double factor = (double)unseen / (double)scale->seen * widen;
    const double ratio = n == 1 || scale->weighed ? 0 : (double)cell->sum / (double)replicates->sum;
    for (int r = 0; r < TD_REPLICATES; r++)
        ret[r] +=
            factor * ((double)cell->signed_sums[r] - ratio * (double)replicates->signed_sums[r]);
}

void td_replicates_settle(struct td_replicates *replicates, const struct td_scale *scale)
{
    double now[TD_REPLICATES];

    for (size_t i = 0; i < replicates->count; i++) {
        struct td_replicate_cell *cell = &replicates->cells[i];

        replicate(replicates, cell, scale, now);
        for (int r = 0; r < TD_REPLICATES; r++) {
            cell->settled[r] = (float)now[r];
            cell->signed_sums[r] = 0;
        }
        cell->sum = 0;
    }
    replicates->part_windows = 0;
    replicates->sum = 0;
    memset(replicates->signed_sums, 0, sizeof(replicates->signed_sums));
}

bool td_replicates_of(const struct td_replicates *replicates, const struct td_replicate_cell *cell,
                      const struct td_scale *scale, int64_t ret[TD_REPLICATES])
{
    double now[TD_REPLICATES];
    bool any = false;

    replicate(replicates, cell, scale, now);
    for (int r = 0; r < TD_REPLICATES; r++) {
        ret[r] = llround(now[r]);
        any = any || ret[r] != 0;
    }
    return any;
}
