/* SPDX-License-Identifier: MIT */
/* What counted events say beside their number: instructions a cycle, misses a branch ... Pure. */
#ifndef TD_RECORD_COUNT_RATE_H
#define TD_RECORD_COUNT_RATE_H

#include "record/count/counts.h"

struct td_count_rate {
    double value;     /* NaN: there is none */
    const char *unit; /* "% of branches" */
    int digits;       /* after the point */
};

/* The rate of one event of the plan: over another one that was counted on the same type of CPU, or
 * over the time. */
struct td_count_rate td_count_rate_of(const struct td_counts *counts, size_t group, size_t event,
                                      double elapsed_s);

#endif
