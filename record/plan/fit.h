/* SPDX-License-Identifier: MIT */
/* Whether events that a user put into one group can be counted at the same time. Pure. */
#ifndef TD_RECORD_PLAN_FIT_H
#define TD_RECORD_PLAN_FIT_H

#include <stddef.h>

#include "record/plan/plan.h"

/* Checks the groups from `first` on: TD_EUSAGE when the counters of a known core cannot hold all
 * events of one at once, so that the kernel would refuse it or never count it. `text` is what the
 * user wrote. */
int td_plan_check_fit(const struct td_plan *plan, size_t first, const struct td_caps *caps,
                      const char *text, struct td_err *err);

#endif
