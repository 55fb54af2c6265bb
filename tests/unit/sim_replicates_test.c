/* SPDX-License-Identifier: MIT */
/* Replicates: their mean square is the variance of what windows stand for, of any sum of places. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "record/sim/model/replicates.h"
#include "record/sim/model/sim.h"
#include "sim_rig.h"

enum { WINDOW = 1000, DISTANCE = 100000 };

/* Two blocks of one instruction each. */
struct two {
    struct rig rig;
    struct td_ledger ledger;
    struct td_replicates replicates;
    uint32_t accounts[2];
    uint64_t windows;
};

static void open_two(struct two *two)
{
    static const uint8_t nop[] = {1, 0x90, 0};

    *two = (struct two){.windows = 0};
    rig_open(&two->rig, "golden-cove");
    td_ledger_init(&two->ledger);
    for (unsigned i = 0; i < 2; i++)
        two->accounts[i] =
            td_ledger_account(&two->ledger, 0, rig_block(&two->rig, 0x1000 + 0x100 * i, nop), 1);
}

static void close_two(struct two *two)
{
    td_replicates_release(&two->replicates);
    td_ledger_release(&two->ledger);
    rig_close(&two->rig);
}

/* A window in which the blocks lose so many slots. */
static void window(struct two *two, uint64_t first, uint64_t second)
{
    const uint64_t lost[] = {first, second};

    td_replicates_open(&two->replicates);
    for (unsigned i = 0; i < 2; i++) {
        td_replicates_touch(&two->replicates, &two->ledger, two->accounts[i], 1);
        td_ledger_charge(&two->ledger,
                         td_ledger_cell(two->ledger.accounts[two->accounts[i]].row, TD_CAUSE_DRAM),
                         lost[i]);
    }
    td_replicates_close(&two->replicates, &two->ledger, two->rig.blocks, WINDOW);
    two->windows++;
}

static struct td_scale scale_of(const struct two *two)
{
    return (struct td_scale){.seen = two->windows * WINDOW, .whole = two->windows * DISTANCE};
}

/* ±, 95 %, of the sum of the cells, by their replicates. */
static double error_of(const struct two *two, const struct td_scale *scale)
{
    int64_t values[TD_REPLICATES], sums[TD_REPLICATES] = {0};
    double squares = 0;

    for (size_t i = 0; i < two->replicates.count; i++) {
        if (!td_replicates_of(&two->replicates, &two->replicates.cells[i], scale, values))
            continue;
        for (int r = 0; r < TD_REPLICATES; r++)
            sums[r] += values[r];
    }
    for (int r = 0; r < TD_REPLICATES; r++)
        squares += (double)sums[r] * (double)sums[r];
    return TD_REPLICATES_T * sqrt(squares / TD_REPLICATES);
}

/* Few windows: no two of 16 have their signs in common, so that it is the usual formula. */
static void are_the_variance(void **state)
{
    (void)state;
    struct two two;

    open_two(&two);
    for (uint64_t i = 0; i < 16; i++)
        window(&two, i % 2 ? 100 : 300, 0);
    const struct td_scale scale = scale_of(&two);
    /* 16 windows at 100 from the mean of 200 each stand for 99 more. */
    const double expected = td_windows_widening(16) * 100 * 99 * 4 * sqrt(16 / 15.0),
                 error = error_of(&two, &scale);
    assert_true(error > 0.999 * expected && error < 1.001 * expected);
    close_two(&two);
}

/* Of many windows it is an estimate. */
static void are_near_it_for_many(void **state)
{
    (void)state;
    struct two two;

    open_two(&two);
    for (uint64_t i = 0; i < 400; i++)
        window(&two, td_hash_u64(i) % 2 ? 100 : 300, 0);
    const struct td_scale scale = scale_of(&two);
    const double expected = TD_REPLICATES_T * 100 * 99 * sqrt(400), error = error_of(&two, &scale);
    assert_true(error > 0.6 * expected && error < 1.4 * expected);
    close_two(&two);
}

/* What one place has more the other has less: their sum is known exactly. */
static void add_up(void **state)
{
    (void)state;
    struct two two;

    open_two(&two);
    for (uint64_t i = 0; i < 100; i++) {
        const uint64_t part = td_hash_u64(i) % 1000;

        window(&two, part, 1000 - part);
    }
    const struct td_scale scale = scale_of(&two);
    assert_int_equal(two.replicates.count, 2);
    assert_true(error_of(&two, &scale) < 200);
    two.replicates.count = 1;
    assert_true(error_of(&two, &scale) > 100000);
    close_two(&two);
}

