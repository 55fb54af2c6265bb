/* SPDX-License-Identifier: MIT */
/*
 * The one loop of all that runs a plan: the command or what runs already, signals, the second
 * interrupt, delay and duration, further runs, the exit status. What a source does meanwhile, and
 * counting, hangs on it as a job.
 */
#ifndef TD_RECORD_RUN_LOOP_H
#define TD_RECORD_RUN_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/run/run.h"

/* What a job does, called with its `ctx`; only those that say so may be NULL. */
struct td_run_job {
    /* Opens what one run needs (td_run_open, or td_run_prepare) and begins it. The command, if
     * there is one, waits meanwhile. Fails with one sentence, and `close` follows. */
    int (*open)(void *ctx, struct td_err *err);
    /* The command executes. NULL: nothing. */
    void (*executed)(void *ctx);
    /* Sets the run's own_fds before each poll. NULL: they stay as they are. */
    void (*watch)(void *ctx);
    /* When `on_time` is to be called, if nothing comes before; 0: whenever. */
    uint64_t (*due_ns)(void *ctx, uint64_t now);
    /* Events count since now, or do not any more: the delay has passed, or --control said so.
     * NULL: nothing. */
    void (*switched)(void *ctx, bool on, uint64_t now);
    /* What was recorded up to now is to be readable, and is when this returns. NULL: it cannot be
     * asked for. */
    void (*snapshot)(void *ctx);
    /* Takes what came. Often called early. */
    void (*on_time)(void *ctx, uint64_t now);
    /* The last of what came, and the end of the output. Once a run, while it is `running`. */
    void (*finish)(void *ctx);
    /* Releases what belongs to one run, which may not have begun; NULL: nothing. */
    void (*close)(void *ctx);
    bool second_ends; /* a second interrupt of the command ends the job, but not the command */
};

/* All runs of the plan, after td_run_init. Tells what failed on run->status; the exit status. */
int td_loop_run(struct td_run *run, const struct td_run_job *job, void *ctx);

#endif
