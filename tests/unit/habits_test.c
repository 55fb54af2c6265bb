/* SPDX-License-Identifier: MIT */
/* Habits: what is watched of planted streams of accesses and branches, the file, and merging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "formats/habits.h"
#include "formats/load.h"
#include "formats/merge.h"
#include "formats/profile/write.h"
#include "formats/sums.h"
#include "record/sim/model/habits/outcomes.h"
#include "record/sim/model/habits/usage.h"

enum { LINES = 512, WAYS = 8, ACCESSES = 4000, PLACE = 0x401037 };

/* An L1 with one line a slot by address, as far as the test needs one. */
static void use(struct td_usage *usage, uint64_t *held, uint64_t address, uint32_t bytes)
{
    const uint32_t slot = (uint32_t)(address >> 6) % LINES;
    const struct td_use one = {.place = PLACE,
                               .address = address,
                               .bytes = bytes,
                               .slot = slot,
                               .from = TD_HABIT_ACCESSES,
                               .faulted = held[slot] == 0};

    if (held[slot] != address >> 6) {
        td_lines_fill(usage->lines, slot, address >> 6);
        held[slot] = address >> 6;
    }
    td_lines_use(usage->lines, slot, address & 63, bytes);
    td_usage_note(usage, &one);
}

static void keep(void *ctx, const struct td_habit *habit)
{
    assert_int_equal(habit->offset, PLACE);
    *(struct td_habit *)ctx = *habit;
}

static struct td_habit habit_of(uint64_t (*address)(uint64_t i), uint32_t bytes)
{
    struct td_usage *usage = td_usage_new(LINES, WAYS);
    uint64_t held[LINES] = {0};
    struct td_habit habit = {0};

    td_lines_watch(usage->lines, true);
    for (uint64_t i = 0; i < ACCESSES; i++)
        use(usage, held, address(i), bytes);
    td_usage_each(usage, keep, &habit);
    td_usage_free(usage);
    assert_true(td_habit_is_right(&habit));
    assert_int_equal(habit.figures[TD_HABIT_ACCESSES], ACCESSES);
    /* As many as slots of L1 were used for the first time. */
    uint64_t used = 0;
    for (size_t i = 0; i < LINES; i++)
        used += held[i] != 0;
    assert_int_equal(habit.figures[TD_HABIT_FAULTS], used);
    return habit;
}

static uint64_t column(uint64_t i)
{
    return UINT64_C(0x10000000) + i * 8192 + i / 8 * 64;
}

static uint64_t two_lines(uint64_t i)
{
    return UINT64_C(0x10000000) + (i & 1) * LINES * 64;
}

static uint64_t chance(uint64_t i)
{
    return UINT64_C(0x10000000) + td_hash_u64(i + 1) % 100000 * 64;
}

static uint64_t dense(uint64_t i)
{
    return UINT64_C(0x10000000) + i * 8;
}

static void strides_are_seen(void **state)
{
    (void)state;
    struct td_habit habit = habit_of(column, 8);
    const struct td_habit_mark *stride = td_habit_most(&habit, TD_HABIT_STRIDE);

    assert_int_equal(stride->key, 8192);
    assert_true(stride->count > ACCESSES * 85 / 100 && stride->count < ACCESSES * 88 / 100);
    assert_int_equal(habit.figures[TD_HABIT_NEW_LINES], ACCESSES);
    assert_int_equal(habit.figures[TD_HABIT_NEW_PAGES], ACCESSES);
    assert_int_equal(habit.figures[TD_HABIT_BYTES_USED], 8 * habit.figures[TD_HABIT_LINES_GONE]);
    habit = habit_of(dense, 8);
    stride = td_habit_most(&habit, TD_HABIT_STRIDE);
    assert_int_equal(stride->key, 8);
    assert_int_equal(stride->count, ACCESSES - 1);
    assert_int_equal(habit.figures[TD_HABIT_LINES], ACCESSES / 8);
}

/* No stride has more than its share, and the estimate of the footprint is good to a tenth. */
static void chance_has_no_stride(void **state)
{
    (void)state;
    const struct td_habit habit = habit_of(chance, 4);
    const struct td_habit_mark *stride = td_habit_most(&habit, TD_HABIT_STRIDE);

    assert_true(!stride || stride->count < ACCESSES / 100);
    assert_true(habit.figures[TD_HABIT_FOOTPRINT_LINES] > ACCESSES * 9 / 10);
    assert_true(habit.figures[TD_HABIT_FOOTPRINT_LINES] < ACCESSES * 11 / 10);
}

