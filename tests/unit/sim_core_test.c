/* SPDX-License-Identifier: MIT */
/* The rules that move a slot, each with a stream of a few instructions and a known answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "record/sim/model/charge.h"
#include "record/sim/model/sim.h"
#include "sim_rig.h"

#define MANY 4000

/* 12 adds of a register each, dec, jnz: what is left is retiring. */
static const uint8_t adds[] = {
    4,    0x48, 0x83, 0xc0, 1,    4,    0x48, 0x83, 0xc3, 1,    4,    0x48, 0x83, 0xc1, 1,    4,
    0x48, 0x83, 0xc6, 1,    4,    0x48, 0x83, 0xc7, 1,    4,    0x49, 0x83, 0xc0, 1,    4,    0x49,
    0x83, 0xc1, 1,    4,    0x49, 0x83, 0xc2, 1,    3,    0x48, 0xff, 0xca, 2,    0x75, 0xdb, 0};

static void adds_retire(void **state)
{
    (void)state;
    struct rig rig;
    rig_open(&rig, "golden-cove");
    repeat(&rig, rig_block(&rig, 0x1000, adds), MANY);
    const struct sums sums = rig_sums(&rig);
    assert_true(share(&sums, TD_NODE_LIGHT_OPERATIONS) > 0.8);
    /* Eight adds and a fused pair: nine slots a round, ten instructions. */
    assert_int_equal(of_node(&sums, TD_NODE_LIGHT_OPERATIONS), 9 * MANY);
    assert_int_equal(sums.values[TD_SIM_COLUMN_INSTRUCTIONS], 10 * MANY);
    rig_close(&rig);
}

static void multiply_chain_is_core_bound(void **state)
{
    (void)state;
    /* imul rax,rax; jmp back */
    static const uint8_t code[] = {4, 0x48, 0x0f, 0xaf, 0xc0, 2, 0xeb, 0xfa, 0};
    struct rig rig;
    rig_open(&rig, "golden-cove");
    repeat(&rig, rig_block(&rig, 0x1000, code), MANY);
    const struct sums sums = rig_sums(&rig);
    assert_true(share(&sums, TD_NODE_DEPENDENCY_CHAINS) > 0.7);
    assert_int_equal(sums.worst_pc, 0x1000);
    /* Three cycles a link. */
    assert_in_range(sums.cycles, 3 * MANY, 3 * MANY + 1000);
    rig_close(&rig);
}

static void divides_wait_for_the_divider(void **state)
{
    (void)state;
    /* div rcx; jmp back */
    static const uint8_t code[] = {3, 0x48, 0xf7, 0xf1, 2, 0xeb, 0xfb, 0};
    struct rig rig;
    rig_open(&rig, "golden-cove");
    repeat(&rig, rig_block(&rig, 0x1000, code), MANY);
    const struct sums sums = rig_sums(&rig);
    assert_true(share(&sums, TD_NODE_DIVIDER) > 0.6);
    assert_true(of_node(&sums, TD_NODE_HEAVY_OPERATIONS) ==
                (uint64_t)rig.desc.ops[TD_OP_DIV64].slots * MANY);
    assert_int_equal(sums.worst_pc, 0x1000);
    rig_close(&rig);
}

/* mov rdx,[rdx]; jmp back: addresses from a fixed walk over `lines` lines. */
static struct sums chase(struct rig *rig, uint64_t lines, int steps)
{
    static const uint8_t code[] = {3, 0x48, 0x8b, 0x12, 2, 0xeb, 0xfb, 0};
    rig_open(rig, "golden-cove");
    const uint32_t block = rig_block(rig, 0x1000, code);
    uint64_t at = 1;

    for (int i = 0; i < steps; i++) {
        at = (at * 1664525 + 1013904223) % lines;
        rig_word(rig, td_trace_block(block));
        rig_word(rig, td_trace_access(0, false, 3, 0x10000000 + at * 64));
    }
    return rig_sums(rig);
}

