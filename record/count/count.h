/* SPDX-License-Identifier: MIT */
/* --count: the plan's counters read at the end, and each interval, instead of samples. */
#ifndef TD_RECORD_COUNT_COUNT_H
#define TD_RECORD_COUNT_COUNT_H

#include "record/machine/caps.h"
#include "record/plan/plan.h"
#include "record/request.h"

/* Counts as planned and prints to stdout, or to the request's output; tells on stderr what went
 * wrong. Returns the exit status of tdrec. All borrowed. */
int td_count_run(const struct td_request *request, const struct td_caps *caps,
                 const struct td_plan *plan);

#endif
