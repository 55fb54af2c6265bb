/* SPDX-License-Identifier: MIT */
/*
 * How tdrec itself was started: what it changes for its own work, and a command must find
 * unchanged, in every run of it.
 */
#ifndef TD_RECORD_RUN_INHERITED_H
#define TD_RECORD_RUN_INHERITED_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

enum { TD_INHERITED_SIGNALS = 7 };

struct td_inherited {
    sigset_t mask;
    struct sigaction actions[TD_INHERITED_SIGNALS]; /* of those that tdrec handles or ignores */
    struct rlimit descriptors;
    int niceness;
    off_t stdin_at; /* -1: standard input is no file that can be read again */
};

/* To be called before any of it is changed. */
void td_inherited_save(struct td_inherited *inherited);
/* By a child between fork and exec: nothing but system calls. NULL: all is left as it is. */
void td_inherited_restore(const struct td_inherited *inherited);
/* Before a further run of the command: it finds its input at the place where the first did. NULL is
 * allowed. */
void td_inherited_rewind(const struct td_inherited *inherited);

#endif
