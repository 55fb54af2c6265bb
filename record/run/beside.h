/* SPDX-License-Identifier: MIT */
/* What is done beside the sampling of a run, by who started it. */
#ifndef TD_RECORD_RUN_BESIDE_H
#define TD_RECORD_RUN_BESIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/kernel/tasks.h"
#include "record/run/recorder.h"

struct td_beside_now {
    const struct td_tasks *tasks; /* that are recorded, as far as is known */
    uint64_t now_ns, start_ns;
    uint64_t sampled_ns; /* CPU time so far */
};

struct td_beside {
    void *ctx;
    /* When `on_time` is to be called next. */
    uint64_t (*due_ns)(void *ctx, uint64_t now);
    void (*on_time)(void *ctx, const struct td_beside_now *now);
    td_recorder_clone_fn *clone; /* what of the processes it has made itself */
    pid_t tracer;                /* who stops the command now and then; 0: nobody */
};

#endif
