/* SPDX-License-Identifier: MIT */
/*
 * Stalled cycles and what they wait for, on any core that is described: which of its events say
 * how many cycles execution stood still, for what, and how many accesses each level of the memory
 * served. A core counts what it has; what none of its events says is not known. Pure.
 */
#ifndef TD_FORMATS_CORES_STALLS_H
#define TD_FORMATS_CORES_STALLS_H

#include <stdbool.h>

#include "formats/cores/pmu.h"

/* X(symbol, name, what it is, for people) */
#define TD_STALL_COUNTS(X)                                         \
    X(CYCLES, "cycles", "cycles")                                  \
    X(INSTRUCTIONS, "instructions", "instructions retired")        \
    X(NOPS, "nops", "instructions that do nothing")                \
    X(STALLED, "stalled", "stalled cycles")                        \
    X(DATA, "data_access", "waiting for data of loads")            \
    X(DATA_L1, "data_l1", "in L1 or on its way there")             \
    X(DATA_L2, "data_l2", "from L2")                               \
    X(DATA_L3, "data_l3", "from L3")                               \
    X(DATA_MEMORY, "data_memory", "from memory")                   \
    X(STORES, "stores", "store buffer full")                       \
    X(BRANCHES, "branches", "after mispredicted branches")         \
    X(CODE, "code", "waiting for code")                            \
    X(DIVIDER, "divider", "divider busy")                          \
    X(FROM_L2, "from_l2", "accesses that L2 served")               \
    X(FROM_L3, "from_l3", "accesses that L3 served")               \
    X(FROM_MEMORY, "from_memory", "accesses that memory served")   \
    X(WALKS, "walks", "page walks for data")                       \
    X(L2_MISSES, "l2_misses", "misses of L2")                      \
    X(L2_REFERENCES, "l2_references", "accesses to L2")            \
    X(L3_MISSES, "l3_misses", "misses of L3")                      \
    X(L3_REFERENCES, "l3_references", "accesses to L3")            \
    X(FP_OPERATIONS, "fp_operations", "floating point operations") \
    X(FP_INSTRUCTIONS, "fp_instructions", "floating point and vector instructions")

enum td_stall_count {
#define X(symbol, name, meaning) TD_STALL_##symbol,
    TD_STALL_COUNTS(X)
#undef X
        TD_STALL_COUNT
};

struct td_stall_formulas;

/* What this core can count of them. `core` must live as long. Never NULL; the caller frees it. */
struct td_stall_formulas *td_stall_formulas_new(const struct td_pmu_core *core)
    __attribute__((returns_nonnull));
void td_stall_formulas_free(struct td_stall_formulas *formulas); /* NULL is allowed */

/* The events that say it; empty: none of this core does. */
td_pmu_event_set td_stall_events(const struct td_stall_formulas *formulas,
                                 enum td_stall_count which);
/* Its value, from counts by event, NaN for those not counted; NaN when it is not known. */
double td_stall_value(const struct td_stall_formulas *formulas, enum td_stall_count which,
                      const double *counts);

const char *td_stall_name(enum td_stall_count which) __attribute__((returns_nonnull));
const char *td_stall_meaning(enum td_stall_count which) __attribute__((returns_nonnull));

#endif
