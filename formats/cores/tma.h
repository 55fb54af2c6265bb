/* SPDX-License-Identifier: MIT */
/*
 * The nodes of the top-down tree, once: ids as TMA names them (stable in text, JSON, folded stacks
 * and exporters), their parents and levels, and what each means to a person.
 */
#ifndef TD_FORMATS_CORES_TMA_H
#define TD_FORMATS_CORES_TMA_H

#include <stddef.h>
#include <stdint.h>

/* X(symbol, id, parent symbol or TD_NODE_NONE, level, short name, meaning) */
#define TD_TMA_NODES(X)                                                                        \
    X(RETIRING, "retiring", NONE, 1, "Retiring", "useful work")                                \
    X(BAD_SPECULATION, "bad_speculation", NONE, 1, "Bad spec",                                 \
      "work that was thrown away, and recovering from it")                                     \
    X(FRONTEND_BOUND, "frontend_bound", NONE, 1, "Frontend",                                   \
      "the front end delivered too few operations")                                            \
    X(BACKEND_BOUND, "backend_bound", NONE, 1, "Backend",                                      \
      "operations waited for data or for a unit")                                              \
    X(LIGHT_OPERATIONS, "light_operations", RETIRING, 2, "Light ops",                          \
      "useful work: only fewer instructions make it faster")                                   \
    X(HEAVY_OPERATIONS, "heavy_operations", RETIRING, 2, "Heavy ops",                          \
      "useful work in instructions of several operations, or microcoded")                      \
    X(BRANCH_MISPREDICTS, "branch_mispredicts", BAD_SPECULATION, 2, "Mispredicts",             \
      "branches were predicted wrongly")                                                       \
    X(MACHINE_CLEARS, "machine_clears", BAD_SPECULATION, 2, "Clears",                          \
      "the pipeline was cleared (memory ordering, self-modifying code)")                       \
    X(FETCH_LATENCY, "fetch_latency", FRONTEND_BOUND, 2, "Fetch lat",                          \
      "no instruction arrived (instruction cache, TLB, redirects)")                            \
    X(FETCH_BANDWIDTH, "fetch_bandwidth", FRONTEND_BOUND, 2, "Fetch bw",                       \
      "fewer operations arrived per cycle than the core takes (short blocks, taken jumps, "    \
      "calls through the PLT)")                                                                \
    X(MEMORY_BOUND, "memory_bound", BACKEND_BOUND, 2, "Memory", "waiting for loads or stores") \
    X(CORE_BOUND, "core_bound", BACKEND_BOUND, 2, "Core",                                      \
      "waiting for execution units or long dependency chains")                                 \
    X(ICACHE_MISSES, "icache_misses", FETCH_LATENCY, 3, "ICache", "instruction cache misses")  \
    X(ITLB_MISSES, "itlb_misses", FETCH_LATENCY, 3, "ITLB", "instruction TLB misses")          \
    X(BRANCH_RESTEERS, "branch_resteers", FETCH_LATENCY, 3, "Resteers",                        \
      "the front end redirected: after a mispredict, or a branch it did not know")             \
    X(L1_BOUND, "l1_bound", MEMORY_BOUND, 3, "L1",                                             \
      "data were in L1, but: latency, store forwarding, TLB or a locked instruction")          \
    X(L2_BOUND, "l2_bound", MEMORY_BOUND, 3, "L2", "waiting for loads served by L2")           \
    X(L3_BOUND, "l3_bound", MEMORY_BOUND, 3, "L3", "waiting for loads served by L3")           \
    X(DRAM_BOUND, "dram_bound", MEMORY_BOUND, 3, "DRAM", "waiting for loads served by memory") \
    X(STORE_BOUND, "store_bound", MEMORY_BOUND, 3, "Store", "the store buffer was full")       \
    X(DIVIDER, "divider", CORE_BOUND, 3, "Divider", "the divider was busy")                    \
    X(PORTS_UTILIZATION, "ports_utilization", CORE_BOUND, 3, "Ports",                          \
      "waiting for a result of a chain, or for a busy port")                                   \
    X(SMT_CONTENTION, "smt_contention", NONE, 1, "SMT",                                        \
      "used by the other thread of the core (AMD counts it apart)")

enum td_tma_node {
    TD_NODE_NONE = -1,
#define X(symbol, id, parent, level, name, meaning) TD_NODE_##symbol,
    TD_TMA_NODES(X)
#undef X
        TD_NODE_COUNT
};

struct td_tma_info {
    const char *id;
    const char *name; /* at most 11 columns: a table's heading */
    const char *meaning;
    enum td_tma_node parent; /* TD_NODE_NONE at level 1 */
    int level;               /* 1 to 3 */
};

/* `node` must be a node, not NONE. */
const struct td_tma_info *td_tma_info(enum td_tma_node node) __attribute__((returns_nonnull));
/* TD_NODE_NONE when no node has this id. */
enum td_tma_node td_tma_by_id(const char *id);
/* The nodes that a user's word may mean, whatever the case of its letters: of its id or its short
 * name; else those whose id or name begins with it; else those that have it as a part. '-' and a
 * blank are as '_'. Returns how many: one, when it is clear. */
size_t td_tma_matches(const char *word, enum td_tma_node ret[TD_NODE_COUNT]);

#endif
