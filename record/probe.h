/* SPDX-License-Identifier: MIT */
/*
 * Whether the counters count: some virtual machines offer a PMU whose values stay at zero or are
 * all the same. A known piece of work is counted and what comes out is judged. `read` does the
 * counting, so that tests and recorded machines can say what it was.
 */
#ifndef TD_RECORD_PROBE_H
#define TD_RECORD_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/uarch_pmu.h"
#include "record/caps.h"

/* The values of the group's events after the work, in their order. False when they could not be
 * counted; then nothing is concluded. */
typedef bool td_probe_read_fn(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                              const struct td_pmu_group *group, uint64_t *values);

/* Fills no_slots, dead and fault of the core PMU. Machines with several kinds of cores are not
 * tried: the work runs on one of them. */
void td_probe(struct td_caps *caps, td_probe_read_fn *read, void *ctx);

/* A td_probe_read_fn for this machine: opens the group, works about a millisecond, reads. */
bool td_probe_count(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                    const struct td_pmu_group *group, uint64_t *values);
/* One for a recorded machine: DIR/probe has lines "EVENT VALUE"; `ctx` is the caps. */
bool td_probe_recorded(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                       const struct td_pmu_group *group, uint64_t *values);

#endif
