/* SPDX-License-Identifier: MIT */
/*
 * Child processes that read the files of modules, a job each, several at a time. They have limits
 * of memory and time; what they found comes back as bytes that are checked.
 */
#ifndef TD_SYMBOLIZE_WORKER_H
#define TD_SYMBOLIZE_WORKER_H

#include "symbolize/module.h"
#include "symbolize/symbolize.h"

struct td_job {
    struct td_module_request request;
    uint64_t file_bytes; /* of the module, as written, without holes: for the limit of memory */
    void *owner;         /* the caller's */
};

/* Called in the parent for each job that ended: `view` is what it found, or NULL with the reason
 * in `failure`. A process that crashed is tried again without the unit of debug information that it
 * was reading; then without any, and then both are there. */
typedef void td_job_done_fn(void *ctx, const struct td_job *job, const struct td_answers_view *view,
                            const char *failure);

struct td_workers {
    unsigned at_once;   /* 0: one a CPU */
    unsigned timeout_s; /* for one job; 0: 60 */
    td_symbolize_progress_fn *progress;
    void *progress_ctx;
    size_t total; /* offsets of all jobs, for the progress */
    td_job_done_fn *done;
    void *done_ctx;
};

/* Runs all the jobs. Fails only when no child process can be had. */
int td_workers_run(const struct td_workers *workers, const struct td_job *jobs, size_t count,
                   struct td_err *err);

#endif
