/* SPDX-License-Identifier: MIT */
#include "record/run/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"

/* The child: nothing but what is safe after fork, then the command. */
static void __attribute__((noreturn))
run_child(int go_fd, int error_fd, const struct td_target_program *program)
{
    char go = 0;
    ssize_t n = 0;

    td_inherited_restore(program->inherited);
    /* Documentation/admin-guide/LSM/Yama.rst: it stays so when it executes the command. */
    if (program->tracer)
        prctl(PR_SET_PTRACER, program->tracer, 0, 0, 0);
    if (program->env)
        environ = program->env;
    do {
        n = read(go_fd, &go, 1);
    } while (n < 0 && errno == EINTR);
    if (n == 1) {
        execvp(program->argv[0], program->argv);
        const int sys_errno = errno;
        while (write(error_fd, &sys_errno, sizeof(sys_errno)) < 0 && errno == EINTR)
            continue;
    }
    _exit(127);
}

int td_target_fork(struct td_target *target, const struct td_target_program *program,
                   struct td_err *err)
{
    int go[2], error[2];

    *target = (struct td_target){.go_fd = -1, .error_fd = -1};
    if (pipe2(go, O_CLOEXEC) < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot make a pipe");
    if (pipe2(error, O_CLOEXEC) < 0) {
        close(go[0]);
        close(go[1]);
        return td_fail_errno(err, TD_EIO, errno, "cannot make a pipe");
    }
    const pid_t pid = fork();
    if (pid == 0) {
        close(go[1]);
        close(error[0]);
        run_child(go[0], error[1], program);
    }
    const int sys_errno = errno;
    close(go[0]);
    close(error[1]);
    if (pid < 0) {
        close(go[1]);
        close(error[0]);
        return td_fail_errno(err, TD_EIO, sys_errno, "cannot start a process");
    }
    target->pid = pid;
    target->go_fd = go[1];
    target->error_fd = error[0];
    return TD_OK;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int no_permission(const char *name, const char *path, struct td_err *err)
{
    if (is_folder(path))
        return td_fail(err, TD_EPERM, "cannot execute '%s': it is a folder", name);
    return td_fail(err, TD_EPERM, "cannot execute '%s': no permission (chmod +x?)", name);
}

static int explain_exec(const char *name, int sys_errno, struct td_err *err)
{
    switch (sys_errno) {
    case ENOENT:
        if (strchr(name, '/') && access(name, F_OK) == 0)
            return td_fail(err, TD_EPERM,
                           "cannot execute '%s': its interpreter (the #! line, or the dynamic "
                           "loader) does not exist",
                           name);
        return td_fail(err, TD_ENOENT, "'%s': there is no such program%s", name,
                       strchr(name, '/') ? "" : " on the PATH");
    case ENOTDIR: return td_fail(err, TD_ENOENT, "'%s': there is no such program", name);
    case EACCES: return no_permission(name, name, err);
    case ENOEXEC:
        return td_fail(err, TD_EPERM,
                       "cannot execute '%s': no program for this machine, and no #! line", name);
    default: return td_fail_errno(err, TD_EPERM, sys_errno, "cannot execute '%s'", name);
    }
}

int td_target_start(struct td_target *target, const char *name, struct td_err *err)
{
    int sys_errno = 0;
    ssize_t n = 0;

    /* A child that is gone is noticed below. */
    while (write(target->go_fd, "", 1) < 0 && errno == EINTR)
        continue;
    close_fd(&target->go_fd);
    do {
        n = read(target->error_fd, &sys_errno, sizeof(sys_errno));
    } while (n < 0 && errno == EINTR);
    close_fd(&target->error_fd);
    if (n != sizeof(sys_errno))
        return TD_OK;
    return explain_exec(name, sys_errno, err);
}

static uint64_t timeval_ns(const struct timeval *tv)
{
    return (uint64_t)tv->tv_sec * 1000000000 + (uint64_t)tv->tv_usec * 1000;
}

static bool collect(struct td_target *target, int options)
{
    struct rusage usage;
    pid_t pid = 0;

    if (target->pid <= 0 || target->ended)
        return target->ended;
    do {
        pid = wait4(target->pid, &target->status, options, &usage);
    } while (pid < 0 && errno == EINTR);
    if (pid != target->pid)
        return false;
    target->ended = true;
    target->user_ns = timeval_ns(&usage.ru_utime);
    target->system_ns = timeval_ns(&usage.ru_stime);
    return true;
}

bool td_target_poll(struct td_target *target)
{
    return collect(target, WNOHANG);
}

void td_target_release(struct td_target *target)
{
    const bool waiting = target->go_fd >= 0;

    close_fd(&target->go_fd); /* a child that still waits for the word exits */
    close_fd(&target->error_fd);
    if (waiting)
        collect(target, 0);
}

bool td_target_was_stopped(int wait_status)
{
    static const int stopping[] = {SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM};

    for (size_t i = 0; i < TD_ARRAY_SIZE(stopping); i++) {
        if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == stopping[i])
            return true;
    }
    return false;
}

bool td_target_runs(uint32_t pid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    char *status = td_procfs_text(NULL, path);
    char *state = status ? td_procfs_field(status, "State") : NULL;
    const bool runs = state && state[0] != 'Z' && state[0] != 'X';

    free(state);
    free(status);
    return runs;
}

int td_target_exit_status(const struct td_target *target)
{
    if (WIFSIGNALED(target->status))
        return 128 + WTERMSIG(target->status);
    return WEXITSTATUS(target->status);
}

int td_target_failure_status(int rc)
{
    if (rc == TD_ENOENT)
        return TD_EXIT_NOT_FOUND;
    return rc == TD_EPERM ? TD_EXIT_CANNOT_EXECUTE : TD_EXIT_FAILED;
}

char *td_target_find_program(const char *name)
{
    const char *path = getenv("PATH");

    if (strchr(name, '/'))
        return td_xstrdup(name);
    for (const char *p = path ? path : "/bin:/usr/bin"; *p;) {
        const size_t len = strcspn(p, ":");
        char *full = len ? td_xasprintf("%.*s/%s", (int)len, p, name) : td_xstrdup(name);
        struct stat st;

        if (access(full, X_OK) == 0 && stat(full, &st) == 0 && S_ISREG(st.st_mode))
            return full;
        free(full);
        p += len + (p[len] == ':');
    }
    return NULL;
}

int td_target_require_program(const char *name, char **ret, struct td_err *err)
{
    char *path = td_target_find_program(name);
    int rc = TD_OK;

    if (!path)
        return td_fail(err, TD_ENOENT, "'%s': there is no such program on the PATH", name);
    if (access(path, F_OK) < 0)
        rc = td_fail(err, TD_ENOENT, "'%s': there is no such program", name);
    else if (access(path, X_OK) < 0 || is_folder(path))
        rc = no_permission(name, path, err);
    if (rc == TD_OK)
        *ret = path;
    else
        free(path);
    return rc;
}

int td_target_check_program(const char *path, struct td_err *err)
{
    struct stat st;

    if (geteuid() == 0 || stat(path, &st) < 0)
        return TD_OK;
    if ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
        (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) ||
        getxattr(path, "security.capability", NULL, 0) > 0)
        return td_fail(err, TD_EPERM,
                       "'%s' is setuid, setgid or has capabilities: the kernel lets only root "
                       "profile it (sudo tdrec)",
                       path);
    if (access(path, X_OK) == 0 && access(path, R_OK) < 0)
        return td_fail(err, TD_EPERM,
                       "'%s' is not readable: the kernel lets only root profile it (sudo tdrec, or "
                       "chmod +r)",
                       path);
    return TD_OK;
}

