/* SPDX-License-Identifier: MIT */
#include "record/sim/model/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/likely.h"
#include "base/mem.h"
#include "record/sim/model/pmu.h"
#include "record/sim/model/sim_priv.h"

_Static_assert(TD_SIM_DEPTH_MAX == TD_CALL_DEPTH_MAX, "paths are as deep as sim.h says");
_Static_assert(TD_CALL_NODES_MAX <= 1U << TD_SPOT_PATH_BITS &&
                   TD_SIM_REGIONS_MAX + 2 <= 1U << (32 - TD_SPOT_PATH_BITS),
               "a spot has room for the path and the region");

#define ODD_OUTCOMES \
    (TD_TRACE_WRONG | TD_TRACE_LATE | TD_TRACE_TARGET_LATE | TD_TRACE_TARGET_UNKNOWN)

/* Habits are watched in the first so many blocks, then in a part of what follows, in a row each: a
 * stride or a period is seen in what comes one after the other. So they cost some percent. */
enum {
    WATCHED_FIRST = 1 << 21,
    WATCHED = 1 << 14,
    WATCHED_PART = 8,
    WATCHED_AFTER = 512, /* runs of a block: it begins to be hot, and what it does is watched */
};

static void watch(struct td_sim *sim, bool watching, uint32_t blocks)
{
    sim->watch_left = blocks;
    if (sim->bare)
        return;
    sim->watching = watching;
    td_lines_watch(sim->usage->lines, watching);
    if (watching)
        td_outcomes_restart(sim->turns);
}

static void watch_next(struct td_sim *sim)
{
    if (sim->watching)
        watch(sim, false, WATCHED * (WATCHED_PART - 1));
    else
        watch(sim, true, WATCHED);
}

struct td_sim *td_sim_new(const struct td_blocks *blocks, struct td_llc *llc)
{
    struct td_sim *sim = td_xcalloc(1, sizeof(*sim));

    sim->blocks = blocks;
    sim->desc = td_blocks_desc(blocks);
    sim->link = td_blocks_link(blocks);
    sim->outcomes = sim->desc->perfect & TD_PERFECT_BRANCHES ? ~ODD_OUTCOMES : UINT64_MAX;
    td_ledger_init(&sim->ledger);
    td_windows_open(&sim->windows, 0, 0);
    td_core_init(&sim->core, sim->desc, td_blocks_ports(blocks), &sim->ledger);
    td_fetch_init(&sim->fetch, sim->desc);
    td_predictor_init(&sim->predictor, blocks);
    td_memory_init(&sim->memory, sim->desc, llc);
    sim->usage = td_usage_new(td_cache_slots(&sim->memory.l1d), sim->memory.l1d.ways);
    sim->memory.lines = sim->usage->lines;
    sim->turns = td_outcomes_new();
    watch(sim, true, WATCHED_FIRST);
    td_callstack_init(&sim->calls);
    return sim;
}

void td_sim_free(struct td_sim *sim)
{
    if (!sim)
        return;
    td_callstack_release(&sim->calls);
    td_memory_release(&sim->memory);
    td_usage_free(sim->usage);
    td_outcomes_free(sim->turns);
    td_wrong_path_release(&sim->wrong_path);
    td_predictor_release(&sim->predictor);
    td_warming_free(sim->warming);
    td_fetch_release(&sim->fetch);
    td_ledger_release(&sim->ledger);
    td_replicates_release(&sim->replicates);
    td_flow_release(&sim->flow);
    td_sim_pmu_free(sim->pmu);
    td_sim_regions_free(sim->regions);
    td_counting_free(sim->counting);
    free(sim->states);
    free(sim);
}

void td_sim_set_pmu(struct td_sim *sim, struct td_sim_pmu *pmu)
{
    sim->pmu = pmu;
    sim->followed = true;
    sim->ledger.lost = td_sim_pmu_lost(pmu);
}

void td_sim_set_bare(struct td_sim *sim)
{
    sim->bare = true;
    sim->replicates.whole = true;
    sim->watching = false;
    sim->memory.lines = NULL;
}

void td_sim_set_counting(struct td_sim *sim)
{
    sim->counting = sim->core.counting = td_counting_new();
    sim->followed = true;
}

void td_sim_counting(const struct td_sim *sim, uint64_t ret[TD_CPI_COUNTS])
{
    memset(ret, 0, TD_CPI_COUNTS * sizeof(*ret));
    if (sim->counting)
        td_counting_result(sim->counting, sim, ret);
}

