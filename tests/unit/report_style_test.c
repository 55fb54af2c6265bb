/* SPDX-License-Identifier: MIT */
/* Names, paths and text made to fit, and made harmless. */
#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/text.h"
#include "report/view/table/style.h"

static const struct td_style utf8 = {.utf8 = true, .width = 80};
static const struct td_style ascii = {.utf8 = false, .width = 80};

static void expect_name(const struct td_style *style, const char *name, unsigned width,
                        const char *expected)
{
    char fitted[512];

    td_fit_name(style, fitted, sizeof(fitted), name, width);
    assert_string_equal(fitted, expected);
}

static void test_names(void **state)
{
    static const char match[] = "bool ns::Token::Match<char const*, 44>(ns::Token const*, int)";

    (void)state;
    expect_name(&utf8, match, 0, match);
    expect_name(&utf8, match, 61, match);
    expect_name(&utf8, match, 60, "bool ns::Token::Match<char const*, 44>(…)");
    expect_name(&utf8, match, 38, "bool ns::Token::Match<…>(…)");
    expect_name(&utf8, match, 25, "ns::Token::Match<…>(…)");
    expect_name(&utf8, match, 20, "ns::Token::Match<…>");
    expect_name(&utf8, match, 17, "ns::Token::Match…");
    expect_name(&utf8, match, 16, "…Token::Match");
    expect_name(&utf8, match, 14, "…Token::Match");
    expect_name(&utf8, match, 8, "…Match");
    expect_name(&ascii, match, 25, "ns::Token::Match<..>(..)");
    expect_name(&ascii, match, 14, "..Token::Match");
    expect_name(&utf8, "(anonymous namespace)::visit(int, int)", 20, "(anon…)::visit(…)");
    expect_name(&utf8, "operator<<(std::ostream&, Thing const&)", 16, "operator<<(…)");
    expect_name(&utf8, "Map::operator()(int, long, char, short) const", 28,
                "Map::operator()(…) const");
    expect_name(&utf8, "ns::Token::match(int, ns::Token const&)", 18, "ns::Token::match…");
    expect_name(&utf8, "<usize as core::cmp::PartialOrd>::lt", 36,
                "<usize as core::cmp::PartialOrd>::lt");
    expect_name(&utf8, "<usize as core::cmp::PartialOrd>::lt", 30, "…cmp::PartialOrd>::lt");
    expect_name(&utf8, "a_very_long_name_of_a_function_in_c", 20, "a_very_l…nction_in_c");
}

static void test_paths(void **state)
{
    char fitted[128];

    (void)state;
    td_fit_path(&utf8, fitted, sizeof(fitted), "/build/cppcheck/lib/token.cpp:812", 24);
    assert_string_equal(fitted, "…/lib/token.cpp:812");
    td_fit_path(&utf8, fitted, sizeof(fitted), "/build/cppcheck/lib/token.cpp:812", 33);
    assert_string_equal(fitted, "/build/cppcheck/lib/token.cpp:812");
    td_fit_path(&utf8, fitted, sizeof(fitted), "/z/programs/../lib/./../common/x.c:3", 0);
    assert_string_equal(fitted, "/z/common/x.c:3");
    td_fit_path(&utf8, fitted, sizeof(fitted), "../../x/../y.c", 0);
    assert_string_equal(fitted, "../../y.c");
    td_fit_path(&utf8, fitted, sizeof(fitted), "/../y.c", 0);
    assert_string_equal(fitted, "/../y.c");
    td_fit_path(&utf8, fitted, sizeof(fitted), "/build/a_very_long_file_name.cpp:812", 12);
    assert_string_equal(fitted, "…ame.cpp:812");
}

/* What was shortened says so, where there is room for it. */
static void expect_marked(const struct td_style *style, const char *text, unsigned width,
                          const char *fitted)
{
    char safe[1024];

    td_text_safe(safe, sizeof(safe), text, strlen(text));
    if (strcmp(fitted, safe) != 0 && width > 4)
        assert_non_null(strstr(fitted, style->utf8 ? "…" : ".."));
}

/* Whatever the text and the width: never wider, never anything a terminal would obey. */
static void test_never_wider(void **state)
{
    static const char *const texts[] = {
        "plain",
        "std::map<std::string, std::vector<int> >::operator[](std::string const&)",
        "\033[2Jevil\a\n\xff\xe2\x80\xae",
        "日本語の関数<テンプレート>::名前(引数)",
        "<<<<(((([[[[{{{{",
        ">>>>))))]]]]",
        "operator",
        "operator<",
        "<alloc::vec::Vec<T,A> as core::ops::index::Index<I>>::index",
        "core::ptr::drop_in_place<alloc::vec::Vec<alloc::string::String>>",
        "void (anonymous namespace)::visit(int, char const*)",
        "main.(*Server).handle.func1",
        "a::b::c::d::e::f::",
        "",
        "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
    };
    void (*const fits[])(const struct td_style *, char *, size_t, const char *,
                         unsigned) = {td_fit_name, td_fit_path, td_fit_text};

    (void)state;
    for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
        for (size_t f = 0; f < 3; f++) {
            for (unsigned width = 1; width < 80; width++) {
                const struct td_style *const styles[] = {&utf8, &ascii};

                for (size_t s = 0; s < 2; s++) {
                    char fitted[512], safe[1024];

                    fits[f](styles[s], fitted, sizeof(fitted), texts[t], width);
                    assert_true(td_text_width(fitted) <= width);
                    expect_marked(styles[s], texts[t], width, fitted);
                    td_text_safe(safe, sizeof(safe), fitted, strlen(fitted));
                    assert_string_equal(safe, fitted);
                }
            }
        }
    }
}

/* A name longer than any buffer is cut, not written past the end. */
static void test_huge(void **state)
{
    char *name = malloc(100001);
    char fitted[512];

    (void)state;
    memset(name, '<', 100000);
    name[100000] = '\0';
    td_fit_name(&utf8, fitted, sizeof(fitted), name, 40);
    assert_true(td_text_width(fitted) <= 40);
    memset(name, 'x', 100000);
    td_fit_name(&utf8, fitted, sizeof(fitted), name, 0);
    assert_true(strlen(fitted) < sizeof(fitted));
    free(name);
}

static char *wrapped(unsigned width, const char *text)
{
    char *out = NULL;
    size_t size = 0;
    struct td_style style = {.utf8 = true, .width = width};

    style.out = open_memstream(&out, &size);
    td_style_wrap(&style, text, 2, 4);
    fclose(style.out);
    return out;
}

static void test_wrap(void **state)
{
    char *text = wrapped(12, "one two three fourteen");

    (void)state;
    assert_string_equal(text, "  one two\n    three\n    fourteen\n");
    free(text);
    text = wrapped(12, "x\033y");
    assert_string_equal(text, "  x\\x1by\n");
    free(text);
    text = wrapped(12, "");
    assert_string_equal(text, "  \n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_paths),
        cmocka_unit_test(test_never_wider), cmocka_unit_test(test_huge),
        cmocka_unit_test(test_wrap),
    };

    setlocale(LC_CTYPE, "C.UTF-8");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
