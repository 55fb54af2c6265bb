/* SPDX-License-Identifier: MIT */
/* Snapshots are put together while they come: each adds what it tells more than the last of its
 * image.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/sums.h"
#include "formats/load.h"
#include "record/run/snapshots.h"
#include "record/sim/share/snapshot.h"

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

/* The code of the program lies at BASE. */
#define BASE UINT64_C(0x400000)
/* Of the modelled core, in slots. */
#define WIDTH 6

/* A snapshot of one thread: `count` places of a program, each with `value` cycles. */
static struct td_buf snapshot(uint32_t pid, uint32_t count, uint64_t value)
{
    struct td_snapshot_module modules[] = {{.path = "/bin/app"}};
    struct td_snapshot_task tasks[] = {{.tid = pid, .name = "app"}};
    struct td_snapshot snapshot = {.pid = pid,
                                   .process = "app",
                                   .cycles = count * value,
                                   .modules = modules,
                                   .module_count = 1,
                                   .tasks = tasks,
                                   .task_count = 1};
    const struct td_range range = {.start = BASE, .end = BASE + 4096};
    const struct td_snapshot_path outer = {.id = 3, .call = BASE + 16};
    uint64_t values[TD_SIM_COLUMN_COUNT] = {0};
    struct td_snapshot_writer writer = {.path = 0};
    struct td_buf bytes = {0};

    values[TD_SIM_COLUMN_INSTRUCTIONS] = 2 * value;
    values[TD_SIM_COLUMN_RETIRED_OTHER] = WIDTH * value;
    td_snapshot_put_path(&writer, &outer);
    for (uint32_t i = 1; i <= count; i++)
        td_snapshot_put_tally(&writer, 0, outer.id, BASE + i, values);
    td_snapshot_end_task(&writer);
    td_range_set_put(&snapshot.ranges, &range);
    td_snapshot_put(&bytes, &snapshot, &writer);
    td_range_set_release(&snapshot.ranges);
    return bytes;
}

struct whole {
    struct td_buf bytes;
    struct td_profile_writer *writer;
    struct td_snapshots snapshots;
};

static void begin(struct whole *whole)
{
    *whole = (struct whole){.writer = NULL};
    assert_int_equal(td_profile_writer_new(&whole->writer, append, &whole->bytes, NULL, NULL),
                     TD_OK);
    td_snapshots_init(&whole->snapshots, whole->writer);
}

/* The profile as it was written; the caller frees it. */
static struct td_model *load(const struct whole *whole)
{
    struct td_model *model = NULL;

    assert_int_equal(
        td_load_bytes(&model, whole->bytes.data, whole->bytes.len, "whole", NULL, NULL, NULL),
        TD_OK);
    return model;
}

static void add_snapshot(struct whole *whole, uint32_t image, struct td_buf bytes, bool last)
{
    assert_true(td_snapshots_add(&whole->snapshots, image, &bytes, last));
    assert_int_equal(bytes.len, 0);
    assert_int_equal(td_profile_flush(whole->writer, NULL), TD_OK);
}

static void add(struct whole *whole, uint32_t image, struct td_buf bytes)
{
    add_snapshot(whole, image, bytes, false);
}

/* What a reader finds at this moment: places and the sum of their cycles. */
static void expect(const struct whole *whole, size_t places, uint64_t cycles)
{
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;
    uint64_t sum = 0, samples = 0;
    size_t left = 0;

    if (td_load_bytes(&model, whole->bytes.data, whole->bytes.len, "whole", NULL, NULL, &err) !=
        TD_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);
        const struct td_node *node = td_model_node(model, tally->node);
        const uint64_t *values = td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0});
        bool any = false;

        sum += values[TD_SIM_COLUMN_RETIRED_OTHER] / WIDTH;
        samples += tally->samples;
        for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
            any = any || values[c];
        left += any;
        assert_int_equal(
            td_model_location(model, td_model_node(model, node->parent)->location)->offset, 16);
    }
    assert_int_equal(left, places);
    assert_int_equal(sum, cycles);
    assert_int_equal(samples, 2 * cycles);
    assert_int_equal(td_model_counter(model, TD_COUNTER_CYCLES), cycles);
    assert_int_equal(td_model_module_count(model), 1);
    td_model_free(model);
}