static inline struct td_block_state *state_of(struct td_sim *sim, uint32_t id)
{
    if (TD_UNLIKELY(id >= sim->state_cap))
        sim->states =
            td_grow_zeroed(sim->states, &sim->state_cap, (size_t)id + 1, sizeof(*sim->states));
    struct td_block_state *state = &sim->states[id];
    if (TD_UNLIKELY(!state->block))
        state->block = td_blocks_get(sim->blocks, id);
    return state;
}

/* A mispredicted branch: fetch restarts when it has executed. */
static void mispredict(struct td_sim *sim, const struct td_block *block)
{
    const struct td_core_desc *desc = sim->desc;

    sim->redirect = (struct td_redirect){.pending = true,
                                         .cause = TD_CAUSE_MISPREDICT,
                                         .row = sim->last_row + block->branch_insn,
                                         .resolved = sim->branch_done,
                                         .recovery = desc->refill - desc->resteer,
                                         .refill = desc->refill};
    td_fetch_redirect(&sim->fetch, sim->branch_done, desc->refill);
}

static void lose_stack_pointer(struct td_sim *sim)
{
    sim->stack_pointer = 0;
    sim->stack_moved = 0;
    sim->stack_since = TD_STACK_LOST;
}

/* A jump after the stack pointer was set to something: perhaps longjmp or an exception. */
static void follow_unwinding(struct td_sim *sim, uint64_t next)
{
    td_callstack_unwind(&sim->calls, next);
    sim->stack_since = TD_STACK_UNWOUND;
}

/* Calls that leave the return address in a register: the stack pointer stands for its place. */
static void follow_links(struct td_sim *sim, const struct td_block *block, uint64_t next)
{
    const bool lost = block->sp_effect == TD_SP_LOST;

    if (td_block_calls(block)) {
        td_callstack_call(&sim->calls, sim->stack_pointer, td_block_place(block, block->end));
        sim->stack_moved = 0;
        sim->stack_since = TD_STACK_CALLED;
    } else if (block->branch == TD_BRANCH_RETURN) {
        if (td_callstack_return_to(&sim->calls, next, &sim->stack_pointer)) {
            sim->stack_since = TD_STACK_LOST;
            return;
        }
        lose_stack_pointer(sim);
        if (lost)
            follow_unwinding(sim, next);
    } else if (block->branch == TD_BRANCH_INDIRECT_JUMP && lost) {
        follow_unwinding(sim, next);
    }
}

static void follow_calls(struct td_sim *sim, const struct td_block *block, uint64_t next)
{
    if (sim->bare)
        return;
    if (sim->link) {
        follow_links(sim, block, next);
    } else if (td_block_calls(block)) {
        td_callstack_call(&sim->calls, sim->stack_place, td_block_place(block, block->end));
    } else if (block->branch == TD_BRANCH_RETURN) {
        td_callstack_return(&sim->calls, sim->stack_place);
    }
}

/* A target that the buffer has late, or not at all, costs the front end. */
static void wait_for_target(struct td_sim *sim, const struct td_block *block, uint64_t outcome)
{
    if (outcome & TD_TRACE_TARGET_LATE) {
        td_fetch_delay(&sim->fetch, sim->desc->btb2_delay, false);
        return;
    }
    td_fetch_delay(&sim->fetch, sim->desc->unknown, true);
    if (!sim->redirect.pending)
        sim->redirect = (struct td_redirect){.pending = true,
                                             .cause = TD_CAUSE_RESTEER,
                                             .row = sim->last_row + block->branch_insn,
                                             .resolved = sim->core.cycle,
                                             .refill = sim->desc->unknown};
}

static bool is_indirect(const struct td_block *block)
{
    return block->branch == TD_BRANCH_INDIRECT_JUMP || block->branch == TD_BRANCH_INDIRECT_CALL;
}

static inline void count_branch(struct td_sim *sim, const struct td_block *block, uint64_t outcome)
{
    sim->branches++;
    if (!(outcome & ODD_OUTCOMES))
        return;
    sim->unknown_targets += (outcome & TD_TRACE_TARGET_UNKNOWN) != 0;
    if (outcome & TD_TRACE_WRONG) {
        sim->mispredicts++;
        sim->indirect_mispredicts += is_indirect(block);
    }
}

