/* SPDX-License-Identifier: MIT */
/*
 * A helper process of tdrec that takes images of programs. It is a process of its own so that a
 * program that is stopped goes on as it should whatever becomes of tdrec, and so that tdrec can do
 * its work while an image is written.
 */
#ifndef TD_RECORD_LIVE_IMAGER_H
#define TD_RECORD_LIVE_IMAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/live/capture.h"

/* The most processes to choose from at a time. */
#define TD_IMAGER_PROCESSES 512

struct td_imager;
/* Begins the helper; before the caller has threads. TD_EIO, TD_EUNSUPPORTED. */
int td_imager_new(struct td_imager **ret, struct td_err *err);
/* The helper's id, which is no part of what is recorded. */
pid_t td_imager_id(const struct td_imager *imager);
/* For poll: readable when there is an answer. */
int td_imager_fd(const struct td_imager *imager);
/* Asks for an image of a thread that runs now, of one of these processes (of more than
 * TD_IMAGER_PROCESSES, the first), and returns. Up to `calls` of the system calls that it makes
 * then are noted. The image goes into the empty file `fd`, which the caller keeps. One at a time:
 * TD_EUSAGE before the answer. TD_EIO: the helper is gone. */
struct td_imager_order {
    const pid_t *processes;
    size_t count;
    uint64_t number;
    uint32_t calls;
};
int td_imager_ask(struct td_imager *imager, const struct td_imager_order *order, int fd,
                  struct td_err *err);
/* The answer, if it is there; never waits. A helper that has died answers TD_LIVE_FAILED. */
bool td_imager_answer(struct td_imager *imager, struct td_live_result *result);
/* Whether the process is a clone of those made lately. While an image is being taken a clone may be
 * there that has run nothing yet, and is not known: td_imager_asked. */
bool td_imager_cloned(struct td_imager *imager, pid_t process);
bool td_imager_asked(const struct td_imager *imager);
/* Ends the helper, which lets the programs reap their clones. NULL is allowed. */
void td_imager_free(struct td_imager *imager);

#endif
