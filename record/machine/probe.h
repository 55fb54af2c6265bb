/* SPDX-License-Identifier: MIT */
/*
 * Whether the counters count: some virtual machines offer a PMU whose values stay at zero or are
 * all the same. A known piece of work is counted and what comes out is judged. `read` does the
 * counting, so that tests and recorded machines can say what it was.
 */
#ifndef TD_RECORD_MACHINE_PROBE_H
#define TD_RECORD_MACHINE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cores/pmu.h"
#include "record/machine/caps.h"

/* The values of the group's events after the work, in their order: 0. An errno when the kernel
 * refuses them; -1 when they were not counted, as when others hold the counters: then nothing is
 * concluded. */
typedef int td_probe_read_fn(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                             const struct td_pmu_group *group, uint64_t *values);

/* Fills no_slots, dead, refused, fault, idle_counters and counters_at_once of each core
 * PMU. */
void td_probe(struct td_caps *caps, td_probe_read_fn *read, void *ctx);

/* A td_probe_read_fn for this machine: opens the group, works about a millisecond on one of the
 * PMU's CPUs, reads. The thread may run afterwards where it could before. */
int td_probe_count(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                   const struct td_pmu_group *group, uint64_t *values);
/* One for a recorded machine: DIR/probe has lines "EVENT: VALUE", or "PMU/EVENT: VALUE" of one kind
 * of core; "counters: 5" says that no more than that many count at once; `ctx` is the caps. */
int td_probe_recorded(void *ctx, const struct td_pmu *pmu, const struct td_pmu_core *core,
                      const struct td_pmu_group *group, uint64_t *values);

#endif
