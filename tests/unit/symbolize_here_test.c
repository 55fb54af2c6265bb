/* SPDX-License-Identifier: MIT */
/* symbolize/here: what an import lacks is found in a copy of kallsyms and in a jitdump. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "symbolize/here.h"

#define PID  4711
#define TEXT UINT64_C(0xffffffff81000000)
#define CODE UINT64_C(0x7f1234560000)

static char folder[] = "/tmp/td-here-XXXXXX";

static const char kallsyms[] = "ffffffff81000000 T _text\n"
                               "ffffffff81000000 T _stext\n"
                               "ffffffff81000100 t helper\n"
                               "ffffffff81000200 T second\n"
                               "ffffffff81000480 T _etext\n";

static char *write_file(const char *name, const void *data, size_t size)
{
    char *path = td_xasprintf("%s/%s", folder, name);

    assert_int_equal(td_file_replace(path, data, size, NULL), TD_OK);
    return path;
}

/* The name that the module's symbol at the offset has; "": none. */
static const char *name_at(const struct td_model *model, uint32_t module, uint64_t offset)
{
    size_t count = 0;
    const struct td_symbol *symbols = td_model_symbols(model, module, &count);

    for (size_t i = 0; i < count; i++) {
        if (symbols[i].offset == offset)
            return td_model_string(model, symbols[i].name);
    }
    return "";
}

static void expect_kernel(uint64_t base, const char *path, const char *first, const char *second)
{
    static const uint64_t offsets[] = {0x110, 0x2f0};
    const struct td_origin origin = {.here = false};
    struct td_model *model = td_model_new();
    const struct td_module kernel = {.kind = TD_MODULE_KERNEL,
                                     .path = td_model_intern_z(model, "[kernel.kallsyms]"),
                                     .base = base};
    const uint32_t module = td_model_put_module(model, &kernel);

    td_here_add_symbols(model, module, &origin, path, offsets, TD_ARRAY_SIZE(offsets));
    assert_string_equal(name_at(model, module, offsets[0]), first);
    assert_string_equal(name_at(model, module, offsets[1]), second);
    td_model_free(model);
}

/* Of the boot that was recorded, and of no other. */
static void test_kallsyms(void **state)
{
    char *path = write_file("kallsyms", kallsyms, sizeof(kallsyms) - 1);

    (void)state;
    expect_kernel(TEXT, path, "helper", "second");
    expect_kernel(TEXT + 0x200000, path, "", "");
    expect_kernel(TEXT, "/nonexistent", "", "");
    expect_kernel(TEXT, NULL, "", "");
    unlink(path);
    free(path);
}

static void put_code(struct td_buf *out, uint64_t time_ns, uint64_t start, const char *name)
{
    const uint32_t size = 64;

    td_buf_u32(out, 0); /* JIT_CODE_LOAD */
    td_buf_u32(out, (uint32_t)(16 + 40 + strlen(name) + 1 + size));
    td_buf_u64(out, time_ns);
    td_buf_u32(out, PID);
    td_buf_u32(out, PID);
    td_buf_u64(out, start);
    td_buf_u64(out, start);
    td_buf_u64(out, size);
    td_buf_u64(out, 1);
    td_buf_bytes(out, name, strlen(name) + 1);
    for (uint32_t i = 0; i < size; i++)
        td_buf_u8(out, 0x90);
}

static struct td_buf make_dump(void)
{
    struct td_buf out = {0};

    td_buf_u32(&out, 0x4a695444);
    td_buf_u32(&out, 1);
    td_buf_u32(&out, 40);
    td_buf_u32(&out, 62);
    td_buf_u32(&out, 0);
    td_buf_u32(&out, PID);
    td_buf_u64(&out, 1);
    td_buf_u64(&out, 0);
    put_code(&out, 10, CODE, "JS:*fib");
    put_code(&out, 20, CODE + 256, "JS:old");
    put_code(&out, 30, CODE + 256, "JS:new");
    return out;
}

static void expect_jit(const char *dump_path, const struct td_origin *origin, const char *first,
                       const char *second)
{
    static const uint64_t offsets[] = {CODE + 8, CODE + 260};
    struct td_model *model = td_model_new();
    const struct td_module dump = {.kind = TD_MODULE_FILE,
                                   .path = td_model_intern_z(model, dump_path)};
    const struct td_module code = {
        .kind = TD_MODULE_ANON, .path = td_model_intern_z(model, "//anon"), .pid = PID};

    td_model_put_module(model, &dump);
    const uint32_t module = td_model_put_module(model, &code);
    td_here_add_symbols(model, module, origin, NULL, offsets, TD_ARRAY_SIZE(offsets));
    assert_string_equal(name_at(model, module, offsets[0]), first);
    assert_string_equal(name_at(model, module, offsets[1]), second);
    td_model_free(model);
}

/* The one that the process mapped, written since the recording began, here. */
static void test_jitdump(void **state)
{
    const uint64_t now = (uint64_t)time(NULL) * TD_NS_PER_S;
    const struct td_origin here = {.here = true, .started_ns = now - 60 * TD_NS_PER_S};
    const struct td_origin later = {.here = true, .started_ns = now + 60 * TD_NS_PER_S};
    const struct td_origin elsewhere = {.here = false, .started_ns = here.started_ns};
    struct td_buf bytes = make_dump();
    char *path = write_file("jit-4711.dump", bytes.data, bytes.len);
    char *other = write_file("jit-4712.dump", bytes.data, bytes.len);

    (void)state;
    expect_jit(path, &here, "JS:*fib", "JS:new, before JS:old");
    expect_jit(other, &here, "", "");
    expect_jit(path, &later, "", "");
    expect_jit(path, &elsewhere, "", "");
    unlink(path);
    unlink(other);
    free(path);
    free(other);
    td_buf_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kallsyms),
        cmocka_unit_test(test_jitdump),
    };

    if (!mkdtemp(folder))
        return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
