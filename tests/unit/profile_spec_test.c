/* SPDX-License-Identifier: MIT */
/*
 * formats/profile.md against the code: its vectors are read out of the page. And the files of
 * tests/data/profiles, one for each version there ever was, against their dumps.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/load.h"
#include "formats/profile/dump.h"
#include "formats/profile/frame.h"
#include "formats/profile/numbers.h"

#define SPECIFICATION TD_TESTS_DIR "/../formats/profile.md"

/* A file as terminated text, to be freed. */
static char *read_text(const char *path)
{
    struct td_buf buf = {0};
    struct td_err err = TD_ERR_INIT;

    if (td_file_read(path, 1 << 24, &buf, &err) < 0)
        fail_msg("%s", err.text);
    td_buf_u8(&buf, '\0');
    return (char *)buf.data;
}

/* The text between "```NAME" and the next "```", to be freed. */
static char *read_block(const char *name)
{
    char *page = read_text(SPECIFICATION);
    char *mark = td_xasprintf("```%s\n", name);
    const char *begin = strstr(page, mark);

    assert_non_null(begin);
    begin += strlen(mark);
    const char *end = strstr(begin, "```");
    assert_non_null(end);
    char *block = td_xstrndup(begin, (size_t)(end - begin));
    free(mark);
    free(page);
    return block;
}

/* Pairs of hex digits up to the end of the text or to what is none. Returns where it stopped. */
static const char *read_hex(const char *s, struct td_buf *buf)
{
    for (;; s += 2) {
        const char *digits = s + strspn(s, " \n");
        char pair[3] = {0};

        if (strspn(digits, "0123456789abcdef") < 2)
            return s;
        memcpy(pair, digits, 2);
        td_buf_u8(buf, (uint8_t)strtoul(pair, NULL, 16));
        s = digits;
    }
}

static size_t read_numbers(const char *s, const char *end, uint64_t *numbers, size_t most)
{
    size_t count = 0;
    char *after = NULL;

    for (; s < end && count < most; s = after) {
        numbers[count] = strtoull(s, &after, 10);
        if (after == s || after > end)
            break;
        count++;
    }
    return count;
}

static void check_numbers(const char *line, size_t len)
{
    struct td_buf bytes = {0};
    uint64_t expected[16], first[16], got[16];
    const char *const end = line + len;
    const char *equals = read_hex(line, &bytes);
    const char *bracket = memchr(line, '[', len);
    const size_t count =
        read_numbers(strchr(equals, '=') + 1, bracket ? bracket : end, expected, 16);

    assert_true(count > 0);
    if (bracket)
        assert_int_equal(read_numbers(bracket + 1, end, first, 16), count);
    struct td_rd rd = td_rd_init(bytes.data, bytes.len, 0);
    td_numbers_get(&rd, got, count, bracket ? first : NULL);
    if (!td_rd_ok(&rd) || td_rd_left(&rd) != 0 || memcmp(got, expected, count * sizeof(*got)) != 0)
        fail_msg("vector does not hold: %.*s", (int)len, line);
    td_buf_release(&bytes);
}

static void number_vectors_hold(void **state)
{
    (void)state;
    char *block = read_block("numbers");
    size_t lines = 0;

    for (const char *line = block; *line; line = strchr(line, '\n') + 1, lines++)
        check_numbers(line, strcspn(line, "\n"));
    assert_true(lines >= 8);
    free(block);
}

static char *dump_text(const void *data, size_t size)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    struct td_err err = TD_ERR_INIT;

    assert_non_null(out);
    if (td_profile_dump(data, size, out, NULL, &err) < 0)
        fail_msg("%s", err.text);
    fclose(out);
    return text;
}

static void file_vector_holds(void **state)
{
    (void)state;
    char *hex = read_block("hex"), *expected = read_block("dump");
    struct td_buf bytes = {0};
    struct td_model *model = NULL;
    struct td_load_status status;

    assert_int_equal(*read_hex(hex, &bytes), '\n');
    char *text = dump_text(bytes.data, bytes.len);
    assert_string_equal(text, expected);
    assert_int_equal(td_load_bytes(&model, bytes.data, bytes.len, "vector", NULL, &status, NULL),
                     TD_OK);
    assert_true(td_model_complete(model));
    assert_int_equal(td_model_tally_count(model), 2);
    td_model_free(model);
    free(text);
    free(hex);
    free(expected);
    td_buf_release(&bytes);
}

/* The page's table of kinds, and its list of nodes, are those of the code. */
static void lists_agree(void **state)
{
    (void)state;
    char *page = read_text(SPECIFICATION);
    char row[80];

    for (unsigned kind = 1; kind < TD_CHUNK_KIND_LIMIT; kind++) {
        if (!td_chunk_kind_name(kind))
            continue; /* a number that nothing has yet */
        snprintf(row, sizeof(row), "\n| %u | %s | %s |", kind, td_chunk_kind_name(kind),
                 td_chunk_kind_required((enum td_chunk_kind)kind) ? "yes" : "no");
        if (!strstr(page, row))
            fail_msg("not in the page: %s", row + 1);
    }
    for (int node = 0; node < TD_NODE_COUNT; node++) {
        snprintf(row, sizeof(row), "%d `%s`", node, td_tma_info((enum td_tma_node)node)->id);
        if (!strstr(page, row))
            fail_msg("not in the page: %s", row);
    }
    free(page);
}

static void check_golden(const char *version)
{
    char *path = td_xasprintf("%s/data/profiles/%s.td", TD_TESTS_DIR, version);
    char *dump_path = td_xasprintf("%s/data/profiles/%s.txt", TD_TESTS_DIR, version);
    char *expected = read_text(dump_path);
    struct td_file_map map = {0};
    struct td_model *model = NULL;
    struct td_load_status status;

    assert_int_equal(td_file_map(&map, path, NULL), TD_OK);
    char *text = dump_text(map.data, map.size);
    if (strcmp(text, expected) != 0)
        fail_msg("the dump of %s is not %s", path, dump_path);
    assert_int_equal(td_load_file(&model, path, NULL, &status, NULL), TD_OK);
    assert_true(td_model_complete(model) && !status.damaged && !status.cut);
    td_model_free(model);
    td_file_unmap(&map);
    free(text);
    free(expected);
    free(path);
    free(dump_path);
}

static void every_version_is_read(void **state)
{
    (void)state;
    static const char *const versions[] = {"1.0", "1.1"};

    for (size_t i = 0; i < TD_ARRAY_SIZE(versions); i++)
        check_golden(versions[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_vectors_hold),
        cmocka_unit_test(file_vector_holds),
        cmocka_unit_test(lists_agree),
        cmocka_unit_test(every_version_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
