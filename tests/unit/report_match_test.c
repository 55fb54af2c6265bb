/* SPDX-License-Identifier: MIT */
/* Functions and lines of a program that was built anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/query/diff/match.h"

#define APP TD_MATCH_PROGRAM

static const char *module(const char *name, const char *program)
{
    static char buf[64];
    size_t len = 0;
    const char *same = td_match_module(name, program, &len);

    snprintf(buf, sizeof(buf), "%.*s", (int)len, same);
    return buf;
}

static void modules_lose_their_version(void **state)
{
    (void)state;
    assert_string_equal(module("libz.so.1.2.13", "/usr/bin/app"), "libz.so");
    assert_string_equal(module("libz.so", "app"), "libz.so");
    assert_string_equal(module("[kernel]", "app"), "[kernel]");
    assert_string_equal(module("app", "./build/app"), APP);
    assert_string_equal(module("app", NULL), "app");
}

struct pair {
    struct td_match_name old, now;
    bool same;
};

static void pairs_are_told(void **state)
{
    static const struct pair pairs[] = {
        {{"f", APP, "a.c"}, {"f", APP, "a.c"}, true},
        {{"f", APP, "/old/a.c"}, {"f", APP, "/new/a.c"}, true},
        {{"f", APP, "a.c"}, {"f", APP, "b.c"}, true}, /* moved: no other f */
        {{"f", APP, "a.c"}, {"g", APP, "a.c"}, false},
        {{"f.constprop.0", APP, "a.c"}, {"f", APP, "a.c"}, true},
        {{"a::f::h0123456789abcdef", APP, ""}, {"a::f::hfedcba9876543210", APP, ""}, true},
        {{"f(int)", APP, "a.c"}, {"f(long)", APP, "a.c"}, true}, /* one f on either side */
        {{"f", "libx.so", ""}, {"f", APP, ""}, true},            /* linked in now */
        {{NULL, APP, ""}, {NULL, APP, ""}, true},
        {{NULL, APP, ""}, {NULL, "libc.so", ""}, false},
    };
    static const uint32_t side[] = {0, 1};

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct td_match_name names[] = {pairs[i].old, pairs[i].now};
        uint32_t ids[2];
        const uint32_t count = td_match_functions(ids, names, side, 2);

        assert_int_equal(ids[0] == ids[1], pairs[i].same);
        assert_int_equal(count, pairs[i].same ? 1 : 2);
    }
}

/* Overloads keep apart; one that got another parameter is found by what is left. */
static void overloads(void **state)
{
    static const struct td_match_name names[] = {
        {"f(int)", APP, "a.c"},
        {"f(char)", APP, "a.c"}, /* before */
        {"f(char)", APP, "a.c"},
        {"f(int, bool)", APP, "a.c"}, /* after */
    };
    static const uint32_t side[] = {0, 0, 1, 1};
    uint32_t ids[4];

    (void)state;
    assert_int_equal(td_match_functions(ids, names, side, 4), 2);
    assert_int_equal(ids[2], ids[1]);
    assert_int_equal(ids[3], ids[0]);
}

/* Two static functions of a name, one of which went to a third file: which, nobody says. */
static void doubt_is_no_match(void **state)
{
    static const struct td_match_name names[] = {
        {"init", APP, "a.c"}, {"init", APP, "b.c"}, {"init", APP, "c.c"}};
    static const uint32_t side[] = {0, 0, 1};
    uint32_t ids[3];

    (void)state;
    assert_int_equal(td_match_functions(ids, names, side, 3), 3);
}

static void three_sides(void **state)
{
    static const struct td_match_name names[] = {{"f", APP, ""}, {"g", APP, ""}, {"h", APP, ""},
                                                 {"g", APP, ""}, {"h", APP, ""}, {"f", APP, ""}};
    static const uint32_t side[] = {0, 1, 1, 2, 2, 2};
    uint32_t ids[6];

    (void)state;
    assert_int_equal(td_match_functions(ids, names, side, 6), 3);
    assert_int_equal(ids[3], ids[1]);
    assert_int_equal(ids[4], ids[2]);
    assert_int_equal(ids[5], ids[0]);
}

static struct td_match_text text(const char *lines)
{
    return td_match_text_of(lines, strlen(lines));
}

static void expect_lines(const char *old, const char *now, const uint32_t expected[32])
{
    struct td_match_text a = text(old), b = text(now);
    uint32_t old_of[32] = {0};

    td_match_lines(old_of, &a, &b);
    for (uint32_t i = 0; i < b.count; i++)
        assert_int_equal(old_of[i], expected[i]);
    free(a.lines);
    free(b.lines);
}

static void lines_by_content(void **state)
{
    static const uint32_t none[32];

    (void)state;
    /* Inserted above, and blanks at the ends of a line do not count. */
    expect_lines("a\nb\n  c\n", "x\ny\na\n  b  \nc", (const uint32_t[32]){0, 0, 1, 2, 3});
    /* Taken out, and one changed. */
    expect_lines("a\nb\nc\nd\n", "a\nC\nd\n", (const uint32_t[32]){1, 0, 4});
    /* Equal lines (braces) follow the unique ones around them. */
    expect_lines("f\n{\n}\ng\n{\n}\n", "f\n{\nnew\n}\ng\n{\n}\n",
                 (const uint32_t[32]){1, 2, 0, 3, 4, 5, 6});
    /* Two blocks that changed places: the order of one of them is kept. */
    expect_lines("a\nb\nc\nd\ne\n", "d\ne\na\nb\nc\n", (const uint32_t[32]){0, 0, 1, 2, 3});
    expect_lines("", "a\n", none);
    expect_lines("a\n", "", none);
}

/* Of any two texts: what is matched is equal, and rises. */
static void lines_match_what_is_equal(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        uint64_t lines[2][24];
        struct td_match_text texts[2];
        uint32_t old_of[24], last = 0;

        for (int s = 0; s < 2; s++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            texts[s] = (struct td_match_text){.lines = lines[s], .count = random >> 33 & 15};
            for (uint32_t i = 0; i < texts[s].count; i++) {
                random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
                lines[s][i] = random >> 60;
            }
        }
        td_match_lines(old_of, &texts[0], &texts[1]);
        for (uint32_t i = 0; i < texts[1].count; i++) {
            if (old_of[i] == 0)
                continue;
            assert_in_range(old_of[i], last + 1, texts[0].count);
            assert_true(lines[0][old_of[i] - 1] == lines[1][i]);
            last = old_of[i];
        }
    }
}

static void lines_by_distance(void **state)
{
    struct td_match_anchor anchors[] = {{50, 70}, {10, 10}, {20, 40}};

    (void)state;
    td_match_sort_anchors(anchors, 3);
    assert_int_equal(td_match_line(anchors, 3, 5), 5);
    assert_int_equal(td_match_line(anchors, 3, 12), 12);
    assert_int_equal(td_match_line(anchors, 3, 40), 20);
    assert_int_equal(td_match_line(anchors, 3, 45), 25);
    assert_int_equal(td_match_line(anchors, 3, 80), 60);
    assert_int_equal(td_match_line(NULL, 0, 80), 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_lose_their_version),
        cmocka_unit_test(pairs_are_told),
        cmocka_unit_test(overloads),
        cmocka_unit_test(doubt_is_no_match),
        cmocka_unit_test(three_sides),
        cmocka_unit_test(lines_by_content),
        cmocka_unit_test(lines_match_what_is_equal),
        cmocka_unit_test(lines_by_distance),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
