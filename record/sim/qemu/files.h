/* SPDX-License-Identifier: MIT */
/*
 * Which pages of the process hold files as the kernel has them, for its models (TD_TRACE_FILE):
 * those that are mapped to be only read, or shared. Of others the program has copies.
 */
#ifndef TD_RECORD_SIM_QEMU_FILES_H
#define TD_RECORD_SIM_QEMU_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/range.h"

struct td_image;
struct td_image_thread;

/* A zeroed struct: nothing is known yet. */
struct td_files {
    bool known;                /* what the kernel mapped of the program was looked at */
    struct td_range_set pages; /* by number of page; value: 1 of a file, 0 not any more */
};

/* The first block of the process is about to run, in its only thread. Without this call nothing is
 * ever told. */
void td_files_begin(struct td_image *process, struct td_image_thread *thread);
/* A thread begins: it is told of all that the others were. process->lock is held, or there is no
 * other thread. */
void td_files_tell(const struct td_image *process, struct td_image_thread *thread);
/* [start, end) was mapped, or unmapped, by a system call of the thread that is over. */
void td_files_map(struct td_image *process, struct td_image_thread *thread, uint64_t start,
                  uint64_t end, bool file);

#endif