static void end(struct whole *whole)
{
    assert_int_equal(td_profile_finish(whole->writer, NULL), TD_OK);
    td_snapshots_release(&whole->snapshots);
    td_profile_writer_free(whole->writer);
    td_buf_release(&whole->bytes);
}

static void test_growing(void **state)
{
    struct whole whole;

    (void)state;
    begin(&whole);
    add(&whole, 0, snapshot(7, 3, 10));
    expect(&whole, 3, 30);
    const size_t before = whole.bytes.len;
    add(&whole, 0, snapshot(7, 3, 10)); /* nothing new */
    expect(&whole, 3, 30);
    assert_true(whole.bytes.len < before + 100);
    add(&whole, 0, snapshot(7, 5, 12));
    expect(&whole, 5, 60);
    /* Estimates may fall, too. */
    add(&whole, 0, snapshot(7, 5, 11));
    expect(&whole, 5, 55);
    add(&whole, 0, snapshot(7, 2, 11));
    expect(&whole, 2, 22);
    add(&whole, 0, snapshot(7, 4, 11));
    expect(&whole, 4, 44);
    end(&whole);
}

/* Images of one process (it executed another) and of others are told apart; a place is given on. */
static void test_images(void **state)
{
    struct whole whole;

    (void)state;
    begin(&whole);
    add(&whole, 0, snapshot(7, 2, 10));
    add(&whole, 3, snapshot(8, 2, 1));
    expect(&whole, 4, 22);
    td_snapshots_forget(&whole.snapshots, 0);
    add(&whole, 0, snapshot(9, 1, 100));
    expect(&whole, 5, 122);
    end(&whole);
}

/* Bytes that are no snapshot change nothing. */
static void test_damaged(void **state)
{
    struct td_buf good = snapshot(7, 3, 10);
    struct whole whole;

    (void)state;
    begin(&whole);
    add(&whole, 0, snapshot(7, 2, 10));
    for (size_t len = 0; len < good.len; len++) {
        struct td_buf cut = {0};

        td_buf_bytes(&cut, good.data, len);
        assert_false(td_snapshots_add(&whole.snapshots, 0, &cut, true));
        td_buf_release(&cut);
    }
    assert_int_equal(td_profile_flush(whole.writer, NULL), TD_OK);
    expect(&whole, 2, 20);
    add(&whole, 0, good);
    expect(&whole, 3, 30);
    end(&whole);
}

/* A snapshot of one place, which says that it has so much. */
static struct td_buf claim(uint64_t instructions, uint64_t slots)
{
    struct td_snapshot_task tasks[] = {{.tid = 7, .name = "app"}};
    const struct td_snapshot snapshot = {
        .pid = 7, .process = "app", .tasks = tasks, .task_count = 1};
    const uint64_t values[TD_SIM_COLUMN_COUNT] = {
        [TD_SIM_COLUMN_INSTRUCTIONS] = instructions, [TD_SIM_COLUMN_L1] = slots};
    struct td_snapshot_writer writer = {.path = 0};
    struct td_buf bytes = {0};

    td_snapshot_put_tally(&writer, 0, 0, BASE, values);
    td_snapshot_end_task(&writer);
    td_snapshot_put(&bytes, &snapshot, &writer);
    return bytes;
}

/* A program that writes into its image's memory gets no counts into the profile that its reader
 * would take for damage. */
static void test_counts_that_cannot_be(void **state)
{
    const uint64_t huge = UINT64_C(1) << 56;
    struct td_buf wrong[] = {
        claim(1, UINT64_C(1) << 62),
        claim(UINT64_MAX, UINT64_MAX),
        claim(UINT64_C(1) << 60, 0),
    };
    struct td_load_status status = {.damaged = true};
    struct td_model *model = NULL;
    struct whole whole;

    (void)state;
    begin(&whole);
    td_profile_env(whole.writer, td_env_key_name(TD_ENV_PARAMETER), "width=6");
    add(&whole, 0, claim(20, 10 * WIDTH));
    for (size_t i = 0; i < TD_ARRAY_SIZE(wrong); i++) {
        assert_false(td_snapshots_add(&whole.snapshots, 0, &wrong[i], true));
        td_buf_release(&wrong[i]);
    }
    /* Each can be, but not that many of them. */
    for (uint32_t image = 1; image < 100; image++) {
        struct td_buf bytes = claim(huge, huge * WIDTH);

        td_snapshots_add(&whole.snapshots, image, &bytes, true);
        td_snapshots_forget(&whole.snapshots, image);
        td_buf_release(&bytes);
    }
    assert_int_equal(td_profile_finish(whole.writer, NULL), TD_OK);
    assert_int_equal(
        td_load_bytes(&model, whole.bytes.data, whole.bytes.len, "whole", NULL, &status, NULL),
        TD_OK);
    assert_false(status.damaged);
    assert_int_equal(td_model_tally_count(model), 1);
    td_model_free(model);
    td_snapshots_release(&whole.snapshots);
    td_profile_writer_free(whole.writer);
    td_buf_release(&whole.bytes);
}

