/* SPDX-License-Identifier: MIT */
#include "record/tasks/scan.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"

static void scan_maps(struct td_tasks *tasks, struct td_process *process)
{
    char path[64];
    struct td_map_line line;

    snprintf(path, sizeof(path), "/proc/%u/maps", process->pid);
    char *text = td_procfs_is_ours() ? td_procfs_text(NULL, path) : NULL;
    const char *p = text;
    while (p && td_map_line_next(&p, &line)) {
        const struct td_rec_mmap mmap = {
            .path = line.path,
            .path_len = line.path_len,
            .major = line.major,
            .minor = line.minor,
            .inode = line.inode,
            .start = line.start,
            .size = line.end - line.start,
            .offset = line.offset,
            .executable = line.executable,
        };

        td_tasks_map(tasks, process, &mmap);
    }
    free(text);
}

static uint32_t module_of(void *ctx, uint32_t pid, const struct td_rec_mmap *mmap)
{
    return mmap->executable ? td_modules_put(ctx, pid, mmap) : TD_NONE;
}

static enum td_module_kind kind_of(void *ctx, uint32_t module)
{
    return td_modules_kind(ctx, module);
}

struct td_tasks_hooks td_scan_hooks(struct td_modules *modules)
{
    return (struct td_tasks_hooks){
        .module = module_of, .kind = kind_of, .scan = scan_maps, .ctx = modules};
}

static char *read_comm(const char *folder)
{
    char *path = td_xasprintf("%s/comm", folder);
    char *comm = td_procfs_line(NULL, path);

    free(path);
    return comm;
}

static void scan_threads(struct td_tasks *tasks, struct td_process *process, uint64_t time_ns)
{
    char folder[128];

    snprintf(folder, sizeof(folder), "/proc/%u/task", process->pid);
    char **names = td_procfs_names(NULL, folder);
    for (char **name = names; name && *name; name++) {
        uint64_t tid = 0;

        snprintf(folder, sizeof(folder), "/proc/%u/task/%.20s", process->pid, *name);
        char *comm = read_comm(folder);
        if (comm && td_parse_u64(*name, &tid) && tid <= UINT32_MAX)
            td_tasks_add_thread(tasks, process, (uint32_t)tid, comm, time_ns);
        free(comm);
    }
    td_procfs_names_free(names);
}

bool td_tasks_scan_process(struct td_tasks *tasks, uint32_t pid, uint64_t time_ns)
{
    char folder[64];

    snprintf(folder, sizeof(folder), "/proc/%u", pid);
    char *comm = td_procfs_is_ours() ? read_comm(folder) : NULL;
    if (!comm)
        return false;
    struct td_process *process = td_tasks_add_process(tasks, pid, comm, time_ns);
    free(comm);
    scan_threads(tasks, process, time_ns);
    scan_maps(tasks, process);
    return true;
}

void td_tasks_scan_all(struct td_tasks *tasks, uint64_t time_ns)
{
    char **names = td_procfs_names(NULL, "/proc");

    for (char **name = names; name && *name; name++) {
        uint64_t pid = 0;

        if (td_parse_u64(*name, &pid) && pid <= UINT32_MAX)
            td_tasks_scan_process(tasks, (uint32_t)pid, time_ns);
    }
    td_procfs_names_free(names);
}
