/* SPDX-License-Identifier: MIT */
/* Regions: sums and deviations against brute force, the file, merging, and marks that do not fit.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "formats/load.h"
#include "formats/merge.h"
#include "formats/profile/write.h"
#include "formats/sums.h"
#include "record/sim/model/regions.h"

static uint64_t next_random(uint64_t *state)
{
    return td_hash_u64(++*state);
}

/* Calls of some scale; their mean and deviation in long double, and sums of two halves. */
static void sums_are_the_calls(void **state)
{
    (void)state;
    uint64_t seed = 1;

    for (int round = 0; round < 200; round++) {
        const int count = 1 + (int)(next_random(&seed) % 100);
        const unsigned shift = (unsigned)(next_random(&seed) % 44);
        const uint64_t base = next_random(&seed) >> 10 >> shift % 30;
        struct td_region_row whole = {0}, parts[2] = {{0}, {0}};
        uint64_t lengths[100];
        long double sum = 0, squares = 0;

        for (int i = 0; i < count; i++) {
            lengths[i] = base + (next_random(&seed) >> 20 >> shift);
            sum += lengths[i];
            td_region_row_call(&whole, lengths[i]);
            td_region_row_call(&parts[i % 2], lengths[i]);
        }
        whole.begun = whole.ended = (uint64_t)count;
        for (int i = 0; i < count; i++)
            squares += (lengths[i] - sum / count) * (lengths[i] - sum / count);
        for (int p = 0; p < 2; p++)
            parts[p].begun = parts[p].ended = parts[p].timed;
        assert_true(td_region_row_is_right(&whole));
        assert_true(td_region_row_add(&parts[0], &parts[1]));
        assert_memory_equal(&parts[0], &whole, sizeof(whole));
        const double deviation = (double)sqrtl(squares / count);
        assert_true(fabs(td_region_mean(&whole) - (double)(sum / count)) <= 1e-12 * (double)sum);
        assert_true(fabs(td_region_deviation(&whole) - deviation) <= 1e-6 * deviation + 1e-6);
    }
    assert_true(isnan(td_region_mean(&(struct td_region_row){0})));
    assert_true(isnan(td_region_deviation(&(struct td_region_row){0})));
}

static void wrong_rows_are_refused(void **state)
{
    (void)state;
    const struct td_region_row right = {.begun = 3,
                                        .ended = 2,
                                        .timed = 2,
                                        .sum = 30,
                                        .min = 10,
                                        .max = 20,
                                        .squares = {500, 0},
                                        .whole = 9,
                                        .seen = 9};
    struct td_region_row sum = {.begun = TD_SUM_MAX - 2}, wrong;

    assert_true(td_region_row_is_right(&right));
    assert_false(td_region_row_add(&sum, &right));
    assert_int_equal(sum.begun, TD_SUM_MAX - 2);
#define WRONG(field, value) \
    wrong = right;          \
    wrong.field = (value);  \
    assert_false(td_region_row_is_right(&wrong))
    WRONG(ended, 4);
    WRONG(timed, 3);
    WRONG(min, 16);
    WRONG(max, 31);
    WRONG(max, 9);
    WRONG(seen, 10);
    WRONG(sum, TD_SUM_MAX);
    WRONG(begun, UINT64_MAX);
    WRONG(whole, UINT64_MAX);
    WRONG(squares[1], UINT64_MAX);
    WRONG(timed, 0);
#undef WRONG
}

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

static const struct td_group group = {.role = TD_ROLE_MODEL,
                                      .locates = TD_NODE_NONE,
                                      .sampler = TD_NONE,
                                      .column_count = 2,
                                      .columns = {{TD_COLUMN_TOTAL, TD_NONE, TD_NODE_L1_BOUND},
                                                  {TD_COLUMN_TOTAL, TD_NONE, TD_NODE_NONE}}};

static struct td_profile_writer *begin_profile(struct td_buf *bytes)
{
    struct td_profile_writer *writer = NULL;

