/* SPDX-License-Identifier: MIT */
#ifndef TD_BASE_CLOCK_H
#define TD_BASE_CLOCK_H

#include <stdint.h>

#define TD_NS_PER_S UINT64_C(1000000000)

/* CLOCK_MONOTONIC, in nanoseconds. */
uint64_t td_clock_ns(void);
/* CPU time of the calling thread, and of the whole process. */
uint64_t td_clock_thread_ns(void);
uint64_t td_clock_process_ns(void);

#endif
