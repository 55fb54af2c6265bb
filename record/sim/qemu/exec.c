/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/exec.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "record/sim/qemu/guest_memory.h"

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
    GUEST_EXECVE = 59,
    GUEST_EXECVEAT = 322,
};

/* A terminated string of at most `limit` bytes, newly allocated; NULL when it cannot be read. */
static char *copy_string(uint64_t from, size_t limit)
{
    struct td_buf text = {0};
    char piece[64];

    while (text.len < limit) {
        /* Not over the end of a page, behind which there may be nothing. */
        const size_t room = 4096 - (size_t)(from & 4095);
        const size_t size = room < sizeof(piece) ? room : sizeof(piece);

        if (!td_guest_read(piece, from, size))
            break;
        const size_t len = strnlen(piece, size);
        td_buf_bytes(&text, piece, len);
        if (len < size) {
            td_buf_u8(&text, 0);
            return (char *)text.data;
        }
        from += size;
    }
    td_buf_release(&text);
    return NULL;
}

/* A NULL-terminated array of strings, newly allocated; NULL when it cannot be read. */
static char **copy_strings(uint64_t from)
{
    char **strings = td_xcalloc(8, sizeof(*strings));
    size_t len = 0, cap = 8;
    uint64_t at = 0;

    for (; from; from += sizeof(at)) {
        if (!td_guest_read(&at, from, sizeof(at)))
            break;
        strings = td_grow(strings, &cap, len + 2, sizeof(*strings));
        strings[len] = at ? copy_string(at, 32 * 4096) : NULL; /* MAX_ARG_STRLEN */
        if (!at)
            return strings;
        if (!strings[len])
            break;
        strings[++len] = NULL;
    }
    if (from == 0)
        return strings;
    td_launch_free(strings);
    return NULL;
}

/* /proc would say that the process executes the emulator. Takes `path`, returns a new one. */
static char *own_path(char *path, const char *own)
{
    char by_pid[32];

    snprintf(by_pid, sizeof(by_pid), "/proc/%d/exe", (int)getpid());
    if (!own || (strcmp(path, "/proc/self/exe") != 0 && strcmp(path, by_pid) != 0 &&
                 strcmp(path, "/proc/thread-self/exe") != 0))
        return path;
    free(path);
    return td_xstrdup(own);
}

bool td_exec_read(struct td_exec_call *ret, int64_t number, const uint64_t a[5], const char *own)
{
    char *path = NULL;

    if (number == GUEST_EXECVE) {
        path = copy_string(a[0], PATH_MAX);
        *ret = (struct td_exec_call){
            .path = path ? own_path(path, own) : NULL, .argv = a[1], .envp = a[2]};
        return path != NULL;
    }
    if (number != GUEST_EXECVEAT)
        return false;
    path = copy_string(a[1], PATH_MAX);
    if (!path)
        return false;
    if (path[0] != '/' && (int)a[0] != AT_FDCWD) {
        char *whole = path[0] ? td_xasprintf("/proc/self/fd/%d/%s", (int)a[0], path)
                              : td_xasprintf("/proc/self/fd/%d", (int)a[0]);
        free(path);
        path = whole;
    }
    *ret = (struct td_exec_call){.path = own_path(path, own), .argv = a[2], .envp = a[3]};
    return true;
}

void td_exec_follow(const struct td_launch *launch, const struct td_exec_call *call)
{
    char **argv = copy_strings(call->argv);
    char **envp = copy_strings(call->envp);

    if (argv && envp) {
        char **full = td_launch_argv(launch, call->path, argv, envp);
        char **env = td_launch_env(launch, envp);

        if (full)
            execve(launch->qemu, full, env);
        td_launch_free(full);
        td_launch_free(env);
    }
    td_launch_free(argv);
    td_launch_free(envp);
}
