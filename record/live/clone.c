/* SPDX-License-Identifier: MIT */
#include "record/live/clone.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"

/* What must stay free beside a second copy of what the process has in memory. */
#define SPARE_BYTES (UINT64_C(256) << 20)
/* Of a process's children, so many are looked at. */
#define CHILDREN_MAX 8

/* ---- before the stop ---- */

static uint64_t number_field(const char *text, const char *key)
{
    char *value = text ? td_procfs_field(text, key) : NULL;
    const uint64_t number = value ? strtoull(value, NULL, 10) : 0;

    free(value);
    return number;
}

/* Where a version of cgroups has its limits of memory. */
struct group_files {
    const char *line; /* how its line in /proc/PID/cgroup begins, behind the number */
    const char *root, *limit, *used;
    const char *cache[2]; /* lines of memory.stat: what is dropped when memory is short */
};

static const struct group_files group_files[] = {
    {":memory:",
     "/sys/fs/cgroup/memory",
     "memory.limit_in_bytes",
     "memory.usage_in_bytes",
     {"total_inactive_file ", "total_active_file "}},
    {"::", "/sys/fs/cgroup", "memory.max", "memory.current", {"inactive_file ", "active_file "}},
};

static uint64_t cache_of(const struct group_files *files, const char *path)
{
    char name[4096];
    uint64_t bytes = 0;

    snprintf(name, sizeof(name), "%s%s/memory.stat", files->root, path);
    char *text = td_procfs_text(NULL, name);
    for (size_t i = 0; text && i < TD_ARRAY_SIZE(files->cache); i++) {
        const char *at = text;

        while ((at = strstr(at, files->cache[i])) && at != text && at[-1] != '\n')
            at++;
        if (at)
            bytes += strtoull(at + strlen(files->cache[i]), NULL, 10);
    }
    free(text);
    return bytes;
}

