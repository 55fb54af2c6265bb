/* SPDX-License-Identifier: MIT */
#include "symbolize/vdso.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/mem.h"
#include "base/procfs.h"

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

static void each_symbol(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, td_vdso_symbol_fn *fn,
                        void *ctx)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

    for (size_t i = 0; data && i < count; i++) {
        GElf_Sym symbol;

        if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
            symbol.st_size == 0)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        /* "clock_gettime" is a weak alias of "__vdso_clock_gettime". */
        if (name && GELF_ST_BIND(symbol.st_info) == STB_GLOBAL)
            fn(ctx, symbol.st_value, symbol.st_size, name);
    }
}

int td_vdso_symbols(td_vdso_symbol_fn *fn, void *ctx, struct td_err *err)
{
    const uint8_t *image;
    size_t size;
    Elf *elf = NULL;
    Elf_Scn *section = NULL;

    if (!td_vdso_image(&image, &size) || elf_version(EV_CURRENT) == EV_NONE)
        return td_fail(err, TD_ENODATA, "this kernel maps no vdso");
    char *copy = td_xalloc(size);
    memcpy(copy, image, size);
    elf = elf_memory(copy, size);
    while (elf && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;

        if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
            each_symbol(elf, section, &header, fn, ctx);
    }
    elf_end(elf);
    free(copy);
    return TD_OK;
}