static void chases_wait_for_their_level(void **state)
{
    (void)state;
    struct rig rig;
    struct sums sums = chase(&rig, 256, 10 * MANY);
    assert_true(share(&sums, TD_NODE_L1_BOUND) > 0.7);
    assert_in_range(sums.cycles / (10 * MANY), 5, 6);
    rig_close(&rig);
    sums = chase(&rig, 2048, 20 * MANY);
    assert_true(share(&sums, TD_NODE_L2_BOUND) > 0.5);
    rig_close(&rig);
    sums = chase(&rig, 1 << 24, MANY);
    assert_true(share(&sums, TD_NODE_DRAM_BOUND) > 0.9);
    assert_int_equal(sums.worst_pc, 0x1000);
    rig_close(&rig);
}

/* add [rdi],rax; jmp back, one address: each load takes what the store before left. */
static void forwarding_is_l1_bound(void **state)
{
    (void)state;
    static const uint8_t code[] = {3, 0x48, 0x01, 0x07, 2, 0xeb, 0xfb, 0};
    struct rig rig;
    rig_open(&rig, "golden-cove");
    const uint32_t block = rig_block(&rig, 0x1000, code);
    for (int i = 0; i < MANY; i++) {
        rig_word(&rig, td_trace_block(block));
        rig_word(&rig, td_trace_access(0, false, 3, 0x20000));
        rig_word(&rig, td_trace_access(0, true, 3, 0x20000));
    }
    const struct sums sums = rig_sums(&rig);
    assert_true(share(&sums, TD_NODE_L1_BOUND) > 0.7);
    const uint64_t round = (uint64_t)rig.desc.forward + 1;
    assert_in_range(sums.cycles / MANY, round - 1, round + 1);
    rig_close(&rig);
}

/* A store a line, to lines never seen: the buffer fills behind the fetch of lines to own. */
static void stores_fill_their_buffer(void **state)
{
    (void)state;
    static const uint8_t code[] = {3, 0x48, 0x89, 0x07, 2, 0xeb, 0xfb, 0};
    struct rig rig;
    rig_open(&rig, "golden-cove");
    const uint32_t block = rig_block(&rig, 0x1000, code);
    for (int i = 0; i < MANY; i++) {
        rig_word(&rig, td_trace_block(block));
        rig_word(&rig, td_trace_access(0, true, 3, (0x1000000 + (uint64_t)i * 0x40040)));
    }
    const struct sums sums = rig_sums(&rig);
    assert_true(share(&sums, TD_NODE_STORE_BOUND) > 0.8);
    assert_int_equal(sums.worst_pc, 0x1000);
    rig_close(&rig);
}

/* test al,al; jz over a block that only falls through: random outcomes are mispredicted. */
static void random_branches_are_bad_speculation(void **state)
{
    (void)state;
    static const uint8_t test[] = {2, 0x84, 0xc0, 2, 0x74, 0x04, 0};
    static const uint8_t body[] = {4, 0x48, 0x83, 0xc3, 1, 0};
    static const uint8_t back[] = {2, 0xeb, 0xf6, 0};
    struct rig rig;
    rig_open(&rig, "golden-cove");
    const uint32_t a = rig_block(&rig, 0x1000, test), b = rig_block(&rig, 0x1004, body),
                   c = rig_block(&rig, 0x1008, back);
    uint64_t random = RIG_RANDOM;
    for (int i = 0; i < MANY; i++) {
        rig_random(&random);
        rig_word(&rig, td_trace_block(a));
        if (random & 1)
            rig_word(&rig, td_trace_block(b));
        rig_word(&rig, td_trace_block(c));
    }
    const struct sums sums = rig_sums(&rig);
    const double bad = share(&sums, TD_NODE_BRANCH_MISPREDICTS);
    assert_true(bad > 0.4);
    assert_true(bad + share(&sums, TD_NODE_BRANCH_RESTEERS) > 0.75);
    assert_int_equal(sums.worst_pc, 0x1002);
    rig_close(&rig);
}

