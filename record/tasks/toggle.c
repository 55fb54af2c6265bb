/* SPDX-License-Identifier: MIT */
#include "record/tasks/toggle.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbolize/demangle.h"
#include "symbolize/elf/elf.h"

struct code {
    uint32_t module;
    uint64_t start, end; /* offsets in the file */
};

struct td_toggle {
    const char *function;
    struct code *at;
    size_t len, cap;
};

struct td_toggle *td_toggle_new(const char *function)
{
    struct td_toggle *toggle = td_xcalloc(1, sizeof(*toggle));

    toggle->function = function;
    return toggle;
}

void td_toggle_free(struct td_toggle *toggle)
{
    if (!toggle)
        return;
    free(toggle->at);
    free(toggle);
}

/* The compiler's parts and clones of a function (f.cold, f.isra.0) and its versions (f@@V) are the
 * function's, too. */
static bool is_called(const char *name, const char *function, const char *ends)
{
    const size_t len = strlen(function);

    return strncmp(name, function, len) == 0 && (name[len] == '\0' || strchr(ends, name[len]));
}

/* The whole name, or its last parts: "ns::Map::find", "Map::find", "find". */
static bool is_qualified(const char *name, const char *function)
{
    const char *const parameters = strchr(name, '(');

    while (name && (!parameters || name < parameters)) {
        if (is_called(name, function, "( ["))
            return true;
        name = strstr(name, "::");
        name = name ? name + 2 : NULL;
    }
    return false;
}

static bool is_function(const char *symbol, const char *function)
{
    if (is_called(symbol, function, ".@"))
        return true;
    char *name =
        strncmp(symbol, "_Z", 2) == 0 || strncmp(symbol, "_R", 2) == 0 ? td_demangle(symbol) : NULL;
    const bool is = name && is_qualified(name, function);

    free(name);
    return is;
}

struct search {
    struct td_toggle *toggle;
    const struct td_elf *elf;
    uint32_t module;
};

static void take_symbol(void *ctx, const struct td_elf_symbol *symbol)
{
    const struct search *search = ctx;
    struct td_toggle *toggle = search->toggle;
    uint64_t offset = 0;

    if ((symbol->type != STT_FUNC && symbol->type != STT_GNU_IFUNC) || symbol->size == 0 ||
        symbol->size > UINT32_MAX || !is_function(symbol->name, toggle->function) ||
        !td_elf_offset(search->elf, symbol->value, &offset))
        return;
    toggle->at = td_grow(toggle->at, &toggle->cap, toggle->len + 1, sizeof(*toggle->at));
    toggle->at[toggle->len++] =
        (struct code){.module = search->module, .start = offset, .end = offset + symbol->size};
}

void td_toggle_add(struct td_toggle *toggle, uint32_t module, const char *path)
{
    static const char *const tables[] = {".symtab", ".dynsym"};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct search search = {.toggle = toggle, .module = module};
    struct td_elf *elf = NULL;
    const size_t before = toggle->len;

    if (fd < 0)
        return;
    const int rc = td_elf_open_fd(&elf, path, fd, NULL);
    search.elf = elf;
    for (size_t i = 0; rc == 0 && i < TD_ARRAY_SIZE(tables) && toggle->len == before; i++) {
        const struct td_elf_section *table = td_elf_section(elf, tables[i]);

        if (table)
            td_elf_symbols(elf, table, take_symbol, &search);
    }
    td_elf_free(elf);
    close(fd);
}

bool td_toggle_has(const struct td_toggle *toggle, uint32_t module, uint64_t offset)
{
    for (size_t i = 0; i < toggle->len; i++) {
        const struct code *code = &toggle->at[i];

        if (code->module == module && offset >= code->start && offset < code->end)
            return true;
    }
    return false;
}

bool td_toggle_found(const struct td_toggle *toggle)
{
    return toggle->len > 0;
}
