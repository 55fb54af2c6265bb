/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
    struct timespec ts = {0};

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * TD_NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t td_clock_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t td_clock_process_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t td_clock_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
