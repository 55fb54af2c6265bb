/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "formats/load.h"

static void refuse(const char *path, int expected, const char *word)
{
    struct td_model *model = NULL;
    struct td_load_status status;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_load_file(&model, path, NULL, &status, &err), expected);
    assert_null(model);
    assert_int_equal(err.code, expected);
    if (!strstr(err.text, path) || !strstr(err.text, word))
        fail_msg("%s", err.text);
}

static void what_is_no_profile_is_refused_by_name(void **state)
{
    (void)state;
    refuse("/proc/self/no-such-file", TD_ENOENT, "cannot open");
    refuse("/", TD_EUNSUPPORTED, "regular");
    refuse("/dev/null", TD_EUNSUPPORTED, "regular");
    refuse("/proc/self/exe", TD_EFORMAT, "no profile");
    refuse(TD_TESTS_DIR "/data/profiles/1.0.txt", TD_EFORMAT, "no profile");
}

static void nothing_is_no_profile(void **state)
{
    (void)state;
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_load_bytes(&model, NULL, 0, "nil", NULL, NULL, &err), TD_EFORMAT);
    assert_string_equal(err.text, "'nil' is empty (at byte 0)");
    assert_int_equal(td_load_bytes(&model, NULL, 0, "nil", NULL, NULL, NULL), TD_EFORMAT);
    assert_null(model);
}

static void options_and_status_may_be_absent(void **state)
{
    (void)state;
    struct td_model *model = NULL;

    assert_int_equal(td_load_file(&model, TD_TESTS_DIR "/data/profiles/1.0.td", NULL, NULL, NULL),
                     TD_OK);
    assert_int_equal(td_model_sample_count(model), 0);
    assert_true(td_model_tally_count(model) > 100);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_profile_is_refused_by_name),
        cmocka_unit_test(nothing_is_no_profile),
        cmocka_unit_test(options_and_status_may_be_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
