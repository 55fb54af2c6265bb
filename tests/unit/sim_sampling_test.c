/* SPDX-License-Identifier: MIT */
/* Sampling: which parts are modelled, and that what stands for the rest adds up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "record/sim/model/sampling/learning.h"
#include "record/sim/model/sampling/pace.h"
#include "record/sim/model/sampling/sampling.h"
#include "record/sim/model/sampling/windows.h"

/* The next phase; parts that end are planned as those of a program of so much spread. */
static struct td_sampling_phase next_of(struct td_sampling *sampling, double spread,
                                        double learning)
{
    if (td_sampling_part_ends(sampling))
        td_sampling_plan(sampling, spread, learning);
    return td_sampling_next(sampling);
}

static void begins_exactly_and_repeats(void **state)
{
    (void)state;
    static const enum td_sim_mode before[] = {[TD_SIM_FAST_FORWARD] = TD_SIM_EXACT,
                                              [TD_SIM_NEAR_WARMING] = TD_SIM_FUNCTIONAL_WARMING,
                                              [TD_SIM_DETAILED_WARMING] = TD_SIM_NEAR_WARMING,
                                              [TD_SIM_EXACT] = TD_SIM_DETAILED_WARMING};
    struct td_sampling a = {.begun = false}, b = {.begun = false};
    enum td_sim_mode last = TD_SIM_EXACT;
    uint64_t exact = 0, all = 0, shortest = UINT64_MAX, longest = 0;

    assert_int_equal(td_sampling_next(&a).mode, TD_SIM_EXACT);
    td_sampling_next(&b);
    for (int i = 0; i < 4000; i++) {
        const struct td_sampling_phase p = next_of(&a, 0.1, 0), q = next_of(&b, 0.1, 0);

        assert_int_equal(p.instructions, q.instructions);
        assert_true(p.mode == TD_SIM_FUNCTIONAL_WARMING
                        ? last == TD_SIM_FAST_FORWARD || last == TD_SIM_EXACT
                        : last == before[p.mode]);
        last = p.mode;
        all += p.instructions;
        exact += p.mode == TD_SIM_EXACT ? p.instructions : 0;
        if (p.mode == TD_SIM_FAST_FORWARD && p.instructions < shortest)
            shortest = p.instructions;
        if (p.mode == TD_SIM_FAST_FORWARD && p.instructions > longest)
            longest = p.instructions;
    }
    assert_in_range(exact * 100000 / all, 10, 5000);
    assert_true(longest > 2 * shortest); /* in no step with the program's loops */
}

/* Windows are closest, and nothing is left out, where programs are unlike what they go on with. */
static void beginnings_are_seen_best(void **state)
{
    (void)state;
    struct td_sampling sampling = {.begun = false};
    uint64_t ran = 0, left_out = 0, windows[3] = {0}; /* by 20 M instructions */
    uint64_t shortest = UINT64_MAX, longest = 0;

    while (ran < 60 * UINT64_C(1000000)) {
        const struct td_sampling_phase phase = next_of(&sampling, 0.9, 0);

        left_out += phase.mode == TD_SIM_FAST_FORWARD ? phase.instructions : 0;
        if (ran < 19 * UINT64_C(1000000) && phase.mode == TD_SIM_FUNCTIONAL_WARMING) {
            shortest = phase.instructions < shortest ? phase.instructions : shortest;
            longest = phase.instructions > longest ? phase.instructions : longest;
        }
        assert_true(left_out == 0 || ran > 39 * UINT64_C(1000000));
        windows[ran / 20000000] += phase.mode == TD_SIM_EXACT;
        ran += phase.instructions;
    }
    assert_true(left_out > 0);
    assert_true(longest > 2 * shortest); /* however close they are, windows keep no step */
    assert_in_range(windows[0], 40, 60); /* of 10 M; the rest is exact */
    assert_in_range(windows[1], 25, 42);
    assert_in_range(windows[2], 25, 42);
}

static void scaled_parts_add_up(void **state)
{
    (void)state;
    const struct td_scale scale = {.seen = 7001, .whole = 1000003};
    uint64_t sum = 0, scaled = 0, raw = 0;

    for (uint64_t i = 0; raw < scale.seen; i++) {
        const uint64_t part = i * i % 13 < scale.seen - raw ? i * i % 13 : scale.seen - raw;

        scaled += td_scale_add(&scale, &sum, part);
        raw += part;
    }
    assert_int_equal(scaled, scale.whole);
}

static void error_is_that_of_the_ratio(void **state)
{
    (void)state;
    struct td_windows same = {.open = false}, varied = {.open = false};
    uint64_t slots = 0, other = 0, instructions = 0;

    same.sampled = varied.sampled = true;
    for (int i = 0; i < 100; i++) {
        td_windows_open(&same, slots, instructions);
        td_windows_open(&varied, other, instructions);
        slots += 2000;
        other += i % 2 ? 1000 : 3000;
        instructions += 1000;
        td_windows_close(&same, slots, instructions);
        td_windows_close(&varied, other, instructions);
    }
    assert_true(td_windows_error(&same, 1000000) < 1);
    /* Slots an instruction are 2 +- 1: a standard deviation of 1.005, over the root of 100. */
    const double expected = 2 * 1.005 / 10 * 1000000, error = td_windows_error(&varied, 1000000);
    assert_true(error > 0.99 * expected && error < 1.01 * expected);
}