/* What the front end loses to the last block's branch, which came out as the predictors noted. */
static void pay_for_branch(struct td_sim *sim, const struct td_block *block, uint64_t outcome)
{
    const struct td_core_desc *desc = sim->desc;

    if (outcome & TD_TRACE_WRONG) {
        mispredict(sim, block);
        if (sim->pmu)
            td_sim_pmu_mispredict(sim->pmu, sim, block->branch_pc);
        return;
    }
    if (outcome & TD_TRACE_LATE)
        td_fetch_delay(&sim->fetch,
                       block->branch == TD_BRANCH_CONDITIONAL ? desc->override_delay
                                                              : desc->indirect_delay,
                       false);
    if (outcome & (TD_TRACE_TARGET_LATE | TD_TRACE_TARGET_UNKNOWN))
        wait_for_target(sim, block, outcome);
}

/* How the branch went, where it could have gone another way. */
static inline void note_outcome(struct td_sim *sim, const struct td_block *block, uint64_t outcome,
                                uint64_t next)
{
    const bool conditional = block->branch == TD_BRANCH_CONDITIONAL;

    if (sim->watching && (conditional || is_indirect(block)))
        td_outcomes_note(sim->turns,
                         &(struct td_outcome){.place = td_block_place(block, block->branch_pc),
                                              .conditional = conditional,
                                              .taken = (outcome & TD_TRACE_TAKEN) != 0,
                                              .wrong = (outcome & TD_TRACE_WRONG) != 0,
                                              .target = next});
}

static bool calls_through_memory(const struct td_block *block)
{
    return block->branch == TD_BRANCH_INDIRECT_CALL &&
           block->uops[block->uop_count - 1].flags & TD_UOP_LOAD;
}

/* Prediction of what is no direct jump takes more time. */
static void slow_prediction(struct td_sim *sim, const struct td_block *block,
                            const struct td_block *next)
{
    const bool calls = td_block_calls(block);

    if (calls)
        td_fetch_delay(&sim->fetch, sim->desc->call_delay, false);
    else if (block->branch == TD_BRANCH_RETURN)
        td_fetch_delay(&sim->fetch, sim->desc->return_delay, false);
    if (calls && sim->desc->call_ends_group && sim->core.used &&
        !(sim->desc->perfect & TD_PERFECT_FRONTEND))
        td_core_lose(&sim->core, sim->core.cycle + 1,
                     td_ledger_cell(sim->last_row + block->branch_insn, TD_CAUSE_UOP_CACHE));
    if (!is_indirect(block))
        return;
    td_fetch_slow(&sim->fetch, sim->desc->indirect_block);
    if (sim->desc->call_waits && calls_through_memory(block))
        td_fetch_wait(&sim->fetch, sim->core.cycle + 1);
    if (block->own != next->own)
        td_fetch_delay(&sim->fetch, sim->desc->far_delay, false);
}

/* Resolves the last block's branch, now that `next` is known, unless that was done when the mode
 * changed. */
static void resolve(struct td_sim *sim, uint64_t outcome, const struct td_block *next)
{
    const struct td_block *block = sim->last;

    if (!(outcome & TD_TRACE_RESOLVED) || !block)
        return;
    count_branch(sim, block, outcome);
    note_outcome(sim, block, outcome, next->pc);
    if (outcome & ODD_OUTCOMES)
        pay_for_branch(sim, block, outcome);
    if (!block->plain)
        slow_prediction(sim, block, next);
    if (outcome & TD_TRACE_TAKEN)
        td_fetch_taken(&sim->fetch, block->branch_pc, block->end,
                       block->branch == TD_BRANCH_CONDITIONAL || block->branch == TD_BRANCH_JUMP);
    if (!block->plain)
        follow_calls(sim, block, next->place);
}

/* The same where no time passes. */
static void resolve_warm(struct td_sim *sim, uint64_t outcome, uint64_t next)
{
    if (outcome & TD_TRACE_RESOLVED && sim->last && !sim->last->plain)
        follow_calls(sim, sim->last, next);
}

/* The stack pointer is known again, at the end of the block. */
static void find_stack_pointer(struct td_sim *sim, const struct td_block *block, uint64_t place)
{
    /* When it was lost, or at the call: the place of calls from there. */
    const uint64_t entered = place - (uint64_t)(sim->stack_moved + block->sp_moved);

    sim->stack_pointer = place;
    if (block->sp_lost || sim->stack_since == TD_STACK_LOST)
        td_callstack_seen(&sim->calls, place - 1);
    else if (sim->stack_since == TD_STACK_CALLED)
        td_callstack_found(&sim->calls, entered);
    else
        td_callstack_seen(&sim->calls, entered);
}