/* A profile has room for fewer nodes than the snapshots have: paths are described anew. */
static void test_small_table(void **state)
{
    const struct td_profile_writer_opts small = {.max_nodes = 1};
    struct whole whole = {.writer = NULL};

    (void)state;
    assert_int_equal(td_profile_writer_new(&whole.writer, append, &whole.bytes, &small, NULL),
                     TD_OK);
    td_snapshots_init(&whole.snapshots, whole.writer);
    add(&whole, 0, snapshot(7, 1000, 10));
    expect(&whole, 1000, 10000);
    add(&whole, 0, snapshot(7, 2000, 11));
    expect(&whole, 2000, 22000);
    end(&whole);
}

/* What two processes of one program did stands on one of their threads; the other says which. */
static void programs_are_summed(void **state)
{
    (void)state;
    for (int by_program = 0; by_program < 2; by_program++) {
        const struct td_load_opts opts = {.by_program = by_program};
        struct td_model *model = NULL;
        struct whole whole;
        uint64_t cycles = 0;

        begin(&whole);
        add_snapshot(&whole, 0, snapshot(100, 30, 7), true);
        add_snapshot(&whole, 1, snapshot(200, 40, 3), true);
        assert_int_equal(
            td_load_bytes(&model, whole.bytes.data, whole.bytes.len, "whole", &opts, NULL, NULL),
            TD_OK);
        assert_int_equal(td_model_tally_count(model), by_program ? 40 : 30 + 40);
        for (size_t i = 0; i < td_model_tally_count(model); i++)
            cycles +=
                td_model_tally_values(model, td_model_tally(model, i),
                                      (uint64_t[TD_COLUMNS_MAX]){0})[TD_SIM_COLUMN_RETIRED_OTHER] /
                WIDTH;
        assert_int_equal(cycles, 30 * 7 + 40 * 3);
        assert_int_equal(td_model_thread_count(model), 2);
        assert_int_equal(td_model_thread(model, 0)->holder, 0);
        assert_int_equal(td_model_thread(model, 1)->holder, by_program ? 0 : 1);
        td_model_free(model);
        end(&whole);
    }
}

/* A thread on the core and on two variants of it: so many slots each, of as many instructions. */
static struct td_buf varied(const uint64_t slots[3])
{
    struct td_snapshot_task tasks[3] = {0};
    struct td_snapshot snapshot = {
        .pid = 7, .process = "app", .cycles = slots[0] / WIDTH, .tasks = tasks, .task_count = 3};
    struct td_snapshot_writer writer = {.path = 0};
    struct td_buf bytes = {0};

    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t values[TD_SIM_COLUMN_COUNT] = {[TD_SIM_COLUMN_INSTRUCTIONS] = 5,
                                                      [TD_SIM_COLUMN_RETIRED_OTHER] = 3,
                                                      [TD_SIM_COLUMN_L1] = slots[i] - 3};

        tasks[i] = (struct td_snapshot_task){.tid = 7, .name = "app", .variant = i};
        td_snapshot_put_tally(&writer, 0, 0, BASE, values);
        td_snapshot_end_task(&writer);
    }
    td_snapshot_put(&bytes, &snapshot, &writer);
    return bytes;
}

