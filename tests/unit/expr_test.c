/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "formats/cores/expr.h"

static int resolve(const void *ctx, const char *name)
{
    (void)ctx;
    return strlen(name) == 1 && name[0] >= 'a' && name[0] <= 'd' ? name[0] - 'a' : -1;
}

static double value_of(const char *text)
{
    const double values[] = {2, 3, 0, NAN};
    struct td_expr *expr = NULL;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_expr_compile(&expr, text, resolve, NULL, &err), TD_OK);
    const double value = td_expr_eval(expr, values);
    td_expr_free(expr);
    return value;
}

static void arithmetic_has_the_usual_precedence(void **state)
{
    (void)state;
    assert_true(value_of("1 + 2 * 3") == 7);
    assert_true(value_of("(1 + 2) * 3 - 4 / 2 / 2") == 8);
    assert_true(value_of("a - b - 1") == -2);
    assert_true(value_of("-a * -b") == 6);
    assert_true(value_of("max(a, min(b, 10)) * 0x10") == 48);
    assert_true(value_of("1-b") == -2);
    assert_true(value_of("less(a, b, a + 1, 9) * 2") == 6);
    assert_true(value_of("less(b, b, c / c, less(a, b, 4, 5))") == 4);
}

static void what_is_not_known_stays_so(void **state)
{
    (void)state;
    assert_true(isnan(value_of("a / c")));
    assert_true(isnan(value_of("a + d")));
    assert_true(isnan(value_of("max(0, d)")));
    assert_true(isnan(value_of("min(d, 0)")));
    assert_true(isnan(value_of("less(d, 1, 2, 3)")));
    assert_true(isnan(value_of("less(1, d, 2, 3)")));
    assert_true(value_of("less(1, 2, 3, d)") == 3);
}

static void mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",           "a +",
        "(a",         "a b",
        "nope",       "max(a)",
        "less(a, b)", "less(a, b, 1, 2, 3)",
        "min(a,b",    "1..2",
        "a $ b",      "((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))",
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct td_expr *expr = NULL;
        struct td_err err = TD_ERR_INIT;

        assert_int_equal(td_expr_compile(&expr, wrong[i], resolve, NULL, &err), TD_EFORMAT);
        assert_null(expr);
        assert_true(err.offset != TD_NO_OFFSET);
    }
}

static void inputs_are_listed_once(void **state)
{
    (void)state;
    struct td_expr *expr = NULL;

    assert_int_equal(td_expr_compile(&expr, "b + a * b", resolve, NULL, NULL), TD_OK);
    assert_int_equal(td_expr_input(expr, 0), 1);
    assert_int_equal(td_expr_input(expr, 1), 0);
    assert_int_equal(td_expr_input(expr, 2), -1);
    td_expr_free(expr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_has_the_usual_precedence),
        cmocka_unit_test(what_is_not_known_stays_so),
        cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(inputs_are_listed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
