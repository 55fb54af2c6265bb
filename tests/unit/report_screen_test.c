/* SPDX-License-Identifier: MIT */
/* What the first screen is made of: fitting units, what slots mostly went to, what to try. */
#include "report_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/cores/uarch.h"
#include "report/query/advice.h"
#include "report/query/explain.h"
#include "report/query/figures/measure.h"
#include "report/query/mostly.h"
#include "report/query/figures/tree.h"
#include "report/view/table/mostly.h"
#include "report/view/table/units.h"

static void test_times(void **state)
{
    static const struct {
        double ns, error;
        const char *text;
    } cases[] = {{0, 0, "0 ns"},
                 {999, 0, "999 ns"},
                 {1234, 0, "1.23 \xc2\xb5s"},
                 {47.25e6, 0, "47.2 ms"},
                 {123.6e6, 0, "124 ms"},
                 {1.5e9, 0, "1.50 s"},
                 {4711e9, 0, "4711 s"},
                 {48.2e6, 1.24e6, "48.2 \xc2\xb1 1.2 ms"}};
    const struct td_style style = {.utf8 = true};
    char buf[48];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(
            td_format_time_error(&style, buf, sizeof(buf), cases[i].ns, cases[i].error),
            cases[i].text);
    const struct td_time_unit unit = td_time_unit_of(&style, UINT64_C(47900000));
    assert_string_equal(unit.name, "ms");
    assert_int_equal(unit.decimals, 2);
}

/* No value is printed larger than the total in the total's unit, and parts add up to it as far as
 * they are rounded. */
static void test_times_of_parts(void **state)
{
    (void)state;
    for (uint64_t total = 1; total < UINT64_C(100000000000000); total = total * 7 + 3) {
        const struct td_time_unit unit = td_time_unit_of(NULL, total);
        char whole[64], part[64];

        snprintf(whole, sizeof(whole), "%.*f", unit.decimals, (double)total * unit.per_ns);
        snprintf(part, sizeof(part), "%.*f", unit.decimals, (double)(total - 1) * unit.per_ns);
        assert_true(strtod(part, NULL) <= strtod(whole, NULL));
        assert_true((double)total * unit.per_ns >= 1 && strlen(whole) <= 9);
    }
}

static struct td_measure columns(uint64_t *values)
{
    struct td_measure measure = {.row_count = 1};
    static uint64_t column[1];

    memset(values, 0, TD_METRIC_COUNT * sizeof(*values));
    measure.values[TD_METRIC_SLOTS] = column;
    for (int n = 0; n < TD_NODE_COUNT; n++)
        measure.values[TD_METRIC_FIRST_NODE + n] = column;
    values[TD_METRIC_SLOTS] = 100;
    return measure;
}

static void set(uint64_t *values, enum td_tma_node node, uint64_t value)
{
    for (; node != TD_NODE_NONE; node = td_tma_info(node)->parent)
        values[td_metric_of_node(node)] += value;
}

static void test_mostly(void **state)
{
    uint64_t values[TD_METRIC_COUNT];
    const struct td_measure measure = columns(values);
    char text[64];

    (void)state;
    set(values, TD_NODE_L3_BOUND, 37);
    set(values, TD_NODE_BRANCH_MISPREDICTS, 48);
    set(values, TD_NODE_LIGHT_OPERATIONS, 12);
    set(values, TD_NODE_DIVIDER, 3);
    assert_string_equal(td_mostly_text(text, sizeof(text), 40, &measure, values, 0),
                        "mispredicts 48, l3 37, retiring 12");
    assert_string_equal(td_mostly_text(text, sizeof(text), 22, &measure, values, 0),
                        "mispredicts 48, l3 37");
    /* Without what is not known of its children, memory stands for itself. */
    assert_string_equal(
        td_mostly_text(text, sizeof(text), 28, &measure, values, UINT32_C(1) << TD_NODE_L3_BOUND),
        "mispredicts 48, memory 37");
    values[TD_METRIC_SLOTS] = 0;
    assert_string_equal(td_mostly_text(text, sizeof(text), 22, &measure, NULL, 0), "");
}

