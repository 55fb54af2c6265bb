/* SPDX-License-Identifier: MIT */
#include "record/jit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "symbolize/jitdump.h"
#include "symbolize/perfmap.h"

/* Addresses noted at most; a JIT that samples hit in more places loses names, not samples. */
#define NOTED_MAX 100000

struct noted {
    uint64_t address;
    uint64_t first_ns, last_ns; /* of the samples with it */
    uint32_t pid, module;       /* module: in the profile */
};

struct td_jit {
    struct td_profile_writer *writer;
    struct td_modules *modules;
    struct td_map seen; /* (pid, address) to items */
    struct noted *items;
    size_t len, cap;
};

/* What a process says of its code. */
struct sources {
    struct td_perfmap map;
    struct td_jitdump dump;
};

struct td_jit *td_jit_new(struct td_profile_writer *writer, struct td_modules *modules)
{
    struct td_jit *jit = td_xcalloc(1, sizeof(*jit));

    jit->writer = writer;
    jit->modules = modules;
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

void td_jit_note_address(struct td_jit *jit, uint32_t pid, uint64_t address, uint32_t module,
                         uint64_t time_ns)
{
    bool added = false;

    if (jit->len >= NOTED_MAX)
        return;
    const uint32_t i = *td_map_put(&jit->seen, pid, address, (uint32_t)jit->len, &added);

    if (!added) {
        jit->items[i].last_ns = time_ns;
        return;
    }
    jit->items = td_grow(jit->items, &jit->cap, jit->len + 1, sizeof(*jit->items));
    jit->items[jit->len++] = (struct noted){
        .address = address,
        .first_ns = time_ns,
        .last_ns = time_ns,
        .pid = pid,
        .module = module,
    };
}

void td_jit_note(struct td_jit *jit, struct td_process *process, const struct td_stack *stack,
                 uint64_t time_ns)
{
    if (!process->jit_used)
        find_owner(process);
    for (size_t i = 0; i < stack->len && jit->len < NOTED_MAX; i++) {
        const struct td_frame *frame = &stack->frames[i];
        const struct td_range *range = td_range_set_find(&process->space->ranges, frame->address);

        if (!frame->kernel && range &&
            td_modules_kind(jit->modules, range->value) == TD_MODULE_ANON)
            td_jit_note_address(jit, process->pid, frame->address,
                                td_modules_use(jit->modules, range->value, NULL), time_ns);
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

/* The dump is found by the page of it that its writer maps as executable, for just that. */
static void read_dump(const struct td_jit *jit, struct td_jitdump *dump,
                      const struct td_process *process)
{
    const struct td_range_set *ranges = &process->space->ranges;

    for (size_t i = 0; i < ranges->len && dump->code_count == 0; i++) {
        const uint32_t module = ranges->items[i].value;

        if (td_modules_kind(jit->modules, module) != TD_MODULE_FILE ||
            !td_jitdump_is_name(td_modules_path(jit->modules, module)))
            continue;
        const int fd = td_modules_open(jit->modules, module);
        td_jitdump_release(dump);
        if (fd >= 0) {
            td_jitdump_read(dump, fd, process->owner, NULL);
            close(fd);
        }
    }
}

/* The name of code that was there when the address was last sampled; where that was other code
 * than at first, both, for the samples are one figure. */
static char *dumped_name(const struct td_jitdump *dump, const struct noted *noted,
                         const struct td_jitdump_place *place)
{
    const struct td_jitdump_code *code = place->code;
    struct td_jitdump_place first = {.code = NULL};

    if (!td_jitdump_find(dump, noted->address, noted->first_ns, &first) ||
        (first.code->name_len == code->name_len &&
         memcmp(first.code->name, code->name, code->name_len) == 0))
        return td_xstrndup(code->name, code->name_len);
    return td_xasprintf("%.*s, before %.*s", (int)code->name_len, code->name,
                        (int)first.code->name_len, first.code->name);
}

/* Each address by itself: what surrounds it may have been other code at its time. */
static void write_name(const struct td_jit *jit, const struct sources *sources,
                       const struct noted *noted)
{
    const struct td_perfmap_entry *entry = NULL;
    struct td_jitdump_place place = {.code = NULL};
    char *name = NULL, *file = NULL;

    if (td_jitdump_find(&sources->dump, noted->address, noted->last_ns, &place))
        name = dumped_name(&sources->dump, noted, &place);
    else if ((entry = td_perfmap_find(&sources->map, noted->address)))
        name = td_xstrndup(entry->name, entry->name_len);
    if (place.file_len)
        file = td_xstrndup(place.file, place.file_len);
    if (name)
        td_profile_symbol(jit->writer, noted->module, noted->address, 1, name, file, place.line);
    free(name);
    free(file);
}

static void write_names(struct td_jit *jit, uint32_t pid, const struct sources *sources)
{
    size_t kept = 0;

    td_map_clear(&jit->seen);
    for (size_t i = 0; i < jit->len; i++) {
        const struct noted noted = jit->items[i];

        if (noted.pid == pid) {
            write_name(jit, sources, &noted);
            continue;
        }
        td_map_put(&jit->seen, noted.pid, noted.address, (uint32_t)kept, NULL);
        jit->items[kept++] = noted;
    }
    jit->len = kept;
}

void td_jit_write_names(struct td_jit *jit, const struct td_process *process)
{
    struct sources sources = {.map = {0}};

    read_map(&sources.map, process->pid, process->owner);
    read_dump(jit, &sources.dump, process);
    write_names(jit, process->pid, &sources);
    td_perfmap_release(&sources.map);
    td_jitdump_release(&sources.dump);
}

void td_jit_write_names_of(struct td_jit *jit, uint32_t pid, uid_t owner, const char *dump_path)
{
    struct sources sources = {.map = {0}};
    const int fd = dump_path ? open(dump_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

    read_map(&sources.map, pid, owner);
    if (fd >= 0) {
        td_jitdump_read(&sources.dump, fd, owner, NULL);
        close(fd);
    }
    write_names(jit, pid, &sources);
    td_perfmap_release(&sources.map);
    td_jitdump_release(&sources.dump);
}
