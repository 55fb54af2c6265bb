/* SPDX-License-Identifier: MIT */
/*
 * A place in a running program for code that makes one system call in the name of a thread, and
 * then goes on where the thread was, with its registers and its signal mask, by itself. So whoever
 * traces the thread may die at any moment.
 *
 * The place lies in the pages of the vdso, behind what the kernel put there. Of the pages the
 * program gets a copy of its own by that. One process at a time has the place.
 */
#ifndef TD_RECORD_LIVE_DETOUR_H
#define TD_RECORD_LIVE_DETOUR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "record/live/outcome.h"

struct td_live_detour {
    bool open;
    int memory, folder;  /* /proc/PID/mem and /proc/PID, which is locked */
    uint64_t start, end; /* the room */
    uint64_t at;         /* where the code is; 0: it is not there yet */
};

/* Looks for the room; before the stop, since it takes time. TD_LIVE_TAKEN: td_live_detour_close
 * follows, after the thread was let go. Else why not. */
enum td_live_outcome td_live_detour_open(struct td_live_detour *detour, pid_t process);
/* Also of one that is all zeros. */
void td_live_detour_close(struct td_live_detour *detour);

/* Writes the code there, in place of what this detour had. Returns its address; 0: nothing was
 * written, since the room is used up or the program is another by now. */
uint64_t td_live_detour_write(struct td_live_detour *detour, const struct td_buf *code);
/* Leaves zeros, as they were. No thread is there any more. */
void td_live_detour_erase(struct td_live_detour *detour);

#endif
