/* SPDX-License-Identifier: MIT */
#include "record/sim/model/charge.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void td_ledger_init(struct td_ledger *ledger)
{
    memset(ledger, 0, sizeof(*ledger));
    ledger->mask = UINT32_MAX;
}

void td_ledger_release(struct td_ledger *ledger)
{
    free(ledger->accounts);
    free(ledger->cells);
    td_settled_release(&ledger->settled_lost);
    free(ledger->settled_runs);
    td_map_release(&ledger->by_place);
    td_map_release(&ledger->carries);
    free(ledger->row_regions);
    memset(ledger, 0, sizeof(*ledger));
}

static uint32_t add_rows(struct td_ledger *ledger, uint32_t count)
{
    const size_t first = ledger->row_count, row_bytes = TD_ROW_CELLS * sizeof(uint32_t);

    ledger->cells = td_grow(ledger->cells, &ledger->row_cap, first + count, row_bytes);
    memset(ledger->cells + first * TD_ROW_CELLS, 0, count * row_bytes);
    ledger->row_count += count;
    return (uint32_t)first;
}

/* Those of accounts before the first region are of none. */
static void note_region(struct td_ledger *ledger, uint32_t region, uint32_t row, uint32_t count)
{
    ledger->row_regions = td_grow_zeroed(ledger->row_regions, &ledger->row_region_cap,
                                         (size_t)row + count, sizeof(*ledger->row_regions));
    for (uint32_t i = 0; i < count; i++)
        ledger->row_regions[row + i] = (uint16_t)region;
}

static uint32_t find_account(struct td_ledger *ledger, uint32_t spot, uint32_t block,
                             uint32_t insn_count)
{
    bool added;
    const uint32_t *place =
        td_map_put(&ledger->by_place, spot, block, (uint32_t)ledger->account_count, &added);

    if (!added)
        return *place;
    ledger->accounts = td_grow(ledger->accounts, &ledger->account_cap, ledger->account_count + 1,
                               sizeof(*ledger->accounts));
    const uint32_t row = add_rows(ledger, insn_count);
    ledger->accounts[ledger->account_count] =
        (struct td_account){.spot = spot, .block = block, .row = row};
    if (ledger->has_regions)
        note_region(ledger, td_spot_region(spot), row, insn_count);
    return (uint32_t)ledger->account_count++;
}

uint32_t td_ledger_account(struct td_ledger *ledger, uint32_t spot, uint32_t block,
                           uint32_t insn_count)
{
    const uint32_t hash = block ^ spot * 0x9e3779b1U;
    struct td_account_memo *memo = &ledger->memos[(hash ^ hash >> 16) & (TD_ACCOUNT_MEMOS - 1)];

    if (!memo->account || memo->spot != spot || memo->block != block)
        *memo = (struct td_account_memo){
            .spot = spot,
            .block = block,
            .account = find_account(ledger, spot, block, insn_count) + 1,
        };
    return memo->account - 1;
}

/* Rows rise with the accounts. */
uint32_t td_ledger_account_of(const struct td_ledger *ledger, uint32_t row)
{
    size_t from = 0, to = ledger->account_count;

    while (from + 1 < to) {
        const size_t middle = from + (to - from) / 2;

        if (ledger->accounts[middle].row <= row)
            from = middle;
        else
            to = middle;
    }
    return (uint32_t)from;
}

void td_ledger_keep_regions(struct td_ledger *ledger, td_ledger_meet_fn *meet, void *ctx)
{
    ledger->has_regions = true;
    ledger->meet = meet;
    ledger->meet_ctx = ctx;
    note_region(ledger, 0, (uint32_t)ledger->row_count, 0);
}

