/* SPDX-License-Identifier: MIT */
/*
 * What this machine's core does, measured by loops whose cost in cycles is known or asked for. A
 * run counts only when a probe before and after it shows the core at full speed: on shared machines
 * other work slows it down, also in CPU time.
 */
#ifndef TD_RECORD_MACHINE_TIMINGS_H
#define TD_RECORD_MACHINE_TIMINGS_H

#include <stdbool.h>
#include <stddef.h>

/* X(symbol, name for people, unit: MHz, else cycles) */
#define TD_TIMINGS(X)                               \
    X(CLOCK, "clock", "MHz")                        \
    X(L1, "L1 latency", "cycles")                   \
    X(L2, "L2 latency", "cycles")                   \
    X(L3, "L3 latency", "cycles")                   \
    X(DRAM, "memory latency", "cycles")             \
    X(READ, "memory read, a line", "cycles")        \
    X(WRITE, "memory write, a line more", "cycles") \
    X(MISPREDICT, "mispredicted branch", "cycles")  \
    X(WALK, "address not in the TLBs", "cycles")

enum td_timing_kind {
#define X(symbol, name, unit) TD_TIMING_##symbol,
    TD_TIMINGS(X)
#undef X
        TD_TIMING_COUNT
};

struct td_timing {
    double value;
    bool quiet;    /* every run that counted was at full speed */
    double spread; /* (largest - smallest) / smallest of the runs that counted */
};

/* Runs all probes in `seconds` or somewhat more; fills `results` by enum td_timing_kind. `l2_kb`:
 * the size of the second-level cache. False when there is no memory for it. */
bool td_timings_run(struct td_timing results[TD_TIMING_COUNT], double seconds, size_t l2_kb);

#endif