/* Useful work comes last, though most of it is that; what is small is left out unless it is all. */
static void test_mostly_useful(void **state)
{
    uint64_t values[TD_METRIC_COUNT];
    const struct td_measure measure = columns(values);
    char text[64];

    (void)state;
    set(values, TD_NODE_LIGHT_OPERATIONS, 50);
    set(values, TD_NODE_BRANCH_MISPREDICTS, 39);
    set(values, TD_NODE_DRAM_BOUND, 9);
    assert_string_equal(td_mostly_text(text, sizeof(text), TD_MOSTLY_WIDTH, &measure, values, 0),
                        "mispredicts 39, retiring 50");
    assert_string_equal(td_mostly_text(text, sizeof(text), 22, &measure, values, 0), "retiring 50");
    memset(values, 0, sizeof(values));
    values[TD_METRIC_SLOTS] = 100;
    set(values, TD_NODE_STORE_BOUND, 7);
    assert_string_equal(td_mostly_text(text, sizeof(text), 1, &measure, values, 0), "store 7");
}

/* Each category has its words, and the line in the verdict fits a terminal of 80 columns. */
static void test_advice(void **state)
{
    (void)state;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_advice *advice = td_advice_of((enum td_tma_node)n);

        assert_true(strlen(advice->causes) > 40 && strlen(advice->details) > 40);
        assert_true(strlen(advice->try_this) > 10);
        assert_true(td_text_width(advice->try_this) <= TD_ADVICE_TRY_MAX);
        assert_true(td_tree_threshold((enum td_tma_node)n) < 1 || n == TD_NODE_SMT_CONTENTION);
    }
}

static void check_match(const char *word, size_t count, enum td_tma_node first)
{
    enum td_tma_node found[TD_NODE_COUNT];

    assert_int_equal(td_tma_matches(word, found), count);
    if (count > 0)
        assert_int_equal(found[0], first);
}

static void test_words_for_categories(void **state)
{
    (void)state;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);

        check_match(info->id, 1, (enum td_tma_node)n); /* also of names that begin alike */
        check_match(info->name, 1, (enum td_tma_node)n);
    }
    check_match("L3", 1, TD_NODE_L3_BOUND);
    check_match("L3_Bound", 1, TD_NODE_L3_BOUND);
    check_match("mem", 1, TD_NODE_MEMORY_BOUND);
    check_match("mispred", 1, TD_NODE_BRANCH_MISPREDICTS);
    check_match("branch-m", 1, TD_NODE_BRANCH_MISPREDICTS);
    check_match("branch", 2, TD_NODE_BRANCH_MISPREDICTS);
    check_match("l", 4, TD_NODE_LIGHT_OPERATIONS);
    check_match("dtlb", 2, TD_NODE_DTLB_LOAD);
    check_match("mem bw", 1, TD_NODE_MEM_BANDWIDTH);
    check_match("", 0, TD_NODE_NONE);
    check_match("bogus", 0, TD_NODE_NONE);
}

/* Each core that counts level 1 says by which events, and counts them in some run. */
static void test_how_cores_count(void **state)
{
    size_t cores = 0;

    (void)state;
    for (size_t i = 0; td_uarch_builtin_at(i); i++) {
        struct td_explained_cores explained;
        struct td_node_counted counted;

        if (td_explained_named(&explained, td_uarch_builtin_at(i)->name, NULL) < 0)
            continue;
        td_node_counted_of(&counted, &explained.at[0], TD_NODE_RETIRING);
        if (counted.formula) {
            cores++;
            assert_int_equal(strncmp(counted.formula, "retiring = ", 11), 0);
            assert_true(counted.event_count >= 1);
            assert_true(counted.run >= 1);
        }
        td_node_counted_release(&counted);
        td_explained_release(&explained);
    }
    assert_true(cores > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),           cmocka_unit_test(test_times_of_parts),
        cmocka_unit_test(test_mostly),          cmocka_unit_test(test_mostly_useful),
        cmocka_unit_test(test_advice),          cmocka_unit_test(test_words_for_categories),
        cmocka_unit_test(test_how_cores_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