/* The same instruction on the same path, in the region of now. */
static uint32_t move_cell(struct td_ledger *ledger, uint32_t cell)
{
    const uint32_t row = cell >> TD_CELL_BITS, from = td_ledger_account_of(ledger, row);
    const struct td_account was = ledger->accounts[from];
    const size_t end =
        from + 1 < ledger->account_count ? ledger->accounts[from + 1].row : ledger->row_count;
    const uint32_t insn_count = (uint32_t)end - was.row;
    const uint32_t to = td_ledger_account(ledger, td_spot(td_spot_path(was.spot), ledger->region),
                                          was.block, insn_count);

    ledger->meet(ledger->meet_ctx, to, insn_count);
    return td_ledger_cell(ledger->accounts[to].row + (row - was.row), td_ledger_cause(cell));
}

uint32_t td_ledger_count(struct td_ledger *ledger, uint32_t cell, uint64_t slots)
{
    if (!ledger->mask)
        return cell;
    ledger->lost[td_ledger_cause(cell)] += slots;
    if (!ledger->has_regions || ledger->row_regions[cell >> TD_CELL_BITS] == ledger->region)
        return cell;
    return move_cell(ledger, cell);
}

void td_ledger_carry(struct td_ledger *ledger, uint32_t cell)
{
    ++*td_map_put(&ledger->carries, cell, 0, 0, NULL);
}

uint64_t td_ledger_lost(const struct td_ledger *ledger, uint32_t row, enum td_cause cause)
{
    const uint32_t cell = td_ledger_cell(row, cause);
    const uint32_t *carry = ledger->carries.len ? td_map_find(&ledger->carries, cell, 0) : NULL;

    return (uint64_t)(carry ? *carry : 0) << 32 | ledger->cells[cell];
}

/* Whether nothing was lost in the row since the last settlement. */
static bool is_clear(const struct td_ledger *ledger, uint32_t row)
{
    const uint32_t *cells = &ledger->cells[(size_t)row * TD_ROW_CELLS];
    uint32_t any = 0;

    for (int i = 0; i < TD_ROW_CELLS; i++)
        any |= cells[i];
    return any == 0 && ledger->carries.len == 0;
}

static void settle_row(struct td_ledger *ledger, uint32_t row, const struct td_scale *scale,
                       uint64_t *sum, struct td_settled *next)
{
    if (is_clear(ledger, row)) {
        td_settled_copy_row(next, &ledger->settled_lost, row);
        return;
    }
    uint64_t slots[TD_CAUSE_COUNT] = {0};
    td_settled_add_to(&ledger->settled_lost, row, slots);
    for (int c = 0; c < TD_CAUSE_COUNT; c++)
        slots[c] += td_scale_add(scale, sum, td_ledger_lost(ledger, row, (enum td_cause)c));
    memset(&ledger->cells[(size_t)row * TD_ROW_CELLS], 0, TD_ROW_CELLS * sizeof(*ledger->cells));
    td_settled_add_row(next, slots);
}

static void settle_lost(struct td_ledger *ledger, const struct td_scale *scale)
{
    struct td_settled next = {.ends = NULL};
    uint64_t sum = 0;

    for (size_t row = 0; row < ledger->row_count; row++)
        settle_row(ledger, (uint32_t)row, scale, &sum, &next);
    td_settled_release(&ledger->settled_lost);
    ledger->settled_lost = next;
    td_map_release(&ledger->carries);
}

void td_ledger_settle(struct td_ledger *ledger, const struct td_scale *scale)
{
    const size_t count = ledger->account_count;
    uint64_t sum = 0;

    settle_lost(ledger, scale);
    ledger->settled_runs = td_grow_zeroed(ledger->settled_runs, &ledger->settled_account_cap, count,
                                          sizeof(*ledger->settled_runs));
    for (size_t i = 0; i < count; i++) {
        ledger->settled_runs[i] += td_scale_add(scale, &sum, ledger->accounts[i].runs);
        ledger->accounts[i].runs = 0;
    }
    ledger->settled_accounts = count;
}

uint64_t td_ledger_settled_runs(const struct td_ledger *ledger, uint32_t account)
{
    return account < ledger->settled_accounts ? ledger->settled_runs[account] : 0;
}
