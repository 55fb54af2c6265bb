/* SPDX-License-Identifier: MIT */
/*
 * Repairs a clone for an emulator that has neither AVX-512, RTM nor XSAVEC. Which of several
 * versions of memcpy, strlen and the like is used was decided when the program began, by what this
 * processor has. In the clone, the functions that decide are called anew, after the C library's
 * answer to what the processor has was changed, and a thread inside such a version is run to its
 * return. The program itself is never touched.
 *
 * What is compiled for AVX-512, or decides by other means, stays as it is.
 */
#ifndef TD_RECORD_LIVE_REPAIR_H
#define TD_RECORD_LIVE_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "record/live/isa.h"

struct td_live_repair {
    size_t places; /* that lead to another function now */
    bool moved;    /* the clone has run on, out of a function: its registers are others */
};

/* `clone` stands still and is traced by the caller; it has these registers. Nothing but the clone's
 * own memory changes: what would call the kernel is not run. */
struct td_live_repair td_live_repair(pid_t clone, const struct td_live_registers *registers);

#endif