/* Megabytes of straight code: nothing but instruction cache misses. */
static void straight_code_misses_the_icache(void **state)
{
    (void)state;
    static const uint8_t body[] = {4,    0x48, 0x83, 0xc3, 1, 4,    0x48, 0x83, 0xc1, 1, 4,
                                   0x48, 0x83, 0xc0, 1,    4, 0x48, 0x83, 0xc6, 1,    0};
    struct rig rig;
    rig_open(&rig, "golden-cove");
    for (int round = 0; round < 2; round++) {
        for (uint64_t pc = 0; pc < 1 << 20; pc += 16)
            rig_word(&rig, td_trace_block(rig_block(&rig, 0x400000 + pc, body)));
    }
    const struct sums sums = rig_sums(&rig);
    assert_true(share(&sums, TD_NODE_ICACHE_MISSES) > 0.5);
    rig_close(&rig);
}

/* A load that passes a store to its own address, whose address comes late, clears once. */
static void early_load_clears_once(void **state)
{
    (void)state;
    /* imul rdi,rdi; imul rdi,rdi; mov [rdi],rax; mov rcx,[rsi]; jmp back */
    static const uint8_t code[] = {4,    0x48, 0x0f, 0xaf, 0xff, 4,    0x48, 0x0f, 0xaf, 0xff, 3,
                                   0x48, 0x89, 0x07, 3,    0x48, 0x8b, 0x0e, 2,    0xeb, 0xf0, 0};
    struct rig rig;
    struct td_sim_totals totals;
    rig_open(&rig, "golden-cove");
    const uint32_t block = rig_block(&rig, 0x1000, code);
    for (int i = 0; i < 100; i++) {
        rig_word(&rig, td_trace_block(block));
        rig_word(&rig, td_trace_access(2, true, 3, 0x30000));
        rig_word(&rig, td_trace_access(3, false, 3, 0x30000));
    }
    const struct sums sums = rig_sums(&rig);
    td_sim_totals(rig.sim, &totals);
    assert_int_equal(totals.machine_clears, 1);
    assert_true(of_node(&sums, TD_NODE_MACHINE_CLEARS) > 0);
    rig_close(&rig);
}

/* call +0 ... ret: instructions of the callee hang on the call. */
static void calls_make_paths(void **state)
{
    (void)state;
    static const uint8_t call[] = {5, 0xe8, 0xfb, 0x0f, 0, 0, 0};
    static const uint8_t callee[] = {4, 0x48, 0x83, 0xc3, 1, 1, 0xc3, 0};
    static const uint8_t back[] = {2, 0xeb, 0xf9, 0};
    struct rig rig;
    rig_open(&rig, "golden-cove");
    const uint32_t a = rig_block(&rig, 0x1000, call), b = rig_block(&rig, 0x2000, callee),
                   c = rig_block(&rig, 0x1005, back);
    for (int i = 0; i < 100; i++) {
        rig_word(&rig, td_trace_block(a));
        rig_word(&rig, td_trace_access(0, true, 3, 0x7fff0000));
        rig_word(&rig, td_trace_block(b));
        rig_word(&rig, td_trace_access(1, false, 3, 0x7fff0000));
        rig_word(&rig, td_trace_block(c));
    }
    const struct sums sums = rig_sums(&rig);
    assert_int_equal(sums.paths, 1);
    assert_int_equal(td_sim_path_count(rig.sim), 2);
    assert_int_equal(td_sim_path(rig.sim, 1).call, 0x1004);
    assert_int_equal(td_sim_path(rig.sim, 1).parent, 0);
    rig_close(&rig);
}

/* A function that calls itself twice, if it is not too deep: call, call, ret. */
struct recursion {
    struct rig rig;
    uint32_t blocks[3];
};

