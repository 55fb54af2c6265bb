/* SPDX-License-Identifier: MIT */
/* record/tasks/jit: names of generated code, up to the number of addresses that are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/load.h"
#include "record/tasks/jit.h"

/* Of record/tasks/jit.c. */
#define NOTED_MAX 1000000
#define CODE      UINT64_C(0x7f0000000000)

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

/* This process's map: a function in each 256 bytes. */
static char *write_map(size_t functions)
{
    char *path = td_xasprintf("/tmp/perf-%d.map", (int)getpid());
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    for (size_t i = 0; i < functions; i++)
        fprintf(file, "%llx 100 jitted_%zu\n", (unsigned long long)(CODE + 256 * i), i);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* The profile of `count` samples in generated code, each at another address, 16 bytes apart. */
static struct td_model *record(size_t count)
{
    const struct td_profile_module anonymous = {
        .kind = TD_MODULE_ANON, .path = "//anon", .pid = (uint32_t)getpid()};
    struct td_profile_writer *writer = NULL;
    struct td_model *model = NULL;
    struct td_buf bytes = {0};

    assert_int_equal(td_profile_writer_new(&writer, append, &bytes, NULL, NULL), TD_OK);
    struct td_jit *jit = td_jit_new(writer, NULL);
    const uint32_t module = td_profile_module(writer, &anonymous);
    for (size_t i = 0; i < count; i++)
        td_jit_note_address(jit, (uint32_t)getpid(), CODE + 16 * i, module, i);
    td_jit_write_names_of(jit, (uint32_t)getpid(), getuid(), NULL);
    td_jit_finish(jit);
    td_jit_free(jit);
    assert_int_equal(td_profile_finish(writer, NULL), TD_OK);
    td_profile_writer_free(writer);
    assert_int_equal(td_load_bytes(&model, bytes.data, bytes.len, "jit", NULL, NULL, NULL), TD_OK);
    td_buf_release(&bytes);
    return model;
}

static bool warns(const struct td_model *model, const char *part)
{
    const char *text = NULL;

    for (size_t i = 0; (text = td_model_env_at(model, TD_ENV_WARNING, i)) != NULL; i++) {
        if (strstr(text, part))
            return true;
    }
    return false;
}

static void test_many_addresses(void **state)
{
    char *path = write_map(NOTED_MAX / 16 + 16);
    struct td_model *model = record(NOTED_MAX);
    size_t count = 0;

    (void)state;
    const struct td_symbol *symbols = td_model_symbols(model, 0, &count);
    assert_int_equal(count, NOTED_MAX);
    for (size_t i = 0; i < count; i += 9973) {
        char name[32];

        snprintf(name, sizeof(name), "jitted_%zu", (size_t)(symbols[i].offset - CODE) / 256);
        assert_string_equal(td_model_string(model, symbols[i].name), name);
    }
    assert_false(warns(model, "more places than are kept"));
    td_model_free(model);
    unlink(path);
    free(path);
}

/* What is beyond has no name, and the profile says so. */
static void test_too_many(void **state)
{
    char *path = write_map(1);
    struct td_model *model = record(NOTED_MAX + 1);

    (void)state;
    assert_true(warns(model, "more places than are kept"));
    td_model_free(model);
    unlink(path);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_addresses),
        cmocka_unit_test(test_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