    assert_int_equal(td_profile_writer_new(&writer, append, bytes, NULL, NULL), TD_OK);
    td_profile_group(writer, &group, "modelled", "");
    td_profile_thread(writer, 7, 7, "app", "app", 0);
    td_profile_thread(writer, 7, 8, "app", "app", 0);
    return writer;
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

static const struct td_region_row once = {.begun = 1,
                                          .ended = 1,
                                          .timed = 1,
                                          .unit = TD_UNIT_SLOTS,
                                          .sum = 5,
                                          .min = 5,
                                          .max = 5,
                                          .squares = {25, 0},
                                          .whole = 4,
                                          .seen = 4};

/* Two regions of one name in different places, of two threads; a row written twice is the last. */
static void write_regions(struct td_buf *bytes)
{
    struct td_profile_writer *writer = begin_profile(bytes);
    const uint32_t outer = td_profile_region(writer, TD_NONE, "outer");
    const uint32_t inner = td_profile_region(writer, outer, "outer");
    const uint64_t values[2] = {5, 4}, more[2] = {11, 8};
    struct td_region_row row = once;

    row.region = outer;
    td_profile_region_row(writer, &row, values);
    td_profile_flush(writer, NULL);
    assert_true(
        td_region_row_add(&row, &(struct td_region_row){.begun = 1, .whole = 4, .seen = 4}));
    td_profile_region_row(writer, &row, more);
    row = once;
    row.thread = 1;
    row.region = inner;
    row.group = TD_NONE;
    td_profile_region_row(writer, &row, NULL);
    assert_int_equal(td_profile_finish(writer, NULL), TD_OK);
    td_profile_writer_free(writer);
}

static void check_regions(const struct td_model *model, uint64_t times)
{
    assert_int_equal(td_model_region_count(model), 2);
    assert_int_equal(td_model_region_row_count(model), 2);
    const struct td_region_row *outer = td_model_region_row(model, 0);
    const struct td_region_row *inner = td_model_region_row(model, 1);
    const uint64_t *values = td_model_region_values(model, outer);

    assert_int_equal(td_model_region(model, outer->region)->parent, TD_NONE);
    assert_int_equal(td_model_region(model, inner->region)->parent, outer->region);
    assert_int_equal(outer->begun, 2 * times);
    assert_int_equal(outer->ended, times);
    assert_int_equal(outer->whole, 8 * times);
    assert_int_equal(outer->squares[0], 25 * times);
    assert_int_equal(values[0], 11 * times);
    assert_int_equal(values[1], 8 * times);
    assert_int_equal(inner->group, TD_NONE);
    assert_int_equal(inner->sum, 5 * times);
    assert_int_equal(td_model_thread(model, inner->thread)->tid, 8);
}

static void the_file_keeps_them(void **state)
{
    (void)state;
    struct td_buf bytes = {0}, sum = {0};

    write_regions(&bytes);
    struct td_model *model = load(&bytes, false);
    check_regions(model, 1);
    td_model_free(model);

    struct td_merge *merge = td_merge_new();
    for (int i = 0; i < 3; i++) {
        model = load(&bytes, false);
        assert_int_equal(td_merge_add(merge, model, "p", NULL), TD_OK);
        td_model_free(model);
    }
    assert_int_equal(td_merge_write(merge, append, &sum, NULL), TD_OK);
    td_merge_free(merge);
    model = load(&sum, false);
    check_regions(model, 3);
    td_model_free(model);
    td_buf_release(&bytes);
    td_buf_release(&sum);
}

/* What was counted in a region has a group of its own, also once it was added up; equal regions are
 * described once. */
static void groups_keep_their_region(void **state)
{
    (void)state;
    struct td_buf bytes = {0}, sum = {0};
    struct td_profile_writer *writer = begin_profile(&bytes);
    const struct td_profile_module module = {.kind = TD_MODULE_FILE, .path = "/app"};
    const uint32_t place = td_profile_node(writer, 0, td_profile_module(writer, &module), 0x1000);
    const char *const names[] = {"b", "a"};

    for (uint64_t i = 0; i < 2; i++) {
        struct td_group inside = group;

        inside.in_region = td_profile_region(writer, TD_NONE, names[i]) + 1;
        assert_int_equal(td_profile_region(writer, TD_NONE, names[i]) + 1, inside.in_region);
        td_profile_tally(writer, 0, place, td_profile_group(writer, &inside, "modelled", ""), 1,
                         (uint64_t[]){10 + i, 1});
    }
    td_profile_tally(writer, 0, place, 0, 1, (uint64_t[]){5, 1});
    assert_int_equal(td_profile_finish(writer, NULL), TD_OK);
    td_profile_writer_free(writer);

    struct td_merge *merge = td_merge_new();
    for (int i = 0; i < 2; i++) {
        struct td_model *model = load(&bytes, false);
        assert_int_equal(td_merge_add(merge, model, "p", NULL), TD_OK);
        td_model_free(model);
    }
    assert_int_equal(td_merge_write(merge, append, &sum, NULL), TD_OK);
    td_merge_free(merge);
    struct td_model *model = load(&sum, false);
    assert_int_equal(td_model_region_count(model), 2);
    assert_int_equal(td_model_group_count(model), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct td_tally *tally = td_model_tally(model, i);
        const uint32_t region = td_model_group(model, tally->group)->in_region;
        const char *name =
            region ? td_model_string(model, td_model_region(model, region - 1)->name) : "";

        assert_int_equal(td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0})[0],
                         2 * (*name == 'b'   ? 10
                              : *name == 'a' ? 11
                                             : 5));
    }
    td_model_free(model);
    td_buf_release(&bytes);
    td_buf_release(&sum);
}

