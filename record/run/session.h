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

/* Runs the plan's events into `recording` (td_source.run), whose `native` it fills. */
int td_session_run(const struct td_request *request, const struct td_caps *caps,
                   const struct td_plan *plan, struct td_recording *recording);

#endif
