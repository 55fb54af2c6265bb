/* SPDX-License-Identifier: MIT */
/* What becomes of a slot: what retires in it, or why it is lost, and the node of the top-down tree
 * each counts in. */
#ifndef TD_RECORD_SIM_MODEL_CAUSES_H
#define TD_RECORD_SIM_MODEL_CAUSES_H

#include "formats/cores/tma.h"

/* In the order of the tree, so that the causes of a node follow each other.
 * X(symbol, node, what the rule is) */
#define TD_CAUSES(X)                                                                             \
    X(MISPREDICT, BRANCH_MISPREDICTS, "between a branch mispredicted and its recovery")          \
    X(CLEAR, MACHINE_CLEARS,                                                                     \
      "a load ran before an older store to its address; all after it "                           \
      "is thrown away")                                                                          \
    X(ICACHE, ICACHE_MISSES, "the line of code was not in L1I in time")                          \
    X(ITLB, ITLB_MISSES, "its page was not in the instruction TLB")                              \
    X(RESTEER, BRANCH_RESTEERS, "fetch restarts after a mispredict, or at a target not known")   \
    X(MICROCODE, MS_SWITCHES,                                                                    \
      "an instruction came from the microcode ROM, or waits for one that did")                   \
    X(DECODE, MITE, "uops came from the decoders, more slowly than they could be dispatched")    \
    X(UOP_CACHE, DSB, "the same from the uop cache, or from what predicts its lines")            \
    X(L1, L1_LATENCY_DEPENDENCY, "the oldest uop waits for a load that L1 or a store serves")    \
    X(DTLB, DTLB_LOAD, "the same; its page was not in the data TLB")                             \
    X(BLOCKED, STORE_FWD_BLK, "the same; a store that covers a part of it was not in L1 yet")    \
    X(ALIAS, ALIASING_4K, "the same; a store 4096 bytes away was in its way")                    \
    X(SPLIT, SPLIT_LOADS, "the same; it lies over two lines")                                    \
    X(LOCK, LOCK_LATENCY, "the oldest uop is locked, or waits for a locked one")                 \
    X(L2, L2_BOUND, "the oldest uop waits for a load that L2 serves")                            \
    X(L3, L3_BOUND, "the oldest uop waits for a load that L3 serves")                            \
    X(CONTESTED, CONTESTED_ACCESSES,                                                             \
      "the oldest uop waits for a line that another core has changed")                           \
    X(DRAM, MEM_LATENCY, "the oldest uop waits for a load that memory serves")                   \
    X(DRAM_QUEUE, MEM_BANDWIDTH, "the same; memory was late because of the lines before")        \
    X(STORE, STORE_BOUND, "the store buffer is full")                                            \
    X(SHARED_STORE, FALSE_SHARING,                                                               \
      "the same; its oldest store waits for a line that another core has")                       \
    X(DIVIDER, DIVIDER,                                                                          \
      "the oldest uop is a divide, or waits for a result while a divider has more work than it " \
      "can do")                                                                                  \
    X(SERIAL, SERIALIZING_OPERATION,                                                             \
      "the oldest uop is a fence or the like, a repeated string instruction runs, or a page "    \
      "is accessed for the first time")                                                          \
    X(CHAIN, DEPENDENCY_CHAINS, "the oldest uop executes, or waits for a result")                \
    X(PORT_INTEGER, INTEGER_PORTS,                                                               \
      "the oldest uop would be complete but for a busy port, or waits for a result while a "     \
      "port has more work than it can do: one for integers,")                                    \
    X(PORT_MULTIPLY, MULTIPLY_PORT, "the multiplier's,")                                         \
    X(PORT_BRANCH, BRANCH_PORTS, "one for branches,")                                            \
    X(PORT_FLOAT, FLOAT_PORTS, "for floating point,")                                            \
    X(PORT_SHUFFLE, SHUFFLE_PORTS, "for shuffles,")                                              \
    X(PORT_VECTOR, VECTOR_PORTS, "for other vector operations,")                                 \
    X(PORT_LOAD, LOAD_PORTS, "for loads,")                                                       \
    X(PORT_STORE, STORE_PORTS, "for stores")

/* X(symbol, node, what counts as it) */
#define TD_RETIRED(X)                                                                             \
    X(OTHER, OTHER_LIGHT_OPS, "what none of the rest is: integer arithmetic, shuffles")           \
    X(MEMORY, MEMORY_OPERATIONS, "loads, stores, prefetches, also joined to integer arithmetic")  \
    X(FUSED, FUSED_INSTRUCTIONS, "a pair that is renamed as one")                                 \
    X(BRANCH, NON_FUSED_BRANCHES, "a branch that is not the second of such a pair")               \
    X(NOP, NOP_INSTRUCTIONS, "executes nothing, by its class")                                    \
    X(INTEGER_VECTOR, INT_OPERATIONS, "computes integers in vector registers")                    \
    X(X87, X87_USE, "computes in x87 registers")                                                  \
    X(FP_SCALAR, FP_SCALAR, "computes one floating-point number, or converts it")                 \
    X(FP_128, FP_VECTOR_128B, "computes with vectors of them, of 128 bits or less,")              \
    X(FP_256, FP_VECTOR_256B, "of 256,")                                                          \
    X(FP_512, FP_VECTOR_512B, "of 512")                                                           \
    X(FEW_UOPS, FEW_UOPS_INSTRUCTIONS, "two or more uops, but for a load or store joined to one") \
    X(MICROCODE, MICROCODE_SEQUENCER, "more uops than the decoders make")

enum td_retired {
#define X(symbol, node, meaning) TD_RETIRED_##symbol,
    TD_RETIRED(X)
#undef X
        TD_RETIRED_COUNT
};

/* An instruction of more uops comes from the microcode ROM (Intel's optimization manual, "Legacy
 * decode pipeline"). */
enum { TD_DECODED_UOPS_MAX = 4 };

enum td_cause {
#define X(symbol, node, meaning) TD_CAUSE_##symbol,
    TD_CAUSES(X)
#undef X
        TD_CAUSE_COUNT
};

/* Of each instruction there is a row of cells, a power of two: a cell and its row and cause follow
 * from each other without a multiplication. */
enum { TD_CELL_BITS = 5, TD_ROW_CELLS = 1 << TD_CELL_BITS };
_Static_assert((int)TD_CAUSE_COUNT <= (int)TD_ROW_CELLS, "a cell for each cause");

#endif