/* The stack pointer after the block whose accesses are `words`. */
static void follow_stack_pointer(struct td_sim *sim, const struct td_block *block,
                                 const uint64_t *words, const uint64_t *end)
{
    if (block->sp_effect == TD_SP_MOVED) {
        if (sim->stack_pointer)
            sim->stack_pointer += (uint64_t)(int64_t)block->sp_moved;
        else
            sim->stack_moved += block->sp_moved;
        return;
    }
    while (words < end && TD_TRACE_KEY(*words) != block->sp_key)
        words++;
    if (block->sp_effect == TD_SP_LOST || words == end) {
        lose_stack_pointer(sim);
        return;
    }
    const uint64_t place = TD_TRACE_ADDRESS(*words) + (uint64_t)(int64_t)block->sp_offset;
    if (sim->stack_pointer)
        sim->stack_pointer = place;
    else
        find_stack_pointer(sim, block, place);
}

static struct td_account *account_of(struct td_sim *sim, const struct td_block *block,
                                     struct td_block_state *state)
{
    const uint32_t spot = td_spot(td_callstack_keeper(&sim->calls), sim->ledger.region);

    if (!state->charged || state->spot != spot) {
        state->account = td_ledger_account(&sim->ledger, spot, block->id, block->insn_count);
        state->spot = spot;
        state->charged = true;
    }
    return &sim->ledger.accounts[state->account];
}

/* Before the window's first run of the account, or charge to it. */
static inline void meet_account(struct td_sim *sim, uint32_t index, uint32_t insn_count)
{
    struct td_account *account = &sim->ledger.accounts[index];

    if (TD_UNLIKELY(account->window != sim->replicates.serial)) {
        account->window = sim->replicates.serial;
        td_replicates_touch(&sim->replicates, &sim->ledger, index, insn_count);
    }
}

static void meet_other_account(void *ctx, uint32_t index, uint32_t insn_count)
{
    meet_account(ctx, index, insn_count);
}

/* Whether the mispredicted branch has waited for L3 or longer. */
static bool resolves_late(const struct td_sim *sim)
{
    return sim->last && sim->branch_done > sim->core.cycle + sim->desc->l3_latency &&
           sim->last->branch == TD_BRANCH_CONDITIONAL;
}

/* Where the last block went on. */
static inline void count_way(struct td_sim *sim, uint64_t outcome, const struct td_block *next)
{
    const struct td_block *last = sim->last;

    if (!last || sim->bare)
        return;
    sim->states[last->id].went[(outcome & TD_TRACE_TAKEN) != 0]++;
    if (TD_UNLIKELY(last->branch == TD_BRANCH_INDIRECT_JUMP))
        td_flow_jump(&sim->flow, last->id, next->id);
}

/* For those who count the block, whose first uop is given, in other ways. */
static __attribute__((noinline)) void follow_block(struct td_sim *sim, const struct td_block *block,
                                                   uint64_t first_uop)
{
    if (sim->pmu)
        td_sim_pmu_block(sim->pmu, sim, block, first_uop);
    if (sim->counting)
        td_counting_block(sim->counting, sim, first_uop);
}

/* `words` are what follows the block word. */
static const uint64_t *run_exact(struct td_sim *sim, uint64_t word, const uint64_t *words,
                                 const uint64_t *end)
{
    struct td_block_state *state = state_of(sim, (uint32_t)word);
    const struct td_block *block = state->block;

    if (td_block_is_next_round(sim->last, block))
        return td_execute_string(sim, sim->last_row + sim->last->branch_insn, words, end);
    resolve(sim, word, block);
    if (TD_UNLIKELY(sim->followed) && sim->counting)
        td_counting_branch(sim->counting, sim, sim->last, word, block);
    if (TD_UNLIKELY((word & TD_TRACE_WRONG) != 0) && resolves_late(sim))
        td_wrong_path_run(sim, words - 1, end);
    struct td_account *account = account_of(sim, block, state);
    meet_account(sim, state->account, block->insn_count);
    if (sim->mode == TD_SIM_EXACT) {
        if (TD_UNLIKELY(++account->runs == WATCHED_AFTER) && !sim->watching)
            watch(sim, true, WATCHED);
        sim->instructions += block->insn_count;
        count_way(sim, word, block);
        if (TD_UNLIKELY(sim->regions != NULL))
            td_sim_regions_block(sim->regions, block);
    } else {
        sim->primed += block->insn_counted;
    }
    sim->last = block;
    sim->last_row = account->row;
    if (TD_UNLIKELY(--sim->watch_left == 0))
        watch_next(sim);
    const uint64_t first_uop = sim->core.uops;
    const uint64_t *after = td_execute_block(sim, block, state, account->row, words, end);
    if (TD_UNLIKELY(sim->followed))
        follow_block(sim, block, first_uop);
    if (block->sp_effect && !sim->bare)
        follow_stack_pointer(sim, block, words, after);
    return after;
}