/* Bytes that the cgroup of `path` may still take; a cgroup without a limit has all. */
static uint64_t group_room(const struct group_files *files, const char *path)
{
    char name[4096];
    int64_t limit = 0, used = 0;

    snprintf(name, sizeof(name), "%s%s/%s", files->root, path, files->limit);
    if (!td_procfs_number(NULL, name, &limit)) /* "max", or no such controller */
        return UINT64_MAX;
    snprintf(name, sizeof(name), "%s%s/%s", files->root, path, files->used);
    if (!td_procfs_number(NULL, name, &used))
        return UINT64_MAX;
    const uint64_t cache = cache_of(files, path);
    const uint64_t taken = (uint64_t)used > cache ? (uint64_t)used - cache : 0;
    return (uint64_t)limit > taken ? (uint64_t)limit - taken : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The least of a cgroup and those around it. `path` is cut. */
static uint64_t path_room(const struct group_files *files, char *path)
{
    uint64_t room = UINT64_MAX;

    for (char *slash = path + strlen(path); slash > path; slash = strrchr(path, '/')) {
        *slash = '\0';
        room = least(room, group_room(files, path));
    }
    return room;
}

/* What the cgroups of a process leave of memory. `who`: its id, or "self". */
static uint64_t groups_room(const char *who)
{
    char name[64];
    uint64_t room = UINT64_MAX;

    snprintf(name, sizeof(name), "/proc/%s/cgroup", who);
    char *text = td_procfs_text(NULL, name), *rest = text;
    for (char *line; text && (line = strsep(&rest, "\n"));) {
        line += strspn(line, "0123456789");
        for (size_t i = 0; i < TD_ARRAY_SIZE(group_files); i++) {
            const size_t len = strlen(group_files[i].line);

            if (strncmp(line, group_files[i].line, len) != 0)
                continue;
            room = least(room, path_room(&group_files[i], line + len));
            break;
        }
    }
    free(text);
    return room;
}

/* Whether one of the process's children is traced by it. Who traces waits for all that end, of
 * clones too. */
static bool is_tracer(pid_t process)
{
    char path[64];
    bool traces = false;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", process, process);
    char *children = td_procfs_text(NULL, path), *rest = children;
    for (int i = 0; i < CHILDREN_MAX && !traces && rest; i++) {
        const char *child = strsep(&rest, " ");

        snprintf(path, sizeof(path), "/proc/%s/status", child);
        char *text = *child ? td_procfs_text(NULL, path) : NULL;
        traces = number_field(text, "TracerPid") == (uint64_t)process;
        free(text);
    }
    free(children);
    return traces;
}

static enum td_live_outcome refuse(struct td_err *err, enum td_live_outcome outcome)
{
    td_fail(err, TD_EUNSUPPORTED, "%s", td_live_outcome_text(outcome));
    return outcome;
}

enum td_live_outcome td_live_clone_allowed(pid_t process, uint64_t resident_bytes,
                                           struct td_err *err)
{
    char path[64], who[16];

    snprintf(who, sizeof(who), "%d", process);
    snprintf(path, sizeof(path), "/proc/%d/status", process);
    char *text = td_procfs_text(NULL, path), *info = td_procfs_text(NULL, "/proc/meminfo");
    const bool gone = !text, confined = number_field(text, "Seccomp") != 0;
    const uint64_t available = number_field(info, "MemAvailable") << 10;
    /* The clone's copies are of its group, the image of ours. */
    const uint64_t room = least(available, least(groups_room(who), groups_room("self")));
    free(text);
    free(info);
    if (gone)
        return refuse(err, TD_LIVE_GONE);
    if (confined)
        return refuse(err, TD_LIVE_CONFINED);
    if (room / 2 < resident_bytes / 2 + SPARE_BYTES / 2)
        return refuse(err, TD_LIVE_MEMORY);
    return TD_LIVE_TAKEN;
}

/* ---- the clone ---- */

/* The clone of a call that failed may be there all the same: the thread was killed behind it. */
static void forget_clone(struct td_live_stop *stop)
{
    struct td_live_clone clone = {.id = stop->clone};

    td_live_clone_kill(&clone);
    stop->cloning = false;
    stop->clone = 0;
}

enum td_live_outcome td_live_clone_make(struct td_live_clone *clone, struct td_live_stop *stop,
                                        struct td_live_detour *detour, struct td_err *err)
{
    /* The low byte of the flags, the signal at its end, is 0. */
    const uint64_t arguments[5] = {CLONE_PTRACE | CLONE_FILES, TD_LIVE_NO_STACK};
    int64_t result = 0;

    *clone = (struct td_live_clone){0};
    if (is_tracer(stop->process)) { /* while it is held: it may have begun a moment ago */
        td_live_stop_release(stop);
        return refuse(err, TD_LIVE_TRACER);
    }
    stop->cloning = true;
    const enum td_live_outcome outcome =
        td_live_stop_call(stop, detour, SYS_clone, arguments, &result, err);
    if (outcome != TD_LIVE_TAKEN || result < 0)
        forget_clone(stop);
    if (outcome != TD_LIVE_TAKEN)
        return outcome;
    if (result < 0) {
        td_fail_errno(err, TD_ELIMIT, (int)-result, "%s", td_live_outcome_text(TD_LIVE_LIMIT));
        return TD_LIVE_LIMIT;
    }
    clone->inner = (pid_t)result;
    return TD_LIVE_TAKEN;
}

enum td_live_outcome td_live_clone_settle(struct td_live_clone *clone, struct td_live_stop *stop,
                                          const struct td_live_waiting *waiting, struct td_err *err)
{
    struct td_live_registers registers = stop->registers;
    struct iovec part = {.iov_base = &registers.set, .iov_len = sizeof(registers.set)};

    while (stop->clone == 0) {
        int status = 0;
        const pid_t got = waitpid(-1, &status, __WALL);

        if (got > 0 && got != stop->thread && !WIFSTOPPED(status))
            return refuse(err, TD_LIVE_GONE); /* the clone was killed */
        if (got > 0)
            td_live_stop_meet(stop, got, status);
        else if (got < 0 && (errno != EINTR || (waiting && waiting->quit(waiting->ctx))))
            return refuse(err, TD_LIVE_GONE);
    }
    clone->id = stop->clone;
    if (ptrace(PTRACE_SETREGSET, clone->id, NT_PRSTATUS, &part) < 0) {
        td_live_clone_kill(clone);
        return refuse(err, TD_LIVE_GONE);
    }
    return TD_LIVE_TAKEN;
}

void td_live_clone_kill(struct td_live_clone *clone)
{
    int status = 0;
    pid_t got = clone->id;

    if (clone->id == 0)
        return;
    kill(clone->id, SIGKILL);
    while (got == clone->id || (got < 0 && errno == EINTR)) { /* until it has ended */
        got = waitpid(clone->id, &status, __WALL);
        if (got == clone->id && (WIFEXITED(status) || WIFSIGNALED(status)))
            break;
    }
    clone->id = 0;
}

enum td_live_outcome td_live_clone_reap(pid_t inner, struct td_live_stop *stop,
                                        struct td_live_detour *detour)
{
    const uint64_t arguments[5] = {(uint64_t)inner, 0, WNOHANG | __WALL, 0};
    int64_t result = 0;

    return td_live_stop_call(stop, detour, SYS_wait4, arguments, &result, NULL);
}
