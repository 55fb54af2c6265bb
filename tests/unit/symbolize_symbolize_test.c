/* SPDX-License-Identifier: MIT */
/* The symbolizer as the report uses it, on this very program and on modules without files. */
#include <ftw.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/file.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/elf/elf.h"
#include "symbolize/identity.h"
#include "symbolize/maps/kallsyms.h"
#include "symbolize/symbolize.h"
#include "symbolize/maps/vdso.h"

static int sink;

static inline __attribute__((always_inline)) void inlined_body(int x)
{
    sink += x; /* the address asked for is made here */
    __asm__ volatile(".globl td_test_here\ntd_test_here: nop" ::: "memory");
}

extern const char td_test_here[];
static const int here_line = __LINE__ - 4;

__attribute__((noinline, used)) static void outer_function(int x)
{
    inlined_body(x + 1);
}

/* The program's own file and the file offset of an address in it, from /proc/self/maps. */
static uint64_t own_offset(const void *address, char *path, size_t size)
{
    const uint64_t a = (uint64_t)(uintptr_t)address;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    uint64_t result = UINT64_MAX;

    while (fgets(line, sizeof(line), maps)) {
        char *p = NULL;
        const uint64_t low = strtoull(line, &p, 16);
        const uint64_t high = strtoull(p + 1, &p, 16);
        const uint64_t offset = strtoull(p + 6, NULL, 16);
        const char *slash = strchr(line, '/');

        if (a < low || a >= high || !slash)
            continue;
        snprintf(path, size, "%.*s", (int)strcspn(slash, "\n"), slash);
        result = a - low + offset;
    }
    fclose(maps);
    return result;
}

static void resolve(struct td_model *model, const char *cache)
{
    const struct td_symbolizer_opts opts = {.cache_dir = cache};
    struct td_symbolizer *s = td_symbolizer_new(&opts);
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_symbolizer_resolve(s, model, &err), TD_OK);
    td_symbolizer_free(s);
}

static void check_here(const struct td_model *model, uint32_t location)
{
    const struct td_location *l = td_model_location(model, location);
    const char *names[] = {"inlined_body", "outer_function"};

    assert_int_equal(l->line_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct td_line *line = td_model_line(model, l->line_first + i);
        const struct td_function *f = td_model_function(model, line->function);

        assert_string_equal(td_model_string(model, f->name), names[i]);
        assert_non_null(strstr(td_model_string(model, line->file), "symbolize_symbolize_test.c"));
        assert_int_equal(line->line, i == 0 ? here_line : here_line + 8);
    }
}

static void own_code_has_its_inline_chain(void **state)
{
    (void)state;
    char path[1024] = "";
    const uint64_t offset = own_offset(td_test_here, path, sizeof(path));
    struct td_model *model = td_model_new();

    outer_function(1);
    assert_int_not_equal(offset, UINT64_MAX);
    struct td_module module = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, path)};
    assert_int_equal(td_identity_read(path, NULL, &module.build_id, NULL), TD_OK);
    const uint32_t m = td_model_put_module(model, &module);
    const uint32_t location = td_model_put_location(model, m, offset);
    resolve(model, "");
    check_here(model, location);
    td_model_free(model);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(path);
}