static void wrong_files_are_damaged(void **state)
{
    (void)state;
    struct td_buf rows = {0}, deep = {0};
    const uint64_t values[2] = {TD_SUM_MAX, 4};

    struct td_profile_writer *writer = begin_profile(&rows);
    struct td_region_row row = once;
    row.region = td_profile_region(writer, TD_NONE, "a");
    td_profile_region_row(writer, &row, values);
    td_profile_finish(writer, NULL);
    td_profile_writer_free(writer);
    struct td_model *model = load(&rows, true);
    assert_int_equal(td_model_region_values(model, td_model_region_row(model, 0))[0], 0);
    td_model_free(model);

    writer = begin_profile(&deep);
    uint32_t region = TD_NONE;
    for (int i = 0; i <= TD_REGION_DEPTH_MAX + 1; i++)
        region = td_profile_region(writer, region, "a");
    td_profile_finish(writer, NULL);
    td_profile_writer_free(writer);
    model = load(&deep, true);
    assert_int_equal(td_model_region_count(model), TD_REGION_DEPTH_MAX + 1);
    td_model_free(model);
    td_buf_release(&rows);
    td_buf_release(&deep);
}

/* What a thread's marks come to. */
struct told {
    uint64_t begun, ended, instructions;
    size_t regions;
    struct td_sim_region others;
};

static void tell(void *ctx, const struct td_sim_region *region)
{
    struct told *told = ctx;

    assert_true(region->parent == TD_REGION_NONE || region->parent < told->regions);
    assert_true(td_region_row_is_right(&region->row));
    told->regions++;
    told->begun += region->row.begun;
    told->ended += region->row.ended;
    told->instructions += region->row.whole;
    if (region->name == TD_SIM_REGION_OTHERS)
        told->others = *region;
}

static void marks_are_bounded(void **state)
{
    (void)state;
    struct td_sim_regions *regions = td_sim_regions_new();
    struct told told = {.regions = 0};
    uint64_t now = 0;

    for (uint32_t name = 1; name <= 5000; name++) {
        td_sim_regions_begin(regions, name, now, now);
        td_sim_regions_end(regions, name, now + 1, now + 1);
        now += 2;
    }
    td_sim_regions_each(regions, now, now, tell, &told);
    assert_int_equal(told.regions, TD_SIM_REGIONS_MAX + 1);
    assert_int_equal(told.begun, 5000);
    assert_int_equal(told.ended, 5000);
    assert_int_equal(told.instructions, 5000);
    assert_int_equal(told.others.row.begun, 5000 - TD_SIM_REGIONS_MAX);

    /* Far deeper than they are told apart: what was in the outermost others counts once. */
    for (int i = 0; i < 2 * TD_SIM_REGIONS_OPEN_MAX; i++)
        td_sim_regions_begin(regions, 9999, now, now);
    now += 10;
    for (int i = 0; i < 2 * TD_SIM_REGIONS_OPEN_MAX; i++)
        td_sim_regions_end(regions, 9999, now, now);
    told = (struct told){.regions = 0};
    td_sim_regions_each(regions, now, now, tell, &told);
    assert_int_equal(told.begun, 5000 + 2 * TD_SIM_REGIONS_OPEN_MAX);
    assert_int_equal(told.others.row.whole, 5000 - TD_SIM_REGIONS_MAX + 10);
    assert_int_equal(td_sim_regions_misuse(regions).strays, 0);
    td_sim_regions_free(regions);
}

/* Begins and ends at random, against a stack that is kept by hand. */
static void random_marks(void **state)
{
    (void)state;
    uint64_t seed = 2, strays = 0, left_open = 0, begun = 0;
    struct td_sim_regions *regions = td_sim_regions_new();
    struct told told = {.regions = 0};
    uint32_t stack[64];
    size_t depth = 0;

    for (uint64_t now = 0; now < 20000; now++) {
        const uint32_t name = 1 + (uint32_t)(next_random(&seed) % 4);
        size_t at = depth;

        if (depth < 20 && next_random(&seed) % 2) {
            td_sim_regions_begin(regions, name, now, now);
            stack[depth++] = name;
            begun++;
            continue;
        }
        td_sim_regions_end(regions, name, now, now);
        while (at > 0 && stack[at - 1] != name)
            at--;
        strays += at == 0;
        left_open += at > 0 ? depth - at : 0;
        depth = at > 0 ? at - 1 : depth;
    }
    td_sim_regions_each(regions, 20000, 20000, tell, &told);
    assert_int_equal(td_sim_regions_misuse(regions).strays, strays);
    assert_int_equal(td_sim_regions_misuse(regions).left_open, left_open);
    assert_int_equal(told.begun, begun);
    assert_int_equal(told.begun - told.ended, depth);
    td_sim_regions_free(regions);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_the_calls),
        cmocka_unit_test(wrong_rows_are_refused),
        cmocka_unit_test(the_file_keeps_them),
        cmocka_unit_test(wrong_files_are_damaged),
        cmocka_unit_test(groups_keep_their_region),
        cmocka_unit_test(marks_are_bounded),
        cmocka_unit_test(random_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
