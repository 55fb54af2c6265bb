/* SPDX-License-Identifier: MIT */
/* record/live: why the kernel does not let this user stop programs, by Yama's scopes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/live/stop.h"

static char folder[] = "/tmp/tdprof-stop-XXXXXX";
static const char *const parts[] = {"/proc", "/proc/sys", "/proc/sys/kernel",
                                    "/proc/sys/kernel/yama"};
#define SCOPE "/proc/sys/kernel/yama/ptrace_scope"

static void path_of(char path[128], const char *part)
{
    snprintf(path, 128, "%s%s", folder, part);
}

static int set_up(void **state)
{
    char path[128];

    (void)state;
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < TD_ARRAY_SIZE(parts); i++) {
        path_of(path, parts[i]);
        if (mkdir(path, 0700) < 0)
            return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    char path[128];

    (void)state;
    path_of(path, SCOPE);
    unlink(path);
    for (size_t i = TD_ARRAY_SIZE(parts); i > 0; i--) {
        path_of(path, parts[i - 1]);
        rmdir(path);
    }
    return rmdir(folder);
}

static const char *text_of(int scope)
{
    char path[128];

    path_of(path, SCOPE);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fprintf(file, "%d\n", scope);
    fclose(file);
    return td_live_denied_text(folder);
}

static void test_scopes(void **state)
{
    (void)state;
    assert_string_equal(td_live_denied_text(folder), td_live_outcome_text(TD_LIVE_DENIED));
    assert_string_equal(text_of(0), td_live_outcome_text(TD_LIVE_DENIED));
    assert_non_null(strstr(text_of(1), "ptrace_scope, which is 1"));
    assert_non_null(strstr(text_of(1), "that tdrec starts itself"));
    assert_non_null(strstr(text_of(2), "ptrace_scope, which is 2"));
    assert_non_null(strstr(text_of(2), "as root"));
    assert_non_null(strstr(text_of(3), "next boot"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scopes)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
