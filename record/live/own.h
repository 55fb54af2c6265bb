/* SPDX-License-Identifier: MIT */
/*
 * Memory that the program does not pass on to clones (MADV_DONTFORK; the heaps of V8 are such): it
 * is copied while the program is held, since the clone has no picture of it.
 */
#ifndef TD_RECORD_LIVE_OWN_H
#define TD_RECORD_LIVE_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "record/sim/share/live_image.h"

struct td_live_own_run {
    size_t mapping;
    uint64_t start, size;
    const uint8_t *bytes; /* in the room that td_live_own_read was given */
};

struct td_live_own {
    struct td_live_mapping *mappings; /* in the order of addresses */
    size_t count, cap;
    struct td_live_own_run *runs;
    size_t run_count, run_cap;
};

/* Whether the clone seems to lack something; cheap. */
bool td_live_own_differs(pid_t process, pid_t clone);
/* Adds the mappings of no file that the process has and its clone has not. */
void td_live_own_find(struct td_live_own *own, pid_t process, pid_t clone);
/* Copies what there is in them. False: the room is too small. */
bool td_live_own_read(struct td_live_own *own, pid_t process, uint8_t *room, size_t size);
/* Writes mapping `i`, with what was copied. As td_live_writer_data. */
int td_live_own_write(const struct td_live_own *own, size_t i, struct td_live_writer *writer,
                      struct td_err *err);
void td_live_own_release(struct td_live_own *own);

#endif
