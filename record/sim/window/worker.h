/* SPDX-License-Identifier: MIT */
/*
 * The emulator that runs windows of images (loader/loader.h, qemu/window.h), as tdrec starts and
 * feeds it: at a low priority, without a way to its terminal, one image after the other. What
 * it finds is in the mailbox. It serves images of one process: the emulator's heap begins where
 * that process' does.
 */
#ifndef TD_RECORD_SIM_WINDOW_WORKER_H
#define TD_RECORD_SIM_WINDOW_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/sim/share/guest.h"

/* How long a window is: instructions whose lines and branches only warm caches and predictors,
 * then those that fill the pipeline, then cycles of the model that count. */
struct td_window_length {
    uint64_t warm, fill, cycles;
};

struct td_worker_setup {
    const char *qemu, *plugin; /* paths */
    const struct td_guest *guest;
    const char *mailbox; /* its name; the core is in it */
    const char *process; /* the name of the images' process */
    uint64_t heap_start; /* of the images; 0: unknown */
    struct td_window_length length;
};

struct td_worker;

/* Starts one; td_worker_free ends it. TD_EIO, TD_EUNSUPPORTED. */
int td_worker_start(struct td_worker **ret, const struct td_worker_setup *setup,
                    struct td_err *err);
/* Gives it the image that our descriptor `fd` is open on, which must stay so until its window is
 * told. False when it takes no more now. */
bool td_worker_give(struct td_worker *worker, int fd);
/* No more images come: it ends after the last. */
void td_worker_close(struct td_worker *worker);
/* Whether it still runs. */
bool td_worker_runs(struct td_worker *worker);
/* Its exit status as wait gives it, when it has ended. */
int td_worker_status(const struct td_worker *worker);
/* Ends it by force, when it still runs. NULL is allowed. */
void td_worker_free(struct td_worker *worker);

#endif
