/* SPDX-License-Identifier: MIT */
/* base/procfs: fields, numbers and lines of maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/procfs.h"

static void test_fields(void **state)
{
    static const char text[] = "Name:\tx\nmodel\t\t: 85\nmodel name\t: A CPU\nSeccomp:\t2\n";
    char *value = td_procfs_field(text, "model");

    (void)state;
    assert_string_equal(value, "85");
    free(value);
    value = td_procfs_field(text, "model name");
    assert_string_equal(value, "A CPU");
    free(value);
    assert_null(td_procfs_field(text, "mode"));
    assert_null(td_procfs_field("", "x"));
}

static void test_maps(void **state)
{
    const char *text = "7f00-7fff r-xp 00001000 fe:01 42     /usr/lib/a b.so (deleted)\n"
                       "no line at all\n"
                       "1000-2000 rw-p 00000000 00:00 0 \n"
                       "3000-4000 r-xp 00000000 00:00 0 [vdso]";
    struct td_map_line line;

    (void)state;
    assert_true(td_map_line_next(&text, &line));
    assert_int_equal(line.start, 0x7f00);
    assert_int_equal(line.end, 0x7fff);
    assert_int_equal(line.offset, 0x1000);
    assert_int_equal(line.major, 0xfe);
    assert_int_equal(line.minor, 1);
    assert_int_equal(line.inode, 42);
    assert_true(line.executable);
    assert_int_equal(line.path_len, strlen("/usr/lib/a b.so (deleted)"));
    assert_true(td_map_line_next(&text, &line));
    assert_false(line.executable);
    assert_int_equal(line.path_len, 0);
    assert_true(td_map_line_next(&text, &line));
    assert_memory_equal(line.path, "[vdso]", line.path_len);
    assert_false(td_map_line_next(&text, &line));
}

static void test_files(void **state)
{
    int64_t number = 0;
    char *line = td_procfs_line(NULL, "/proc/self/comm");

    (void)state;
    assert_string_equal(line, "procfs_test");
    free(line);
    assert_null(td_procfs_text("/nonexistent", "/proc/self/comm"));
    assert_false(td_procfs_number(NULL, "/proc/self/comm", &number));
    assert_true(td_procfs_number(NULL, "/proc/sys/kernel/pid_max", &number));
    assert_true(number > 0);
    char **names = td_procfs_names(NULL, "/proc/self/task");
    assert_non_null(names);
    assert_non_null(names[0]);
    td_procfs_names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
