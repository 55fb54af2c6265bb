/* SPDX-License-Identifier: MIT */
/* Callers, callees and inclusive costs of stacks made by hand. */
#include "tests/unit/report_fixture.h"

#include "base/mem.h"
#include "report/query/calls.h"

/* main > a > b > c 10; main > b 5; main > a > a > b 3 (recursion of a); main 2. */
struct fixture {
    struct td_model *model;
    struct td_measure measure;
    uint32_t functions[4]; /* main a b c */
    struct td_measure_row rows[4];
    uint64_t values[4];
};

static uint32_t stack_of(struct td_model *model, const uint32_t *locations, const char *path)
{
    uint32_t node = 0;

    for (; *path; path++)
        node = td_model_put_node(model, node, locations[*path - '0']);
    return node;
}

static int setup(void **state)
{
    static const char *const names[] = {"main", "a", "b", "c"};
    static const char *const paths[] = {"0123", "02", "0112", "0"};
    static const uint64_t values[] = {10, 5, 3, 2};
    struct fixture *f = td_xcalloc(1, sizeof(*f));
    uint32_t locations[4];

    f->model = td_model_new();
    const uint32_t module = fx_module(f->model, "/bin/app");
    for (uint32_t i = 0; i < 4; i++) {
        f->functions[i] = fx_function(f->model, module, names[i], "app.c", 10 * i + 1);
        locations[i] = fx_location(f->model, f->functions[i], 100 * (uint64_t)i, 10 * i + 2);
    }
    f->measure.model = f->model;
    f->measure.event = TD_NONE;
    f->measure.row_count = 4;
    f->measure.rows = f->rows;
    f->measure.values[TD_METRIC_TIME_NS] = f->values;
    for (size_t i = 0; i < 4; i++) {
        f->rows[i].node = stack_of(f->model, locations, paths[i]);
        f->values[i] = values[i];
        f->measure.totals[TD_METRIC_TIME_NS] += values[i];
    }
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    td_model_free(f->model);
    free(f);
    return 0;
}

static void expect_call(const struct fixture *f, const struct td_calls *calls, uint32_t node,
                        unsigned function, uint64_t value, uint64_t self)
{
    assert_int_equal(calls->at[node].function, f->functions[function]);
    assert_int_equal(calls->at[node].value, value);
    assert_int_equal(calls->at[node].self, self);
}

static void test_callers(void **state)
{
    const struct fixture *f = *state;
    bool wanted[4] = {false}, none[4] = {false};
    const struct td_wanted of = {wanted, none};
    struct td_calls calls;

    wanted[f->functions[2]] = true; /* b: by a 13, of which a by a 3; by main 5 */
    td_calls_init(&calls, &f->measure, TD_CALLS_CALLERS, &of, false);
    assert_int_equal(calls.len, 6);
    expect_call(f, &calls, 0, 2, 18, 0);
    const uint32_t a = calls.at[0].child, main_first = calls.at[a].child;
    expect_call(f, &calls, a, 1, 13, 0);
    expect_call(f, &calls, calls.at[a].next, 0, 5, 5);
    expect_call(f, &calls, main_first, 0, 10, 10);
    expect_call(f, &calls, calls.at[main_first].next, 1, 3, 0);
    td_calls_release(&calls);
}

static void test_callees(void **state)
{
    const struct fixture *f = *state;
    bool wanted[4] = {false}, none[4] = {false};
    const struct td_wanted of = {wanted, none};
    struct td_calls calls;

    wanted[f->functions[1]] = true; /* a: counted once in the stack where it calls itself */
    td_calls_init(&calls, &f->measure, TD_CALLS_CALLEES, &of, false);
    expect_call(f, &calls, 0, 1, 13, 0);
    const uint32_t b = calls.at[0].child;
    expect_call(f, &calls, b, 2, 10, 0);
    expect_call(f, &calls, calls.at[b].child, 3, 10, 10);
    expect_call(f, &calls, calls.at[b].next, 1, 3, 0);
    td_calls_release(&calls);
    wanted[f->functions[1]] = false;
    td_calls_init(&calls, &f->measure, TD_CALLS_CALLEES, &of, false);
    assert_int_equal(calls.len, 1);
    assert_int_equal(calls.at[0].value, 0);
    td_calls_release(&calls);
}

/* A name that fits two: b begins 5 of the cost, a 13. */
static void test_several(void **state)
{
    const struct fixture *f = *state;
    bool wanted[4] = {false}, none[4] = {false};
    const struct td_wanted of = {wanted, none};
    struct td_calls calls;

    wanted[f->functions[1]] = wanted[f->functions[2]] = true;
    td_calls_init(&calls, &f->measure, TD_CALLS_CALLEES, &of, false);
    expect_call(f, &calls, 0, 1, 18, 5);
    assert_int_equal(calls.others, 1);
    td_calls_release(&calls);
    wanted[f->functions[2]] = false;
    td_calls_init(&calls, &f->measure, TD_CALLS_CALLEES, &of, false);
    assert_int_equal(calls.others, 0);
    td_calls_release(&calls);
}

static void test_inclusive(void **state)
{
    const struct fixture *f = *state;
    static const struct {
        unsigned function;
        uint64_t value, self;
    } expected[] = {{0, 20, 2}, {2, 18, 8}, {1, 13, 0}, {3, 10, 10}};
    struct td_inclusives rows;

    td_inclusives_init(&rows, &f->measure, false);
    assert_int_equal(rows.len, TD_ARRAY_SIZE(expected));
    for (size_t i = 0; i < rows.len; i++) {
        assert_int_equal(rows.at[i].function, f->functions[expected[i].function]);
        assert_int_equal(rows.at[i].value, expected[i].value);
        assert_int_equal(rows.at[i].self, expected[i].self);
    }
    td_inclusives_release(&rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_callees),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_inclusive),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
