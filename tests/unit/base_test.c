/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/opt.h"
#include "base/text.h"

static void crc32c_of_check_string(void **state)
{
    (void)state;
    /* RFC 3720 B.4's all-zero vector and the usual check value. */
    const uint8_t zeros[32] = {0};

    assert_int_equal(td_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(td_crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(td_crc32c(td_crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void leb128_round_trip(void **state)
{
    (void)state;
    const uint64_t values[] = {0, 1, 127, 128, 16384, UINT32_MAX, INT64_MAX, UINT64_MAX};
    struct td_buf buf = {0};

    for (size_t i = 0; i < 8; i++) {
        td_buf_uleb(&buf, values[i]);
        td_buf_zigzag(&buf, (int64_t)values[i]);
    }
    struct td_rd rd = td_rd_init(buf.data, buf.len, 0);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(td_rd_uleb(&rd), values[i]);
        assert_int_equal(td_rd_zigzag(&rd), (int64_t)values[i]);
    }
    assert_true(td_rd_ok(&rd));
    assert_int_equal(td_rd_left(&rd), 0);
    td_buf_release(&buf);
}

static void cursor_sticks_at_the_first_bad_read(void **state)
{
    (void)state;
    const uint8_t data[] = {1, 0xff, 0xff};
    struct td_rd rd = td_rd_init(data, sizeof(data), 100);
    size_t len = 0;

    assert_int_equal(td_rd_u8(&rd), 1);
    assert_int_equal(td_rd_uleb(&rd), 0);
    assert_false(td_rd_ok(&rd));
    assert_int_equal(td_rd_offset(&rd), 101);
    assert_null(td_rd_bytes(&rd, 1));
    assert_null(td_rd_string(&rd, &len));
    assert_int_equal(td_rd_offset(&rd), 101);
}

static void leb128_of_over_64_bits_is_refused(void **state)
{
    (void)state;
    const uint8_t data[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
    struct td_rd rd = td_rd_init(data, sizeof(data), 0);

    td_rd_uleb(&rd);
    assert_false(td_rd_ok(&rd));
}

static void hostile_text_is_made_harmless(void **state)
{
    (void)state;
    char out[64];

    td_text_safe(out, sizeof(out), "a\033[31m\n", 7);
    assert_string_equal(out, "a\\x1b[31m\\x0a");
    td_text_safe(out, sizeof(out), "\xc3\xa9\xff", 3);
    assert_string_equal(out, "\xc3\xa9\\xff");
    td_text_safe(out, sizeof(out), "\xe2\x80\xae", 3); /* right-to-left override */
    assert_string_equal(out, "\\xe2\\x80\\xae");
    td_text_safe(out, sizeof(out), "\xc2\x9b", 2); /* C1 CSI */
    assert_string_equal(out, "\\xc2\\x9b");
    assert_int_equal(td_text_safe(out, 3, "a\xc3\xa9", 3), 3);
    assert_string_equal(out, "a");
}

static void map_finds_what_was_put(void **state)
{
    (void)state;
    struct td_map map = {0};
    bool added = false;

    for (uint32_t i = 0; i < 10000; i++)
        td_map_put(&map, i, i ^ 7, i, &added);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(*td_map_find(&map, i, i ^ 7), i);
    assert_null(td_map_find(&map, 3, 3));
    td_map_put(&map, 5, 5 ^ 7, 1, &added);
    assert_false(added);
    td_map_release(&map);
}

static void intern_gives_one_id_a_string(void **state)
{
    (void)state;
    struct td_intern *intern = td_intern_new();

    assert_int_equal(td_intern_put(intern, "", 0), 0);
    const uint32_t a = td_intern_put(intern, "alpha", 5);
    assert_int_equal(td_intern_put(intern, "alphabet", 5), a);
    assert_string_equal(td_intern_get(intern, a), "alpha");
    td_intern_free(intern);
}

static void the_nearest_name_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"freq", "functions", "output", NULL};

    assert_string_equal(td_nearest("functons", names), "functions");
    assert_string_equal(td_nearest("frequncy", names), "freq");
    assert_null(td_nearest("xyz", names));
    assert_string_equal(
        td_nearest("Parser::mtch", (const char *const[]){"ns::Parser::match", NULL}),
        "ns::Parser::match");
    assert_null(td_nearest("repeat", (const char *const[]){"event", NULL}));
    assert_string_equal(td_nearest("core", (const char *const[]){"color", "sim-core", NULL}),
                        "sim-core");
    assert_string_equal(td_nearest("qiuet", (const char *const[]){"event", "quiet", NULL}),
                        "quiet");
    assert_null(td_nearest("fre", (const char *const[]){"function", NULL}));
}

static void options_parse_and_explain(void **state)
{
    (void)state;
    bool verbose = false;
    uint64_t hz = 0;
    const char *out = NULL;
    const struct td_opt table[] = {
        {TD_OPT_FLAG, 'v', "verbose", NULL, "say more", &verbose},
        {TD_OPT_U64, 'F', "frequency", "HZ", "samples a second", &hz},
        {TD_OPT_STRING, 'o', "output", "FILE", "where to", &out},
        TD_OPT_END,
    };
    struct td_err err = TD_ERR_INIT;
    char *good[] = {(char[]){"x"}, (char[]){"-vF99"}, (char[]){"app"}, (char[]){"-o"}, NULL};
    char *mixed[] = {(char[]){"x"}, (char[]){"word"}, (char[]){"--output=f"}, NULL};
    char *typo[] = {(char[]){"x"}, (char[]){"--frequncy"}, (char[]){"3"}, NULL};
    char *bad[] = {(char[]){"x"}, (char[]){"-F"}, (char[]){"abc"}, NULL};

    assert_int_equal(td_opt_parse(table, 4, good, false, &err), 2);
    assert_true(verbose);
    assert_int_equal(hz, 99);
    assert_int_equal(td_opt_parse(table, 3, mixed, true, &err), 2);
    assert_string_equal(out, "f");
    assert_string_equal(mixed[2], "word");
    assert_int_equal(td_opt_parse(table, 3, typo, false, &err), TD_EUSAGE);
    assert_non_null(strstr(err.text, "did you mean --frequency"));
    assert_int_equal(td_opt_parse(table, 3, bad, false, &err), TD_EUSAGE);
    assert_non_null(strstr(err.text, "abc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_of_check_string),
        cmocka_unit_test(leb128_round_trip),
        cmocka_unit_test(cursor_sticks_at_the_first_bad_read),
        cmocka_unit_test(leb128_of_over_64_bits_is_refused),
        cmocka_unit_test(hostile_text_is_made_harmless),
        cmocka_unit_test(map_finds_what_was_put),
        cmocka_unit_test(intern_gives_one_id_a_string),
        cmocka_unit_test(the_nearest_name_is_found),
        cmocka_unit_test(options_parse_and_explain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
