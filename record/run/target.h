/* SPDX-License-Identifier: MIT */
/*
 * What is profiled: a command that is started, or what runs already. A command finds everything as
 * it would without us: descriptors, signal mask and dispositions, limits, terminal, process group.
 */
#ifndef TD_RECORD_RUN_TARGET_H
#define TD_RECORD_RUN_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/run/inherited.h"

/* Exit statuses of tdrec beside the command's own. */
enum {
    TD_EXIT_FAILED = 125,
    TD_EXIT_CANNOT_EXECUTE = 126,
    TD_EXIT_NOT_FOUND = 127,
};

struct td_target {
    pid_t pid;    /* of the command; 0: none */
    int go_fd;    /* a byte here lets it exec; closed: it exits */
    int error_fd; /* errno of a failed exec comes here; end of file: it was executed */
    bool ended;
    int status;                  /* as wait gives it; valid when ended */
    uint64_t user_ns, system_ns; /* CPU time of it and the children it waited for */
};

/* What is executed, and how it finds itself. */
struct td_target_program {
    char **argv;
    char **env;                           /* NULL: ours */
    const struct td_inherited *inherited; /* NULL: as we are now */
    pid_t tracer;                         /* who may stop it, though it is no ancestor; 0: nobody */
};

/* Forks a child that waits; what `program` points to is only used until this returns. TD_EIO. */
int td_target_fork(struct td_target *target, const struct td_target_program *program,
                   struct td_err *err);
/* Lets it exec and waits until it did. TD_ENOENT when there is no such program, TD_EPERM when it
 * cannot be executed, TD_EUNSUPPORTED when it is no program for this machine. */
int td_target_start(struct td_target *target, const char *name, struct td_err *err);
/* Takes the status when the command has ended; true then. */
bool td_target_poll(struct td_target *target);
/* Ends a child that was not started. Safe to call always. */
void td_target_release(struct td_target *target);
/* Whether it was ended by a signal that people and machines send to end things. */
bool td_target_was_stopped(int wait_status);
/* Whether the process runs: not ended, and no zombie. */
bool td_target_runs(uint32_t pid);
/* The shell's exit status for it: its own, or 128 + signal. */
int td_target_exit_status(const struct td_target *target);

/* tdrec's, when the command could not be found or started with this code. */
int td_target_failure_status(int rc);

/* The file that execvp would execute, newly allocated; NULL when there is none. */
char *td_target_find_program(const char *name);
/* The same, or why there is nothing to execute: TD_ENOENT when it is missing, TD_EPERM when it may
 * not be executed. *ret is set on success only. */
int td_target_require_program(const char *name, char **ret, struct td_err *err);
/* TD_EPERM with a sentence when the kernel would hide the program from a user without privilege:
 * setuid, setgid, file capabilities, or not readable. */
int td_target_check_program(const char *path, struct td_err *err);

/* The threads of running processes, until no new one appears; newly allocated. TD_ENOENT names the
 * process that does not run. */
int td_target_threads(const uint32_t *pids, size_t pid_count, uint32_t **ret, size_t *count,
                      struct td_err *err);
/* The process that a thread belongs to; `tid` itself when that cannot be read. */
uint32_t td_target_process_of(uint32_t tid);
/* An open folder of the cgroup (by path in the hierarchy, with or without its mount point). */
int td_target_open_cgroup(const char *path, int *fd, struct td_err *err);

#endif
