/* SPDX-License-Identifier: MIT */
/* Writes the memory of a process that stands still into an image. */
#ifndef TD_RECORD_LIVE_MEMORY_H
#define TD_RECORD_LIVE_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/live/own.h"
#include "record/sim/share/live_image.h"

/* Bytes of private memory that the process has, which a clone shares with it and an image copies;
 * 0: it is gone. */
uint64_t td_live_memory_resident(pid_t process);

/* `still` does not run: a clone, or the process itself while it is stopped. `process` is the
 * program: which pages of shared memory it uses is known of it alone. `own` is what `still` lacks.
 * Sets *heap_start and *heap_end. TD_ELIMIT and TD_EIO as the writer; TD_ENOENT: the process is
 * gone. */
int td_live_memory_write(struct td_live_writer *writer, pid_t still, pid_t process,
                         const struct td_live_own *own, uint64_t *heap_start, uint64_t *heap_end,
                         struct td_err *err);

#endif
