/* SPDX-License-Identifier: MIT */
/* One recording from start to end: the command, its signals, the rings, the file. */
#ifndef TD_RECORD_SESSION_H
#define TD_RECORD_SESSION_H

#include "base/err.h"
#include "record/caps.h"
#include "record/plan.h"
#include "record/request.h"

/* Records as planned; tells the user on stderr. Returns the exit status of tdrec. All borrowed. */
int td_session_run(const struct td_request *request, const struct td_caps *caps,
                   const struct td_plan *plan);

#endif
