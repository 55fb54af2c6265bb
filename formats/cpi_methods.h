/* SPDX-License-Identifier: MIT */
/*
 * Ways in which counters of a core divide its cycles among what it waited for, as compared by
 * Eyerman, Eeckhout, Karkhanis and Smith, "A performance counter architecture for computing
 * accurate CPI components" (2006). The modelled core counts in each of them beside its own slots
 * (record/sim/model/counting.h says by which rules); a profile has the cycles as counters.
 */
#ifndef TD_FORMATS_CPI_METHODS_H
#define TD_FORMATS_CPI_METHODS_H

/* X(symbol, name, what it is) */
#define TD_CPI_METHODS(X)                                                               \
    X(NAIVE, "naive", "misses times latency, of wrong paths too")                       \
    X(RIGHT_PATH, "naive_right_path", "misses times latency, of the right path alone")  \
    X(POWER5, "power5", "cycles in which nothing completes, by the oldest instruction") \
    X(INTERVAL, "interval", "interval analysis: cycles in which nothing can be dispatched")

enum td_cpi_method {
#define X(symbol, name, meaning) TD_CPI_METHOD_##symbol,
    TD_CPI_METHODS(X)
#undef X
        TD_CPI_METHOD_COUNT
};

/* What is told apart. X(symbol, name, meaning) */
#define TD_CPI_COMPONENTS(X)                                                \
    X(ICACHE, "icache_misses", "lines of code that were not in L1I")        \
    X(ITLB, "itlb_misses", "pages of code that were not in the TLB")        \
    X(BRANCHES, "branches", "mispredicted branches, and targets not known") \
    X(DTLB, "dtlb", "pages of data that were not in the TLB")               \
    X(L2, "l2_bound", "data that L2 served")                                \
    X(L3, "l3_bound", "data that L3 served")                                \
    X(DRAM, "dram_bound", "data that memory served")                        \
    X(OTHER, "other_stalls", "what else held up the window: chains, ports, stores")

enum td_cpi_component {
#define X(symbol, name, meaning) TD_CPI_OF_##symbol,
    TD_CPI_COMPONENTS(X)
#undef X
        TD_CPI_COMPONENT_COUNT
};

/* The counters of a profile: two for all ways, then those of each way, component by component. */
enum {
    TD_CPI_COUNT_CYCLES,  /* cycles in which was counted */
    TD_CPI_COUNT_OVERLAP, /* of them, those in which both the front end and the window stalled */
    TD_CPI_COUNT_FIRST,
    TD_CPI_COUNTS = TD_CPI_COUNT_FIRST + (int)TD_CPI_METHOD_COUNT * (int)TD_CPI_COMPONENT_COUNT
};

static inline unsigned td_cpi_count_of(enum td_cpi_method method, enum td_cpi_component component)
{
    return TD_CPI_COUNT_FIRST + (unsigned)method * (unsigned)TD_CPI_COMPONENT_COUNT +
           (unsigned)component;
}

#endif
