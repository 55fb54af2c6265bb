/* SPDX-License-Identifier: MIT */
/*
 * Copy-on-write clones of a process that runs: the stopped thread calls clone(2) and goes on. The
 * clone never runs on its own: it is stopped before its first instruction, and dies with its
 * tracer.
 *
 * It shares the table of descriptors with the program, so that what the program closes is closed;
 * it sends no signal at its end, and wait() of the program does not see it.
 */
#ifndef TD_RECORD_LIVE_CLONE_H
#define TD_RECORD_LIVE_CLONE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/live/stop.h"

struct td_live_clone {
    pid_t id;    /* as this process sees it; 0: there is none */
    pid_t inner; /* as the program sees it: another number in a container */
};

/* Why the process must not be cloned, or TD_LIVE_TAKEN. Before the stop. */
enum td_live_outcome td_live_clone_allowed(pid_t process, uint64_t resident_bytes,
                                           struct td_err *err);

/* Clones the process of the stopped thread. When it is TD_LIVE_TAKEN or TD_LIVE_LIMIT, the thread
 * is still stopped; else it has been let go. */
enum td_live_outcome td_live_clone_make(struct td_live_clone *clone, struct td_live_stop *stop,
                                        struct td_live_detour *detour, struct td_err *err);
/* Until the clone stands still, with the registers that its original had. After the thread was let
 * go. Else the clone is gone. */
enum td_live_outcome td_live_clone_settle(struct td_live_clone *clone, struct td_live_stop *stop,
                                          const struct td_live_waiting *waiting,
                                          struct td_err *err);
/* Ends it. Its entry in the table of processes stays until the program's thread calls wait4, which
 * td_live_clone_reap makes a stopped thread do. */
void td_live_clone_kill(struct td_live_clone *clone);
/* By any stopped thread of the program. Unless it is TD_LIVE_TAKEN, the thread has been let go. */
enum td_live_outcome td_live_clone_reap(pid_t inner, struct td_live_stop *stop,
                                        struct td_live_detour *detour);

#endif