/* What variants took stands in groups of their own, on the thread itself, and grows as it does. */
static void variants_have_groups(void **state)
{
    static const char *const words[] = {"branches", "l1+width=8"};
    static const uint64_t begun[] = {60, 30, 20}, grown[] = {600, 300, 90};
    struct whole whole;

    (void)state;
    begin(&whole);
    whole.snapshots.variants = words;
    whole.snapshots.variant_count = 2;
    add(&whole, 0, varied(begun));
    add_snapshot(&whole, 0, varied(grown), true);
    struct td_model *model = load(&whole);
    assert_int_equal(td_model_thread_count(model), 1);
    assert_int_equal(td_model_counter(model, TD_COUNTER_THREADS), 1);
    assert_int_equal(td_model_counter(model, TD_COUNTER_CYCLES), 600 / WIDTH);
    assert_int_equal(td_model_tally_count(model), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct td_tally *tally = td_model_tally(model, i);
        const struct td_group *group = td_model_group(model, tally->group);
        const uint64_t *values = td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0});

        if (group->role == TD_ROLE_MODEL) {
            assert_int_equal(values[TD_SIM_COLUMN_RETIRED_OTHER] + values[TD_SIM_COLUMN_L1], 600);
            continue;
        }
        const bool second = strcmp(td_model_string(model, group->name), words[1]) == 0;
        assert_int_equal(group->role, TD_ROLE_VARIANT);
        assert_string_equal(td_model_string(model, group->name), words[second]);
        assert_int_equal(group->column_count, TD_VARIANT_COLUMNS);
        assert_int_equal(values[0], grown[1 + second]);
        assert_int_equal(values[1], 5);
        assert_int_equal(tally->samples, 0);
    }
    td_model_free(model);
    end(&whole);
}

/* A thread on the core and on a variant of it, both with replicates of a node and of all slots. */
static struct td_buf varied_sampled(void)
{
    static const uint32_t columns[] = {TD_SIM_COLUMN_L1, TD_SIM_ALL_SLOTS};
    struct td_snapshot_task tasks[] = {{.tid = 7, .name = "app"},
                                       {.tid = 7, .name = "app", .variant = 1}};
    const struct td_snapshot snapshot = {
        .pid = 7, .process = "app", .tasks = tasks, .task_count = 2};
    struct td_snapshot_writer writer = {.path = 0};
    struct td_buf bytes = {0};

    for (uint32_t task = 0; task < 2; task++) {
        for (int c = 0; c < 2; c++) {
            struct td_snapshot_replicates replicates = {.column = columns[c], .pc = BASE};

            for (int r = 0; r < TD_REPLICATES; r++)
                replicates.values[r] = -1 - (int)task;
            td_snapshot_put_replicates(&writer, &replicates);
        }
        td_snapshot_end_task(&writer);
    }
    td_snapshot_put(&bytes, &snapshot, &writer);
    return bytes;
}

/* Of the core itself they are told by node, of a variant of all its slots; once, at the end. */
static void variants_tell_how_sure_they_are(void **state)
{
    static const char *const words[] = {"branches"};
    struct whole whole;

    (void)state;
    begin(&whole);
    whole.snapshots.variants = words;
    whole.snapshots.variant_count = 1;
    add(&whole, 0, varied_sampled());
    add_snapshot(&whole, 0, varied_sampled(), true);
    struct td_model *model = load(&whole);
    assert_int_equal(td_model_tally_count(model), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct td_tally *tally = td_model_tally(model, i);
        const struct td_group *group = td_model_group(model, tally->group);
        const bool variant = group->locates == TD_NODE_NONE;

        assert_int_equal(group->role, TD_ROLE_REPLICATES);
        assert_int_equal(group->column_count, TD_REPLICATES);
        assert_string_equal(td_model_string(model, group->name), variant ? words[0] : "replicates");
        assert_int_equal(
            (int64_t)td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0})[3],
            variant ? -2 : -1);
        assert_int_equal(variant, i == 1);
    }
    td_model_free(model);
    end(&whole);
}

/* Two threads of which one waited so many cycles for a line of the other. */
static struct td_buf sharing(uint64_t cycles)
{
    struct td_snapshot_task tasks[] = {{.tid = 7, .name = "app"}, {.tid = 8, .name = "app"}};
    const struct td_snapshot snapshot = {
        .pid = 7, .process = "app", .tasks = tasks, .task_count = 2};
    const struct td_snapshot_shared shared = {.address = 4096,
                                              .area = TD_SHARED_HEAP,
                                              .mine = {.task = 0, .store = true, .pc = BASE},
                                              .theirs = {.task = 1, .store = true, .pc = BASE},
                                              .transfers = 3,
                                              .cycles = cycles};
    struct td_snapshot_writer writer = {.path = 0};
    struct td_buf bytes = {0};

