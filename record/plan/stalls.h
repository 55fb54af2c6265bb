/* SPDX-License-Identifier: MIT */
/* --count --report stalls: sets of events that the counters hold at once, for all that
 * formats/cores/stalls.h wants to know. Pure. */
#ifndef TD_RECORD_PLAN_STALLS_H
#define TD_RECORD_PLAN_STALLS_H

#include <stddef.h>

#include "record/machine/pmu_core.h"

#define TD_PLAN_STALL_SETS_MAX 16

/* Fills `sets`, each with the clock as its first event, and returns how many: 0 where the core has
 * no clock that can be counted here. What this machine or this user cannot count is left out. */
size_t td_plan_stall_sets(struct td_pmu_group sets[TD_PLAN_STALL_SETS_MAX],
                          const struct td_pmu_core *core, const struct td_caps *caps,
                          const struct td_pmu *pmu);

#endif
