/* SPDX-License-Identifier: MIT */
/* The sums of a plan's counters over all that were opened for it, and their differences. Pure. */
#ifndef TD_RECORD_COUNT_COUNTS_H
#define TD_RECORD_COUNT_COUNTS_H

#include <stdint.h>

#include "record/events/events.h"
#include "record/plan/plan.h"

/* One event, all CPUs and tasks together. */
struct td_count {
    uint64_t value;
    uint64_t enabled_ns, running_ns; /* less running than enabled: others had their turn */
};

struct td_counts {
    const struct td_plan *plan; /* borrowed */
    struct td_count *at;        /* private: td_counts_get */
};

void td_counts_init(struct td_counts *counts, const struct td_plan *plan);
void td_counts_release(struct td_counts *counts);
/* A td_counter_value_fn; `ctx` is a struct td_counts, to which the value is added. */
void td_counts_take(void *ctx, const struct td_counter_value *value);
/* now - before into *ret, both of the same plan. */
void td_counts_difference(struct td_counts *ret, const struct td_counts *now,
                          const struct td_counts *before);
void td_counts_clear(struct td_counts *counts);
/* Adds `more`, of the same plan. */
void td_counts_add(struct td_counts *counts, const struct td_counts *more);
void td_counts_copy(struct td_counts *ret, const struct td_counts *from);
/* `group` and `event` are of the plan. */
const struct td_count *td_counts_get(const struct td_counts *counts, size_t group, size_t event)
    __attribute__((returns_nonnull));

/* The part of the time that it was counted in: 1 when nothing else had a turn, or nothing ran. */
double td_count_share(const struct td_count *count);
/* The value scaled up to the whole time; NaN when it never had a turn. */
double td_count_estimate(const struct td_count *count);

#endif
