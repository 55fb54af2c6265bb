/* SPDX-License-Identifier: MIT */
/* One recording from start to end: the command, its signals, the rings, the file. */
#ifndef TD_RECORD_RUN_SESSION_H
#define TD_RECORD_RUN_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/plan/plan.h"
#include "record/run/recording.h"
#include "record/request.h"

/* How a recording of a command went. */
struct td_session_end {
    bool began; /* the command was executed */
    bool whole; /* and recorded to its end */
    int status; /* of the command, as wait gives it; when whole */
    uint64_t elapsed_ns, samples;
};

/* Records as planned into `recording`, which it opens; tells the user on stderr. Returns the exit
 * status of tdrec. All borrowed; `end`, which is filled, may be NULL. */
int td_session_run(const struct td_request *request, const struct td_caps *caps,
                   const struct td_plan *plan, struct td_recording *recording,
                   struct td_session_end *end);

#endif