static void recursion_open(struct recursion *r)
{
    static const uint8_t first[] = {5, 0xe8, 0xfb, 0xff, 0xff, 0xff, 0};
    static const uint8_t second[] = {5, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0};
    static const uint8_t back[] = {1, 0xc3, 0};
    rig_open(&r->rig, "golden-cove");
    r->blocks[0] = rig_block(&r->rig, 0x2000, first);
    r->blocks[1] = rig_block(&r->rig, 0x2005, second);
    r->blocks[2] = rig_block(&r->rig, 0x200a, back);
}

/* `calls` calls a level, down to `depth` levels; each ends with a return. */
/* NOLINTNEXTLINE(misc-no-recursion) */
static void recurse(struct recursion *r, int depth, int calls, uint64_t stack)
{
    for (int i = 0; depth > 0 && i < calls; i++) {
        rig_word(&r->rig, td_trace_block(r->blocks[i]));
        rig_word(&r->rig, td_trace_access(0, true, 3, stack - 8));
        recurse(r, depth - 1, calls, stack - 8);
    }
    rig_word(&r->rig, td_trace_block(r->blocks[2]));
    rig_word(&r->rig, td_trace_access(0, false, 3, stack));
}

static void shallow_recursion_is_exact(void **state)
{
    (void)state;
    struct td_sim_totals totals;
    struct recursion r;
    recursion_open(&r);
    recurse(&r, 100, 1, 0x7fff0000);
    const struct sums sums = rig_sums(&r.rig);
    td_sim_totals(r.rig.sim, &totals);
    assert_int_equal(sums.paths, 100);
    assert_int_equal(td_sim_path(r.rig.sim, 100).parent, 99);
    assert_int_equal(totals.folded_calls, 0);
    rig_close(&r.rig);
}

/* However deep or wide, recursion makes a bounded number of paths, and no frame is lost. */
static void deep_recursion_is_folded(void **state)
{
    (void)state;
    static const struct {
        int depth, calls;
    } shapes[] = {{30000, 1}, {16, 2}};

    for (size_t i = 0; i < TD_ARRAY_SIZE(shapes); i++) {
        struct td_sim_totals totals;
        struct recursion r;
        recursion_open(&r);
        recurse(&r, shapes[i].depth, shapes[i].calls, 0x7fff0000);
        rig_sums(&r.rig);
        td_sim_totals(r.rig.sim, &totals);
        assert_true(totals.folded_calls > 0);
        assert_in_range(td_sim_path_count(r.rig.sim), TD_SIM_DEPTH_MAX, 16384);
        assert_int_equal(totals.truncated_calls, 0);
        assert_int_equal(totals.unmatched_returns, 0);
        rig_close(&r.rig);
    }
}

/* A loop with a call in it, in the mode: in TD_SIM_FAST_FORWARD only the call and the return are
 * seen. Returns how many branches the predictors saw. */
static uint64_t run_calls(struct rig *rig, const uint32_t blocks[3], int times,
                          enum td_sim_mode mode)
{
    uint64_t seen = 0;

    for (int i = 0; i < times; i++) {
        rig_word(rig, td_trace_block(blocks[0]));
        rig_word(rig, td_trace_access(0, true, 3, 0x7fff0000));
        rig_word(rig, td_trace_block(blocks[1]));
        rig_word(rig, td_trace_access(1, false, 3, 0x7fff0000));
        if (mode != TD_SIM_FAST_FORWARD)
            rig_word(rig, td_trace_block(blocks[2]));
    }
    rig_feed(rig, rig->words, rig->count, mode);
    for (size_t i = 0; i < rig->count; i++)
        seen += (rig->words[i] & TD_TRACE_BLOCK_BIT) && (rig->words[i] & TD_TRACE_RESOLVED);
    rig->count = 0;
    if (mode == TD_SIM_FAST_FORWARD)
        td_sim_skipped(rig->sim, (uint64_t)times * 4);
    return seen;
}