static inline void warm_uops(struct td_sim *sim, struct td_block_state *state)
{
    const struct td_block *block = state->block;

    if (state->epoch == sim->fetch.epoch)
        return;
    for (uint32_t i = 0; i < block->part_count; i++)
        td_fetch_warm_uops(&sim->fetch, &block->parts[i]);
    state->epoch = sim->fetch.epoch;
}

static const uint64_t *run_warm(struct td_sim *sim, uint64_t word, const uint64_t *words,
                                const uint64_t *end)
{
    struct td_block_state *state = state_of(sim, (uint32_t)word);
    const struct td_block *block = state->block;

    resolve_warm(sim, word, block->place);
    sim->warmed += block->insn_counted;
    td_learning_add(&sim->learning, block->insn_counted, (word & TD_TRACE_WRONG) != 0);
    sim->last = block;
    if (sim->mode == TD_SIM_NEAR_WARMING)
        warm_uops(sim, state);
    const uint64_t *first = words;
    while (words < end && !(*words & TD_TRACE_BLOCK_BIT))
        words++;
    if (words > first)
        sim->stack_place = TD_TRACE_ADDRESS(words[-1]);
    if (block->sp_effect && !sim->bare)
        follow_stack_pointer(sim, block, first, words);
    return words;
}

/* What the last block did to the stack; nothing else is made of it. `next`, a place, may be 0 where
 * returns are matched by their place. */
static void settle(struct td_sim *sim, uint64_t next)
{
    if (!sim->last)
        return;
    if (!sim->last->plain)
        follow_calls(sim, sim->last, next);
    sim->last = NULL;
}

/* What is in the ledger stands for all up to here. */
static void settle_ledger(struct td_sim *sim, const struct td_scale *scale)
{
    const struct td_ledger *ledger = &sim->ledger;
    uint64_t slots = 0, instructions = 0;

    td_replicates_settle(&sim->replicates, scale);
    td_ledger_settle(&sim->ledger, scale);
    for (uint32_t i = 0; i < ledger->settled_accounts; i++) {
        const struct td_block *block = td_blocks_get(sim->blocks, ledger->accounts[i].block);

        slots += ledger->settled_runs[i] * block->slots;
        instructions += ledger->settled_runs[i] * block->insn_count;
    }
    slots += td_settled_sum(&ledger->settled_lost, 0, ledger->settled_lost.row_count);
    td_windows_settle(&sim->windows, scale->whole, slots, instructions);
}

static uint64_t all_instructions(const struct td_sim *sim)
{
    return sim->instructions + sim->warmed + sim->primed + sim->skipped;
}

/* From the first one on everything is counted by cause. A simulated PMU does so for itself. */
static bool has_regions(struct td_sim *sim)
{
    if (!sim->regions && !sim->pmu) {
        sim->regions = td_sim_regions_new();
        sim->ledger.lost = td_sim_regions_lost(sim->regions);
        td_ledger_keep_regions(&sim->ledger, meet_other_account, sim);
    }
    return sim->regions != NULL;
}

static void take_region(struct td_sim *sim, uint64_t word)
{
    const uint32_t name = (uint32_t)(word >> 8);

    if (!has_regions(sim))
        return;
    if ((word & 0xff) == TD_TRACE_REGION_BEGIN)
        td_sim_regions_begin(sim->regions, name, all_instructions(sim), sim->instructions);
    else
        td_sim_regions_end(sim->regions, name, all_instructions(sim), sim->instructions);
    sim->ledger.region = td_sim_regions_now(sim->regions);
}

static void take_mark(struct td_sim *sim, uint64_t word)
{
    const enum td_trace_mark mark = (enum td_trace_mark)(word & 0xff);

    if (td_trace_is_region(word)) {
        take_region(sim, word);
        return;
    }
    if (td_trace_is_pages(word)) {
        td_memory_map(&sim->memory, TD_TRACE_PAGE(word), TD_TRACE_PAGES(word),
                      mark == TD_TRACE_FILE);
        return;
    }
    if (mark == TD_TRACE_SETTLE || mark == TD_TRACE_WEIGH) {
        struct td_scale scale = td_sim_scale(sim);

        scale.weighed = mark == TD_TRACE_WEIGH;
        if (!scale.all)
            settle_ledger(sim, &scale);
        return;
    }
    if (mark == TD_TRACE_THREAD) {
        td_callstack_leave(&sim->calls);
        if (sim->regions)
            td_sim_regions_leave(sim->regions);
        sim->ledger.region = 0;
    }
    sim->last = NULL;
    lose_stack_pointer(sim);
}

