/* SPDX-License-Identifier: MIT */
/* How sure a share is. */
#ifndef TD_REPORT_ATTRIBUTION_STATS_H
#define TD_REPORT_ATTRIBUTION_STATS_H

#include <stdint.h>

/* Half the width of Wilson's 95 % interval of a share `p` seen in `n` samples; 1 when n is 0.
 * Samples on a fixed clock spread less than independent ones, so the figure errs to the safe
 * side. Wilson, JASA 22 (1927); unlike p ± 1.96 s it does not vanish at p = 0. */
double td_share_error(double p, uint64_t n);

/* To the nearest; what does not fit is the nearest that does, and NaN is 0. */
uint64_t td_rounded(long double value);

/* part / whole, and 0 of nothing. */
double td_ratio(uint64_t part, uint64_t whole);

#endif
