/* SPDX-License-Identifier: MIT */
#include "symbolize/here.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/debugfile.h"
#include "symbolize/maps/jitdump.h"
#include "symbolize/maps/kallsyms.h"
#include "symbolize/maps/perfmap.h"
#include "symbolize/maps/vdso.h"

/* For one map, however long it is. */
#define MAP_NS (5 * TD_NS_PER_S)

struct adding {
    struct td_model *model;
    uint32_t module;
};

static void add(const struct adding *a, uint64_t offset, uint64_t size, const char *name,
                size_t len)
{
    const struct td_symbol symbol = {
        .offset = offset, .size = size, .name = td_model_intern(a->model, name, len)};

    td_model_add_symbol(a->model, a->module, &symbol);
}

static bool is_running(const struct td_module *module)
{
    struct td_build_id running = {.size = 0};

    return module->build_id.size > 0 && td_build_id_from_kernel(&running, NULL) == TD_OK &&
           td_build_id_equal(&running, &module->build_id);
}

/* The addresses hold for one boot: the kernel's text must be where it was. `path`: the copy of that
 * boot's symbols; NULL: those of the running kernel, if it is the one recorded. */
static void add_kernel(const struct adding *a, const struct td_module *module, const char *path,
                       const uint64_t *offsets, size_t count)
{
    if (!path && !is_running(module))
        return;
    struct td_kallsyms *symbols = td_kallsyms_new();
    if (td_kallsyms_read(symbols, path ? path : "/proc/kallsyms", NULL) == TD_OK &&
        td_kallsyms_text_start(symbols) == module->base) {
        for (size_t i = 0; i < count; i++) {
            struct td_kernel_symbol found;

            if (td_kallsyms_find(symbols, module->base + offsets[i], &found) == TD_OK &&
                module->base + offsets[i] < found.end && found.module[0] == '\0')
                add(a, offsets[i], 1, found.name, strlen(found.name));
        }
    }
    td_kallsyms_free(symbols);
}

static void add_vdso_symbol(void *ctx, uint64_t offset, uint64_t size, const char *name)
{
    add(ctx, offset, size, name, strlen(name));
}

static void add_vdso(struct adding *a, const struct td_module *module)
{
    struct td_build_id mapped = {.size = 0};
    const uint8_t *image = NULL;
    size_t size = 0;

    if (module->build_id.size > 0 && td_vdso_image(&image, &size) &&
        td_build_id_from_elf(image, size, &mapped, NULL) == TD_OK &&
        td_build_id_equal(&mapped, &module->build_id))
        (void)td_vdso_symbols(add_vdso_symbol, a, NULL);
}

/* Whether the file was written since the recording began. */
static bool is_of_recording(int fd, const struct td_origin *origin)
{
    struct stat st;

    return fstat(fd, &st) == 0 &&
           (uint64_t)st.st_mtim.tv_sec * TD_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec >=
               origin->started_ns;
}

/* The jitdump that the process mapped, as is usual so that it is found; NULL: none. */
static const char *find_dump(const struct td_model *model, uint32_t pid)
{
    char name[32];

    snprintf(name, sizeof(name), "jit-%u.dump", pid);
    for (uint32_t i = 0; i < td_model_module_count(model); i++) {
        const struct td_module *module = td_model_module(model, i);
        const char *path = td_model_string(model, module->path);
        const char *slash = strrchr(path, '/');

        if (module->kind == TD_MODULE_FILE && slash && strcmp(slash + 1, name) == 0)
            return path;
    }
    return NULL;
}

/* By the last code that was at each address; where other code was there before, by the first of
 * that, too, for the samples are one figure. */
static void add_dumped(const struct adding *a, const struct td_jitdump *dump, uint64_t offset)
{
    struct td_jitdump_place last = {.code = NULL}, first = {.code = NULL};

    if (!td_jitdump_find(dump, offset, UINT64_MAX - 1, &last))
        return;
    const bool same = !td_jitdump_find(dump, offset, 0, &first) ||
                      (first.code->name_len == last.code->name_len &&
                       memcmp(first.code->name, last.code->name, last.code->name_len) == 0);
    char *name = td_xasprintf("%.*s%s%.*s", (int)last.code->name_len, last.code->name,
                              same ? "" : ", before ", same ? 0 : (int)first.code->name_len,
                              same ? "" : first.code->name);
    struct td_symbol symbol = {
        .offset = offset, .size = 1, .name = td_model_intern_z(a->model, name)};

    if (last.file_len) {
        symbol.file = td_model_intern(a->model, last.file, last.file_len);
        symbol.line = last.line;
    }
    td_model_add_symbol(a->model, a->module, &symbol);
    free(name);
}

/* Whether there is a dump. */
static bool add_from_dump(const struct adding *a, uint32_t pid, const struct td_origin *origin,
                          const uint64_t *offsets, size_t count)
{
    const char *path = find_dump(a->model, pid);
    const int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    struct td_jitdump dump = {.codes = NULL};

    if (fd < 0)
        return false;
    const bool found =
        is_of_recording(fd, origin) && td_jitdump_read(&dump, fd, geteuid(), NULL) == TD_OK;
    for (size_t i = 0; i < count && found; i++)
        add_dumped(a, &dump, offsets[i]);
    td_jitdump_release(&dump);
    close(fd);
    return found;
}

static void add_from_map(const struct adding *a, uint32_t pid, const struct td_origin *origin,
                         const uint64_t *offsets, size_t count)
{
    struct td_perfmap map = {0};
    uint64_t size = 0;
    char path[64];
    int fd = -1;

    snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
    if (td_perfmap_open(&fd, &size, path, geteuid(), NULL) != TD_OK)
        return;
    if (is_of_recording(fd, origin)) {
        for (size_t i = 0; i < count; i++)
            td_perfmap_want(&map, offsets[i]);
        td_perfmap_scan(&map, fd, MAP_NS);
    }
    for (size_t i = 0; i < count; i++) {
        char *name = td_perfmap_name(&map, offsets[i]);

        if (name)
            add(a, offsets[i], 1, name, strlen(name));
        free(name);
    }
    td_perfmap_release(&map);
    close(fd);
}

void td_here_add_symbols(struct td_model *model, uint32_t module, const struct td_origin *origin,
                         const char *kallsyms, const uint64_t *offsets, size_t count)
{
    const struct td_module about = *td_model_module(model, module);
    struct adding a = {.model = model, .module = module};

    if (about.kind == TD_MODULE_KERNEL)
        add_kernel(&a, &about, kallsyms, offsets, count);
    else if (about.kind == TD_MODULE_VDSO)
        add_vdso(&a, &about);
    else if (about.kind == TD_MODULE_ANON && origin->here && origin->started_ns != 0 &&
             !add_from_dump(&a, about.pid, origin, offsets, count))
        add_from_map(&a, about.pid, origin, offsets, count);
}
