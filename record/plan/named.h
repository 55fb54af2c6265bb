/* SPDX-License-Identifier: MIT */
/* Groups of events as the user names them, in the words that perf has for it. Pure. */
#ifndef TD_RECORD_PLAN_NAMED_H
#define TD_RECORD_PLAN_NAMED_H

#include "record/plan/plan.h"

/* "a,b:u,{c,d}:S": each event a group of its own, those in braces one. On a hybrid machine, generic
 * events are counted by each PMU. TD_EUSAGE, TD_EUNSUPPORTED or TD_EPERM with the event's name. */
int td_plan_add_named(struct td_plan *plan, const struct td_caps *caps,
                      const struct td_request *request, const char *text, struct td_err *err);

bool td_plan_group_needs_pmu(const struct td_plan_group *group);

/* TD_EUNSUPPORTED when the events of one of its passes are more than this PMU's counters that count
 * at the same time (td_probe): the kernel would hand out the others, too, and their events would
 * read 0. */
int td_plan_check_at_once(const struct td_plan *plan, const struct td_caps *caps,
                          struct td_err *err);

#endif
