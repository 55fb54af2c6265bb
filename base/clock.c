/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

uint64_t td_clock_ns(void)
{
    struct timespec ts = {0};

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * TD_NS_PER_S + (uint64_t)ts.tv_nsec;
}
