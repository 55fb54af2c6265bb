/* SPDX-License-Identifier: MIT */
/*
 * --groups: what a user names, in perf's, Arm's or our words, and which of a core's groups of
 * events it takes to count that. Pure.
 */
#ifndef TD_RECORD_PLAN_GROUPS_H
#define TD_RECORD_PLAN_GROUPS_H

#include <stdint.h>

#include "base/err.h"
#include "base/opt.h"
#include "formats/cores/pmu.h"

/* The core's groups, by bit, that count everything in `names`: levels of the tree ("TopdownL1"),
 * groups of metrics ("tlb", "branch", "MPKI"), single metrics, or groups of events. Neither case
 * nor '_' and '-' matter. TD_EUSAGE, with what there is, when this core has none of that name. */
int td_plan_groups_of(uint64_t *ret, const struct td_pmu_core *core,
                      const struct td_opt_list *names, struct td_err *err);

#endif
