/* SPDX-License-Identifier: MIT */
#include "symbolize/here.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "symbolize/elf/buildid.h"
#include "symbolize/debugfile.h"
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

/* The addresses hold for one boot: the kernel's text must still be where it was. */
static void add_kernel(const struct adding *a, const struct td_module *module,
                       const uint64_t *offsets, size_t count)
{
    struct td_build_id running = {.size = 0};
    struct td_kallsyms *symbols = NULL;

    if (module->build_id.size == 0 || td_build_id_from_kernel(&running, NULL) != TD_OK ||
        !td_build_id_equal(&running, &module->build_id))
        return;
    symbols = td_kallsyms_new();
    if (td_kallsyms_read(symbols, "/proc/kallsyms", NULL) == TD_OK &&
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

static void add_generated(const struct adding *a, const struct td_module *module,
                          const struct td_origin *origin, const uint64_t *offsets, size_t count)
{
    struct td_perfmap map = {0};
    uint64_t size = 0;
    char path[64];
    struct stat st;
    int fd = -1;

    snprintf(path, sizeof(path), "/tmp/perf-%u.map", module->pid);
    if (!origin->here || origin->started_ns == 0 ||
        td_perfmap_open(&fd, &size, path, geteuid(), NULL) != TD_OK)
        return;
    if (fstat(fd, &st) == 0 &&
        (uint64_t)st.st_mtim.tv_sec * TD_NS_PER_S + (uint64_t)st.st_mtim.tv_nsec >=
            origin->started_ns) {
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
                         const uint64_t *offsets, size_t count)
{
    const struct td_module about = *td_model_module(model, module);
    struct adding a = {.model = model, .module = module};

    if (about.kind == TD_MODULE_KERNEL)
        add_kernel(&a, &about, offsets, count);
    else if (about.kind == TD_MODULE_VDSO)
        add_vdso(&a, &about);
    else if (about.kind == TD_MODULE_ANON)
        add_generated(&a, &about, origin, offsets, count);
}
