/* SPDX-License-Identifier: MIT */
/* libdw may fail an assertion or crash on a file: that costs the unit that it was reading, and no
 * more. This program's own dwarf_child stands before libdw's and dies at one unit. */
#include <dlfcn.h>
#include <dwarf.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elfutils/libdw.h>

#include "symbolize/elf/buildid.h"
#include "symbolize/symbolize.h"

static const char *bad_unit = "";

int dwarf_child(Dwarf_Die *die, Dwarf_Die *ret)
{
    int (*real)(Dwarf_Die *, Dwarf_Die *) = NULL;
    const bool unit = dwarf_tag(die) == DW_TAG_compile_unit;
    const char *name = unit && bad_unit[0] != '\0' ? dwarf_diename(die) : NULL;

    if (name && strstr(name, bad_unit))
        abort();
    *(void **)&real = dlsym(RTLD_NEXT, "dwarf_child");
    return real(die, ret);
}

__attribute__((noinline, used)) static int in_this_unit(int x)
{
    return x + 1;
}

struct search {
    uint64_t address, offset;
};

static int look(struct dl_phdr_info *info, size_t size, void *ctx)
{
    struct search *s = ctx;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uint64_t start = info->dlpi_addr + p->p_vaddr;

        if (p->p_type == PT_LOAD && s->address >= start && s->address < start + p->p_filesz)
            s->offset = p->p_offset + (s->address - start);
    }
    return 1; /* the program itself comes first, and is enough */
}

/* The file offset of an address of this program's code. */
static uint64_t offset_of(const void *code)
{
    struct search s = {.address = (uint64_t)(uintptr_t)code, .offset = UINT64_MAX};

    dl_iterate_phdr(look, &s);
    return s.offset;
}

static uint32_t add(struct td_model *model, uint32_t module, const void *code)
{
    const uint64_t offset = offset_of(code);

    assert_true(offset != UINT64_MAX);
    return td_model_put_location(model, module, offset);
}

static uint32_t line_of(const struct td_model *model, uint32_t location)
{
    const struct td_location *l = td_model_location(model, location);

    return l->line_count ? td_model_line(model, l->line_first)->line : 0;
}

static const char *name_of(const struct td_model *model, uint32_t location)
{
    const struct td_location *l = td_model_location(model, location);

    return l->line_count
               ? td_model_string(
                     model,
                     td_model_function(model, td_model_line(model, l->line_first)->function)->name)
               : "";
}

/* Returns the note of the module. */
static const char *resolve(struct td_model *model, uint32_t module)
{
    const struct td_symbolizer_opts opts = {.cache_dir = ""};
    struct td_symbolizer *symbolizer = td_symbolizer_new(&opts);

    assert_int_equal(td_symbolizer_resolve(symbolizer, model, NULL), TD_OK);
    td_symbolizer_free(symbolizer);
    return td_model_string(model, td_model_module(model, module)->note);
}

static void one_unit_is_lost(void **state)
{
    char path[1024] = "";
    struct td_model *model = td_model_new();
    struct td_module module = {.kind = TD_MODULE_FILE};

    (void)state;
    assert_non_null(realpath("/proc/self/exe", path));
    module.path = td_model_intern_z(model, path);
    if (td_build_id_from_file(path, &module.build_id, NULL) != TD_OK)
        skip();
    const uint32_t m = td_model_put_module(model, &module);
    const uint32_t here = add(model, m, (const void *)(uintptr_t)in_this_unit);
    const uint32_t there = add(model, m, (const void *)(uintptr_t)td_model_new);

    bad_unit = "formats/model";
    const char *note = resolve(model, m);
    bad_unit = "";
    assert_non_null(strstr(note, "libdw failed at 1 of its compilation units"));
    assert_string_equal(name_of(model, here), "in_this_unit");
    assert_true(line_of(model, here) > 0);
    assert_string_equal(name_of(model, there), "td_model_new"); /* of the symbol table */
    assert_int_equal(line_of(model, there), 0);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_unit_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
