/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/hash.h"
#include "formats/model.h"

static void equal_things_are_one(void **state)
{
    (void)state;
    struct td_model *model = td_model_new();
    struct td_module module = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, "/bin/a")};

    assert_int_equal(td_model_put_module(model, &module), 0);
    assert_int_equal(td_model_put_module(model, &module), 0);
    module.build_id = (struct td_build_id){.size = 2, .bytes = {1, 2}};
    assert_int_equal(td_model_put_module(model, &module), 1);
    module.pid = 7;
    assert_int_equal(td_model_put_module(model, &module), 2);
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(td_model_put_location(model, (uint32_t)(i % 3), i / 3), i);
    for (uint64_t i = 0; i < 10000; i++)
        assert_int_equal(td_model_put_location(model, (uint32_t)(i % 3), i / 3), i);
    const uint32_t outer = td_model_put_node(model, 0, 5);
    assert_int_equal(outer, 1);
    assert_int_equal(td_model_put_node(model, outer, 5), 2);
    assert_int_equal(td_model_put_node(model, outer, 5), 2);
    assert_int_equal(td_model_node(model, 2)->parent, outer);
    struct td_function function = {.name = 1, .line = 3};
    assert_int_equal(td_model_put_function(model, &function), 0);
    function.line = 4;
    assert_int_equal(td_model_put_function(model, &function), 1);
    function.line = 3;
    assert_int_equal(td_model_put_function(model, &function), 0);
    td_model_free(model);
}

static struct td_model *new_with_group(uint32_t columns)
{
    struct td_model *model = td_model_new();
    const struct td_module module = {0};
    const struct td_thread threads[2] = {{.tid = 1}, {.tid = 2}};
    const struct td_group group = {.column_count = columns};

    td_model_put_module(model, &module);
    td_model_put_node(model, 0, td_model_put_location(model, 0, 1));
    td_model_add_thread(model, &threads[0]);
    td_model_add_thread(model, &threads[1]);
    td_model_add_group(model, &group);
    td_model_add_group(model, &group);
    return model;
}

static void values_are_summed_by_place(void **state)
{
    (void)state;
    struct td_model *model = new_with_group(2);
    const uint64_t values[2] = {UINT64_C(1) << 40, 3};

    for (uint32_t i = 0; i < 24; i++)
        td_model_add_values(model, i & 1, i >> 1 & 1, i >> 2 & 1, 2, values);
    assert_int_equal(td_model_tally_count(model), 8);
    for (size_t i = 0; i < 8; i++) {
        const struct td_tally *tally = td_model_tally(model, i);

        assert_int_equal(tally->samples, 6);
        assert_true(td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0})[0] ==
                    UINT64_C(3) << 40);
        assert_int_equal(td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0})[1], 9);
    }
    td_model_free(model);
}

/* Two tallies get other columns in turn, so that neither's values stay the last. */
static void wide_groups_keep_what_is_not_zero(void **state)
{
    enum { WIDE = TD_COLUMNS_MAX, ROUNDS = 200 };
    struct td_model *model = new_with_group(WIDE);
    uint64_t sums[2][WIDE] = {{0}}, room[TD_COLUMNS_MAX];

    (void)state;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t values[WIDE] = {0};
        const uint32_t thread = i % 3 == 0;

        for (uint64_t k = 0; k < i % 5; k++)
            values[td_hash_u64(i * 7 + k) % WIDE] = td_hash_u64(i + k) >> (i % 2 ? 40 : 0);
        for (uint32_t c = 0; c < WIDE; c++)
            sums[thread][c] += values[c];
        td_model_add_values(model, thread, 1, 0, 1, values);
    }
    assert_int_equal(td_model_tally_count(model), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct td_tally *tally = td_model_tally(model, i);

        memset(room, 0xff, sizeof(room));
        assert_memory_equal(td_model_tally_values(model, tally, room), sums[tally->thread],
                            sizeof(room));
    }
    td_model_free(model);
}

/* A place with three values of 64 takes as many words and one more. */
static void wide_groups_take_little(void **state)
{
    enum { WIDE = TD_COLUMNS_MAX, PLACES = 10000 };
    struct td_model *model = new_with_group(WIDE);
    const uint64_t values[WIDE] = {[3] = 1, [40] = 2, [WIDE - 1] = 3};
    const size_t before = td_model_bytes(model);

    (void)state;
    for (uint64_t i = 0; i < PLACES; i++)
        td_model_add_values(model, 0,
                            td_model_put_node(model, 0, td_model_put_location(model, 0, i)), 0, 1,
                            values);
    assert_int_equal(td_model_tally_count(model), PLACES);
    assert_true(td_model_bytes(model) - before < (size_t)PLACES * WIDE * sizeof(uint64_t) / 2);
    td_model_free(model);
}

static void samples_are_sorted_by_time(void **state)
{
    (void)state;
    struct td_model *model = new_with_group(1);
    const uint64_t times[] = {30, 10, 20, 10, 0};

    td_model_sort_samples(model);
    for (uint64_t i = 0; i < 5; i++) {
        const struct td_sample sample = {.time_ns = times[i], .cpu = TD_NONE};

        td_model_add_sample(model, &sample, &i);
    }
    td_model_sort_samples(model);
    const uint64_t expected[] = {4, 1, 3, 2, 0};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(td_model_sample_values(model, td_model_sample(model, i))[0], expected[i]);
    td_model_free(model);
}

static void environment_keeps_order_and_unknown_keys(void **state)
{
    (void)state;
    struct td_model *model = td_model_new();
    const char *key = NULL, *value = NULL;

    td_model_add_env(model, "argv", "a");
    td_model_add_env(model, "from the future", "b");
    td_model_add_env(model, "argv", "c");
    assert_string_equal(td_model_env(model, TD_ENV_ARGV), "a");
    assert_string_equal(td_model_env_at(model, TD_ENV_ARGV, 1), "c");
    assert_null(td_model_env_at(model, TD_ENV_ARGV, 2));
    assert_null(td_model_env(model, TD_ENV_CPU));
    assert_int_equal(td_model_env_count(model), 3);
    td_model_env_entry(model, 1, &key, &value);
    assert_string_equal(key, "from the future");
    assert_string_equal(value, "b");
    td_model_free(model);
}

static void symbols_are_sorted_when_read(void **state)
{
    (void)state;
    struct td_model *model = new_with_group(1);
    const uint64_t offsets[] = {50, 10, 40, 10};
    size_t count = 0;

    assert_null(td_model_symbols(model, 0, &count));
    for (uint32_t i = 0; i < 4; i++) {
        const struct td_symbol symbol = {.offset = offsets[i], .name = i};

        td_model_add_symbol(model, 0, &symbol);
    }
    const struct td_symbol *symbols = td_model_symbols(model, 0, &count);
    assert_int_equal(count, 4);
    const uint32_t names[] = {1, 3, 2, 0};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(symbols[i].name, names[i]);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_things_are_one),
        cmocka_unit_test(values_are_summed_by_place),
        cmocka_unit_test(wide_groups_keep_what_is_not_zero),
        cmocka_unit_test(wide_groups_take_little),
        cmocka_unit_test(samples_are_sorted_by_time),
        cmocka_unit_test(environment_keeps_order_and_unknown_keys),
        cmocka_unit_test(symbols_are_sorted_when_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
