/* SPDX-License-Identifier: MIT */
#include "record/jit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "symbolize/perfmap.h"

/* Addresses noted at most; a JIT that samples hit in more places loses names, not samples. */
#define NOTED_MAX 100000

struct noted {
    uint64_t address;
    uint32_t pid, module; /* module: in the profile */
};

struct td_jit {
    struct td_profile_writer *writer;
    struct td_map seen; /* (pid, address) */
    struct noted *items;
    size_t len, cap;
};

struct td_jit *td_jit_new(struct td_profile_writer *writer)
{
    struct td_jit *jit = td_xcalloc(1, sizeof(*jit));

    jit->writer = writer;
    return jit;
}

void td_jit_free(struct td_jit *jit)
{
    if (!jit)
        return;
    td_map_release(&jit->seen);
    free(jit->items);
    free(jit);
}

/* While it runs, /proc tells whose it is. */
static void find_owner(struct td_process *process)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%u", process->pid);
    process->owner = stat(path, &st) == 0 ? st.st_uid : geteuid();
    process->jit_used = true;
}

void td_jit_note(struct td_jit *jit, struct td_modules *modules, struct td_process *process,
                 const struct td_stack *stack)
{
    if (!process->jit_used)
        find_owner(process);
    for (size_t i = 0; i < stack->len && jit->len < NOTED_MAX; i++) {
        const struct td_frame *frame = &stack->frames[i];
        const struct td_range *range = td_range_set_find(&process->space->ranges, frame->address);
        bool added = false;

        if (frame->kernel || !range || td_modules_kind(modules, range->value) != TD_MODULE_ANON)
            continue;
        td_map_put(&jit->seen, process->pid, frame->address, 0, &added);
        if (!added)
            continue;
        jit->items = td_grow(jit->items, &jit->cap, jit->len + 1, sizeof(*jit->items));
        jit->items[jit->len++] = (struct noted){
            .address = frame->address,
            .pid = process->pid,
            .module = td_modules_use(modules, range->value, NULL),
        };
    }
}

/* The pid by which the process knows itself, the last of NSpid. */
static uint32_t own_pid(uint32_t pid)
{
    char path[64];
    uint32_t own = pid;

    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    char *status = td_procfs_text(NULL, path);
    char *list = status ? td_procfs_field(status, "NSpid") : NULL;
    if (list) {
        const char *last = strrchr(list, '\t');

        own = (uint32_t)strtoul(last ? last + 1 : list, NULL, 10);
    }
    free(list);
    free(status);
    return own ? own : pid;
}

/* The map as the process sees it, or, when it has gone, as we do. */
static int read_map(struct td_perfmap *map, uint32_t pid, uid_t owner)
{
    char path[96];

    snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, own_pid(pid));
    if (td_perfmap_read(map, path, owner, NULL) == TD_OK)
        return TD_OK;
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
    return td_perfmap_read(map, path, owner, NULL);
}

void td_jit_write_names(struct td_jit *jit, const struct td_process *process)
{
    const uint32_t pid = process->pid;
    struct td_perfmap map = {0};
    struct td_map written = {0};
    const bool readable = read_map(&map, pid, process->owner) == TD_OK;
    size_t kept = 0;

    for (size_t i = 0; i < jit->len; i++) {
        const struct noted *noted = &jit->items[i];
        const struct td_perfmap_entry *entry = NULL;
        bool added = false;

        if (noted->pid != pid) {
            jit->items[kept++] = *noted;
            continue;
        }
        if (readable)
            entry = td_perfmap_find(&map, noted->address);
        if (entry)
            td_map_put(&written, entry->start, (uint64_t)(uintptr_t)entry->name, 0, &added);
        if (added) {
            char *name = td_xstrndup(entry->name, entry->name_len);

            td_profile_symbol(jit->writer, noted->module, entry->start, entry->size, name);
            free(name);
        }
    }
    jit->len = kept;
    if (kept == 0)
        td_map_clear(&jit->seen);
    td_map_release(&written);
    td_perfmap_release(&map);
}
