/* SPDX-License-Identifier: MIT */
/*
 * The ledger of one thread: for each block on each call path how often it ran, and for each of its
 * instructions the slots lost to each cause. What retired follows from how often it ran.
 */
#ifndef TD_RECORD_SIM_MODEL_CHARGE_H
#define TD_RECORD_SIM_MODEL_CHARGE_H

#include <stdint.h>

#include "base/likely.h"
#include "base/map.h"
#include "record/sim/model/causes.h"
#include "record/sim/model/sampling/windows.h"

/* One block on one call path. */
struct td_account {
    uint32_t node, block;
    uint32_t row;    /* of its first instruction */
    uint32_t window; /* the last in which it ran (replicates.h) */
    uint64_t runs;
};

/* The accounts found last, by hash of their place: the map is far larger than the caches. */
struct td_account_memo {
    uint32_t node, block;
    uint32_t account; /* plus 1; 0: empty */
};

enum { TD_ACCOUNT_MEMOS = 4096 };

struct td_ledger {
    uint32_t mask; /* all ones while slots are charged, 0 while they are not */
    struct td_account *accounts;
    size_t account_count, account_cap;
    struct td_map by_place; /* (node, block) to account */
    uint32_t *cells;        /* td_ledger_cell, modulo 2^32 */
    size_t row_count, row_cap;
    struct td_map carries; /* cell to the multiples of 2^32 */
    /* What td_ledger_settle has taken out of the cells and accounts: of the first so many. */
    uint64_t *settled_lost, *settled_runs;
    size_t settled_cells, settled_cell_cap, settled_accounts, settled_account_cap;
    uint64_t *lost; /* by cause, for the PMU or regions; NULL: nobody asks */
    struct td_account_memo memos[TD_ACCOUNT_MEMOS];
};

void td_ledger_init(struct td_ledger *ledger);
void td_ledger_release(struct td_ledger *ledger);
/* The account of the block on the path; a new one is empty. */
uint32_t td_ledger_account(struct td_ledger *ledger, uint32_t node, uint32_t block,
                           uint32_t insn_count);
void td_ledger_carry(struct td_ledger *ledger, uint32_t cell);
/* Slots lost since the last settlement. */
uint64_t td_ledger_lost(const struct td_ledger *ledger, uint32_t row, enum td_cause cause);

/* What was charged since the last settlement is settled: scaled, it stands for a part that is over,
 * and all accounts begin again. */
void td_ledger_settle(struct td_ledger *ledger, const struct td_scale *scale);
/* What is settled of an account's runs, of a cell's slots. */
uint64_t td_ledger_settled_runs(const struct td_ledger *ledger, uint32_t account);
uint64_t td_ledger_settled_lost(const struct td_ledger *ledger, uint32_t row, enum td_cause cause);

static inline uint32_t td_ledger_cell(uint32_t row, enum td_cause cause)
{
    return row << TD_CELL_BITS | (uint32_t)cause;
}

static inline enum td_cause td_ledger_cause(uint32_t cell)
{
    return (enum td_cause)(cell & (TD_ROW_CELLS - 1));
}

static inline void td_ledger_charge(struct td_ledger *ledger, uint32_t cell, uint64_t slots)
{
    uint32_t *place = &ledger->cells[cell];
    const uint32_t add = (uint32_t)slots & ledger->mask;

    *place += add;
    if (TD_UNLIKELY(*place < add))
        td_ledger_carry(ledger, cell);
    if (TD_UNLIKELY(ledger->lost != NULL))
        ledger->lost[td_ledger_cause(cell)] += ledger->mask ? slots : 0;
}

#endif
