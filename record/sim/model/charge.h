/* SPDX-License-Identifier: MIT */
/*
 * The ledger of one thread: for each block on each call path (and in each region) how often it ran,
 * and for each of its instructions the slots lost to each cause. What retired follows from how
 * often it ran.
 */
#ifndef TD_RECORD_SIM_MODEL_CHARGE_H
#define TD_RECORD_SIM_MODEL_CHARGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"
#include "base/map.h"
#include "record/sim/model/causes.h"
#include "record/sim/model/sampling/windows.h"
#include "record/sim/model/settled.h"

/* What an account is of: a call path (below), and the region in which it was taken (above). */
enum { TD_SPOT_PATH_BITS = 18 };
static inline uint32_t td_spot(uint32_t path, uint32_t region)
{
    return path | region << TD_SPOT_PATH_BITS;
}
static inline uint32_t td_spot_path(uint32_t spot)
{
    return spot & ((1U << TD_SPOT_PATH_BITS) - 1);
}
static inline uint32_t td_spot_region(uint32_t spot)
{
    return spot >> TD_SPOT_PATH_BITS;
}

/* One block on one call path, in one region. */
struct td_account {
    uint32_t spot, block;
    uint32_t row;    /* of its first instruction */
    uint32_t window; /* the last in which it ran (replicates.h) */
    uint64_t runs;
};

/* The accounts found last, by hash of their place: the map is far larger than the caches. */
struct td_account_memo {
    uint32_t spot, block;
    uint32_t account; /* plus 1; 0: empty */
};

enum { TD_ACCOUNT_MEMOS = 4096 };

typedef void td_ledger_meet_fn(void *ctx, uint32_t account, uint32_t insn_count);

struct td_ledger {
    uint32_t mask; /* all ones while slots are charged, 0 while they are not */
    struct td_account *accounts;
    size_t account_count, account_cap;
    struct td_map by_place; /* (spot, block) to account */
    uint32_t *cells;        /* td_ledger_cell, modulo 2^32 */
    size_t row_count, row_cap;
    struct td_map carries; /* cell to the multiples of 2^32 */
    /* What td_ledger_settle has taken out of the cells and accounts: of the first so many. */
    struct td_settled settled_lost;
    uint64_t *settled_runs;
    size_t settled_accounts, settled_account_cap;
    uint64_t *lost; /* by cause, for the PMU or regions; NULL: nobody asks */
    /* Of programs with regions: slots of an instruction that are lost in another region than it ran
     * in are lost in that one. */
    bool has_regions;
    uint32_t region;       /* the innermost, plus 1; 0: none */
    uint16_t *row_regions; /* of each row: the region of its account */
    size_t row_region_cap;
    td_ledger_meet_fn *meet; /* before something is charged to an account that another ran in */
    void *meet_ctx;
    struct td_account_memo memos[TD_ACCOUNT_MEMOS];
};

void td_ledger_init(struct td_ledger *ledger);
void td_ledger_release(struct td_ledger *ledger);
/* The account of the block on the path, in the region of now; a new one is empty. */
uint32_t td_ledger_account(struct td_ledger *ledger, uint32_t spot, uint32_t block,
                           uint32_t insn_count);
/* The account of a row. */
uint32_t td_ledger_account_of(const struct td_ledger *ledger, uint32_t row);
/* Regions are told apart from now on: `ledger->region` is to be set. */
void td_ledger_keep_regions(struct td_ledger *ledger, td_ledger_meet_fn *meet, void *ctx);
/* Slots are charged that somebody else counts, too: the cell to which they go. */
uint32_t td_ledger_count(struct td_ledger *ledger, uint32_t cell, uint64_t slots);
void td_ledger_carry(struct td_ledger *ledger, uint32_t cell);
/* Slots lost since the last settlement. */
uint64_t td_ledger_lost(const struct td_ledger *ledger, uint32_t row, enum td_cause cause);

/* What was charged since the last settlement is settled: scaled, it stands for a part that is over,
 * and all accounts begin again. */
void td_ledger_settle(struct td_ledger *ledger, const struct td_scale *scale);
/* What is settled of an account's runs. */
uint64_t td_ledger_settled_runs(const struct td_ledger *ledger, uint32_t account);

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
    const uint32_t add = (uint32_t)slots & ledger->mask;

    if (TD_UNLIKELY(ledger->lost != NULL))
        cell = td_ledger_count(ledger, cell, slots);
    uint32_t *place = &ledger->cells[cell];
    *place += add;
    if (TD_UNLIKELY(*place < add))
        td_ledger_carry(ledger, cell);
}

#endif