/* Windows stand for what was skipped: every instruction is in the totals, sums stay exact, and
 * paths go on through what is skipped. */
static void check_windows(bool settles)
{
    static const uint8_t call[] = {5, 0xe8, 0xfb, 0x0f, 0, 0, 0};
    static const uint8_t callee[] = {4, 0x48, 0x83, 0xc3, 1, 1, 0xc3, 0};
    static const uint8_t back[] = {2, 0xeb, 0xf9, 0};
    struct td_sim_totals exact, sampled;
    struct rig rigs[2];

    for (int r = 0; r < 2; r++) {
        rig_open(&rigs[r], "golden-cove");
        const uint32_t blocks[3] = {rig_block(&rigs[r], 0x1000, call),
                                    rig_block(&rigs[r], 0x2000, callee),
                                    rig_block(&rigs[r], 0x1005, back)};
        run_calls(&rigs[r], blocks, 1000, TD_SIM_EXACT);
        for (int i = 0; i < 20; i++) {
            if (r && settles && i % 7 == 3)
                rig_word(&rigs[r], td_trace_mark(TD_TRACE_SETTLE));
            run_calls(&rigs[r], blocks, i < 10 ? 813 : 1700,
                      r ? TD_SIM_FAST_FORWARD : TD_SIM_EXACT);
            run_calls(&rigs[r], blocks, 20, r ? TD_SIM_FUNCTIONAL_WARMING : TD_SIM_EXACT);
            run_calls(&rigs[r], blocks, 100, r ? TD_SIM_DETAILED_WARMING : TD_SIM_EXACT);
            run_calls(&rigs[r], blocks, 100, TD_SIM_EXACT);
        }
        rig_sums(&rigs[r]);
    }
    td_sim_totals(rigs[0].sim, &exact);
    td_sim_totals(rigs[1].sim, &sampled);
    assert_int_equal(sampled.instructions, exact.instructions);
    assert_int_equal(sampled.detailed, 4 * (1000 + 20 * 100));
    assert_int_equal(sampled.windows, 20);
    assert_in_range(sampled.cycles, exact.cycles * 95 / 100, exact.cycles * 105 / 100);
    assert_int_equal(td_sim_path_count(rigs[1].sim), 2);
    assert_int_equal(sampled.unmatched_returns, 0);
    rig_close(&rigs[0]);
    rig_close(&rigs[1]);
}

static void windows_stand_for_the_rest(void **state)
{
    (void)state;
    check_windows(false);
    check_windows(true);
}

/* Where all blocks are in the stream, the branch before each is seen, whatever the mode that it
 * begins: predictors go by the branches before, so that one which is missing spoils many. Counted
 * are those of blocks that take time. */
static void no_branch_is_missed_between_modes(void **state)
{
    (void)state;
    static const uint8_t call[] = {5, 0xe8, 0xfb, 0x0f, 0, 0, 0};
    static const uint8_t callee[] = {4, 0x48, 0x83, 0xc3, 1, 1, 0xc3, 0};
    static const uint8_t back[] = {2, 0xeb, 0xf9, 0};
    struct td_sim_totals totals;
    struct rig rig;

    rig_open(&rig, "golden-cove");
    const uint32_t blocks[3] = {rig_block(&rig, 0x1000, call), rig_block(&rig, 0x2000, callee),
                                rig_block(&rig, 0x1005, back)};
    uint64_t seen = run_calls(&rig, blocks, 10, TD_SIM_EXACT);
    for (int i = 0; i < 30; i++) {
        seen += run_calls(&rig, blocks, 20, TD_SIM_FUNCTIONAL_WARMING);
        seen += run_calls(&rig, blocks, 10, TD_SIM_DETAILED_WARMING);
        seen += run_calls(&rig, blocks, 10, TD_SIM_EXACT);
    }
    td_sim_totals(rig.sim, &totals);
    assert_int_equal(seen, 3 * (10 + 30 * 40) - 1); /* the last goes nowhere */
    assert_int_equal(totals.branches, 3 * (10 + 30 * 20) - 1);
    assert_int_equal(totals.unmatched_returns, 0);
    assert_int_equal(td_sim_path_count(rig.sim), 2);
    rig_sums(&rig);
    rig_close(&rig);
}