static bool holds(const uint32_t *ids, size_t count, uint32_t id)
{
    for (size_t i = 0; i < count; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* Adds the threads of a process that are not in the array yet; false when it does not run. */
static bool add_threads(uint32_t pid, uint32_t **tids, size_t *count, size_t *cap)
{
    char folder[64];

    snprintf(folder, sizeof(folder), "/proc/%u/task", pid);
    char **names = td_procfs_names(NULL, folder);
    for (char **name = names; name && *name; name++) {
        uint64_t tid = 0;

        if (!td_parse_u64(*name, &tid) || holds(*tids, *count, (uint32_t)tid))
            continue;
        *tids = td_grow(*tids, cap, *count + 1, sizeof(**tids));
        (*tids)[(*count)++] = (uint32_t)tid;
    }
    td_procfs_names_free(names);
    return names != NULL;
}

int td_target_threads(const uint32_t *pids, size_t pid_count, uint32_t **ret, size_t *count,
                      struct td_err *err)
{
    size_t cap = 0, before = 0;

    *ret = NULL;
    *count = 0;
    if (!td_procfs_is_ours())
        return td_fail(err, TD_EUNSUPPORTED,
                       "a running process cannot be recorded: %s: mount -t proc proc /proc",
                       td_procfs_self() ? "/proc is of another pid namespace, where its id is "
                                          "another process's"
                                        : "there is no /proc, which tells what it maps");
    do {
        before = *count;
        for (size_t i = 0; i < pid_count; i++) {
            if (!add_threads(pids[i], ret, count, &cap) && before == 0)
                return td_fail(err, TD_ENOENT, "there is no process %u", pids[i]);
        }
    } while (*count != before);
    return TD_OK;
}

uint32_t td_target_process_of(uint32_t tid)
{
    char path[64];
    uint64_t pid = tid;

    snprintf(path, sizeof(path), "/proc/%u/status", tid);
    char *status = td_procfs_text(NULL, path);
    char *value = status ? td_procfs_field(status, "Tgid") : NULL;
    if (value)
        td_parse_u64(value, &pid);
    free(value);
    free(status);
    return (uint32_t)pid;
}

int td_target_open_cgroup(const char *path, int *fd, struct td_err *err)
{
    static const char *const mounts[] = {"", "/sys/fs/cgroup/perf_event/",
                                         "/sys/fs/cgroup/unified/", "/sys/fs/cgroup/"};
    struct stat st;

    for (size_t i = 0; i < TD_ARRAY_SIZE(mounts); i++) {
        char *full = td_xasprintf("%s%s", mounts[i], path);
        char *procs = td_xasprintf("%s/cgroup.procs", full);
        const bool found = stat(procs, &st) == 0;

        *fd = found ? open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
        free(full);
        free(procs);
        if (*fd >= 0)
            return TD_OK;
    }
    return td_fail(err, TD_ENOENT,
                   "there is no cgroup '%s' (looked below /sys/fs/cgroup; systemd-cgls lists them)",
                   path);
}