/* Where columns are not told apart, an instruction has one cell, as sure as its columns together.
 */
static void columns_may_be_one(void **state)
{
    (void)state;
    double errors[2];

    for (int whole = 0; whole < 2; whole++) {
        struct two two;

        open_two(&two);
        two.replicates.whole = whole;
        for (uint64_t i = 0; i < 100; i++) {
            const uint32_t row = two.ledger.accounts[two.accounts[0]].row;

            td_replicates_open(&two.replicates);
            td_replicates_touch(&two.replicates, &two.ledger, two.accounts[0], 1);
            td_ledger_charge(&two.ledger, td_ledger_cell(row, TD_CAUSE_DRAM), td_hash_u64(i) % 500);
            td_ledger_charge(&two.ledger, td_ledger_cell(row, TD_CAUSE_MISPREDICT), 100);
            td_replicates_close(&two.replicates, &two.ledger, two.rig.blocks, WINDOW);
            two.windows++;
        }
        const struct td_scale scale = scale_of(&two);
        assert_int_equal(two.replicates.count, whole ? 1 : 2);
        assert_true(!whole || two.replicates.cells[0].column == TD_SIM_ALL_SLOTS);
        errors[whole] = error_of(&two, &scale);
        close_two(&two);
    }
    assert_true(errors[0] > 100000);
    assert_true(fabs(errors[1] - errors[0]) < 0.001 * errors[0]);
}

/* Of one window it is not known how far others are from it. */
static void one_window_is_as_sure_as_nothing(void **state)
{
    (void)state;
    struct two two;

    open_two(&two);
    window(&two, 500, 0);
    const struct td_scale scale = scale_of(&two);
    const double stands_for = 500 * 99;
    assert_true(fabs(error_of(&two, &scale) - stands_for) < 0.01 * stands_for);
    close_two(&two);
}

/* A part that is over keeps its error, whatever comes. */
static void settled_parts_stay(void **state)
{
    (void)state;
    struct two two;

    open_two(&two);
    for (uint64_t i = 0; i < 32; i++)
        window(&two, i % 3 * 100, 0);
    const struct td_scale scale = scale_of(&two), later = {.seen = 32000, .whole = 64000};
    const double error = error_of(&two, &scale);
    td_replicates_settle(&two.replicates, &scale);
    for (uint64_t i = 0; i < 32; i++)
        window(&two, 100, 0);
    assert_true(fabs(error_of(&two, &later) - error) < 0.01 * error);
    close_two(&two);
}

static void run_rounds(struct rig *rig, uint32_t block, int rounds, enum td_sim_mode mode)
{
    for (int i = 0; i < rounds; i++)
        rig_word(rig, td_trace_block(block));
    rig_feed(rig, rig->words, rig->count, mode);
    rig->count = 0;
}

static void add_replicates(void *ctx, uint32_t region, uint64_t pc, enum td_sim_column column,
                           const int64_t replicates[TD_REPLICATES])
{
    int64_t *sums = ctx;

    (void)region;
    (void)pc;
    (void)column;
    for (int r = 0; r < TD_REPLICATES; r++)
        sums[r] += replicates[r];
}

/* A program ends where it does: within a window, as a rule by what it does nowhere else. What that
 * window saw is in the totals, so that it is in their error, and may be asked for again. */
static void hold_the_window_that_the_end_cuts(void **state)
{
    (void)state;
    static const uint8_t nops[] = {1, 0x90, 1, 0x90, 2, 0xeb, 0xfc, 0};      /* jmp back */
    static const uint8_t divide[] = {3, 0x48, 0xf7, 0xf1, 2, 0xeb, 0xfb, 0}; /* div rcx */
    struct td_sim_totals totals;
    struct rig rig;

    rig_open(&rig, "golden-cove");
    const uint32_t usual = rig_block(&rig, 0x1000, nops), last = rig_block(&rig, 0x2000, divide);
    run_rounds(&rig, usual, 400, TD_SIM_EXACT);
    for (int i = 0; i < 5; i++) {
        run_rounds(&rig, usual, 4000, TD_SIM_FUNCTIONAL_WARMING);
        run_rounds(&rig, i < 4 ? usual : last, 400, TD_SIM_DETAILED_WARMING);
        run_rounds(&rig, i < 4 ? usual : last, 400, TD_SIM_EXACT);
    }
    td_sim_totals(rig.sim, &totals);
    const double width = rig.desc.width, stated = (double)totals.cycles_error * width;
    for (int again = 0; again < 2; again++) {
        int64_t sums[TD_REPLICATES] = {0};
        double squares = 0;

        td_sim_each_replicates(rig.sim, add_replicates, sums);
        for (int r = 0; r < TD_REPLICATES; r++)
            squares += (double)sums[r] * (double)sums[r];
        const double error = TD_REPLICATES_T * sqrt(squares / TD_REPLICATES);
        assert_true(error > 0.5 * stated && error < 2 * stated);
    }
    rig_close(&rig);
}

