/* SPDX-License-Identifier: MIT */
/* What a measure of single samples took over the time of the run, in equal steps. */
#ifndef TD_REPORT_QUERY_TIMELINE_H
#define TD_REPORT_QUERY_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

struct td_timeline {
    uint64_t from_ns; /* CLOCK_MONOTONIC of its begin */
    uint64_t step_ns;
    size_t len;
    uint64_t *values[TD_METRIC_COUNT]; /* by step; NULL: the measure has none. Sums are totals. */
};

/* False, with nothing to release, when the measure has no times. */
bool td_timeline_of(struct td_timeline *timeline, const struct td_measure *measure);
void td_timeline_release(struct td_timeline *timeline);

#endif