static void second_run_comes_out_of_the_cache(void **state)
{
    (void)state;
    char dir[] = "/tmp/tdprof-XXXXXX", path[1024] = "";
    const uint64_t offset = own_offset(td_test_here, path, sizeof(path));
    struct td_elf *elf = NULL;

    assert_non_null(mkdtemp(dir));
    assert_int_equal(td_elf_open(&elf, path, NULL), TD_OK);
    for (int run = 0; run < 2; run++) {
        struct td_model *model = td_model_new();
        /* The second time the file is nowhere: only the cache can know. */
        const char *name = run == 0 ? path : "/nonexistent/program";
        struct td_module module = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, name)};

        module.build_id = td_elf_build_id(elf);
        const uint32_t location =
            td_model_put_location(model, td_model_put_module(model, &module), offset);
        resolve(model, dir);
        assert_true(module.build_id.size > 0); /* tests/CMakeLists.txt asks the linker for it */
        check_here(model, location);
        if (run == 1)
            assert_string_equal(td_model_string(model, td_model_module(model, 0)->note),
                                "the file is gone; names are those kept from before");
        td_model_free(model);
    }
    td_elf_free(elf);
    assert_int_equal(nftw(dir, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void another_build_is_never_used(void **state)
{
    (void)state;
    char path[1024] = "";
    const uint64_t offset = own_offset(td_test_here, path, sizeof(path));
    struct td_model *model = td_model_new();
    const struct td_module module = {.kind = TD_MODULE_FILE,
                                     .path = td_model_intern_z(model, path),
                                     .build_id = {.size = 4, .bytes = {0xde, 0xad, 0xbe, 0xef}}};
    const uint32_t m = td_model_put_module(model, &module);
    const uint32_t location = td_model_put_location(model, m, offset);

    resolve(model, "");
    assert_int_equal(td_model_location(model, location)->line_count, 0);
    const char *note = td_model_string(model, td_model_module(model, m)->note);
    assert_non_null(strstr(note, "changed since recording (build-id deadbeef recorded"));
    td_model_free(model);
}

/* This program, as a recording that knows its inode alone has it; what became of its name. */
static const char *named_by_inode(const char *host, const char *realtime, uint64_t inode_off,
                                  bool *named)
{
    static char note[512];
    char path[1024] = "";
    struct td_model *model = td_model_new();
    struct utsname names;
    struct stat st;

    const uint64_t offset = own_offset(td_test_here, path, sizeof(path));
    assert_int_equal(uname(&names), 0);
    assert_int_equal(stat(path, &st), 0);
    const struct td_file_inode inode = {
        .major = major(st.st_dev), .minor = minor(st.st_dev), .inode = st.st_ino + inode_off};
    const struct td_module module = {.kind = TD_MODULE_FILE,
                                     .path = td_model_intern_z(model, path),
                                     .build_id = td_file_id_of_inode(&inode)};
    td_model_add_env(model, "host", host ? host : names.nodename);
    td_model_add_env(model, "kernel", names.release);
    td_model_add_env(model, "machine", names.machine);
    td_model_add_env(model, "realtime_ns", realtime);
    const uint32_t location =
        td_model_put_location(model, td_model_put_module(model, &module), offset);
    resolve(model, "");
    *named = td_model_location(model, location)->line_count > 0;
    snprintf(note, sizeof(note), "%s", td_model_string(model, td_model_module(model, 0)->note));
    td_model_free(model);
    return note;
}

static void an_inode_is_good_here_and_while_nothing_changed(void **state)
{
    static const char *const later = "9000000000000000000", *const before = "1000";
    bool named = false;

    (void)state;
    named_by_inode(NULL, later, 0, &named);
    assert_true(named);
    assert_non_null(strstr(named_by_inode(NULL, later, 1, &named), "another file stands here"));
    assert_false(named);
    assert_non_null(strstr(named_by_inode(NULL, before, 0, &named), "may have changed"));
    assert_false(named);
    assert_non_null(strstr(named_by_inode("elsewhere", later, 0, &named), "not on this machine"));
    assert_false(named);
}

static void a_file_that_nothing_identifies_gives_no_names(void **state)
{
    char path[1024] = "";
    const uint64_t offset = own_offset(td_test_here, path, sizeof(path));
    struct td_model *model = td_model_new();
    const struct td_module module = {.kind = TD_MODULE_FILE,
                                     .path = td_model_intern_z(model, path)};

    (void)state;
    const uint32_t location =
        td_model_put_location(model, td_model_put_module(model, &module), offset);
    resolve(model, "");
    assert_int_equal(td_model_location(model, location)->line_count, 0);
    assert_non_null(strstr(td_model_string(model, td_model_module(model, 0)->note),
                           "recorded without its build-id"));
    td_model_free(model);
}

static void kernel_symbols_come_from_the_profile(void **state)
{
    (void)state;
    struct td_model *model = td_model_new();
    const struct td_module module = {.kind = TD_MODULE_KERNEL,
                                     .path = td_model_intern_z(model, "[kernel]")};
    const uint32_t m = td_model_put_module(model, &module);
    const struct td_symbol symbols[] = {
        {.offset = 0x100, .size = 0x10, .name = td_model_intern_z(model, "first")},
        {.offset = 0x200, .size = 0, .name = td_model_intern_z(model, "second")},
    };
    td_model_add_symbol(model, m, &symbols[0]);
    td_model_add_symbol(model, m, &symbols[1]);
    const uint32_t inside = td_model_put_location(model, m, 0x108);
    const uint32_t between = td_model_put_location(model, m, 0x180);
    const uint32_t behind = td_model_put_location(model, m, 0x2ff);

    resolve(model, "");
    const struct td_location *l = td_model_location(model, inside);
    assert_int_equal(l->line_count, 1);
    const struct td_line *line = td_model_line(model, l->line_first);
    assert_string_equal(td_model_string(model, td_model_function(model, line->function)->name),
                        "first");
    assert_int_equal(td_model_location(model, between)->line_count, 0);
    assert_int_equal(td_model_location(model, behind)->line_count, 1);
    assert_non_null(strstr(td_model_string(model, td_model_module(model, m)->note),
                           "no symbol for 1 of 3 kernel addresses"));
    td_model_free(model);
}

/* The name that an address of the module gets in an import of a recording of this machine, of now
 * or of the end of time; "" when none. */
static const char *imported_name(struct td_module module, const char *path, uint64_t offset,
                                 const char *realtime)
{
    static char name[256];
    struct td_model *model = td_model_new();
    struct utsname names;

    assert_int_equal(uname(&names), 0);
    td_model_add_env(model, "source", "import");
    td_model_add_env(model, "host", names.nodename);
    td_model_add_env(model, "kernel", names.release);
    td_model_add_env(model, "machine", names.machine);
    td_model_add_env(model, "realtime_ns", realtime);
    module.path = td_model_intern_z(model, path);
    const uint32_t location =
        td_model_put_location(model, td_model_put_module(model, &module), offset);
    resolve(model, "");
    const struct td_location *l = td_model_location(model, location);
    const uint32_t function =
        l->line_count ? td_model_line(model, l->line_first)->function : TD_NONE;
    snprintf(name, sizeof(name), "%s",
             function == TD_NONE
                 ? ""
                 : td_model_string(model, td_model_function(model, function)->name));
    td_model_free(model);
    return name;
}

struct first_symbol {
    uint64_t offset;
    char name[128];
};

static void keep_first(void *ctx, uint64_t offset, uint64_t size, const char *name)
{
    struct first_symbol *first = ctx;

    (void)size;
    if (first->name[0] == '\0')
        snprintf(first->name, sizeof(first->name), "%s", name);
    if (strcmp(first->name, name) == 0)
        first->offset = offset;
}

static void imports_of_this_machine_have_its_names(void **state)
{
    static const char *const now = "1000", *const later = "9000000000000000000";
    struct td_module generated = {.kind = TD_MODULE_ANON, .pid = 1U << 30};
    struct td_module vdso = {.kind = TD_MODULE_VDSO};
    struct first_symbol first = {.offset = 0};
    const uint8_t *image = NULL;
    char path[64];
    size_t size = 0;

    (void)state;
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", generated.pid);
    unlink(path);
    assert_int_equal(td_file_replace(path, "1000 10 made\n", 13, NULL), TD_OK);
    assert_string_equal(imported_name(generated, "//anon", 0x1008, now), "made");
    assert_string_equal(imported_name(generated, "//anon", 0x1008, later), "");
    unlink(path);
    if (!td_vdso_image(&image, &size) ||
        td_build_id_from_elf(image, size, &vdso.build_id, NULL) != TD_OK)
        return;
    assert_int_equal(td_vdso_symbols(keep_first, &first, NULL), TD_OK);
    assert_string_equal(imported_name(vdso, "[vdso]", first.offset, now), first.name);
    vdso.build_id.bytes[0] ^= 1;
    assert_string_equal(imported_name(vdso, "[vdso]", first.offset, now), "");
}

static void imports_have_the_names_of_the_running_kernel(void **state)
{
    struct td_module kernel = {.kind = TD_MODULE_KERNEL};
    struct td_kallsyms *symbols = td_kallsyms_new();
    struct td_kernel_symbol symbol;

    (void)state;
    if (td_build_id_from_kernel(&kernel.build_id, NULL) == TD_OK &&
        td_kallsyms_read(symbols, "/proc/kallsyms", NULL) == TD_OK &&
        (kernel.base = td_kallsyms_text_start(symbols)) != 0 &&
        td_kallsyms_find(symbols, kernel.base + 0x2000, &symbol) == TD_OK) {
        assert_string_equal(imported_name(kernel, "[kernel.kallsyms]", 0x2000, "1000"),
                            symbol.name);
        kernel.base -= 0x1000; /* of another boot */
        assert_string_equal(imported_name(kernel, "[kernel.kallsyms]", 0x2000, "1000"), "");
        kernel.base += 0x1000;
        kernel.build_id.bytes[0] ^= 1;
        assert_string_equal(imported_name(kernel, "[kernel.kallsyms]", 0x2000, "1000"), "");
    }
    td_kallsyms_free(symbols);
}

static void missing_file_is_said(void **state)
{
    (void)state;
    struct td_model *model = td_model_new();
    const struct td_module module = {.kind = TD_MODULE_FILE,
                                     .path = td_model_intern_z(model, "/nonexistent/x")};
    const uint32_t m = td_model_put_module(model, &module);

    td_model_put_location(model, m, 0x100);
    resolve(model, "");
    assert_non_null(
        strstr(td_model_string(model, td_model_module(model, m)->note), "the file is gone"));
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_code_has_its_inline_chain),
        cmocka_unit_test(second_run_comes_out_of_the_cache),
        cmocka_unit_test(another_build_is_never_used),
        cmocka_unit_test(an_inode_is_good_here_and_while_nothing_changed),
        cmocka_unit_test(a_file_that_nothing_identifies_gives_no_names),
        cmocka_unit_test(kernel_symbols_come_from_the_profile),
        cmocka_unit_test(imports_of_this_machine_have_its_names),
        cmocka_unit_test(imports_have_the_names_of_the_running_kernel),
        cmocka_unit_test(missing_file_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