/* Slots of the instructions from `from` to `to`. */
struct span {
    uint64_t from, to, slots, runs;
};

static void add_span(void *ctx, const struct td_sim_tally *tally)
{
    struct span *span = ctx;

    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++) {
        const bool of_slots = td_sim_column_info((enum td_sim_column)c).node != TD_NODE_NONE;

        if (tally->pc >= span->from && tally->pc < span->to && of_slots)
            span->slots += tally->values[c];
    }
    span->runs += tally->pc == span->from ? tally->runs : 0;
}

/* Two windows of the same length, the second of which stands for nine times as much. */
static void windows_have_weights(void **state)
{
    (void)state;
    enum { ROUNDS = 400, UNSEEN = 100000 };
    static const uint8_t nops[] = {1, 0x90, 1, 0x90, 2, 0xeb, 0xfc, 0};
    int64_t sums[TD_REPLICATES] = {0};
    struct td_sim_totals totals;
    double squares = 0;
    struct rig rig;

    rig_open(&rig, "golden-cove");
    const uint32_t blocks[] = {rig_block(&rig, 0x1000, nops), rig_block(&rig, 0x2000, nops)};
    run_rounds(&rig, blocks[0], 1, TD_SIM_FAST_FORWARD);
    for (int w = 0; w < 2; w++) {
        run_rounds(&rig, blocks[w], ROUNDS, TD_SIM_FUNCTIONAL_WARMING);
        run_rounds(&rig, blocks[w], ROUNDS, TD_SIM_DETAILED_WARMING);
        run_rounds(&rig, blocks[w], ROUNDS, TD_SIM_EXACT);
        rig_word(&rig, td_trace_block(blocks[w]));
        rig_feed(&rig, rig.words, rig.count, TD_SIM_FAST_FORWARD);
        td_sim_skipped(rig.sim, UNSEEN * (w ? 9 : 1));
        rig.words[0] = td_trace_mark(TD_TRACE_WEIGH);
        rig_feed(&rig, rig.words, rig.count, TD_SIM_FAST_FORWARD);
        rig.count = 0;
    }
    td_sim_totals(rig.sim, &totals);
    assert_int_equal(totals.windows, 2);
    assert_in_range(totals.instructions, 10 * UNSEEN, 10 * UNSEEN + 6 * 3 * ROUNDS + 10);
    struct span first = {.from = 0x1000, .to = 0x2000}, second = {.from = 0x2000, .to = 0x3000};
    td_sim_each_tally(rig.sim, add_span, &first);
    td_sim_each_tally(rig.sim, add_span, &second);
    assert_in_range(second.runs, first.runs * 8, first.runs * 9);
    assert_in_range(second.slots, first.slots * 8, first.slots * 9);
    /* Each replicate is all that the windows stand for, with their signs. */
    td_sim_each_replicates(rig.sim, add_replicates, sums);
    for (int r = 0; r < TD_REPLICATES; r++)
        squares += (double)sums[r] * (double)sums[r];
    const double found = sqrt(squares / TD_REPLICATES);
    const double known = hypot((double)first.slots, (double)second.slots);
    assert_true(found > 0.99 * known && found < 1.01 * known);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_the_variance),
        cmocka_unit_test(are_near_it_for_many),
        cmocka_unit_test(add_up),
        cmocka_unit_test(columns_may_be_one),
        cmocka_unit_test(one_window_is_as_sure_as_nothing),
        cmocka_unit_test(settled_parts_stay),
        cmocka_unit_test(hold_the_window_that_the_end_cuts),
        cmocka_unit_test(windows_have_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
