/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "formats/cores/core.h"

static void sections_and_words(void **state)
{
    (void)state;
    static const char text[] = "# head\n[a]\nkey  1 two # rest\n\n[b]\nx\n";
    struct td_uarch *uarch = NULL;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_uarch_parse(&uarch, text, strlen(text), &err), TD_OK);
    const struct td_uarch_section *a = td_uarch_section(uarch, "a");
    assert_non_null(a);
    assert_int_equal(a->line_count, 1);
    const struct td_uarch_line *line = td_uarch_find(a, "key");
    assert_non_null(line);
    assert_int_equal(line->word_count, 3);
    assert_string_equal(line->words[2], "two");
    assert_int_equal(line->number, 3);
    assert_null(td_uarch_find(a, "x"));
    assert_non_null(td_uarch_section(uarch, "b"));
    assert_null(td_uarch_section(uarch, "c"));
    td_uarch_free(uarch);
}

static void damaged_text_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"key 1\n", "[a\nx\n", "[a] b\n", "[a]\n[a]\n", "[]\n"};

    for (size_t i = 0; i < TD_ARRAY_SIZE(texts); i++) {
        struct td_uarch *uarch = NULL;
        struct td_err err = TD_ERR_INIT;
        assert_int_equal(td_uarch_parse(&uarch, texts[i], strlen(texts[i]), &err), TD_EFORMAT);
        assert_null(uarch);
        assert_non_null(strstr(err.text, "line "));
    }
}

static void every_builtin_core_reads(void **state)
{
    (void)state;
    size_t count = 0;

    for (; td_uarch_builtin_at(count); count++) {
        struct td_core_desc desc;
        struct td_err err = TD_ERR_INIT;
        const struct td_uarch_builtin *builtin = td_uarch_builtin_at(count);
        struct td_uarch *uarch = NULL;
        assert_int_equal(td_uarch_parse(&uarch, builtin->text, builtin->size, &err), TD_OK);
        if (td_uarch_section(uarch, "pipeline")) {
            assert_int_equal(td_core_desc_builtin(&desc, builtin->name, &err), TD_OK);
            assert_string_equal(desc.name, builtin->name);
        }
        td_uarch_free(uarch);
    }
    assert_true(count >= 3);
    struct td_core_desc desc;
    struct td_err err = TD_ERR_INIT;
    assert_int_equal(td_core_desc_builtin(&desc, "pentium", &err), TD_ENOENT);
    assert_non_null(strstr(err.text, "zen4"));
}

/* Each line of a good description left out, and each number made too large: an error each time,
 * or a description that is sound. */
static void damaged_cores_are_refused(void **state)
{
    (void)state;
    const struct td_uarch_builtin *builtin = td_uarch_builtin("zen4");
    char *text = td_xalloc(builtin->size);
    size_t refused = 0;

    for (size_t at = 0; at < builtin->size;) {
        const char *end = memchr(builtin->text + at, '\n', builtin->size - at);
        const size_t len = (size_t)(end - (builtin->text + at)) + 1;
        struct td_uarch *uarch = NULL;
        struct td_core_desc desc;
        memcpy(text, builtin->text, at);
        memcpy(text + at, builtin->text + at + len, builtin->size - at - len);
        if (td_uarch_parse(&uarch, text, builtin->size - len, NULL) == TD_OK)
            refused += td_core_desc_read(&desc, uarch, NULL) != TD_OK;
        td_uarch_free(uarch);
        at += len;
    }
    assert_true(refused > 150);
    free(text);
}

/* zen4 with another line, or several, in place of the first of its [dispatch]. */
static int read_with_dispatch_line(const char *line, struct td_core_desc *ret, struct td_err *err)
{
    static const char head[] = "[dispatch]\n";
    const struct td_uarch_builtin *builtin = td_uarch_builtin("zen4");
    const char *found = memmem(builtin->text, builtin->size, head, strlen(head));
    assert_non_null(found);
    const size_t before = (size_t)(found - builtin->text) + strlen(head), len = strlen(line);
    const char *rest = memchr(builtin->text + before, '\n', builtin->size - before);
    assert_non_null(rest);
    rest++;
    const size_t after = builtin->size - (size_t)(rest - builtin->text);
    char *text = td_xalloc(before + len + after);
    struct td_uarch *uarch = NULL;

    memcpy(text, builtin->text, before);
    memcpy(text + before, line, len);
    memcpy(text + before + len, rest, after);
    int rc = td_uarch_parse(&uarch, text, before + len + after, err);
    if (rc == TD_OK)
        rc = td_core_desc_read(ret, uarch, err);
    td_uarch_free(uarch);
    free(text);
    return rc;
}

static void rules_of_dispatch_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "bind 012\n", "bind 0122\n", "bind 45CZ\n", "bind 45CD\n", "bind\n",
        "0123 9\n",   "0123 0\n",    "01X 2\n",     "0123\n",      "4 1\n5 1\n6 1\n7 1\n8 1\n",
        "spread 4\n", "spread 44\n"};
    struct td_core_desc desc;
    struct td_err good = TD_ERR_INIT;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct td_err err = TD_ERR_INIT;
        if (read_with_dispatch_line(bad[i], &desc, &err) == TD_OK)
            fail_msg("'%s' was taken", bad[i]);
        assert_non_null(strstr(err.text, "line "));
    }
    assert_int_equal(read_with_dispatch_line("456 3\n", &desc, &good), TD_OK);
    assert_int_equal(desc.dispatch.limit_count, 3);
    assert_int_equal(desc.dispatch.limits[0].ports, 0x70);
    assert_int_equal(desc.dispatch.limits[0].most, 3);
    assert_int_equal(desc.dispatch.bank_count, 2);
    assert_memory_equal(desc.dispatch.banks[0].ports, ((const uint8_t[]){1, 2, 0, 3}), 4);
    assert_int_equal(desc.dispatch.banks[0].rule, TD_BANK_FEWEST);
}

/* Where loads and stores have no port in common, one counter cannot tell how many issue. */
static void a_scheduler_of_accesses_needs_their_ports(void **state)
{
    (void)state;
    struct td_core_desc desc;
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_core_desc_builtin(&desc, "zen4+scheduler_memory=40", &err), TD_OK);
    assert_int_not_equal(td_core_desc_builtin(&desc, "golden-cove+scheduler_memory=40", &err),
                         TD_OK);
    assert_non_null(strstr(err.text, "share a port"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_and_words),
        cmocka_unit_test(damaged_text_is_refused),
        cmocka_unit_test(every_builtin_core_reads),
        cmocka_unit_test(damaged_cores_are_refused),
        cmocka_unit_test(rules_of_dispatch_are_checked),
        cmocka_unit_test(a_scheduler_of_accesses_needs_their_ports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
