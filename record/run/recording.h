/* SPDX-License-Identifier: MIT */
/*
 * The profile that is being recorded: its file, what is told of it, and whether it may call itself
 * complete. Parts of one recording (hybrid's two runs) add to it one after the other.
 */
#ifndef TD_RECORD_RUN_RECORDING_H
#define TD_RECORD_RUN_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/profile/write.h"
#include "record/machine/caps.h"
#include "record/output.h"
#include "record/plan/plan.h"
#include "record/request.h"
#include "record/status.h"

struct td_beside;

/* How a run of a command went. */
struct td_run_end {
    bool began; /* the command was executed */
    bool whole; /* and recorded to its end */
    int status; /* of the command, as wait gives it; when whole */
    uint64_t elapsed_ns, samples;
};

struct td_recording {
    struct td_output output;
    struct td_profile_writer *writer; /* NULL: not open */
    bool more;                        /* another part follows this one: the file does not end yet */
    bool cut;                         /* less than was asked for is in it */
    const struct td_beside *beside;   /* done while events are sampled; borrowed, NULL: nothing */
    struct td_run_end native;         /* of the events' run, when it is over */
};

#define TD_RECORDING_INIT     \
    {                         \
        .output = {.fd = -1 } \
    }

/* Makes the file and writes its head, flushed; it is not in place yet. `pid` stands for %p in its
 * name. Nothing when it is open already. TD_EIO, TD_EUSAGE. */
int td_recording_open(struct td_recording *recording, const struct td_request *request,
                      const struct td_caps *caps, const struct td_plan *plan, uint32_t pid,
                      struct td_err *err);
/* Puts it where it was asked for, once: there is something worth keeping. */
int td_recording_place(struct td_recording *recording, struct td_err *err);
/* A sentence for stderr and for the head of every report. */
void td_recording_warn(struct td_recording *recording, struct td_status *status, const char *text);
/* The same of something that is missing: the profile will not call itself complete. */
void td_recording_cut(struct td_recording *recording, struct td_status *status, const char *text);
/* Where the file is, and what to type next. */
void td_recording_tell(const struct td_recording *recording, struct td_status *status);
/* Before the reason why it cannot be written any more: what becomes of it. */
void td_recording_prefix(const struct td_recording *recording, struct td_err *err);
/* Writes all that was given, and the end unless more follows or something is missing. */
int td_recording_finish(struct td_recording *recording, struct td_err *err);
/* Safe to call always. A file that was not put in place is gone. */
int td_recording_close(struct td_recording *recording, struct td_err *err);

#endif
