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
                                 "did not know yet. Much code that runs seldom has it. "
                                 "On some cores what a call through memory goes to waits for "
                                 "the call.",
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
    [TD_NODE_DSB_SWITCHES] = {"Hot code leaves the uop cache often: large loops, code with many "
                              "jumps, long instructions.",
                              "smaller hot code: PGO; less unrolling; hot loops aligned",
                              "Each switch costs a few cycles. -falign-loops=32 keeps a loop in "
                              "fewer lines of the uop cache."},
    [TD_NODE_LCP] = {"16-bit constants in instructions (a short compared with or set to a "
                     "constant): the decoder stops for some cycles at each.",
                     "int in place of short for variables; constants in registers",
                     "annotate --asm shows the instructions: an operand-size prefix (66) with a "
                     "16-bit constant."},
    [TD_NODE_MS_SWITCHES] = {"Instructions that come from microcode among others: rep movs, cpuid, "
                             "division of old cores, assists for denormals.",
                             "fewer microcoded instructions; avoid denormals",
                             "microcode_sequencer says how much work comes from there."},
    [TD_NODE_MITE] =
        {"Code that the uop cache does not hold: large or rarely repeated code, instructions of "
         "many operations, misaligned jumps.",
         "smaller hot code: PGO; fewer instructions that decode to several",
         "Generated code that changes, and code that runs once, always comes from the decoders."},
    [TD_NODE_DSB] =
        {"Short blocks between taken jumps: each line of the uop cache gives only part of what it "
         "could. A small loop that lies over two lines of code (64 bytes) reads both per round.",
         "unroll, inline: longer blocks; small loops: -falign-loops=64",
         "A loop of few instructions takes a jump per round: unrolling makes the rounds longer. "
         "tdreport why says of a modelled loop over how many lines it lies."},
    [TD_NODE_LSD] = {"A loop of few operations: its last round of the buffer is not full.",
                     "unroll the loop",
                     "Only some cores have the loop buffer, and on some it is switched off."},
    [TD_NODE_SERIALIZING_OPERATION] =
        {"pause, lfence, cpuid, rdtscp, mfence, system calls: all before them must end first. In a "
         "modelled run repeated string instructions (rep movs) and page faults, too.",
         "fewer fences and reads of the clock; no spinning; reuse of memory",
         "annotate --asm shows the instruction; a plain load or store is the first access to its "
         "page. tdreport why tells which it is."},
    [TD_NODE_FP_ARITH] = {"Additions, multiplications and the like that retired. It is no loss.",
                          "vector code, fused multiply-add",
                          "fp_scalar and fp_vector say how much of it is vector code."},
    [TD_NODE_INT_OPERATIONS] = {"Integer vector operations that retired. It is no loss.",
                                "wider vectors",
                                "It counts additions, multiplications and shuffles of vectors, not "
                                "operations of general registers."},
    [TD_NODE_MEMORY_OPERATIONS] =
        {"Loads and stores that retired. It is no loss.",
         "keep values in registers; wider loads and stores",
         "A high share together with a high retiring share says that the work is moving data."},
    [TD_NODE_FUSED_INSTRUCTIONS] =
        {"A compare and the jump after it run as one operation. It is no loss.",
         "nothing: it is what the core does best",
         "fused_instructions counts what took one slot for two instructions."},
    [TD_NODE_NON_FUSED_BRANCHES] =
        {"Calls, returns, and jumps without a condition. It is no loss.", "inline small functions",
         "Conditional jumps behind a compare are in fused_instructions."},
    [TD_NODE_NOP_INSTRUCTIONS] =
        {"Padding in hot code: alignment of loops inside of other loops, room for probes.",
         "do not align inner jump targets (-fno-align-labels)",
         "Nops take slots of dispatch even though they need no unit."},
    [TD_NODE_FEW_UOPS_INSTRUCTIONS] =
        {"Instructions that the decoders split into several operations: read-modify-write, xchg, "
         "gather, complex addressing.",
         "other instructions: annotate --asm shows which",
         "Their operations take more slots than the count of instructions says."},
    [TD_NODE_MICROCODE_SEQUENCER] =
        {"rep movs and rep stos, cpuid, x87 functions, wide division of old cores, and assists.",
         "other instructions; avoid denormals; copy small blocks without rep",
         "assists says how much of it repairs special cases such as denormal numbers."},
    [TD_NODE_BRANCH_DETECT] =
        {"The predictor did not know the branch: the front end waits until "
         "it is decoded. Much code that runs seldom has it.",
         "fewer taken jumps and calls in hot code: PGO, inlining",
         "Only the E-cores of Intel's hybrids and its Atom servers count it apart."},
    [TD_NODE_DECODE] = {"Instructions that the decoders take slowly, or one at a time.",
                        "simpler instructions",
                        "Only the E-cores of Intel's hybrids and its Atom servers count it apart."},
    [TD_NODE_PREDECODE] =
        {"Code that runs for the first time, or that is too large for the marks "
         "which the instruction cache keeps.",
         "smaller hot code: PGO",
         "Only the E-cores of Intel's hybrids and its Atom servers count it apart."},
    [TD_NODE_MISPREDICTS_RESTEERS] =
        {"Branches whose direction or target depends on data.",
         "branch-free code (cmov, masks), sorted or batched data",
         "Cure branch_mispredicts: this is the part of its cost that the front end pays."},
    [TD_NODE_CLEARS_RESTEERS] =
        {"False sharing, a load that passed an older store, code that changes itself.",
         "keep data of different threads on lines of their own (64 bytes)",
         "Cure machine_clears: this is the part of its cost that the front end pays."},
    [TD_NODE_UNKNOWN_BRANCHES] =
        {"More branches than the branch target buffer holds: large programs, interpreters, many "
         "small functions.",
         "fewer taken jumps and calls in hot code: PGO, -flto",
         "Place functions by a profile (BOLT), so that hot jumps become falls through."},
    [TD_NODE_DTLB_LOAD] = {"Data spread over more pages than the data TLB holds: hash tables, "
                           "strides of a page, many arrays.",
                           "huge pages; data used together on the same pages",
                           "madvise(MADV_HUGEPAGE) or a huge-page allocator; loops in blocks; "
                           "records in place of parallel arrays."},
    [TD_NODE_STORE_FWD_BLK] = {"A load that is wider than the store before it, or covers it in "
                               "part: bytes written, a word read.",
                               "read what was written with the same size and place",
                               "Unions, bit fields, memcpy of a struct just filled by fields, and "
                               "strings built byte by byte have it."},
    [TD_NODE_L1_LATENCY_DEPENDENCY] =
        {"The address of a load is the result of another: lists, trees, indirect indexes, all in "
         "L1.",
         "break the chain: several walks at a time; indexes computed ahead",
         "Each step costs the latency of L1, about five cycles, whatever the width of the core."},
    [TD_NODE_LOCK_LATENCY] =
        {"Atomic read-modify-write: counters, locks, reference counts.",
         "fewer atomics: per-thread counters, batches",
         "Even without contention an atomic takes about 20 cycles, in which later loads wait."},
    [TD_NODE_SPLIT_LOADS] =
        {"Data that are not aligned: packed structures, vectors that begin anywhere.",
         "align data to their size, vectors to 64 bytes",
         "alignas(64), posix_memalign; peel a loop until its pointer is aligned."},
    [TD_NODE_ALIASING_4K] = {"A load whose address has the same low 12 bits as a store in flight: "
                             "arrays whose distance is a multiple of 4096.",
                             "other distances between arrays: pad by 64 bytes or more",
                             "Copies between buffers of one page each, and columns of matrices of "
                             "a power of two, have it."},
    [TD_NODE_FB_FULL] = {"More misses at a time than L1 can follow: bandwidth of the caches or of "
                         "memory is used up.",
                         "fewer bytes: smaller types, use all of a line",
                         "It goes with mem_bandwidth or sq_full: see which of them is high."},
    [TD_NODE_L2_HIT_LATENCY] = {"The address of a load is the result of another that L2 served.",
                                "smaller data; prefetch ahead; several walks at a time",
                                "Each step costs the latency of L2, about 15 cycles."},
    [TD_NODE_CONTESTED_ACCESSES] =
        {"Threads write to the same lines: locks, shared counters, queues, false sharing.",
         "data of different threads on lines of their own; less sharing",
         "tdreport sharing names the lines of a modelled run; align what threads write to 64 "
         "bytes, "
         "count per thread and add up at the end."},
    [TD_NODE_DATA_SHARING] =
        {"Threads read the same lines, or read what another core wrote.",
         "a copy per thread of what is read often",
         "Reading together is cheap once the line is there: look for lines that change owners."},
    [TD_NODE_L3_HIT_LATENCY] =
        {"Chains of loads, or loads in random order, in data that fit L3 but not L2.",
         "smaller or contiguous data, prefetch ahead, blocks for L2",
         "Each step costs the latency of L3, 40 to 70 cycles."},
    [TD_NODE_SQ_FULL] = {"More misses of L2 at a time than the core can follow: bandwidth of L3 or "
                         "of memory is used up.",
                         "fewer bytes: smaller types, use all of a line, blocks for L2",
                         "Streaming through large arrays on many cores has it."},
    [TD_NODE_MEM_BANDWIDTH] =
        {"Streaming through data larger than the caches, on this core or on all together.",
         "fewer bytes: smaller types, fewer passes, loops in blocks",
         "Prefetching does not help here. Non-temporal stores save the read of lines that are "
         "overwritten; memory of the own NUMA node is faster."},
    [TD_NODE_MEM_LATENCY] =
        {"Access in random order or by pointers, to data larger than L3: few misses at a time.",
         "prefetch ahead; several walks at a time; huge pages",
         "Batch and sort look-ups; __builtin_prefetch some iterations ahead; place data on the own "
         "NUMA node."},
    [TD_NODE_STORE_LATENCY] =
        {"Stores to lines that are not in L1: each is read first, for ownership.",
         "write less, whole lines in order; streaming stores",
         "Stores wait in a buffer: the core stops only when it is full."},
    [TD_NODE_FALSE_SHARING] = {"Threads write to different data on the same line.",
                               "data of different threads on lines of their own (64 bytes)",
                               "Align what each thread writes to 64 bytes (128 where pairs of "
                               "lines are prefetched); tdreport sharing names the lines of a "
                               "modelled run."},
    [TD_NODE_SPLIT_STORES] =
        {"Data that are not aligned: packed structures, vectors that begin anywhere.",
         "align data to their size, vectors to 64 bytes",
         "Align the stores of a loop rather than its loads, if only one of them can be."},
    [TD_NODE_STREAMING_STORES] =
        {"Stores past the caches: their buffers are few, and part of a line costs as much as a "
         "whole one.",
         "whole lines at a time; normal stores for data that are used again soon",
         "memset and memcpy of large blocks use them."},
    [TD_NODE_DTLB_STORE] = {"Writes spread over more pages than the data TLB holds.",
                            "huge pages; write in the order of memory",
                            "Scatter in blocks: sort or bucket what is written."},
    [TD_NODE_PORTS_UTILIZED_0] = {"Long chains of dependent operations of long latency.",
                                  "several sums at a time; shorter chains",
                                  "Floating-point sums take four cycles per step: four sums that "
                                  "are added at the end take one."},
    [TD_NODE_PORTS_UTILIZED_1] =
        {"A chain of dependent operations of one cycle each, or one port that all need.",
         "several independent chains; operations of other ports",
         "annotate --asm: one register that each instruction reads and writes."},
    [TD_NODE_PORTS_UTILIZED_2] = {"Two chains, or a mix of operations for few ports.",
                                  "vector code; more independent work in the loop",
                                  "Vector code makes more of each operation than scalar code."},
    [TD_NODE_PORTS_UTILIZED_3M] = {"The units were busy: many operations of the same kinds.",
                                   "vector code; cheaper operations",
                                   "It is no loss by itself: high together with retiring, fewer "
                                   "instructions are what helps."},
    [TD_NODE_X87_USE] = {"Variables of type long double, or code that was built for x87.",
                         "double in place of long double",
                         "x87 has no vectors and only eight registers, which form a stack."},
    [TD_NODE_FP_SCALAR] = {"Floating-point loops that the compiler did not vectorize.",
                           "vector code: -O3 -march=native, -ffast-math where acceptable",
                           "-fopt-info-vec-missed says why a loop was not vectorized."},
    [TD_NODE_FP_VECTOR] = {"Vector arithmetic that retired. It is no loss.",
                           "wider vectors, fused multiply-add",
                           "Its parts say how wide the vectors are: 128, 256 or 512 bits."},
    [TD_NODE_ASSISTS] =
        {"Denormal numbers, mixes of old and new vector instructions, first writes to a page.",
         "flush denormals to zero; vzeroupper; no mixes of SSE and AVX",
         "_MM_SET_FLUSH_ZERO_MODE, _MM_SET_DENORMALS_ZERO_MODE or -ffast-math at the link."},
    [TD_NODE_CISC] =
        {"rep movs and rep stos, cpuid, x87 functions, enter, wide division of old cores.",
         "other instructions; copy small blocks without rep",
         "annotate --asm shows which instructions they are."},
    [TD_NODE_FP_VECTOR_128B] = {"Vectors of SSE, or of NEON. It is no loss.",
                                "wider vectors: -march=native, -mprefer-vector-width=256",
                                "Code that is built for every x86 has no wider vectors."},
    [TD_NODE_FP_VECTOR_256B] = {"Vectors of AVX that did useful work. It is no loss.",
                                "-mprefer-vector-width=512 where the core has two such units",
                                "Wider vectors may lower the clock of some cores: measure."},
    [TD_NODE_FP_VECTOR_512B] = {"Vectors of AVX-512 that did useful work. It is no loss.",
                                "nothing wider exists",
                                "Look at memory next: such code is soon bound by it."},
    [TD_NODE_OTHER_LIGHT_OPS] =
        {"Integer arithmetic, compares, shuffles that retired. It is no loss.",
         "fewer instructions: better algorithm, vector code, inlining",
         "annotate --asm shows the instructions that a loop can do without."},
    [TD_NODE_DEPENDENCY_CHAINS] =
        {"Each step of a loop needs the result of the one before: sums, hashes, x = f(x).",
         "several sums at a time; shorter chains; -ffast-math for float sums",
         "A floating-point sum takes the latency of an addition per step: four sums that are added "
         "at the end take a quarter of it."},
    [TD_NODE_INTEGER_PORTS] =
        {"More adds, shifts and compares per cycle than there are ports for them.",
         "fewer or cheaper operations; vector code",
         "Shifts and conditional moves have fewer ports than adds."},
    [TD_NODE_MULTIPLY_PORT] =
        {"Most cores have one port for imul, popcnt, pdep and crc32.",
         "shifts and adds for constants; vector code; fewer multiplications",
         "Strength reduction: an index that grows by a constant needs no multiplication."},
    [TD_NODE_BRANCH_PORTS] =
        {"More jumps per cycle than the ports for them: one taken, two in all.",
         "unrolled loops; branch-free code (cmov, masks)",
         "Short loops of a compare and a jump have it."},
    [TD_NODE_FLOAT_PORTS] =
        {"Floating-point operations keep their ports busy: it is near what the core can compute.",
         "wider vectors; fused multiply-add; fewer operations",
         "-O3 -march=native; -ffp-contract=fast joins a multiplication and an addition."},
    [TD_NODE_SHUFFLE_PORTS] =
        {"Shuffles, inserts, extracts and broadcasts share one or two ports.",
         "data in the order that the vectors need; loads that broadcast",
         "Structures of arrays need no shuffles; a load with an offset replaces some."},
    [TD_NODE_VECTOR_PORTS] =
        {"Integer vector operations keep their ports busy.",
         "wider vectors; smaller elements; fewer operations",
         "-O3 -march=native; bytes in place of words double the elements of a vector."},
    [TD_NODE_LOAD_PORTS] =
        {"More loads per cycle than there are ports for them: two or three.",
         "values kept in registers; wider loads; vector code",
         "Blocks for registers: load once, use several times. Spilled registers are loads, too."},
    [TD_NODE_STORE_PORTS] = {"More stores per cycle than there are ports for them: one or two.",
                             "wider stores; results kept in registers until the end",
                             "A vector store writes what many stores of single values write."},
    [TD_NODE_FRONTEND_MEM_BOUND] =
        {"Much code, or code that jumps around: caches and TLB of code miss.",
         "smaller code; hot and cold code apart (PGO, BOLT)",
         "Its parts say whether the cache or the TLB is missed."},
    [TD_NODE_FRONTEND_CORE_BOUND] =
        {"Many taken branches, short blocks, refills after flushes.",
         "fewer taken branches; PGO; fewer mispredicted branches",
         "Its parts say whether prediction is too slow or flushes are too many."},
    [TD_NODE_FRONTEND_MEM_CACHE_BOUND] =
        {"The hot code does not fit into the instruction cache.",
         "smaller code: less inlining and unrolling; PGO, BOLT",
         "perf stat's l1i_mpki says how many misses per 1000 instructions."},
    [TD_NODE_FRONTEND_MEM_TLB_BOUND] =
        {"Hot code is spread over many pages, so its TLB misses.",
         "hot code close together; huge pages for code",
         "itlb_walk_mpki tells page walks, l1i_tlb_mpki misses of the first TLB."},
    [TD_NODE_FRONTEND_CORE_FLOW_BOUND] =
        {"The branch prediction unit gave addresses too slowly.",
         "fewer taken branches; larger blocks; PGO",
         "Many branches in few bytes of code are hard to predict in time."},
    [TD_NODE_FRONTEND_CORE_FLUSH_BOUND] =
        {"Mispredicted branches and other flushes empty the pipeline.",
         "branch-free code; predictable branches",
         "branch_mpki tells how many branches were mispredicted."},
    [TD_NODE_FRONTEND_CACHE_L1I_BOUND] =
        {"The hot code does not fit into L1, but into L2.",
         "smaller hot code; hot and cold code apart",
         "L1 holds 32 to 64 kB of code, so many small functions fill it."},
    [TD_NODE_FRONTEND_CACHE_L2I_BOUND] =
        {"Hot code does not fit into L2: it comes from L3 or from memory.",
         "much smaller code; hot and cold code apart",
         "L2 holds code and data: large data drive code out of it."},
    [TD_NODE_BACKEND_MEM_CACHE_BOUND] =
        {"Loads miss the first cache: their data come from L2 or from beyond it.",
         "smaller or denser data; blocks that fit the cache; prefetching",
         "Its parts say whether L2 has the data or memory must give them."},
    [TD_NODE_BACKEND_MEM_TLB_BOUND] =
        {"Data are spread over many pages, so the TLBs miss.", "huge pages; denser data",
         "dtlb_walk_mpki tells page walks, l1d_tlb_mpki misses of the first TLB."},
    [TD_NODE_BACKEND_CACHE_L1D_BOUND] =
        {"Data that fit into L2, but not into L1, are used again and again.",
         "blocks that fit L1; denser data",
         "L1 holds 32 to 64 kB of data: keep what a loop uses below that."},
    [TD_NODE_BACKEND_CACHE_L2D_BOUND] =
        {"Data that do not fit into L2: they come from L3 or from memory.",
         "blocks that fit L2; denser data; prefetching",
         "ll_read_mpki says how many loads go to memory."},
    [TD_NODE_BACKEND_CORE_RENAME_BOUND] =
        {"More results wait than there are registers inside the core.",
         "shorter chains; fewer live values; fewer long-latency operations",
         "Long waits for loads or divisions keep registers busy, too."},
};
static_assert(sizeof(advice) / sizeof(advice[0]) == TD_NODE_COUNT, "one a node");

const struct td_advice *td_advice_of(enum td_tma_node node)
{
    assert(node >= 0 && node < TD_NODE_COUNT);
    return &advice[node];
}