static void run_skip(struct td_sim *sim, const uint64_t *words, const uint64_t *end)
{
    for (; words < end; words++) {
        if (!(*words & TD_TRACE_BLOCK_BIT))
            continue;
        if (*words & TD_TRACE_MARK_BIT) {
            take_mark(sim, *words);
            continue;
        }
        if (*words & TD_TRACE_CODE)
            continue;
        const struct td_block *block = state_of(sim, (uint32_t)*words)->block;
        settle(sim, block->place);
        sim->last = block;
        lose_stack_pointer(sim);
        if (!sim->link && words + 1 < end) {
            sim->stack_place = TD_TRACE_ADDRESS(words[1]);
            settle(sim, 0);
        }
    }
}

/* The last block's branch, when the mode changes before the block of `word` (0: none), at `next`.
 * The predictor saw it, unless much is left out; it costs nothing where its block took no time. */
static void cross(struct td_sim *sim, enum td_sim_mode mode, uint64_t word, uint64_t next)
{
    if ((mode == TD_SIM_EXACT && sim->mode == TD_SIM_DETAILED_WARMING) ||
        (td_sim_is_functional(mode) && td_sim_is_functional(sim->mode)))
        return;
    if (mode == TD_SIM_FAST_FORWARD || sim->mode == TD_SIM_FAST_FORWARD ||
        !(word & TD_TRACE_RESOLVED)) {
        settle(sim, next);
    } else if (td_sim_is_functional(sim->mode)) {
        resolve_warm(sim, word, next);
        sim->last = NULL;
    } else if (td_sim_is_functional(mode) && sim->last) {
        count_branch(sim, sim->last, word);
    }
}

static void switch_counting(struct td_sim *sim, enum td_sim_mode mode)
{
    if (!sim->counting)
        return;
    if (mode == TD_SIM_EXACT)
        td_counting_begin(sim->counting, sim);
    else
        td_counting_end(sim->counting, sim);
}

/* What was modelled exactly ends, at so many slots. */
static void note_pace(struct td_sim *sim, uint64_t slots)
{
    const struct td_windows *windows = &sim->windows;

    if (windows->open)
        td_pace_note(&sim->pace, (int64_t)(slots - windows->from_slots) / sim->core.width,
                     sim->instructions - windows->from_instructions, !windows->sampled);
}

static void set_mode(struct td_sim *sim, enum td_sim_mode mode, uint64_t word, uint64_t next)
{
    const uint64_t slots = td_core_slots(&sim->core);

    if (mode == sim->mode)
        return;
    cross(sim, mode, word, next);
    if (sim->mode == TD_SIM_EXACT && sim->windows.sampled)
        td_replicates_close(&sim->replicates, &sim->ledger, sim->blocks,
                            sim->instructions - sim->windows.from_instructions);
    note_pace(sim, slots);
    td_windows_close(&sim->windows, slots, sim->instructions);
    if (mode == TD_SIM_EXACT)
        td_windows_open(&sim->windows, slots, sim->instructions);
    else if (!sim->windows.sampled)
        settle_ledger(sim, &(struct td_scale){.seen = 1, .whole = 1});
    sim->windows.sampled = true;
    if (mode == TD_SIM_FUNCTIONAL_WARMING)
        td_learning_begin(&sim->learning, sim->mode == TD_SIM_FAST_FORWARD);
    if (mode == TD_SIM_DETAILED_WARMING)
        td_replicates_open(&sim->replicates);
    sim->ledger.mask = mode == TD_SIM_EXACT ? UINT32_MAX : 0;
    sim->memory.uncounted = mode != TD_SIM_EXACT;
    switch_counting(sim, mode);
    sim->mode = mode;
}

void td_sim_predict(struct td_sim *sim, uint64_t *words, size_t count, enum td_sim_mode mode)
{
    td_predictor_run(&sim->predictor, words, count, mode);
}

void td_sim_warm(struct td_sim *sim, const uint64_t *words, size_t count, enum td_sim_mode mode,
                 struct td_warmed *warmed)
{
    if (!sim->warming)
        sim->warming = td_warming_new(sim->blocks, sim->memory.faults);
    td_warming_run(sim->warming, words, count, mode, warmed);
}

static void begin_window(struct td_sim *sim, struct td_held *held)
{
    td_memory_go_on_from(&sim->memory, &held->memory);
    td_fetch_go_on_from(&sim->fetch, &held->fetch);
    atomic_fetch_sub_explicit(&held->takers, 1, memory_order_release);
}

