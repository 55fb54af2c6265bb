/* SPDX-License-Identifier: MIT */
/*
 * The `hybrid` source: the command runs natively, sampled by the clock, and then again on the
 * modelled core; one profile holds both, and a report joins them by place in the code.
 */
#ifndef TD_RECORD_RUN_HYBRID_H
#define TD_RECORD_RUN_HYBRID_H

#include "record/machine/caps.h"
#include "record/plan/plan.h"
#include "record/run/recording.h"
#include "record/request.h"

/* As td_session_run, for a plan of the `hybrid` source. The status is the native run's, or the
 * modelled one's when that was cut. */
int td_hybrid_run(const struct td_request *request, const struct td_caps *caps,
                  const struct td_plan *plan, struct td_recording *recording);

#endif