/* Alike windows: a few a part are enough. Others: as many as the error asks for. */
static void distances_follow_the_spread(void **state)
{
    (void)state;
    static const double spreads[] = {0.01, 0.6};
    uint64_t windows[2] = {0};

    for (int i = 0; i < 2; i++) {
        struct td_sampling sampling = {.begun = false};
        uint64_t ran = 0;

        while (ran < 4000 * UINT64_C(1000000)) {
            const struct td_sampling_phase phase = next_of(&sampling, spreads[i], 0);
            ran += phase.instructions;
            windows[i] += phase.mode == TD_SIM_EXACT;
        }
    }
    assert_in_range(windows[0], 1000, 1800);
    /* (2 * 0.6 / 0.025)^2 / 3 = 768 a part, of six. */
    assert_in_range(windows[1], 2500, 5000);
}

/* Predictors that still learn are warmed all the time, from the next part on. */
static void learning_leaves_nothing_out(void **state)
{
    (void)state;
    static const double falls[] = {0.001, 0.1};
    uint64_t skipped[2] = {0}, windows[2] = {0};

    for (int i = 0; i < 2; i++) {
        struct td_sampling sampling = {.begun = false};

        while (!td_sampling_part_ends(&sampling) || sampling.ran < 80 * UINT64_C(1000000))
            next_of(&sampling, 0.01, 0);
        td_sampling_plan(&sampling, 0.01, falls[i]);
        while (!td_sampling_part_ends(&sampling)) {
            const struct td_sampling_phase phase = td_sampling_next(&sampling);
            skipped[i] += phase.mode == TD_SIM_FAST_FORWARD ? phase.instructions : 0;
            windows[i] += phase.mode == TD_SIM_EXACT;
        }
    }
    assert_true(skipped[0] > 0);
    assert_int_equal(skipped[1], 0);
    assert_in_range(windows[1], windows[0] * 9 / 10, windows[0] * 11 / 10);
}

/* Of each warming, the first part against the second. */
static void learning_is_what_falls(void **state)
{
    (void)state;
    struct td_learning learning = {.ran = 0};

    assert_true(td_learning_fall(&learning) == 0);
    for (int warming = 0; warming < 4; warming++) {
        /* Where nothing was left out, there was nothing to learn anew. */
        td_learning_begin(&learning, warming != 1);
        for (int i = 0; i < 3 * TD_LEARNING_PART / 100; i++)
            td_learning_add(&learning, 100,
                            warming == 1                 ? false
                            : i < TD_LEARNING_PART / 100 ? i % 2 == 0
                                                         : i % 4 == 0);
    }
    const double fall = td_learning_fall(&learning);
    assert_true(fall > 0.00249 && fall < 0.00251);
}

/* What is settled stays, with its error; what comes counts for itself. */
static void settled_windows_stay(void **state)
{
    (void)state;
    struct td_windows windows = {.sampled = true};

    for (int i = 0; i < 10; i++) {
        td_windows_open(&windows, 0, 0);
        td_windows_close(&windows, i % 2 ? 1000 : 3000, 1000);
    }
    const double error = td_windows_error(&windows, 50000);
    const double spread = td_windows_spread(&windows);
    assert_true(spread > 0.5 && spread < 0.55);
    td_windows_settle(&windows, 50000, 100000, 50000);
    assert_int_equal(windows.first_slots, 100000);
    assert_int_equal(windows.settled_count, 10);
    assert_int_equal(windows.instructions, 0);
    assert_true(td_windows_error(&windows, 0) == error);
    assert_true(td_windows_spread(&windows) == 0);
}

/* Time between windows goes by what windows take, not by what the program's beginning took. */
static void time_passes_as_in_the_last_windows(void **state)
{
    (void)state;
    struct td_pace pace = {.windows = 0};

    assert_int_equal(td_pace_passed(&pace, 100), 0); /* nothing is known yet */
    td_pace_note(&pace, 4000, 1000, true);
    assert_int_equal(td_pace_passed(&pace, 1100), 4000);
    td_pace_note(&pace, 500, 1000, false);
    assert_int_equal(td_pace_passed(&pace, 2100), 4500);
    td_pace_note(&pace, 0, 0, false); /* it ended at once */
    assert_int_equal(td_pace_passed(&pace, 3100), 5000);
    for (int i = 0; i < 200; i++)
        td_pace_note(&pace, 2000, 1000, false);
    const int64_t before = td_pace_passed(&pace, 3100);
    assert_int_equal(before, 5000); /* what has passed stays as it was */
    assert_in_range(td_pace_passed(&pace, 4100) - before, 1990, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_passes_as_in_the_last_windows),
        cmocka_unit_test(begins_exactly_and_repeats),
        cmocka_unit_test(beginnings_are_seen_best),
        cmocka_unit_test(scaled_parts_add_up),
        cmocka_unit_test(error_is_that_of_the_ratio),
        cmocka_unit_test(distances_follow_the_spread),
        cmocka_unit_test(settled_windows_stay),
        cmocka_unit_test(learning_leaves_nothing_out),
        cmocka_unit_test(learning_is_what_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