/* Code that ran while instructions were skipped is in the caches. */
static void skipped_code_is_warm(void **state)
{
    (void)state;
    uint64_t lost[2];

    for (int told = 0; told <= 1; told++) {
        struct rig rig;
        rig_open(&rig, "golden-cove");
        const uint32_t block = rig_block(&rig, 0x1000, adds);
        uint64_t word = td_trace_block(block) | TD_TRACE_CODE;
        rig_feed(&rig, &word, (size_t)told, TD_SIM_FAST_FORWARD);
        td_sim_skipped(rig.sim, 10);
        repeat(&rig, block, 3);
        const struct sums sums = rig_sums(&rig);
        lost[told] = of_node(&sums, TD_NODE_ICACHE_MISSES) + of_node(&sums, TD_NODE_ITLB_MISSES);
        rig_close(&rig);
    }
    assert_int_equal(lost[1], 0);
    assert_true(lost[0] > 0);
}

/* A program that ends while instructions are skipped: what was modelled stands for all. */
static void first_part_stands_for_all(void **state)
{
    (void)state;
    struct td_sim_totals totals;
    struct rig rig;
    rig_open(&rig, "golden-cove");
    repeat(&rig, rig_block(&rig, 0x1000, adds), MANY);
    rig_run(&rig);
    rig_feed(&rig, rig.words, 0, TD_SIM_FAST_FORWARD);
    td_sim_skipped(rig.sim, 777);
    struct sums sums = {.slots = 0};
    td_sim_each_tally(rig.sim, add_tally, &sums);
    td_sim_totals(rig.sim, &totals);
    assert_int_equal(totals.instructions, 10 * MANY + 777);
    assert_int_equal(sums.values[TD_SIM_COLUMN_INSTRUCTIONS], totals.instructions);
    assert_int_equal(sums.slots, totals.slots);
    rig_close(&rig);
}

/* The same words in batches of any size give the same numbers. */
static void batches_do_not_matter(void **state)
{
    (void)state;
    struct rig one, many;
    rig_open(&one, "zen4");
    rig_open(&many, "zen4");
    const uint32_t block = rig_block(&one, 0x1000, adds);
    rig_block(&many, 0x1000, adds);
    repeat(&one, block, 1000);
    for (int i = 0; i < 1000; i++) {
        repeat(&many, block, 1);
        rig_run(&many);
    }
    const struct sums a = rig_sums(&one), b = rig_sums(&many);
    assert_memory_equal(&a, &b, sizeof(a));
    rig_close(&one);
    rig_close(&many);
}

/* Counters of 32 bits carry on. */
static void ledger_carries(void **state)
{
    (void)state;
    struct td_ledger ledger;
    td_ledger_init(&ledger);
    const uint32_t account = td_ledger_account(&ledger, 3, 4, 2);
    const uint32_t row = ledger.accounts[account].row;

    for (int i = 0; i < 5; i++)
        td_ledger_charge(&ledger, td_ledger_cell(row + 1, TD_CAUSE_DRAM), UINT32_MAX);
    assert_true(td_ledger_lost(&ledger, row + 1, TD_CAUSE_DRAM) == 5ULL * UINT32_MAX);
    assert_true(td_ledger_lost(&ledger, row, TD_CAUSE_DRAM) == 0);
    assert_int_equal(td_ledger_account(&ledger, 3, 4, 2), account);
    td_ledger_release(&ledger);
}

/* What `tdreport explain` says of the model: each node that it calls modelled is a column of the
 * tallies or made of such ones, and the other way round. */