/* Whether no word of a warmed batch changes anything for the model but marks. */
static bool passes_over(const struct td_sim *sim, enum td_sim_mode mode)
{
    return sim->bare && (mode == TD_SIM_FUNCTIONAL_WARMING || mode == TD_SIM_FAST_FORWARD);
}

static void pass_over(struct td_sim *sim, const struct td_warmed *warmed)
{
    const uint64_t before = sim->warmed;

    for (size_t i = 0; i < warmed->mark_count; i++) {
        sim->warmed = before + warmed->marks[i].instructions;
        take_mark(sim, warmed->marks[i].word);
    }
    sim->warmed = before + warmed->instructions;
    sim->last = NULL;
}

static void run_words(struct td_sim *sim, const uint64_t *words, size_t count,
                      enum td_sim_mode mode)
{
    const uint64_t *end = words + count;

    if (mode == TD_SIM_FAST_FORWARD) {
        run_skip(sim, words, end);
        return;
    }
    while (words < end) {
        const uint64_t word = *words++;
        if (!(word & TD_TRACE_BLOCK_BIT))
            continue;
        if (word & TD_TRACE_MARK_BIT) {
            take_mark(sim, word);
            continue;
        }
        words = td_sim_is_functional(mode) ? run_warm(sim, word & sim->outcomes, words, end)
                                           : run_exact(sim, word & sim->outcomes, words, end);
    }
}

void td_sim_run(struct td_sim *sim, const uint64_t *words, size_t count, enum td_sim_mode mode,
                const struct td_warmed *warmed)
{
    size_t first = count > 1 && words[0] == td_trace_mark(TD_TRACE_SETTLE);
    while (first < count && td_trace_is_aside(words[first]))
        first++;
    const bool block = first < count && words[first] >> 62 == TD_TRACE_BLOCK_BIT >> 62;

    sim->memory.passed = td_pace_passed(&sim->pace, sim->warmed + sim->skipped);
    td_memory_follow_others(&sim->memory, sim->core.cycle);
    td_memory_keep_company(&sim->memory, sim->core.cycle);
    set_mode(sim, mode, block ? words[first] & sim->outcomes : 0,
             block ? state_of(sim, (uint32_t)words[first])->block->place : 0);
    if (warmed && warmed->held)
        begin_window(sim, warmed->held);
    if (warmed && passes_over(sim, mode))
        pass_over(sim, warmed);
    else
        run_words(sim, words, count, mode);
    if (warmed)
        td_memory_take_beyond(&sim->memory, &warmed->beyond);
}

void td_sim_skipped(struct td_sim *sim, uint64_t instructions)
{
    sim->skipped += instructions;
}

/* The exact parts up to now, the open one closed. */
static struct td_windows windows_now(const struct td_sim *sim)
{
    struct td_windows windows = sim->windows;

    td_windows_close(&windows, td_core_slots(&sim->core), sim->instructions);
    return windows;
}

struct td_scale td_sim_scale(const struct td_sim *sim)
{
    const struct td_windows windows = windows_now(sim);
    const uint64_t all = all_instructions(sim);
    const uint64_t first = windows.first_instructions;

    if (windows.instructions == 0)
        return (struct td_scale){.seen = first, .whole = first ? all : 0, .all = true};
    return (struct td_scale){.seen = windows.instructions, .whole = all - first};
}

static double unseen_bias(const struct td_sim_totals *totals)
{
    if (totals->detailed >= totals->instructions)
        return 0;
    return TD_SAMPLED_BIAS * (double)totals->cycles *
           (double)(totals->instructions - totals->detailed) / (double)totals->instructions;
}

/* The totals of slots and instructions, and their error. */
static void add_windows(const struct td_sim *sim, struct td_sim_totals *totals)
{
    const struct td_windows windows = windows_now(sim);
    const struct td_scale scale = td_sim_scale(sim);
    uint64_t sum = 0;

    totals->slots = scale.all ? td_scale_add(&scale, &sum, windows.first_slots + windows.slots)
                              : windows.first_slots + td_scale_add(&scale, &sum, windows.slots);
    totals->cycles = totals->slots / sim->core.width;
    totals->instructions = scale.whole + (scale.all ? 0 : windows.first_instructions);
    totals->detailed = sim->instructions;
    totals->windows = windows.settled_count + windows.count;
    totals->cycles_error =
        hypot(td_windows_error(&windows, scale.whole) / sim->core.width, unseen_bias(totals));
    totals->spread = td_windows_spread(&windows);
    if (totals->cycles > 0)
        totals->learning = td_learning_fall(&sim->learning) * sim->desc->refill *
                           (double)totals->instructions / (double)totals->cycles;
}

