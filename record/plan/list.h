/* SPDX-License-Identifier: MIT */
/* --list: what can be counted here by name, one line each. */
#ifndef TD_RECORD_PLAN_LIST_H
#define TD_RECORD_PLAN_LIST_H

#include <stdio.h>

#include "base/err.h"
#include "record/machine/caps.h"

/* For each core PMU: levels of the tree, metrics by group, groups of events, events.
 * TD_EUNSUPPORTED when the machine has no core PMU. */
int td_plan_list(const struct td_caps *caps, FILE *out, struct td_err *err);

#endif
