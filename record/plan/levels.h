/* SPDX-License-Identifier: MIT */
/* Which levels of the tree a plan counts, which it could count in further runs, and which this core
 * does not give at all. */
#ifndef TD_RECORD_PLAN_LEVELS_H
#define TD_RECORD_PLAN_LEVELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/cores/pmu.h"
#include "record/plan/plan.h"

struct td_plan_level_ctx {
    const struct td_pmu_core *core;
    uint64_t done;        /* the core's groups that the plan has, a bit each; */
    uint64_t possible;    /* those that this machine and user can count at all */
    const char *cpu_type; /* of hybrid machines; "" else */
    unsigned wanted;      /* --topdown-level; 0: what fits */
};

/* Whether the core's i-th group gives all of level 1 by itself. */
bool td_plan_is_whole(const struct td_pmu_core *core, size_t i);
/* Takes the metrics out of a group of slots without which the tree down to `level` can be had, so
 * that samples are shorter. */
void td_plan_drop_deeper(struct td_plan_group *group, const struct td_pmu_core *core,
                         unsigned level);
/* Says in plan->levels which levels of the tree the core's groups give, and leaves out by name,
 * with the reason, what they do not. Pure. */
void td_plan_tell_levels(struct td_plan *plan, const struct td_plan_level_ctx *ctx);

#endif