static void conflicts_are_seen(void **state)
{
    (void)state;
    const struct td_habit habit = habit_of(two_lines, 8);

    assert_int_equal(habit.figures[TD_HABIT_LINES], ACCESSES);
    assert_int_equal(habit.figures[TD_HABIT_CONFLICTS], ACCESSES - 2);
    assert_int_equal(__builtin_popcountll(habit.figures[TD_HABIT_SETS]), 1);
    assert_int_equal(td_habit_most(&habit, TD_HABIT_REUSE)->key, 1);
}

/* A branch that is always mispredicted, so that it is searched; `period` 0: by chance. */
static struct td_habit outcomes_of(unsigned period)
{
    struct td_outcomes *outcomes = td_outcomes_new();
    struct td_habit habit = {0};

    for (unsigned i = 0; i < 6 * TD_OUTCOME_STRETCH; i++) {
        const bool taken = td_hash_u64((period ? i % period : i) + 1) & 1;

        td_outcomes_note(outcomes, &(struct td_outcome){.place = PLACE,
                                                        .conditional = true,
                                                        .taken = taken,
                                                        .wrong = true,
                                                        .target = taken});
    }
    td_outcomes_each(outcomes, keep, &habit);
    td_outcomes_free(outcomes);
    assert_true(td_habit_is_right(&habit));
    return habit;
}

static void periods_are_found(void **state)
{
    (void)state;
    const unsigned periods[] = {7, 63, 64, 65, 130, 400, 511};

    for (size_t i = 0; i < TD_ARRAY_SIZE(periods); i++) {
        const struct td_habit habit = outcomes_of(periods[i]);
        const struct td_habit_mark *period = td_habit_most(&habit, TD_HABIT_PERIOD);

        assert_int_equal(period->key, periods[i]);
        assert_int_equal(period->count, habit.figures[TD_HABIT_STRETCHES]);
    }
    const struct td_habit habit = outcomes_of(0);
    assert_int_equal(td_habit_most(&habit, TD_HABIT_PERIOD)->key, 0);
    assert_int_equal(habit.figures[TD_HABIT_BRANCHES], 6 * TD_OUTCOME_STRETCH);
}

struct keep_one {
    uint64_t offset;
    struct td_habit *habit;
};

static void keep_one(void *ctx, const struct td_habit *habit)
{
    const struct keep_one *keep = ctx;

    if (habit->offset == keep->offset)
        *keep->habit = *habit;
}

/* The ways of two branches in turn, the second of which is mispredicted. */
static struct td_habit second_of_two(bool follows, bool other_way)
{
    struct td_outcomes *outcomes = td_outcomes_new();
    struct td_habit found = {.module = 0};
    uint64_t x = 88172645463325252ULL;

    for (int i = 0; i < 3000; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        const bool first = x >> 60 & 1, second = follows ? first != other_way : x >> 40 & 1;

        td_outcomes_note(outcomes,
                         &(struct td_outcome){
                             .place = 0x1000, .conditional = true, .taken = first, .target = 1});
        td_outcomes_note(outcomes, &(struct td_outcome){.place = 0x2000,
                                                        .conditional = true,
                                                        .taken = second,
                                                        .wrong = x >> 30 & 1,
                                                        .target = 1});
    }
    struct keep_one keep = {.offset = 0x2000, .habit = &found};
    td_outcomes_each(outcomes, keep_one, &keep);
    td_outcomes_free(outcomes);
    return found;
}

static void earlier_branches_are_found(void **state)
{
    (void)state;
    for (int other_way = 0; other_way < 2; other_way++) {
        const struct td_habit habit = second_of_two(true, other_way);
        const struct td_habit_mark *follows = td_habit_most(&habit, TD_HABIT_FOLLOWS);

        assert_non_null(follows);
        assert_int_equal(follows->key, 0x1000);
        assert_true(follows->count > 2000);
    }
    const struct td_habit habit = second_of_two(false, false);
    assert_null(td_habit_most(&habit, TD_HABIT_FOLLOWS));
}

/* Tables full of what has ended: so many places of that, and executions of each; then of what runs
 * by turns. */
enum { ENDED = 8192, ENDED_RUNS = 60, TURNS = 48, TURN_RUNS = 4000, TURNS_AT = 1 << 20 };

static void count_turns(void *ctx, const struct td_habit *habit)
{
    uint64_t runs = habit->figures[TD_HABIT_BRANCHES] + habit->figures[TD_HABIT_ACCESSES];

    *(int *)ctx += habit->offset >= TURNS_AT && runs > TURN_RUNS / 2;
}

