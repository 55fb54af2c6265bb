/* SPDX-License-Identifier: MIT */
/* The reasons for which a slot is lost, and the node of the top-down tree each counts in. */
#ifndef TD_RECORD_SIM_MODEL_CAUSES_H
#define TD_RECORD_SIM_MODEL_CAUSES_H

#include "formats/cores/tma.h"

/* X(symbol, node, what the rule is) */
#define TD_CAUSES(X)                                                                           \
    X(MISPREDICT, BRANCH_MISPREDICTS, "between a branch mispredicted and its recovery")        \
    X(CLEAR, MACHINE_CLEARS,                                                                   \
      "a load ran before an older store to its address; all after it "                         \
      "is thrown away")                                                                        \
    X(ICACHE, ICACHE_MISSES, "the line of code was not in L1I in time")                        \
    X(ITLB, ITLB_MISSES, "its page was not in the instruction TLB")                            \
    X(RESTEER, BRANCH_RESTEERS, "fetch restarts after a mispredict, or at a target not known") \
    X(FETCH, FETCH_BANDWIDTH, "uops were delivered more slowly than they could be dispatched") \
    X(L1, L1_BOUND, "the oldest uop waits for a load that L1 or the store buffer serves")      \
    X(L2, L2_BOUND, "the oldest uop waits for a load that L2 serves")                          \
    X(L3, L3_BOUND, "the oldest uop waits for a load that L3 serves")                          \
    X(DRAM, DRAM_BOUND, "the oldest uop waits for a load that memory serves")                  \
    X(STORE, STORE_BOUND, "the store buffer is full")                                          \
    X(DIVIDER, DIVIDER, "the oldest uop is a divide, or waits for the divider")                \
    X(PORTS, PORTS_UTILIZATION, "the oldest uop waits for a result, a port or serialization")

enum td_cause {
#define X(symbol, node, meaning) TD_CAUSE_##symbol,
    TD_CAUSES(X)
#undef X
        TD_CAUSE_COUNT
};

#endif
