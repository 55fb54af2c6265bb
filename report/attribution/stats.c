/* SPDX-License-Identifier: MIT */
#include "report/attribution/stats.h"

#include <math.h>

#define Z_95 1.959964

double td_share_error(double p, uint64_t n)
{
    if (n == 0)
        return 1;
    const double count = (double)n;
    const double z2_over_n = Z_95 * Z_95 / count;

    return Z_95 / (1 + z2_over_n) * sqrt(p * (1 - p) / count + z2_over_n / (4 * count));
}

uint64_t td_rounded(long double value)
{
    if (!(value > 0))
        return 0;
    return value < 18446744073709551615.0L ? (uint64_t)(value + 0.5L) : UINT64_MAX;
}

double td_ratio(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}
