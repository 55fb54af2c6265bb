/* SPDX-License-Identifier: MIT */
/* The ledger as tallies: retired and lost slots of each instruction on each path. */
#include <stdlib.h>

#include "base/mem.h"
#include "record/sim/sim_priv.h"

enum { FIRST_CAUSE_COLUMN = TD_SIM_COLUMN_MISPREDICT };
_Static_assert(TD_SIM_COLUMN_COUNT - TD_SIM_COLUMN_MISPREDICT == TD_CAUSE_COUNT,
               "each cause is a column, in the same order");

struct gather {
    struct td_sim_tally *tallies;
    size_t count, cap;
    struct td_map ids; /* (path, pc) to tally */
};

static struct td_sim_tally *tally_of(struct gather *gather, uint32_t path, uint64_t pc)
{
    bool added;
    const uint32_t *place = td_map_put(&gather->ids, path, pc, (uint32_t)gather->count, &added);

    if (!added)
        return &gather->tallies[*place];
    gather->tallies =
        td_grow(gather->tallies, &gather->cap, gather->count + 1, sizeof(*gather->tallies));
    gather->tallies[gather->count] = (struct td_sim_tally){.path = path, .pc = pc};
    return &gather->tallies[gather->count++];
}

static void add_account(const struct td_sim *sim, const struct td_account *account,
                        struct gather *gather)
{
    const struct td_block *block = td_blocks_get(sim->blocks, account->block);

    for (uint32_t i = 0; i < block->insn_count; i++) {
        struct td_sim_tally *tally =
            tally_of(gather, account->node, block->pc + block->insn_offsets[i]);
        const enum td_sim_column retired =
            block->insn_heavy[i] ? TD_SIM_COLUMN_HEAVY : TD_SIM_COLUMN_LIGHT;
        tally->runs += account->runs;
        tally->values[TD_SIM_COLUMN_INSTRUCTIONS] += account->runs;
        tally->values[retired] += account->runs * block->insn_slots[i];
        for (int cause = 0; cause < TD_CAUSE_COUNT; cause++)
            tally->values[FIRST_CAUSE_COLUMN + cause] +=
                td_ledger_lost(&sim->ledger, account->row + i, (enum td_cause)cause);
    }
}

void td_sim_each_tally(const struct td_sim *sim, td_sim_tally_fn *fn, void *ctx)
{
    struct gather gather = {.tallies = NULL};
    uint64_t slots = 0;

    for (size_t i = 0; i < sim->ledger.account_count; i++)
        add_account(sim, &sim->ledger.accounts[i], &gather);
    for (size_t i = 0; i < gather.count; i++) {
        struct td_sim_tally *tally = &gather.tallies[i];
        const uint64_t before = slots / sim->core.width;
        for (int c = TD_SIM_COLUMN_LIGHT; c < TD_SIM_COLUMN_COUNT; c++)
            slots += tally->values[c];
        /* Rounded so that the tallies' cycles add up to the total's. */
        tally->values[TD_SIM_COLUMN_CYCLES] = slots / sim->core.width - before;
        fn(ctx, tally);
    }
    td_map_release(&gather.ids);
    free(gather.tallies);
}
