/* SPDX-License-Identifier: MIT */
#include "symbolize/maps/vdso.h"

#include <elf.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/procfs.h"
#include "symbolize/elf/elf.h"

/* The size of the mapping that starts at `start`. */
static size_t mapping_size(uint64_t start)
{
    char *text = td_procfs_text(NULL, "/proc/self/maps");
    const char *p = text;
    struct td_map_line line;
    size_t size = 0;

    while (p && size == 0 && td_map_line_next(&p, &line)) {
        if (line.start == start)
            size = (size_t)(line.end - line.start);
    }
    free(text);
    return size;
}

bool td_vdso_image(const uint8_t **data, size_t *size)
{
    const uint64_t start = getauxval(AT_SYSINFO_EHDR);

    *size = start ? mapping_size(start) : 0;
    *data = (const uint8_t *)(uintptr_t)start; /* NOLINT: the kernel's own address */
    return *size > 0;
}

struct each {
    td_vdso_symbol_fn *fn;
    void *ctx;
};

/* "clock_gettime" is a weak alias of "__vdso_clock_gettime". */
static void take_symbol(void *ctx, const struct td_elf_symbol *symbol)
{
    const struct each *each = ctx;

    if (symbol->type == STT_FUNC && symbol->binding == STB_GLOBAL && symbol->size > 0)
        each->fn(each->ctx, symbol->value, symbol->size, symbol->name);
}

int td_vdso_symbols(td_vdso_symbol_fn *fn, void *ctx, struct td_err *err)
{
    struct each each = {.fn = fn, .ctx = ctx};
    struct td_bytes image = {0};
    struct td_elf *elf = NULL;

    if (!td_vdso_image(&image.data, &image.size))
        return td_fail(err, TD_ENODATA, "this kernel maps no vdso");
    const int rc = td_elf_parse(&elf, "[vdso]", image, err);
    if (rc == TD_OK)
        td_elf_symbols(elf, td_elf_section(elf, ".dynsym"), take_symbol, &each);
    td_elf_free(elf);
    return rc;
}
