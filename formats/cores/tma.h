/* SPDX-License-Identifier: MIT */
/*
 * The nodes of the top-down tree, once: ids as TMA names them (stable in text, JSON, folded stacks
 * and exporters), their parents and levels, and what each means to a person.
 */
#ifndef TD_FORMATS_CORES_TMA_H
#define TD_FORMATS_CORES_TMA_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(symbol, id, parent symbol or TD_NODE_NONE, level, short name, meaning) */
#define TD_TMA_NODES(X)                                                                            \
    X(RETIRING, "retiring", NONE, 1, "Retiring", "useful work")                                    \
    X(BAD_SPECULATION, "bad_speculation", NONE, 1, "Bad spec",                                     \
      "work that was thrown away, and recovering from it")                                         \
    X(FRONTEND_BOUND, "frontend_bound", NONE, 1, "Frontend",                                       \
      "the front end delivered too few operations")                                                \
    X(BACKEND_BOUND, "backend_bound", NONE, 1, "Backend",                                          \
      "operations waited for data or for a unit")                                                  \
    X(LIGHT_OPERATIONS, "light_operations", RETIRING, 2, "Light ops",                              \
      "useful work: only fewer instructions make it faster")                                       \
    X(HEAVY_OPERATIONS, "heavy_operations", RETIRING, 2, "Heavy ops",                              \
      "useful work in instructions of several operations, or microcoded")                          \
    X(BRANCH_MISPREDICTS, "branch_mispredicts", BAD_SPECULATION, 2, "Mispredicts",                 \
      "branches were predicted wrongly")                                                           \
    X(MACHINE_CLEARS, "machine_clears", BAD_SPECULATION, 2, "Clears",                              \
      "the pipeline was cleared (memory ordering, self-modifying code)")                           \
    X(FETCH_LATENCY, "fetch_latency", FRONTEND_BOUND, 2, "Fetch lat",                              \
      "no instruction arrived (instruction cache, TLB, redirects)")                                \
    X(FETCH_BANDWIDTH, "fetch_bandwidth", FRONTEND_BOUND, 2, "Fetch bw",                           \
      "fewer operations arrived per cycle than the core takes (short blocks, taken jumps, "        \
      "calls through the PLT)")                                                                    \
    X(MEMORY_BOUND, "memory_bound", BACKEND_BOUND, 2, "Memory", "waiting for loads or stores")     \
    X(CORE_BOUND, "core_bound", BACKEND_BOUND, 2, "Core",                                          \
      "waiting for execution units or long dependency chains")                                     \
    X(ICACHE_MISSES, "icache_misses", FETCH_LATENCY, 3, "ICache", "instruction cache misses")      \
    X(ITLB_MISSES, "itlb_misses", FETCH_LATENCY, 3, "ITLB", "instruction TLB misses")              \
    X(BRANCH_RESTEERS, "branch_resteers", FETCH_LATENCY, 3, "Resteers",                            \
      "the front end redirected: after a mispredict, or a branch it did not know")                 \
    X(L1_BOUND, "l1_bound", MEMORY_BOUND, 3, "L1",                                                 \
      "data were in L1, but: latency, store forwarding, TLB or a locked instruction")              \
    X(L2_BOUND, "l2_bound", MEMORY_BOUND, 3, "L2", "waiting for loads served by L2")               \
    X(L3_BOUND, "l3_bound", MEMORY_BOUND, 3, "L3", "waiting for loads served by L3")               \
    X(DRAM_BOUND, "dram_bound", MEMORY_BOUND, 3, "DRAM", "waiting for loads served by memory")     \
    X(STORE_BOUND, "store_bound", MEMORY_BOUND, 3, "Store", "the store buffer was full")           \
    X(DIVIDER, "divider", CORE_BOUND, 3, "Divider", "the divider was busy")                        \
    X(PORTS_UTILIZATION, "ports_utilization", CORE_BOUND, 3, "Ports",                              \
      "waiting for a result of a chain, or for a busy port")                                       \
    X(SMT_CONTENTION, "smt_contention", NONE, 1, "SMT",                                            \
      "used by the other thread of the core (AMD counts it apart)")                                \
    X(DSB_SWITCHES, "dsb_switches", FETCH_LATENCY, 3, "DSB switch",                                \
      "switching from the uop cache (DSB) to the decoders")                                        \
    X(LCP, "lcp", FETCH_LATENCY, 3, "LCP", "instructions whose prefix changes their length")       \
    X(MS_SWITCHES, "ms_switches", FETCH_LATENCY, 3, "MS switch",                                   \
      "switching to the microcode sequencer")                                                      \
    X(MITE, "mite", FETCH_BANDWIDTH, 3, "MITE",                                                    \
      "the decoders (MITE) delivered too few operations")                                          \
    X(DSB, "dsb", FETCH_BANDWIDTH, 3, "DSB", "the uop cache (DSB) delivered too few operations")   \
    X(LSD, "lsd", FETCH_BANDWIDTH, 3, "LSD", "the loop buffer (LSD) delivered too few operations") \
    X(SERIALIZING_OPERATION, "serializing_operation", CORE_BOUND, 3, "Serializing",                \
      "fences, repeated string instructions, page faults: they let nothing pass")                  \
    X(FP_ARITH, "fp_arith", LIGHT_OPERATIONS, 3, "FP arith",                                       \
      "useful work: floating-point arithmetic")                                                    \
    X(INT_OPERATIONS, "int_operations", LIGHT_OPERATIONS, 3, "Int vector",                         \
      "useful work: integer vector arithmetic")                                                    \
    X(MEMORY_OPERATIONS, "memory_operations", LIGHT_OPERATIONS, 3, "Memory ops",                   \
      "useful work: loads and stores")                                                             \
    X(FUSED_INSTRUCTIONS, "fused_instructions", LIGHT_OPERATIONS, 3, "Fused",                      \
      "useful work: pairs of instructions that run as one")                                        \
    X(NON_FUSED_BRANCHES, "non_fused_branches", LIGHT_OPERATIONS, 3, "Unfused br",                 \
      "useful work: branches that were not fused with a compare")                                  \
    X(NOP_INSTRUCTIONS, "nop_instructions", LIGHT_OPERATIONS, 3, "Nops",                           \
      "slots used by instructions that do nothing")                                                \
    X(FEW_UOPS_INSTRUCTIONS, "few_uops_instructions", HEAVY_OPERATIONS, 3, "Few uops",             \
      "useful work in instructions of two or more operations")                                     \
    X(MICROCODE_SEQUENCER, "microcode_sequencer", HEAVY_OPERATIONS, 3, "Microcode",                \
      "useful work that microcode did")                                                            \
    X(BRANCH_DETECT, "branch_detect", FETCH_LATENCY, 3, "Br detect",                               \
      "branches that were found only in decoding (Intel E-cores)")                                 \
    X(DECODE, "decode", FETCH_BANDWIDTH, 3, "Decode",                                              \
      "the decoders delivered too few operations (Intel E-cores)")                                 \
    X(PREDECODE, "predecode", FETCH_BANDWIDTH, 3, "Predecode",                                     \
      "lengths of instructions were not known yet (Intel E-cores)")                                \
    X(MISPREDICTS_RESTEERS, "mispredicts_resteers", BRANCH_RESTEERS, 4, "Mispr rst",               \
      "fetching anew after a mispredicted branch")                                                 \
    X(CLEARS_RESTEERS, "clears_resteers", BRANCH_RESTEERS, 4, "Clear rst",                         \
      "fetching anew after a machine clear")                                                       \
    X(UNKNOWN_BRANCHES, "unknown_branches", BRANCH_RESTEERS, 4, "Unknown br",                      \
      "branches that the predictor had not seen, or forgotten")                                    \
    X(DTLB_LOAD, "dtlb_load", L1_BOUND, 4, "DTLB load",                                            \
      "loads waited for the address translation")                                                  \
    X(STORE_FWD_BLK, "store_fwd_blk", L1_BOUND, 4, "Store fwd",                                    \
      "loads whose data were in a store that could not be forwarded")                              \
    X(L1_LATENCY_DEPENDENCY, "l1_latency_dependency", L1_BOUND, 4, "L1 latency",                   \
      "chains of loads that hit L1")                                                               \
    X(LOCK_LATENCY, "lock_latency", L1_BOUND, 4, "Locks",                                          \
      "locked instructions waited for their line")                                                 \
    X(SPLIT_LOADS, "split_loads", L1_BOUND, 4, "Split loads", "loads over two cache lines")        \
    X(ALIASING_4K, "4k_aliasing", L1_BOUND, 4, "4K alias",                                         \
      "loads that looked like an older store 4096 bytes away")                                     \
    X(FB_FULL, "fb_full", L1_BOUND, 4, "FB full", "the buffers for L1 misses were all in use")     \
    X(L2_HIT_LATENCY, "l2_hit_latency", L2_BOUND, 4, "L2 latency", "chains of loads served by L2") \
    X(CONTESTED_ACCESSES, "contested_accesses", L3_BOUND, 4, "Contested",                          \
      "loads of lines that another core had changed")                                              \
    X(DATA_SHARING, "data_sharing", L3_BOUND, 4, "Sharing",                                        \
      "loads of lines that other cores have too")                                                  \
    X(L3_HIT_LATENCY, "l3_hit_latency", L3_BOUND, 4, "L3 latency",                                 \
      "loads served by L3 that nobody contested")                                                  \
    X(SQ_FULL, "sq_full", L3_BOUND, 4, "SQ full",                                                  \
      "the queue from L2 to the other cores and memory was full")                                  \
    X(MEM_BANDWIDTH, "mem_bandwidth", DRAM_BOUND, 4, "Mem bw",                                     \
      "memory gave as many bytes per second as it can")                                            \
    X(MEM_LATENCY, "mem_latency", DRAM_BOUND, 4, "Mem latency", "single loads waited for memory")  \
    X(STORE_LATENCY, "store_latency", STORE_BOUND, 4, "Store lat", "stores that missed L1")        \
    X(FALSE_SHARING, "false_sharing", STORE_BOUND, 4, "False share",                               \
      "stores to lines that another core had changed")                                             \
    X(SPLIT_STORES, "split_stores", STORE_BOUND, 4, "Split store", "stores over two cache lines")  \
    X(STREAMING_STORES, "streaming_stores", STORE_BOUND, 4, "Streaming", "non-temporal stores")    \
    X(DTLB_STORE, "dtlb_store", STORE_BOUND, 4, "DTLB store",                                      \
      "stores waited for the address translation")                                                 \
    X(PORTS_UTILIZED_0, "ports_utilized_0", PORTS_UTILIZATION, 4, "0 ports",                       \
      "cycles in which nothing was executed, and no load was waited for")                          \
    X(PORTS_UTILIZED_1, "ports_utilized_1", PORTS_UTILIZATION, 4, "1 port",                        \
      "cycles in which one operation was executed")                                                \
    X(PORTS_UTILIZED_2, "ports_utilized_2", PORTS_UTILIZATION, 4, "2 ports",                       \
      "cycles in which two operations were executed")                                              \
    X(PORTS_UTILIZED_3M, "ports_utilized_3m", PORTS_UTILIZATION, 4, "3+ ports",                    \
      "cycles in which three or more operations were executed")                                    \
    X(X87_USE, "x87_use", FP_ARITH, 4, "x87", "useful work: x87 arithmetic")                       \
    X(FP_SCALAR, "fp_scalar", FP_ARITH, 4, "FP scalar",                                            \
      "useful work: floating-point arithmetic on single numbers")                                  \
    X(FP_VECTOR, "fp_vector", FP_ARITH, 4, "FP vector",                                            \
      "useful work: floating-point arithmetic on vectors")                                         \
    X(ASSISTS, "assists", MICROCODE_SEQUENCER, 4, "Assists", "microcode repaired a special case")  \
    X(CISC, "cisc", MICROCODE_SEQUENCER, 4, "CISC", "microcode of complex instructions")           \
    X(FP_VECTOR_128B, "fp_vector_128b", FP_VECTOR, 5, "FP 128",                                    \
      "useful work: floating-point arithmetic on 128-bit vectors")                                 \
    X(FP_VECTOR_256B, "fp_vector_256b", FP_VECTOR, 5, "FP 256",                                    \
      "useful work: floating-point arithmetic on 256-bit vectors")                                 \
    X(FP_VECTOR_512B, "fp_vector_512b", FP_VECTOR, 5, "FP 512",                                    \
      "useful work: floating-point arithmetic on 512-bit vectors")                                 \
    X(OTHER_LIGHT_OPS, "other_light_ops", LIGHT_OPERATIONS, 3, "Other ops",                        \
      "useful work: integer arithmetic, shuffles and the rest")                                    \
    X(DEPENDENCY_CHAINS, "dependency_chains", PORTS_UTILIZATION, 4, "Chains",                      \
      "waiting for the result of an operation before")                                             \
    X(INTEGER_PORTS, "integer_ports", PORTS_UTILIZATION, 4, "Int ports",                           \
      "the ports for integer arithmetic were busy")                                                \
    X(MULTIPLY_PORT, "multiply_port", PORTS_UTILIZATION, 4, "Multiplier",                          \
      "the port for multiplication and bit counts was busy")                                       \
    X(BRANCH_PORTS, "branch_ports", PORTS_UTILIZATION, 4, "Br ports",                              \
      "the ports for branches were busy")                                                          \
    X(FLOAT_PORTS, "float_ports", PORTS_UTILIZATION, 4, "FP ports",                                \
      "the ports for floating-point arithmetic were busy")                                         \
    X(SHUFFLE_PORTS, "shuffle_ports", PORTS_UTILIZATION, 4, "Shuffles",                            \
      "the ports for shuffles were busy")                                                          \
    X(VECTOR_PORTS, "vector_ports", PORTS_UTILIZATION, 4, "Vec ports",                             \
      "the ports for integer vectors were busy")                                                   \
    X(LOAD_PORTS, "load_ports", PORTS_UTILIZATION, 4, "Load ports",                                \
      "the ports for loads were busy")                                                             \
    X(STORE_PORTS, "store_ports", PORTS_UTILIZATION, 4, "Store ports",                             \
      "the ports for stores were busy")                                                            \
    X(FRONTEND_MEM_BOUND, "frontend_mem_bound", FRONTEND_BOUND, 2, "Front mem",                    \
      "the front end waited for code: caches or the TLB (Arm)")                                    \
    X(FRONTEND_CORE_BOUND, "frontend_core_bound", FRONTEND_BOUND, 2, "Front core",                 \
      "the front end itself delivered too little, or refilled (Arm)")                              \
    X(FRONTEND_MEM_CACHE_BOUND, "frontend_mem_cache_bound", FRONTEND_MEM_BOUND, 3, "Code cache",   \
      "instruction cache misses (Arm)")                                                            \
    X(FRONTEND_MEM_TLB_BOUND, "frontend_mem_tlb_bound", FRONTEND_MEM_BOUND, 3, "Code TLB",         \
      "instruction TLB misses (Arm)")                                                              \
    X(FRONTEND_CORE_FLOW_BOUND, "frontend_core_flow_bound", FRONTEND_CORE_BOUND, 3, "Front flow",  \
      "decoding waited for the branch prediction unit (Arm)")                                      \
    X(FRONTEND_CORE_FLUSH_BOUND, "frontend_core_flush_bound", FRONTEND_CORE_BOUND, 3,              \
      "Front flush", "refilling after the pipeline was flushed (Arm)")                             \
    X(FRONTEND_CACHE_L1I_BOUND, "frontend_cache_l1i_bound", FRONTEND_MEM_CACHE_BOUND, 4,           \
      "L1I miss", "code that missed L1 and came from L2 (Arm)")                                    \
    X(FRONTEND_CACHE_L2I_BOUND, "frontend_cache_l2i_bound", FRONTEND_MEM_CACHE_BOUND, 4,           \
      "L2I miss", "code that missed L2 (Arm)")                                                     \
    X(BACKEND_MEM_CACHE_BOUND, "backend_mem_cache_bound", MEMORY_BOUND, 3, "Data cache",           \
      "waiting for loads that missed L1 (Arm)")                                                    \
    X(BACKEND_MEM_TLB_BOUND, "backend_mem_tlb_bound", MEMORY_BOUND, 3, "Data TLB",                 \
      "waiting for address translations of data (Arm)")                                            \
    X(BACKEND_CACHE_L1D_BOUND, "backend_cache_l1d_bound", BACKEND_MEM_CACHE_BOUND, 4, "L1D miss",  \
      "waiting for loads that missed L1 and hit L2 (Arm)")                                         \
    X(BACKEND_CACHE_L2D_BOUND, "backend_cache_l2d_bound", BACKEND_MEM_CACHE_BOUND, 4, "L2D miss",  \
      "waiting for loads that missed L2 (Arm)")                                                    \
    X(BACKEND_CORE_RENAME_BOUND, "backend_core_rename_bound", CORE_BOUND, 3, "Rename",             \
      "no register was free for the result of an operation (Arm)")