void td_sim_totals(const struct td_sim *sim, struct td_sim_totals *totals)
{
    *totals = (struct td_sim_totals){
        .warmed = sim->warmed,
        .skipped = sim->skipped,
        .branches = sim->branches,
        .mispredicts = sim->mispredicts,
        .indirect_mispredicts = sim->indirect_mispredicts,
        .unknown_targets = sim->unknown_targets,
        .l1d_misses = sim->memory.counts.l1d_misses,
        .l2_misses = sim->memory.counts.l2_misses,
        .l3_misses = sim->memory.counts.l3_misses,
        .tlb_misses = sim->memory.counts.tlb_misses,
        .prefetches = sim->memory.counts.prefetches,
        .l1i_misses = sim->fetch.l1i_misses,
        .itlb_misses = sim->fetch.itlb_misses,
        .machine_clears = sim->clears,
        .folded_calls = sim->calls.folded,
        .unproven_paths = sim->calls.unproven,
        .truncated_calls = sim->calls.truncated,
        .unmatched_returns = sim->calls.unmatched,
    };
    add_windows(sim, totals);
}

/* Operations that load or store are of the code: each ran as often as its block. */
static void add_accesses(const struct td_sim *sim, uint64_t events[TD_SIM_EVENT_COUNT])
{
    const struct td_ledger *ledger = &sim->ledger;

    for (size_t i = 0; i < ledger->account_count; i++) {
        const struct td_account *account = &ledger->accounts[i];
        const struct td_block *block = td_blocks_get(sim->blocks, account->block);
        const uint64_t runs = account->runs + td_ledger_settled_runs(ledger, (uint32_t)i);

        for (uint16_t u = 0; u < block->uop_count; u++) {
            const uint8_t flags = block->uops[u].flags;

            events[TD_SIM_EVENT_LOADS] += flags & TD_UOP_LOAD ? runs : 0;
            events[TD_SIM_EVENT_STORES] += flags & TD_UOP_STORE ? runs : 0;
        }
    }
}

void td_sim_events(const struct td_sim *sim, uint64_t events[TD_SIM_EVENT_COUNT])
{
    const struct td_memory_counts *counts = &sim->memory.counts;

    memset(events, 0, TD_SIM_EVENT_COUNT * sizeof(*events));
    events[TD_SIM_EVENT_BRANCHES] = sim->branches;
    events[TD_SIM_EVENT_MISPREDICTS] = sim->mispredicts;
    events[TD_SIM_EVENT_L1D_MISSES] = counts->l1d_misses;
    events[TD_SIM_EVENT_L2_MISSES] = counts->data_l2_misses;
    events[TD_SIM_EVENT_L3_MISSES] = counts->data_l3_misses;
    events[TD_SIM_EVENT_DTLB_WALKS] = counts->data_walks;
    events[TD_SIM_EVENT_L1I_MISSES] = sim->fetch.l1i_misses;
    events[TD_SIM_EVENT_ITLB_MISSES] = sim->fetch.itlb_misses;
    add_accesses(sim, events);
}

void td_sim_rest(struct td_sim *sim, bool rests)
{
    td_sharer_rest(sim->memory.sharer, rests);
}

uint64_t td_sim_clock(const struct td_sim *sim)
{
    return td_core_slots(&sim->core) / sim->core.width;
}

uint32_t td_sim_path_count(const struct td_sim *sim)
{
    return (uint32_t)sim->calls.node_count;
}

struct td_sim_path td_sim_path(const struct td_sim *sim, uint32_t node)
{
    return (struct td_sim_path){.parent = sim->calls.nodes[node].parent,
                                .call = sim->calls.nodes[node].call};
}

void td_sim_each_region(const struct td_sim *sim, td_sim_region_fn *fn, void *ctx)
{
    if (sim->regions)
        td_sim_regions_each(sim->regions, all_instructions(sim), sim->instructions, fn, ctx);
}

void td_sim_inherit_regions(struct td_sim *sim, const struct td_sim *parent)
{
    if (!parent->regions || !has_regions(sim))
        return;
    td_sim_regions_inherit(sim->regions, parent->regions);
    sim->ledger.region = td_sim_regions_now(sim->regions);
}

struct td_sim_region_misuse td_sim_region_misuse(const struct td_sim *sim)
{
    return sim->regions ? td_sim_regions_misuse(sim->regions) : (struct td_sim_region_misuse){0};
}
