/* SPDX-License-Identifier: MIT */
/* Which samples tell how long an instruction took and where its data came from
 * (PERF_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_DATA_SRC), and asking for that. Pure. */
#ifndef TD_RECORD_PLAN_LATENCY_H
#define TD_RECORD_PLAN_LATENCY_H

#include <stdbool.h>
#include <stddef.h>

#include "record/plan/plan.h"

/* Why samples of the event tell no latency on this machine, a sentence without the event's name;
 * NULL when they do. */
const char *td_plan_no_latency(const struct td_caps *caps, const struct td_plan_event *event);
/* Has the event's samples tell what they can, in columns of the group; nothing when there is none.
 */
void td_plan_add_latency(struct td_plan_group *group, const struct td_caps *caps,
                         struct td_plan_event *event);
/* EVENT:R: TD_EUNSUPPORTED, with what the machine can do, when samples of this core have no retire
 * latency (timed PEBS). */
int td_plan_check_retire(const struct td_caps *caps, const struct td_plan_event *event,
                         struct td_err *err);
/* -W: TD_EUNSUPPORTED when no sample of the plan tells a latency. `named`: the user named events.
 */
int td_plan_check_latency(const struct td_plan *plan, bool named, const struct td_caps *caps,
                          struct td_err *err);

#endif
