/* SPDX-License-Identifier: MIT */
/* record/machine/system: what the machine is built of, from recorded /proc and /sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/machine/system.h"

static char scratch[] = "/tmp/td-system-XXXXXX";

/* A machine of these lines (tests/plan/unpack). */
static char *machine(const char *name, const char *lines)
{
    char *tree = td_xasprintf("%s/%s.tree", scratch, name);
    char *root = td_xasprintf("%s/%s", scratch, name);
    char *command =
        td_xasprintf("mkdir -p %s && %s/plan/unpack %s %s", root, TD_TESTS_DIR, tree, root);
    FILE *out = fopen(tree, "we");

    assert_non_null(out);
    fputs(lines, out);
    fclose(out);
    assert_int_equal(system(command), 0); /* NOLINT: our own script */
    free(command);
    free(tree);
    return root;
}

#define CACHE "sys/devices/system/cpu/cpu0/cache/index"
#define FREQ  "sys/devices/system/cpu/cpu0/cpufreq/"

static void a_whole_machine(void **state)
{
    char *root =
        machine("whole", CACHE "0/level: 1\n" CACHE "0/type: Data\n" CACHE "0/size: 48K\n" CACHE
                               "0/coherency_line_size: 64\n" CACHE "1/level: 1\n" CACHE
                               "1/type: Instruction\n" CACHE "1/size: 32K\n" CACHE
                               "2/level: 2\n" CACHE "2/type: Unified\n" CACHE "2/size: 2048K\n" FREQ
                               "scaling_cur_freq: 2100000\n" FREQ "cpuinfo_max_freq: 3800000\n" FREQ
                               "scaling_governor: schedutil\n"
                               "proc/meminfo: MemTotal:       65535924 kB\n"
                               "proc/cpuinfo: cpu MHz\\t\\t: 999.0\n");
    const struct td_caps caps = {.root = root, .smt = true};
    struct td_system system;

    (void)state;
    td_system_read(&system, &caps);
    assert_int_equal(system.cache_count, 3);
    assert_int_equal(td_system_cache_kb(&system, "1", 'd'), 48);
    assert_int_equal(td_system_cache_kb(&system, "1", 'i'), 32);
    assert_int_equal(td_system_cache_kb(&system, "2", 'u'), 2048);
    assert_int_equal(td_system_cache_kb(&system, "3", 'u'), 0);
    assert_int_equal(system.line_bytes, 64);
    assert_true(system.mhz == 2100 && system.mhz_max == 3800);
    assert_string_equal(system.governor, "schedutil");
    assert_int_equal(system.memory_kb, 65535924);
    assert_true(system.smt);
    free(root);
}

/* A virtual machine, where the clock is /proc/cpuinfo's; a machine that says nothing. */
static void what_is_not_said(void **state)
{
    char *root = machine("vm", "proc/cpuinfo: cpu MHz\\t\\t: 2599.996\n" CACHE "0/level: 1\n" CACHE
                               "0/size: 12 elephants\n");
    char *none = machine("none", "");
    struct td_caps caps = {.root = root};
    struct td_system system;

    (void)state;
    td_system_read(&system, &caps);
    assert_true(system.mhz > 2599.9 && system.mhz < 2600);
    assert_int_equal(system.cache_count, 0);
    caps.root = none;
    td_system_read(&system, &caps);
    assert_true(system.mhz == 0 && system.mhz_max == 0 && system.memory_kb == 0);
    assert_string_equal(system.governor, "");
    free(root);
    free(none);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(scratch) ? 0 : -1;
}

static int end(void **state)
{
    char *command = td_xasprintf("rm -rf %s", scratch);
    const int rc = system(command); /* NOLINT: a folder of our own */

    (void)state;
    free(command);
    return rc;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_machine),
        cmocka_unit_test(what_is_not_said),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
