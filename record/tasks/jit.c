/* SPDX-License-Identifier: MIT */
#include "record/tasks/jit.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "record/tasks/profile_head.h"
#include "symbolize/maps/jitdump.h"
#include "symbolize/maps/perfmap.h"

/* Addresses noted at a time. When there are more, those of the process are named there and then. */
#define NOTED_MAX 1000000
/* A larger map is read at the end of the recording, when nothing waits for us: while we read, the
 * rings run full. As many at most, for each keeps a descriptor. */
#define SOON_BYTES ((uint64_t)16 << 20)
#define LATE_MAX   64
/* What reading a map may take while recording, and all of the large ones at the end. */
#define SOON_NS UINT64_C(200000000)
#define LATE_NS UINT64_C(20000000000)
/* Instead of the pid of a process that has ended: no pid is so large. */
#define LATE_PID UINT32_C(0x80000000)

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
    int late_fds[LATE_MAX]; /* maps to be read at the end, of the items of LATE_PID and up */
    size_t late_count;
    uint64_t dropped; /* samples whose address there was no room to note */
    bool cut;         /* a map or a jitdump was not read to its end */
};

/* What a process says of its code. */
struct sources {
    struct td_perfmap map;
    struct td_jitdump dump;
    uint32_t late_pid; /* what the map does not say yet; 0: nothing is said later */
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
    for (size_t i = 0; i < jit->late_count; i++)
        close(jit->late_fds[i]);
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
    const uint32_t *known = td_map_find(&jit->seen, pid, address);
    if (known) {
        jit->items[*known].last_ns = time_ns;
        return;
    }
    if (jit->len >= NOTED_MAX) {
        jit->dropped++;
        return;
    }
    td_map_put(&jit->seen, pid, address, (uint32_t)jit->len, NULL);
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
    if (jit->len + stack->len > NOTED_MAX && jit->dropped == 0)
        td_jit_write_names(jit, process);
    for (size_t i = 0; i < stack->len; i++) {
        const struct td_stack_frame *frame = &stack->frames[i];
        const struct td_range *range = td_range_set_find(&process->space->ranges, frame->address);

        if (frame->context == PERF_RECORD_MISC_USER && range &&
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

/* The map as the process sees it, or, when it has gone, as we do. The descriptor, or -1. */
static int open_map(uint32_t pid, uid_t owner, uint64_t *size)
{
    char path[96];
    int fd = -1;

    snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, own_pid(pid));
    if (td_procfs_is_ours() && td_perfmap_open(&fd, size, path, owner, NULL) == TD_OK)
        return fd;
    snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
    td_perfmap_open(&fd, size, path, owner, NULL);
    return fd;
}

static void want_names(const struct td_jit *jit, struct td_perfmap *map, uint32_t pid)
{
    for (size_t i = 0; i < jit->len; i++) {
        if (jit->items[i].pid == pid)
            td_perfmap_want(map, jit->items[i].address);
    }
}

/* The dump is found by the page of it that its writer maps as executable, for just that. */
static void read_dump(struct td_jit *jit, struct td_jitdump *dump, const struct td_process *process)
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
            jit->cut = jit->cut || dump->cut;
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

/* Each address by itself: what surrounds it may have been other code at its time. False when it has
 * no name. */
static bool write_name(const struct td_jit *jit, const struct sources *sources,
                       const struct noted *noted)
{
    struct td_jitdump_place place = {.code = NULL};
    char *name = NULL, *file = NULL;

    if (td_jitdump_find(&sources->dump, noted->address, noted->last_ns, &place))
        name = dumped_name(&sources->dump, noted, &place);
    else
        name = td_perfmap_name(&sources->map, noted->address);
    if (place.file_len)
        file = td_xstrndup(place.file, place.file_len);
    if (name)
        td_profile_symbol(jit->writer, noted->module, noted->address, 1, name, file, place.line);
    const bool named = name != NULL;
    free(name);
    free(file);
    return named;
}

/* Writes what is known of this process, and forgets it, or keeps it for later under another pid. */
static void write_names(struct td_jit *jit, uint32_t pid, const struct sources *sources)
{
    size_t kept = 0;

    td_map_clear(&jit->seen);
    for (size_t i = 0; i < jit->len; i++) {
        struct noted noted = jit->items[i];

        if (noted.pid == pid && (write_name(jit, sources, &noted) || !sources->late_pid))
            continue;
        if (noted.pid == pid)
            noted.pid = sources->late_pid;
        td_map_put(&jit->seen, noted.pid, noted.address, (uint32_t)kept, NULL);
        jit->items[kept++] = noted;
    }
    jit->len = kept;
}

/* Names what was noted of a process by its jitdump and its map; `hurry`: while rings fill, so that
 * a large map is kept for later. */
static void name_process(struct td_jit *jit, struct sources *sources, uint32_t pid, uid_t owner,
                         bool hurry)
{
    uint64_t size = 0;
    const int fd = open_map(pid, owner, &size);
    const bool late = hurry && fd >= 0 && size > SOON_BYTES && jit->late_count < LATE_MAX;

    if (late) {
        sources->late_pid = LATE_PID + (uint32_t)jit->late_count;
        jit->late_fds[jit->late_count++] = fd;
    } else if (fd >= 0) {
        want_names(jit, &sources->map, pid);
        td_perfmap_scan(&sources->map, fd, hurry ? SOON_NS : LATE_NS);
        jit->cut = jit->cut || sources->map.cut;
    }
    write_names(jit, pid, sources);
    td_perfmap_release(&sources->map);
    td_jitdump_release(&sources->dump);
    if (fd >= 0 && !late)
        close(fd);
}

void td_jit_write_names(struct td_jit *jit, const struct td_process *process)
{
    struct sources sources = {.late_pid = 0};

    read_dump(jit, &sources.dump, process);
    name_process(jit, &sources, process->pid, process->owner, true);
}

void td_jit_write_names_of(struct td_jit *jit, uint32_t pid, uid_t owner, const char *dump_path)
{
    struct sources sources = {.late_pid = 0};
    const int fd = dump_path ? open(dump_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;

    if (fd >= 0) {
        td_jitdump_read(&sources.dump, fd, owner, NULL);
        jit->cut = jit->cut || sources.dump.cut;
        close(fd);
    }
    name_process(jit, &sources, pid, owner, false);
}

static void warn(const struct td_jit *jit, const char *text)
{
    td_profile_env(jit->writer, td_env_key_name(TD_ENV_WARNING), text);
}

void td_jit_finish(struct td_jit *jit)
{
    const uint64_t deadline = td_clock_ns() + LATE_NS;

    for (size_t i = 0; i < jit->late_count; i++) {
        const uint32_t pid = LATE_PID + (uint32_t)i;
        const uint64_t now = td_clock_ns();
        struct sources sources = {.late_pid = 0};

        want_names(jit, &sources.map, pid);
        td_perfmap_scan(&sources.map, jit->late_fds[i], now < deadline ? deadline - now : 0);
        jit->cut = jit->cut || sources.map.cut;
        write_names(jit, pid, &sources);
        td_perfmap_release(&sources.map);
        close(jit->late_fds[i]);
    }
    jit->late_count = 0;
    if (jit->cut)
        warn(jit,
             "a perf-PID.map or a jitdump was too large to be read whole: names of generated code "
             "are missing, or old");
    if (jit->dropped)
        warn(jit,
             "samples hit generated code in more places than are kept: names of it are missing "
             "(sample slower, or shorter)");
}