static void branches_by_turns_find_a_place(void **state)
{
    (void)state;
    struct td_outcomes *outcomes = td_outcomes_new();
    int found = 0;

    for (uint64_t i = 0; i < ENDED * ENDED_RUNS; i++)
        td_outcomes_note(outcomes,
                         &(struct td_outcome){.place = i / ENDED_RUNS, .conditional = true});
    for (uint64_t i = 0; i < TURNS * TURN_RUNS; i++)
        td_outcomes_note(outcomes,
                         &(struct td_outcome){.place = TURNS_AT + i % TURNS, .conditional = true});
    td_outcomes_each(outcomes, count_turns, &found);
    td_outcomes_free(outcomes);
    assert_int_equal(found, TURNS);
}

static void accesses_by_turns_find_a_place(void **state)
{
    (void)state;
    struct td_usage *usage = td_usage_new(LINES, WAYS);
    int found = 0;

    for (uint64_t i = 0; i < ENDED * ENDED_RUNS; i++)
        td_usage_note(usage, &(struct td_use){.place = i / ENDED_RUNS,
                                              .bytes = 8,
                                              .slot = TD_USE_PAST,
                                              .from = TD_HABIT_ACCESSES});
    for (uint64_t i = 0; i < TURNS * TURN_RUNS; i++)
        td_usage_note(usage, &(struct td_use){.place = TURNS_AT + i % TURNS * 7919,
                                              .bytes = 8,
                                              .slot = TD_USE_PAST,
                                              .from = TD_HABIT_ACCESSES});
    td_usage_each(usage, count_turns, &found);
    td_usage_free(usage);
    assert_int_equal(found, TURNS);
}

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

static struct td_habit loads_at(uint64_t offset)
{
    struct td_habit habit = {.module = 0, .offset = offset};
    const struct td_habit_mark stride = {TD_HABIT_STRIDE, TD_NONE, -64, 90};
    const struct td_habit_mark store = {TD_HABIT_BLOCKED_BY, 1, 0x2000, 30};

    habit.figures[TD_HABIT_ACCESSES] = 100;
    habit.figures[TD_HABIT_BLOCKED] = 30;
    habit.figures[TD_HABIT_FOOTPRINT_LINES] = 40;
    habit.figures[TD_HABIT_SETS] = UINT64_C(1) << 63 | offset;
    td_habit_mark(&habit, &stride);
    td_habit_mark(&habit, &store);
    return habit;
}

static void write_habits(struct td_buf *bytes, const struct td_habit *habits, size_t count)
{
    const struct td_profile_module modules[] = {{.kind = TD_MODULE_FILE, .path = "/bin/app"},
                                                {.kind = TD_MODULE_FILE, .path = "/lib/other"}};
    struct td_profile_writer *writer = NULL;

    assert_int_equal(td_profile_writer_new(&writer, append, bytes, NULL, NULL), TD_OK);
    for (size_t i = 0; i < TD_ARRAY_SIZE(modules); i++)
        td_profile_module(writer, &modules[i]);
    for (size_t i = 0; i < count; i++)
        td_profile_habit(writer, &habits[i]);
    assert_int_equal(td_profile_finish(writer, NULL), TD_OK);
    td_profile_writer_free(writer);
}

static struct td_model *load(const struct td_buf *bytes, bool damaged)
{
    struct td_load_status status = {.damaged = false};
    struct td_model *model = NULL;

    assert_int_equal(td_load_bytes(&model, bytes->data, bytes->len, "p", NULL, &status, NULL),
                     TD_OK);
    assert_int_equal(status.damaged, damaged);
    return model;
}

static void check_habits(const struct td_model *model, uint64_t times)
{
    const struct td_habits *habits = td_model_habits(model);
    const struct td_habit *habit = td_habits_find(habits, 0, 0x10);

    assert_int_equal(habits->len, 2);
    assert_non_null(habit);
    assert_null(td_habits_find(habits, 1, 0x10));
    assert_int_equal(habit->figures[TD_HABIT_ACCESSES], 100 * times);
    assert_int_equal(habit->figures[TD_HABIT_FOOTPRINT_LINES], 40);
    assert_true(habit->figures[TD_HABIT_SETS] == (UINT64_C(1) << 63 | 0x10));
    assert_int_equal(habit->mark_count, 2);
    assert_int_equal(td_habit_most(habit, TD_HABIT_STRIDE)->key, -64);
    assert_int_equal(td_habit_most(habit, TD_HABIT_STRIDE)->count, 90 * times);
    assert_int_equal(td_habit_most(habit, TD_HABIT_BLOCKED_BY)->module, 1);
    assert_int_equal(td_habit_most(habit, TD_HABIT_BLOCKED_BY)->key, 0x2000);
}