/* The deepest level. */
#define TD_TMA_LEVELS 5

enum td_tma_node {
    TD_NODE_NONE = -1,
#define X(symbol, id, parent, level, name, meaning) TD_NODE_##symbol,
    TD_TMA_NODES(X)
#undef X
        TD_NODE_COUNT
};

/* A set of nodes, a bit each. */
__extension__ typedef unsigned __int128 td_tma_set;
static_assert(TD_NODE_COUNT <= 128, "sets of nodes are bits");

static inline td_tma_set td_tma_bit(int node)
{
    return (td_tma_set)1 << node;
}

struct td_tma_info {
    const char *id;
    const char *name; /* at most 11 columns: a table's heading */
    const char *meaning;
    enum td_tma_node parent; /* TD_NODE_NONE at level 1 */
    int level;               /* 1 to TD_TMA_LEVELS */
};

/* `node` must be a node, not NONE. */
const struct td_tma_info *td_tma_info(enum td_tma_node node) __attribute__((returns_nonnull));
/* Whether its slots retire uops, of which more are no loss: retiring and all that it is made of. */
bool td_tma_retires(enum td_tma_node node);
/* Whether these are slots of work as such: retiring and light operations with all that they are
 * made of. Heavy operations retire too, but may be work that need not be (microcode, assists). */
bool td_tma_is_work(enum td_tma_node node);
/* Whether the modelled core charges slots to it, or to what it is made of. */
bool td_tma_is_modelled(enum td_tma_node node);
/* The ids of all nodes, in their order; NULL ends them. */
const char *const *td_tma_ids(void);
/* TD_NODE_NONE when no node has this id. */
enum td_tma_node td_tma_by_id(const char *id);
/* The nodes that a user's word may mean, whatever the case of its letters: of its id or its short
 * name; else those whose id or name begins with it; else those that have it as a part. Where a node
 * of the common tree is meant by it, the finer ones, which only some cores count, are not. '-' and
 * a blank are as '_'. Returns how many: one, when it is clear. */
size_t td_tma_matches(const char *word, enum td_tma_node ret[TD_NODE_COUNT]);

#endif