static void columns_are_the_modelled_nodes(void **state)
{
    bool charged[TD_NODE_COUNT] = {false};

    (void)state;
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        enum td_tma_node n = td_sim_column_info((enum td_sim_column)c).node;

        for (; n != TD_NODE_NONE; n = td_tma_info(n)->parent)
            charged[n] = true;
    }
    for (int n = 0; n < TD_NODE_COUNT; n++)
        assert_int_equal(charged[n], td_tma_is_modelled((enum td_tma_node)n));
}

/* What is settled is scaled, adds up, and is kept by row and cause; the cells begin again. */
static void settlements_add_up(void **state)
{
    (void)state;
    struct td_ledger ledger;
    td_ledger_init(&ledger);
    const uint32_t account = td_ledger_account(&ledger, 0, 1, 3);
    const uint32_t row = ledger.accounts[account].row;
    const struct td_scale whole = {.seen = 1, .whole = 1}, twice = {.seen = 1, .whole = 2};
    uint64_t slots[TD_CAUSE_COUNT] = {0};

    ledger.mask = UINT32_MAX;
    for (int i = 0; i < 3; i++)
        td_ledger_charge(&ledger, td_ledger_cell(row + 2, TD_CAUSE_DRAM), UINT32_MAX);
    td_ledger_charge(&ledger, td_ledger_cell(row, TD_CAUSE_ICACHE), 7);
    td_ledger_settle(&ledger, &whole);
    assert_int_equal(td_ledger_lost(&ledger, row + 2, TD_CAUSE_DRAM), 0);
    td_ledger_charge(&ledger, td_ledger_cell(row, TD_CAUSE_DRAM), 5);
    td_ledger_charge(&ledger, td_ledger_cell(row, TD_CAUSE_ICACHE), 1);
    const uint32_t other_account = td_ledger_account(&ledger, 0, 2, 1);
    const uint32_t other = ledger.accounts[other_account].row;
    td_ledger_charge(&ledger, td_ledger_cell(other, TD_CAUSE_DRAM), 11);
    td_ledger_settle(&ledger, &twice);
    td_settled_add_to(&ledger.settled_lost, row, slots);
    assert_int_equal(slots[TD_CAUSE_ICACHE], 7 + 2 * 1);
    assert_int_equal(slots[TD_CAUSE_DRAM], 2 * 5);
    td_settled_add_to(&ledger.settled_lost, row + 1, slots);
    td_settled_add_to(&ledger.settled_lost, 1000, slots);
    assert_int_equal(slots[TD_CAUSE_DRAM], 2 * 5);
    assert_true(td_settled_sum(&ledger.settled_lost, row, 3) == 19 + 3 * (uint64_t)UINT32_MAX);
    assert_int_equal(td_settled_sum(&ledger.settled_lost, other, 1), 22);
    assert_int_equal(ledger.settled_lost.count, 4);
    td_ledger_release(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adds_retire),
        cmocka_unit_test(multiply_chain_is_core_bound),
        cmocka_unit_test(divides_wait_for_the_divider),
        cmocka_unit_test(chases_wait_for_their_level),
        cmocka_unit_test(forwarding_is_l1_bound),
        cmocka_unit_test(stores_fill_their_buffer),
        cmocka_unit_test(random_branches_are_bad_speculation),
        cmocka_unit_test(straight_code_misses_the_icache),
        cmocka_unit_test(early_load_clears_once),
        cmocka_unit_test(calls_make_paths),
        cmocka_unit_test(shallow_recursion_is_exact),
        cmocka_unit_test(deep_recursion_is_folded),
        cmocka_unit_test(windows_stand_for_the_rest),
        cmocka_unit_test(no_branch_is_missed_between_modes),
        cmocka_unit_test(skipped_code_is_warm),
        cmocka_unit_test(settlements_add_up),
        cmocka_unit_test(first_part_stands_for_all),
        cmocka_unit_test(batches_do_not_matter),
        cmocka_unit_test(ledger_carries),
        cmocka_unit_test(columns_are_the_modelled_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
