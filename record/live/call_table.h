/* SPDX-License-Identifier: MIT */
/* Which memory the kernel writes in a system call, and what of the call must be the same where its
 * answer is given again. */
#ifndef TD_RECORD_LIVE_CALL_TABLE_H
#define TD_RECORD_LIVE_CALL_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "record/sim/share/live_calls.h"

enum td_live_call_kind {
    TD_LIVE_CALL_NOTED,
    TD_LIVE_CALL_OWN, /* a window makes it itself: memory, clocks */
    TD_LIVE_CALL_LAST /* what it does cannot be given again: nothing is noted from here on */
};
enum td_live_call_kind td_live_call_kind(uint64_t number);

/* Notes a call that has just ended, with its number, arguments, result and time, of a thread of
 * `process` that stands still. False: it is too much. */
bool td_live_call_note(struct td_buf *log, pid_t process, const struct td_live_call *call);

#endif
