/* SPDX-License-Identifier: MIT */
#include "record/tasks/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/range.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/maps/kallsyms.h"

#define KALLSYMS "/proc/kallsyms"

struct td_kernel {
    struct td_modules *modules;
    struct td_profile_writer *writer;
    uint32_t core;                 /* module of the kernel proper */
    uint64_t base;                 /* where its text begins; 0: not known */
    struct td_range_set loadables; /* kernel modules: value = module */
    struct td_map noted;           /* addresses seen */
    uint64_t *pending;             /* of them, those whose names are not written */
    size_t pending_len, pending_cap;
    struct td_map written; /* starts of the functions whose names are in the profile */
    struct td_kallsyms *symbols;
    bool symbols_failed;
};

/* The beginning of kallsyms up to the name of the text's start. */
static uint64_t find_base(void)
{
    struct td_kallsyms *symbols = td_kallsyms_new();
    const int fd = open(KALLSYMS, O_RDONLY | O_CLOEXEC);
    char piece[4096];
    ssize_t n = 0;

    while (fd >= 0 && !td_kallsyms_text_start(symbols) && (n = read(fd, piece, sizeof(piece))) > 0)
        td_kallsyms_feed(symbols, piece, (size_t)n);
    if (fd >= 0)
        close(fd);
    const uint64_t base = td_kallsyms_text_start(symbols);
    td_kallsyms_free(symbols);
    return base;
}

/* A line of /proc/modules: "name size refs users state 0xaddress". */
static void add_loadable(struct td_kernel *kernel, const char *line, size_t len)
{
    char *copy = td_xstrndup(line, len);
    char *words[6] = {NULL};
    char *rest = copy;
    struct td_range range = {0};
    char path[128];
    struct td_build_id build_id = {0};
    struct td_buf buf = {0};

    for (size_t i = 0; i < TD_ARRAY_SIZE(words); i++)
        words[i] = strsep(&rest, " ");
    range.start = words[5] ? strtoull(words[5], NULL, 16) : 0;
    if (range.start) {
        range.end = range.start + strtoull(words[1], NULL, 10);
        snprintf(path, sizeof(path), "/sys/module/%s/notes/.note.gnu.build-id", words[0]);
        if (td_file_read(path, 65536, &buf, NULL) == TD_OK)
            td_build_id_from_notes(buf.data, buf.len, &build_id, NULL);
        snprintf(path, sizeof(path), "[%s]", words[0]);
        range.value = td_modules_put_kernel(kernel->modules, TD_MODULE_KERNEL_MODULE, path,
                                            range.start, &build_id);
        td_range_set_put(&kernel->loadables, &range);
    }
    td_buf_release(&buf);
    free(copy);
}

static void add_loadables(struct td_kernel *kernel)
{
    char *text = td_procfs_text(NULL, "/proc/modules");

    for (const char *p = text; p && *p;) {
        const size_t len = strcspn(p, "\n");

        add_loadable(kernel, p, len);
        p += len + (p[len] == '\n');
    }
    free(text);
}

struct td_kernel *td_kernel_new(struct td_modules *modules, struct td_profile_writer *writer)
{
    struct td_kernel *kernel = td_xcalloc(1, sizeof(*kernel));
    struct td_build_id build_id = {0};

    kernel->modules = modules;
    kernel->writer = writer;
    kernel->base = find_base();
    td_build_id_from_kernel(&build_id, NULL);
    kernel->core =
        td_modules_put_kernel(modules, TD_MODULE_KERNEL, "[kernel]", kernel->base, &build_id);
    add_loadables(kernel);
    return kernel;
}

void td_kernel_free(struct td_kernel *kernel)
{
    if (!kernel)
        return;
    td_range_set_release(&kernel->loadables);
    td_map_release(&kernel->noted);
    td_map_release(&kernel->written);
    td_kallsyms_free(kernel->symbols);
    free(kernel->pending);
    free(kernel);
}

bool td_kernel_readable(const struct td_kernel *kernel)
{
    return kernel->base != 0;
}

static uint32_t module_of(const struct td_kernel *kernel, uint64_t address)
{
    const struct td_range *range = td_range_set_find(&kernel->loadables, address);

    return range ? range->value : kernel->core;
}

uint32_t td_kernel_locate(struct td_kernel *kernel, uint64_t address, uint64_t *offset)
{
    const uint32_t module = module_of(kernel, address);
    bool added = false;

    *offset = address - td_modules_base(kernel->modules, module);
    if (kernel->base)
        td_map_put(&kernel->noted, address, 0, 0, &added);
    if (added) {
        kernel->pending = td_grow(kernel->pending, &kernel->pending_cap, kernel->pending_len + 1,
                                  sizeof(*kernel->pending));
        kernel->pending[kernel->pending_len++] = address;
    }
    return module;
}

static void write_name(struct td_kernel *kernel, uint64_t address)
{
    struct td_kernel_symbol symbol;
    bool added = false;

    if (td_kallsyms_find(kernel->symbols, address, &symbol) < 0)
        return;
    td_map_put(&kernel->written, symbol.start, 0, 0, &added);
    if (!added || address >= symbol.end)
        return;
    const uint32_t module = module_of(kernel, symbol.start);
    td_profile_symbol(kernel->writer, td_modules_use(kernel->modules, module, NULL),
                      symbol.start - td_modules_base(kernel->modules, module),
                      symbol.end - symbol.start, symbol.name, NULL, 0);
}

void td_kernel_write_names(struct td_kernel *kernel)
{
    if (kernel->pending_len == 0 || kernel->symbols_failed)
        return;
    if (!kernel->symbols) {
        kernel->symbols = td_kallsyms_new();
        kernel->symbols_failed = td_kallsyms_read(kernel->symbols, KALLSYMS, NULL) < 0;
        if (kernel->symbols_failed)
            return;
    }
    for (size_t i = 0; i < kernel->pending_len; i++)
        write_name(kernel, kernel->pending[i]);
    kernel->pending_len = 0;
}
