/* SPDX-License-Identifier: MIT */
/* The events that a profile holds samples of, and which of them a report is of. */
#ifndef TD_REPORT_QUERY_FIGURES_SAMPLED_H
#define TD_REPORT_QUERY_FIGURES_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/measure.h"

/* One event. On hybrid CPUs the same event of two core types is two events ("cpu_core/cycles/" and
 * "cpu_atom/cycles/"), and a third that adds them up ("cycles"). */
struct td_sampled_event {
    char *name; /* as --event takes it; "" of what is not sampled: modelled tallies */
    enum td_group_role role;
    bool is_sum;      /* of all core types */
    size_t sum;       /* of one core type: the index of the event that adds all up; else its own */
    uint64_t samples; /* of the whole profile, whatever is filtered */
    enum td_unit unit;
};

struct td_sampled {
    struct td_sampled_event *at;
    size_t len;
};

/* In the order of the groups; sums last. Release in any case. */
void td_sampled_of(struct td_sampled *ret, const struct td_model *model);
void td_sampled_release(struct td_sampled *sampled);

/* Whether the group's samples are the event's. */
bool td_sampled_has(const struct td_sampled_event *event, const struct td_model *model,
                    const struct td_group *group);

/* The event that a report is of when nobody says: what is modelled, else time, else cycles, else
 * any; of equally useful ones the one with most samples. TD_NONE when there is none. */
uint32_t td_sampled_best(const struct td_sampled *sampled);
/* By its name, or its name without modifiers ("cycles" of "cycles:u") when only one has it.
 * TD_NONE when there is none. */
uint32_t td_sampled_by_name(const struct td_sampled *sampled, const char *name);

/* Whether the measure's figures are of the event at `i`: alone, or added up with its like. */
bool td_sampled_is_shown(const struct td_sampled *sampled, size_t i,
                         const struct td_measure *measure);

/* TD_EUSAGE: that there is no event `name`, and which there are, also those that samples of others
 * have read. */
int td_sampled_refuse(const struct td_sampled *sampled, const struct td_model *model,
                      const char *name, struct td_err *err);

#endif
