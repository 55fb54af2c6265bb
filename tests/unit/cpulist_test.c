/* SPDX-License-Identifier: MIT */
/* base/cpulist: the kernel's lists of CPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cpulist.h"

static void check_round(const char *text, const char *expected)
{
    struct td_cpulist list = {0};

    assert_int_equal(td_cpulist_parse(&list, text, NULL), TD_OK);
    char *back = td_cpulist_text(&list);
    assert_string_equal(back, expected);
    free(back);
    td_cpulist_release(&list);
}

static void test_round_trip(void **state)
{
    (void)state;
    check_round("0", "0");
    check_round("0,3-7\n", "0,3-7");
    check_round("0-63,72-127", "0-63,72-127");
    check_round("3,1,2,1", "1-3");
    check_round("", "");
    check_round("\n", "");
}

static void test_refused(void **state)
{
    static const char *const texts[] = {"x",   "-1",  "1-",    "3-1",   "1,,2", "1,",
                                        "1 2", "0-x", "70000", "1-2-3", ",1"};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct td_cpulist list = {0};
        struct td_err err = TD_ERR_INIT;

        assert_int_equal(td_cpulist_parse(&list, texts[i], &err), TD_EFORMAT);
        assert_null(list.cpus);
        assert_non_null(err.text);
    }
}

static void test_sets(void **state)
{
    struct td_cpulist a = {0}, b = {0}, both = {0};

    (void)state;
    assert_int_equal(td_cpulist_parse(&a, "0-3,8", NULL), TD_OK);
    assert_int_equal(td_cpulist_parse(&b, "2-9", NULL), TD_OK);
    td_cpulist_intersect(&both, &a, &b);
    char *text = td_cpulist_text(&both);
    assert_string_equal(text, "2-3,8");
    assert_true(td_cpulist_has(&both, 8));
    assert_false(td_cpulist_has(&both, 0));
    free(text);
    td_cpulist_release(&a);
    td_cpulist_release(&b);
    td_cpulist_release(&both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
