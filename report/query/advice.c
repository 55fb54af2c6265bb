/* SPDX-License-Identifier: MIT */
#include "report/query/advice.h"

#include <assert.h>

static const struct td_advice advice[] = {
    [TD_NODE_RETIRING] =
        {"These slots did useful work: this is no loss. A high share says that the core is busy, "
         "not that the program is fast.",
         "less work: a better algorithm, vector code, -O3, compute once",
         "Look at the functions and lines with the most instructions. Vector instructions do more "
         "per slot; -O3 -march=native and -ffast-math (where its rules are acceptable) let the "
         "compiler use them."},
    [TD_NODE_BAD_SPECULATION] =
        {"Work was begun on a wrong path and thrown away. Nearly always branches are behind it, "
         "rarely machine clears.",
         "branch-free code (cmov, masks), sorted or batched data",
         "The lines behind it are conditions that depend on the data. See branch_mispredicts and "
         "machine_clears."},
    [TD_NODE_FRONTEND_BOUND] =
        {"The core could have taken more operations than were fetched and decoded: large code, "
         "many "
         "jumps, calls through the PLT, interpreters.",
         "smaller, contiguous hot code: PGO, -flto, no PLT calls (-fno-plt)",
         "fetch_latency says that nothing arrived, fetch_bandwidth that too little arrived. Build "
         "with -fprofile-generate and -fprofile-use, or place functions with BOLT."},
    [TD_NODE_BACKEND_BOUND] =
        {"Operations were ready but had to wait: for data (memory_bound) or for a unit or a result "
         "(core_bound).",
         "contiguous, smaller data; independent operations in the loop",
         "Where the tree has children of it, they say which of the two it is. Else compare two "
         "sizes of input: what grows with the size is memory."},
    [TD_NODE_LIGHT_OPERATIONS] =
        {"Useful work in instructions of one operation. It is no loss; only fewer instructions "
         "make "
         "it faster.",
         "less work: a better algorithm, vector code, -O3, compute once",
         "Look at the functions and lines with the most instructions. Vector instructions do more "
         "per slot; -O3 -march=native lets the compiler use them."},
    [TD_NODE_HEAVY_OPERATIONS] =
        {"Useful work in instructions that are several operations or microcode: rep movs, gather, "
         "wide division, x87, denormal numbers, reading the clock.",
         "other instructions: annotate --asm shows which; avoid denormals",
         "Set flush-to-zero where tiny numbers do not matter; copy small blocks without rep movs; "
         "read the clock less often."},
    [TD_NODE_BRANCH_MISPREDICTS] =
        {"Branches whose direction or target depends on data: comparisons of random values, binary "
         "search, switch and virtual calls with changing targets.",
         "branch-free code (cmov, masks), sorted or batched data, fewer calls",
         "annotate --asm shows the jump. The compiler makes cmov of short conditions without side "
         "effects; arithmetic on the result of a comparison needs no jump. Handle equal cases "
         "together."},
    [TD_NODE_MACHINE_CLEARS] =
        {"The pipeline was emptied: another thread wrote to data that was being read (false "
         "sharing), "
         "a load passed an older store to its address, or code changed itself.",
         "keep data of different threads on lines of their own (64 bytes)",
         "Align what threads write to 64 bytes; do not load what was just stored through another "
         "pointer; keep generated code apart from data."},
    [TD_NODE_FETCH_LATENCY] =
        {"No instruction arrived: misses of the instruction cache or its TLB, and jumps to a place "
         "that was not foreseen. Large programs and interpreters have it.",
         "PGO and -flto: hot functions side by side, cold code away",
         "Build with -fprofile-generate and -fprofile-use, or place functions with BOLT; do not "
         "inline cold code; huge pages for code where itlb_misses is high."},
    [TD_NODE_FETCH_BANDWIDTH] =
        {"Instructions arrived, but too few per cycle: short blocks between taken jumps, calls "
         "through the PLT, long instructions, code that the uop cache does not hold.",
         "inline small functions; -flto or static: no PLT calls; unroll",
         "Rows called NAME@plt show calls through the PLT: link statically, or build with -fno-plt "
         "or -fvisibility=hidden. Unroll loops of few instructions."},
    [TD_NODE_MEMORY_BOUND] =
        {"Loads or stores were waited for, in any level of the memory.",
         "smaller or contiguous data, prefetch ahead, loops in blocks",
         "Its children say which level answered. Keep what is used together side by side, split "
         "records into hot and cold parts, and use smaller types."},
    [TD_NODE_CORE_BOUND] =
        {"Data were there, but a unit or a result was not: long chains of dependent operations, "
         "divisions, many operations of one kind.",
         "shorter chains: several sums at a time; vector code; fewer divides",
         "A sum over a loop is one chain: four sums that are added at the end are four. The "
         "compiler does so for integers with -O3, for floating-point with -ffast-math."},
    [TD_NODE_ICACHE_MISSES] =
        {"Code was not in the first-level instruction cache (32 to 64 kB): large programs, much "
         "inlined or generated code, many libraries in turn.",
         "PGO and -flto: hot functions side by side; -Os for cold code",
         "Handle many items in one stage before the next stage, so that its code stays in the "
         "cache."},
    [TD_NODE_ITLB_MISSES] =
        {"The address of code was not in the instruction TLB: hot code is spread over many pages.",
         "hot functions side by side; huge pages for code; fewer libraries",
         "Place functions by a profile (BOLT, -freorder-functions); link statically; let the "
         "kernel use huge pages for the program's text."},
    [TD_NODE_BRANCH_RESTEERS] = {"The front end began anew at another address: after a "
                                 "mispredicted branch, or a jump that it "
                                 "did not know yet. Much code that runs seldom has it.",
                                 "fewer taken jumps and calls in hot code: PGO, inlining",
                                 "Where branch_mispredicts is high, too, cure that first."},
    [TD_NODE_L1_BOUND] =
        {"Data were in L1, and yet were waited for: chains of loads, a load of what was just "
         "stored, "
         "loads over two lines, data TLB misses, locked instructions.",
         "keep values in registers; no load of what was just stored",
         "Sum in a local variable, not through a pointer; tell the compiler that pointers differ "
         "(restrict); align data; fewer atomics; huge pages where data are spread."},
    [TD_NODE_L2_BOUND] =
        {"Loads missed L1 and were served by L2: the part of the data in use is larger than L1.",
         "loops in blocks that fit L1; smaller types; contiguous access",
         "Use all of a line of 64 bytes while it is in L1: arrays of hot fields in place of arrays "
         "of records."},
    [TD_NODE_L3_BOUND] = {"Loads missed L2 and were served by L3: data larger than L2, hash "
                          "tables, trees and lists, "
                          "access with a large stride.",
                          "smaller or contiguous data, prefetch ahead, loops in blocks (L2)",
                          "Exchange loops so that the inner one runs along memory; compute "
                          "addresses some iterations "
                          "ahead and __builtin_prefetch them; open addressing in place of chains."},
    [TD_NODE_DRAM_BOUND] = {"Loads missed all caches: data larger than L3 in random order, or more "
                            "bytes per second than "
                            "memory gives.",
                            "smaller data, access in order, prefetch ahead, huge pages",
                            "When access is in order already, bandwidth is used up: smaller types "
                            "or fewer passes over "
                            "the data. When it is random: batch and sort, or prefetch."},
    [TD_NODE_STORE_BOUND] =
        {"The store buffer was full: many stores that miss the caches, stores to lines that other "
         "cores have, a stride of 4096 bytes.",
         "write less, whole lines in order; streaming stores; no sharing",
         "Write results once, in the order of memory; non-temporal stores for large output; data "
         "of "
         "different threads on lines of their own."},
    [TD_NODE_DIVIDER] =
        {"The divider was busy: divisions and square roots, of integers and floating-point "
         "numbers, "
         "and remainders by a variable.",
         "multiply by the reciprocal; divide once, outside of the loop",
         "Remainders by a power of two are masks; float divides faster than double, 32 bits faster "
         "than 64; vector division does several at a time."},
    [TD_NODE_PORTS_UTILIZATION] =
        {"Operations waited for the result of another (a dependency chain), or more operations of "
         "a "
         "kind were ready than there are ports for it.",
         "several sums at a time; vector code; cheaper operations",
         "In annotate --asm, a chain is one register that each instruction reads and writes. Split "
         "it into independent ones; -ffast-math allows it for floating-point sums."},
    [TD_NODE_SMT_CONTENTION] =
        {"The other hardware thread of the core used these slots.",
         "one thread per core (taskset), if the program is to be alone",
         "It is no loss of the machine, which does the work of two; measure with the other thread "
         "idle to see the program by itself."},
};
static_assert(sizeof(advice) / sizeof(advice[0]) == TD_NODE_COUNT, "one a node");

const struct td_advice *td_advice_of(enum td_tma_node node)
{
    assert(node >= 0 && node < TD_NODE_COUNT);
    return &advice[node];
}
