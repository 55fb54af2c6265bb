/* SPDX-License-Identifier: MIT */
/*
 * What a thread asks of the kernel in the moments after its image was taken: it is let run on under
 * observation, and each of its system calls is noted with what it got. Servers cross hundreds of
 * calls in one window; what is noted here answers them there (share/live_calls.h).
 *
 * A call that is watched takes longer: two stops of some microseconds each.
 */
#ifndef TD_RECORD_LIVE_CALLS_H
#define TD_RECORD_LIVE_CALLS_H

#include <stdint.h>

#include "base/bytes.h"
#include "record/live/stop.h"

/* The most calls that are worth it: a program that makes more in a window does nothing else. */
#define TD_LIVE_CALLS_MAX 8192

struct td_live_calls {
    struct td_buf log;
    uint32_t count;
    uint64_t held_ns; /* that the thread stood still for it, as far as this process can tell */
};

/* Lets the stopped thread run on and notes up to `limit` calls, until what a window needs is there,
 * the thread does something that cannot be given again, or `waiting` gives up. The thread has been
 * let go afterwards. `calls` is zeroed before; the caller releases its log. */
void td_live_calls_watch(struct td_live_calls *calls, struct td_live_stop *stop, uint32_t limit,
                         const struct td_live_waiting *waiting);

#endif