static void the_file_keeps_them(void **state)
{
    (void)state;
    const struct td_habit habits[] = {loads_at(0x10), loads_at(0x8)};
    struct td_buf bytes = {0}, sum = {0};

    write_habits(&bytes, habits, TD_ARRAY_SIZE(habits));
    struct td_model *model = load(&bytes, false);
    check_habits(model, 1);

    struct td_merge *merge = td_merge_new();
    for (int i = 0; i < 3; i++)
        assert_int_equal(td_merge_add(merge, model, "p", NULL), TD_OK);
    td_model_free(model);
    assert_int_equal(td_merge_write(merge, append, &sum, NULL), TD_OK);
    td_merge_free(merge);
    model = load(&sum, false);
    check_habits(model, 3);
    td_model_free(model);
    td_buf_release(&bytes);
    td_buf_release(&sum);
}

static void wrong_figures_are_damage(void **state)
{
    (void)state;
    const enum td_habit_figure parts[] = {TD_HABIT_BLOCKED, TD_HABIT_CONFLICTS, TD_HABIT_TAKEN,
                                          TD_HABIT_BYTES_USED};

    for (size_t i = 0; i < TD_ARRAY_SIZE(parts); i++) {
        struct td_habit habit = loads_at(0x10);
        struct td_buf bytes = {0};

        habit.figures[parts[i]] = 101;
        assert_false(td_habit_is_right(&habit));
        write_habits(&bytes, &habit, 1);
        struct td_model *model = load(&bytes, true);
        assert_int_equal(td_model_habits(model)->len, 0);
        td_model_free(model);
        td_buf_release(&bytes);
    }
    struct td_habit sum = loads_at(0x10);
    const struct td_habit more = loads_at(0x10);
    sum.figures[TD_HABIT_ACCESSES] = TD_SUM_MAX - 1;
    td_habit_add(&sum, &more);
    assert_true(sum.figures[TD_HABIT_ACCESSES] == TD_SUM_MAX - 1);
}

/* The largest marks stay. */
static void marks_are_bounded(void **state)
{
    (void)state;
    struct td_habit habit = {0};
    uint64_t sum = 0;

    for (int i = 0; i < 3 * TD_HABIT_MARKS_MAX; i++) {
        const struct td_habit_mark mark = {TD_HABIT_STRIDE, TD_NONE, i, (uint64_t)i + 1};

        td_habit_mark(&habit, &mark);
    }
    assert_int_equal(habit.mark_count, TD_HABIT_MARKS_MAX);
    assert_int_equal(td_habit_most(&habit, TD_HABIT_STRIDE)->key, 3 * TD_HABIT_MARKS_MAX - 1);
    for (uint32_t m = 0; m < habit.mark_count; m++)
        sum += habit.marks[m].kind == TD_HABIT_STRIDE ? habit.marks[m].count : 0;
    assert_true(sum > (uint64_t)TD_HABIT_MARKS_MAX * 2 * TD_HABIT_MARKS_MAX);
}

/* A record of four bytes takes a thousand in memory. */
static void places_are_bounded(void **state)
{
    (void)state;
    struct td_habits habits = {.at = NULL};
    struct td_habit habit = loads_at(0);

    for (; habit.offset < TD_HABITS_MAX; habit.offset++)
        assert_true(td_habits_put(&habits, &habit));
    assert_false(td_habits_put(&habits, &habit));
    assert_int_equal(habits.len, TD_HABITS_MAX);
    assert_null(td_habits_find(&habits, habit.module, habit.offset));
    /* Those that are known still grow. */
    habit.offset = 5;
    assert_true(td_habits_put(&habits, &habit));
    assert_int_equal(td_habits_find(&habits, habit.module, 5)->figures[TD_HABIT_ACCESSES], 200);
    td_habits_release(&habits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strides_are_seen),
        cmocka_unit_test(chance_has_no_stride),
        cmocka_unit_test(conflicts_are_seen),
        cmocka_unit_test(periods_are_found),
        cmocka_unit_test(earlier_branches_are_found),
        cmocka_unit_test(branches_by_turns_find_a_place),
        cmocka_unit_test(accesses_by_turns_find_a_place),
        cmocka_unit_test(the_file_keeps_them),
        cmocka_unit_test(wrong_figures_are_damage),
        cmocka_unit_test(marks_are_bounded),
        cmocka_unit_test(places_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
