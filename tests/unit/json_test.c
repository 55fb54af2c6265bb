/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>
#include <setjmp.h>

#include <cmocka.h>

#include "formats/export/json.h"

/* What `write` writes, compared with `expected`. */
static void expect(void (*write)(struct td_json *), unsigned lines_to, const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct td_json json = td_json_init(out, lines_to);

    write(&json);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void numbers(struct td_json *json)
{
    td_json_object(json, NULL);
    td_json_u64(json, "u", UINT64_MAX);
    td_json_i64(json, "i", INT64_MIN);
    td_json_double(json, "d", 0.25, 6);
    td_json_double(json, "third", 1.0 / 3, 6);
    td_json_double(json, "nan", NAN, 6);
    td_json_double(json, "inf", INFINITY, 6);
    td_json_bool(json, "b", true);
    td_json_null(json, "n");
    td_json_end(json);
}

static void test_numbers(void **state)
{
    (void)state;
    expect(numbers, 0,
           "{\"u\": 18446744073709551615, \"i\": -9223372036854775808, \"d\": 0.25, "
           "\"third\": 0.333333, \"nan\": null, \"inf\": null, \"b\": true, \"n\": null}\n");
}

static void hostile(struct td_json *json)
{
    td_json_array(json, NULL);
    td_json_string(json, NULL, "a\"b\\c\n\t\x1b[31m\x7f");
    td_json_string(json, NULL, "\xff\xc3(\xe2\x82");                /* invalid, cut off */
    td_json_string(json, NULL, "\xc2\x9b\xe2\x80\xa8\xe2\x80\xae"); /* CSI in C1, separator, bidi */
    td_json_string(json, NULL, "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
    td_json_bytes(json, NULL, "a\0b", 3);
    td_json_string(json, NULL, NULL);
    td_json_end(json);
}

static void test_hostile(void **state)
{
    (void)state;
    expect(hostile, 0,
           "[\"a\\\"b\\\\c\\n\\t\\u001b[31m\\u007f\", \"\\ufffd\\ufffd(\\ufffd\\ufffd\", "
           "\"\\u009b\\u2028\\u202e\", \"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\", \"a\\u0000b\", "
           "null]\n");
}

static void nested(struct td_json *json)
{
    td_json_object(json, NULL);
    td_json_array(json, "rows");
    td_json_object(json, NULL);
    td_json_u64(json, "a", 1);
    td_json_object(json, "none");
    td_json_end(json);
    td_json_end(json);
    td_json_object(json, NULL);
    td_json_end(json);
    td_json_end(json);
    td_json_array(json, "empty");
    td_json_end(json);
    td_json_end(json);
}

static void test_lines(void **state)
{
    (void)state;
    expect(nested, 2,
           "{\n  \"rows\": [\n    {\"a\": 1, \"none\": {}},\n    {}\n  ],\n  \"empty\": []\n}\n");
    expect(nested, 0, "{\"rows\": [{\"a\": 1, \"none\": {}}, {}], \"empty\": []}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_lines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