    td_snapshot_put_shared(&writer, &shared);
    td_snapshot_end_task(&writer);
    td_snapshot_end_task(&writer);
    td_snapshot_put(&bytes, &snapshot, &writer);
    return bytes;
}

/* Many threads that fight for one line for hours wait for days, in all: the snapshot counts. */
static void long_waits_count(void **state)
{
    const uint64_t cycles = UINT64_C(1) << 48;
    struct td_load_status status = {.damaged = true};
    struct td_model *model = NULL;
    struct whole whole;

    (void)state;
    begin(&whole);
    add_snapshot(&whole, 0, sharing(cycles), true);
    assert_int_equal(
        td_load_bytes(&model, whole.bytes.data, whole.bytes.len, "whole", NULL, &status, NULL),
        TD_OK);
    assert_int_equal(td_model_shared_count(model), 1);
    assert_true(td_model_shared(model, 0)->cycles == cycles);
    td_model_free(model);
    end(&whole);
}

/* The sum of what threads waited is never more than a report can add up. */
static void waits_have_a_sum(void **state)
{
    const uint64_t most = TD_SUM_MAX - 10;
    struct td_load_status status = {.damaged = false};
    struct td_model *model = NULL;
    struct whole whole;

    (void)state;
    begin(&whole);
    const struct td_shared_row row = {.process =
                                          td_profile_thread(whole.writer, 7, 7, "app", "app", 0),
                                      .area = TD_SHARED_LINES,
                                      .module = TD_NONE,
                                      .mine = {.thread = TD_NONE, .module = TD_NONE},
                                      .theirs = {.thread = TD_NONE, .module = TD_NONE},
                                      .cycles = most};
    for (int i = 0; i < 5; i++)
        td_profile_shared(whole.writer, &row);
    assert_int_equal(td_profile_finish(whole.writer, NULL), TD_OK);
    assert_int_equal(
        td_load_bytes(&model, whole.bytes.data, whole.bytes.len, "whole", NULL, &status, NULL),
        TD_OK);
    assert_true(status.damaged);
    assert_int_equal(td_model_shared_count(model), 1);
    td_model_free(model);
    td_snapshots_release(&whole.snapshots);
    td_profile_writer_free(whole.writer);
    td_buf_release(&whole.bytes);
}

static void expect_thread(struct whole *whole, uint32_t tid, const char *name)
{
    struct td_model *model = load(whole);
    assert_int_equal(td_model_thread_count(model), 1);
    const struct td_thread *thread = td_model_thread(model, 0);
    assert_int_equal(thread->tid, tid);
    assert_string_equal(td_model_string(model, thread->name), name);
    assert_string_equal(td_model_string(model, thread->process), "app");
    td_model_free(model);
}

/* Threads that are not told apart have no number, but a name. */
static void other_threads(void **state)
{
    struct whole whole;

    (void)state;
    begin(&whole);
    add_snapshot(&whole, 0, snapshot(0, 3, 7), true);
    expect_thread(&whole, 0, "(other threads)");
    end(&whole);
}

/* A thread that has not run yet when the first snapshot is written gets its number later. */
static void late_thread(void **state)
{
    struct whole whole;

    (void)state;
    begin(&whole);
    add_snapshot(&whole, 0, snapshot(0, 0, 7), false);
    add_snapshot(&whole, 0, snapshot(7, 3, 7), true);
    expect_thread(&whole, 7, "app");
    end(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing),         cmocka_unit_test(test_images),
        cmocka_unit_test(test_damaged),         cmocka_unit_test(test_counts_that_cannot_be),
        cmocka_unit_test(test_small_table),     cmocka_unit_test(programs_are_summed),
        cmocka_unit_test(variants_have_groups), cmocka_unit_test(variants_tell_how_sure_they_are),
        cmocka_unit_test(other_threads),        cmocka_unit_test(late_thread),
        cmocka_unit_test(long_waits_count),     cmocka_unit_test(waits_have_a_sum),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
