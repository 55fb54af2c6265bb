/* SPDX-License-Identifier: MIT */
/* Groups that sample in pairs: two samplers of one event, a short and fixed distance apart. Pure.
 */
#ifndef TD_RECORD_PLAN_PAIRS_H
#define TD_RECORD_PLAN_PAIRS_H

#include "record/plan/plan.h"

/* Why no group of this plan can sample in pairs, a phrase; NULL when one can, counters permitting.
 */
const char *td_plan_pairs_refusal(const struct td_plan *plan);

/* Gives the group, whose sampler is set up, a second one; there is room for it. Both then have a
 * fixed period, by which each takes half the samples; `counts_hz` is how fast the event counts. */
void td_plan_pair_group(struct td_plan_group *group, uint64_t counts_hz);

/* --pairs on with events that the user names: pairs all groups that are read by a sampler. */
void td_plan_pair_named(struct td_plan *plan, const struct td_caps *caps,
                        const struct td_request *request);

/* Says why there are no pairs; announced when they were asked for. */
void td_plan_tell_no_pairs(struct td_plan *plan, const struct td_request *request, const char *why);

/* The highest rate of cycles of this PMU's CPUs. */
uint64_t td_plan_cycles_hz(const struct td_pmu *pmu);

#endif
