/* SPDX-License-Identifier: MIT */
/*
 * The windows of a live recording: images wait here for the emulator that serves their process, one
 * emulator at a time; an emulator that dies is started again with those that are left.
 */
#ifndef TD_RECORD_RUN_LIVE_WINDOWS_H
#define TD_RECORD_RUN_LIVE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/cores/core.h"
#include "formats/profile/write.h"
#include "record/sim/share/mailbox.h"

struct td_live_windows;

/* Of windows so far, by how they ended. */
struct td_live_counts {
    uint64_t whole, cut;
    uint64_t early; /* a system call came before anything counted */
    uint64_t fault; /* code that the emulator does not have, or that failed in it */
    uint64_t lost;  /* not loaded, or their emulator died */
    uint64_t waiting;
    uint64_t answered; /* system calls in windows, with what the program itself got for them */
};

/* Windows that the profile has something of. */
static inline uint64_t td_live_counts_useful(const struct td_live_counts *counts)
{
    return counts->whole + counts->cut;
}

/* Finds the emulator. TD_EUNSUPPORTED, TD_EIO. */
int td_live_windows_new(struct td_live_windows **ret, const struct td_core_desc *core,
                        struct td_err *err);
/* Takes over the image that descriptor `fd` is open on, of a process of this name. It stands for so
 * much CPU time of the recording. */
void td_live_windows_add(struct td_live_windows *windows, int fd, uint64_t number,
                         const char *process, uint64_t stands_ns);
/* Bytes of the images that wait. */
uint64_t td_live_windows_bytes(const struct td_live_windows *windows);
/* How many of a thread's next system calls an image is to have, by what windows asked for lately.
 */
uint32_t td_live_windows_calls(const struct td_live_windows *windows);
/* Takes what came, and starts and feeds emulators. */
void td_live_windows_turn(struct td_live_windows *windows);
/* Why no more windows are run, since the emulator ends at once each time; NULL: they are. */
const char *td_live_windows_failure(const struct td_live_windows *windows);
struct td_live_counts td_live_windows_counts(const struct td_live_windows *windows);
/* What was modelled, and on which core, into the profile: when no more comes. Emulators are ended.
 */
void td_live_windows_write(struct td_live_windows *windows, struct td_profile_writer *writer);
void td_live_windows_free(struct td_live_windows *windows); /* NULL is allowed */

#endif
