/* SPDX-License-Identifier: MIT */
/*
 * Takes images of threads that run. The program is held for the stop and the clone only; the rest
 * is done on the clone. Where no clone may be made, a small program is copied while it is held.
 *
 * One thread uses it, in a process without children of its own (record/live/stop.h).
 */
#ifndef TD_RECORD_LIVE_CAPTURE_H
#define TD_RECORD_LIVE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "record/live/outcome.h"
#include "record/live/stop.h"

struct td_live_result {
    enum td_live_outcome outcome;
    bool cloned; /* else it was copied while it was held */
    pid_t process, thread;
    pid_t clone;         /* the clone's id, which the kernel's records of tasks name too; 0: none */
    uint32_t redirected; /* places that lead to a version that the emulator can run */
    uint64_t number;
    uint64_t address;  /* of the next instruction */
    uint64_t stop_ns;  /* from the request to the stop */
    uint64_t pause_ns; /* how long the thread was held in all */
    uint64_t queue_ns; /* of that, what it waited for a CPU that others had */
    uint64_t write_ns; /* all else that it took: looking, watching, writing on the clone */
    uint64_t watch_ns; /* how long the thread was held afterwards, for its system calls */
    uint32_t calls;    /* of those that were noted */
    uint64_t resident_bytes, image_bytes;
    char text[256]; /* one sentence, when it was not taken */
};

struct td_capture;
/* `waiting` is borrowed. */
struct td_capture *td_capture_new(const struct td_live_waiting *waiting);
/* What is to be taken: of this thread, with so many of its next system calls at most, 0: none. */
struct td_capture_order {
    pid_t process, thread;
    uint64_t number;
    uint32_t calls;
};
/* Writes an image of the thread into the empty file `fd`. Whether it was taken is in *result. */
void td_capture_take(struct td_capture *capture, const struct td_capture_order *order, int fd,
                     struct td_live_result *result);
/* Whether a program still has to reap a clone that has ended: td_capture_tidy tries it, by stopping
 * a thread that runs for a moment. Soon, since the entry in the table of processes goes to the
 * program's parent's parent when the program ends. */
bool td_capture_untidy(const struct td_capture *capture);
void td_capture_tidy(struct td_capture *capture);
/* Lets the programs reap what is left of their clones, as far as that can be done. */
void td_capture_free(struct td_capture *capture); /* NULL is allowed */

#endif
