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
    free(ledger->settled_lost);
    free(ledger->settled_runs);
    td_map_release(&ledger->by_place);
    td_map_release(&ledger->carries);
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

static uint32_t find_account(struct td_ledger *ledger, uint32_t node, uint32_t block,
                             uint32_t insn_count)
{
    bool added;
    const uint32_t *place =
        td_map_put(&ledger->by_place, node, block, (uint32_t)ledger->account_count, &added);

    if (!added)
        return *place;
    ledger->accounts = td_grow(ledger->accounts, &ledger->account_cap, ledger->account_count + 1,
                               sizeof(*ledger->accounts));
    ledger->accounts[ledger->account_count] =
        (struct td_account){.node = node, .block = block, .row = add_rows(ledger, insn_count)};
    return (uint32_t)ledger->account_count++;
}

uint32_t td_ledger_account(struct td_ledger *ledger, uint32_t node, uint32_t block,
                           uint32_t insn_count)
{
    const uint32_t hash = block ^ node * 0x9e3779b1U;
    struct td_account_memo *memo = &ledger->memos[(hash ^ hash >> 16) & (TD_ACCOUNT_MEMOS - 1)];

    if (!memo->account || memo->node != node || memo->block != block)
        *memo = (struct td_account_memo){
            .node = node,
            .block = block,
            .account = find_account(ledger, node, block, insn_count) + 1,
        };
    return memo->account - 1;
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

static void settle_lost(struct td_ledger *ledger, const struct td_scale *scale)
{
    const size_t count = ledger->row_count * TD_ROW_CELLS;
    uint64_t sum = 0;

    ledger->settled_lost = td_grow_zeroed(ledger->settled_lost, &ledger->settled_cell_cap, count,
                                          sizeof(*ledger->settled_lost));
    for (size_t i = 0; i < count; i++) {
        const uint64_t lost =
            td_ledger_lost(ledger, (uint32_t)(i / TD_ROW_CELLS), td_ledger_cause((uint32_t)i));
        ledger->settled_lost[i] += td_scale_add(scale, &sum, lost);
    }
    ledger->settled_cells = count;
    if (count > 0)
        memset(ledger->cells, 0, count * sizeof(*ledger->cells));
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

uint64_t td_ledger_settled_lost(const struct td_ledger *ledger, uint32_t row, enum td_cause cause)
{
    const uint32_t cell = td_ledger_cell(row, cause);

    return cell < ledger->settled_cells ? ledger->settled_lost[cell] : 0;
}
