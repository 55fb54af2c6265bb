/* SPDX-License-Identifier: MIT */
/* Which core description is for which PMU of this machine, and what fits its counters. Pure. */
#ifndef TD_RECORD_MACHINE_PMU_CORE_H
#define TD_RECORD_MACHINE_PMU_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/cores/pmu.h"
#include "record/machine/caps.h"

/* A description that was chosen, with the text it borrows from. */
struct td_pmu_choice {
    struct td_uarch *uarch;
    struct td_pmu_core *core;
    char why[320]; /* why not a better one: "" when the CPU's own description is used */
};

/* The description for the CPUs of `pmu`: the best fit that this kernel can count. TD_ENODATA when
 * there is not even a generic one. */
int td_pmu_choose(struct td_pmu_choice *ret, const struct td_caps *caps, const struct td_pmu *pmu,
                  struct td_err *err);
void td_pmu_choice_release(struct td_pmu_choice *choice);

/* Whether any of its groups gives a level of the tree. */
bool td_pmu_counts_slots(const struct td_pmu_core *core);

/* The counters that are there for us: fixed ones and general ones, as bits. */
struct td_pmu_counters {
    uint32_t fixed, general;
    uint32_t metrics; /* perf-metrics events, at most 8 on a CPU (Linux, add_nr_metric_event) */
    bool alone;       /* the register that `alone` events share is taken, */
    uint64_t value;   /* with this value: td_pmu_event.config1 */
};

/* All that the core has less what the NMI watchdog holds and what does not count on this PMU. */
struct td_pmu_counters td_pmu_counters_free(const struct td_pmu_core *core,
                                            const struct td_caps *caps, const struct td_pmu *pmu);
/* Places these events on counters at the same time, and takes what they use from *counters. False,
 * and nothing is taken, when they do not all fit. */
bool td_pmu_counters_take(struct td_pmu_counters *counters, const struct td_pmu_core *core,
                          const uint32_t *events, size_t count);

/* The first event of the group that counts both threads of a core ("any"), which needs the right to
 * watch whole CPUs; NULL when none does. */
const char *td_pmu_group_any(const struct td_pmu_core *core, const struct td_pmu_group *group);
/* An event of the group that takes two counters, which virtual machines count wrongly; NULL: none.
 */
const char *td_pmu_group_pair(const struct td_pmu_core *core, const struct td_pmu_group *group);

#endif
