/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/file.h"
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
    refuse("/proc/self/exe", TD_EFORMAT, "not a tdprof profile");
    refuse(TD_TESTS_DIR "/data/profiles/1.0.txt", TD_EFORMAT, "not a tdprof profile");
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

/* The file is cut to nothing and written anew all the time. */
static void rewrite_for_ever(int fd, const struct td_buf *bytes)
{
    for (;;) {
        if (ftruncate(fd, 0) < 0 || pwrite(fd, bytes->data, bytes->len, 0) < 0)
            _exit(1);
    }
}

/* A mapping of such a file is deadly. */
static void a_file_may_be_cut_while_it_is_read(void **state)
{
    (void)state;
    char path[] = "/tmp/td_load_test.XXXXXX";
    const int fd = mkstemp(path);
    struct td_buf bytes = {0};

    assert_int_equal(td_file_read(TD_TESTS_DIR "/data/profiles/1.0.td", 1 << 20, &bytes, NULL),
                     TD_OK);
    const pid_t child = fork();
    assert_true(fd >= 0 && child >= 0);
    if (child == 0)
        rewrite_for_ever(fd, &bytes);
    for (int i = 0; i < 300; i++) {
        struct td_model *model = NULL;

        if (td_load_file(&model, path, NULL, NULL, NULL) == TD_OK)
            td_model_free(model);
    }
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(fd);
    unlink(path);
    td_buf_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_profile_is_refused_by_name),
        cmocka_unit_test(nothing_is_no_profile),
        cmocka_unit_test(options_and_status_may_be_absent),
        cmocka_unit_test(a_file_may_be_cut_while_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
