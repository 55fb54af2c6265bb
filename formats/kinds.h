/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary of a profile, shared by the file, the model and every importer. Each list is an
 * X-macro with pinned numbers: the numbers are on disk (formats/profile.md), the names in JSON.
 */
#ifndef TD_FORMATS_KINDS_H
#define TD_FORMATS_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/cpi_methods.h"

/* What an address is relative to: X(symbol, number, name, meaning of a location's offset) */
#define TD_MODULE_KINDS(X)                                                 \
    X(UNKNOWN, 0, "unknown", "the address itself")                         \
    X(FILE, 1, "file", "offset in the file")                               \
    X(KERNEL, 2, "kernel", "the address itself, minus the module's base")  \
    X(KERNEL_MODULE, 3, "kernel-module", "offset from the module's start") \
    X(VDSO, 4, "vdso", "offset in the image")                              \
    X(ANON, 5, "anon", "the address itself, in one process (JIT code)")

enum td_module_kind {
#define X(symbol, number, name, meaning) TD_MODULE_##symbol = (number),
    TD_MODULE_KINDS(X)
#undef X
};

/* What a value counts: X(symbol, number, name) */
#define TD_UNITS(X)                    \
    X(COUNT, 0, "count")               \
    X(NS, 1, "ns")                     \
    X(CYCLES, 2, "cycles")             \
    X(INSTRUCTIONS, 3, "instructions") \
    X(SLOTS, 4, "slots")               \
    X(BYTES, 5, "bytes")

enum td_unit {
#define X(symbol, number, name) TD_UNIT_##symbol = (number),
    TD_UNITS(X)
#undef X
};

/* One value of a sample or tally: X(symbol, number, name, meaning) */
#define TD_COLUMN_KINDS(X)                                                                     \
    X(PERIOD, 0, "period", "what the sample stands for, in the unit of its event")             \
    X(DELTA, 1, "delta", "the event's count since the thread's previous sample of this group") \
    X(TOTAL, 2, "total", "a tally: the event's whole count at this place")                     \
    X(LATENCY, 3, "latency", "PERF_SAMPLE_WEIGHT_STRUCT part 1, cycles")                       \
    X(INSTR_LATENCY, 4, "instr-latency", "PERF_SAMPLE_WEIGHT_STRUCT part 2, cycles")           \
    X(RETIRE_LATENCY, 5, "retire-latency", "PERF_SAMPLE_WEIGHT_STRUCT part 3, cycles")         \
    X(DATA_SOURCE, 6, "data-source", "perf_mem_data_src, raw")                                 \
    X(DATA_ADDRESS, 7, "data-address", "PERF_SAMPLE_ADDR")                                     \
    X(TIME_ENABLED, 8, "time-enabled", "ns since the previous sample of this group")           \
    X(TIME_RUNNING, 9, "time-running", "ns since the previous sample of this group")           \
    X(FLAGS, 10, "flags", "TD_SAMPLE_FLAGS bits")                                              \
    X(TLB_LATENCY, 11, "tlb-latency", "cycles that the refill of a TLB took")                  \
    X(RETIRE_WAIT, 12, "retire-wait", "cycles between completion and retirement")              \
    X(REPLICATE, 13, "replicate", "a replicate of the node's slots (formats/replicates.h)")    \
    X(UNKNOWN, 255, "unknown", "of a newer version; to be left alone")

enum td_column_kind {
#define X(symbol, number, name, meaning) TD_COLUMN_##symbol = (number),
    TD_COLUMN_KINDS(X)
#undef X
};

/* Bits of a FLAGS column: X(symbol, bit, name, meaning). Of PEBS, IBS and branch records. */
#define TD_SAMPLE_FLAGS(X)                                                                  \
    X(EXACT_IP, 0, "exact-ip", "PERF_RECORD_MISC_EXACT_IP: the place is the instruction's") \
    X(MISPREDICTED, 1, "mispredicted", "the branch, or the newest one before the sample")   \
    X(BRANCH, 2, "branch", "a branch that retired")                                         \
    X(LOAD, 3, "load", "a load")                                                            \
    X(STORE, 4, "store", "a store")                                                         \
    X(L1D_MISS, 5, "l1d-miss", "missed the first data cache")                               \
    X(L2_MISS, 6, "l2-miss", "missed the second cache, data or code")                       \
    X(L3_MISS, 7, "l3-miss", "came from memory")                                            \
    X(REMOTE, 8, "remote", "came from another node")                                        \
    X(DTLB_MISS, 9, "dtlb-miss", "missed the first data TLB")                               \
    X(DTLB_WALK, 10, "dtlb-walk", "missed the last data TLB")                               \
    X(MICROCODE, 11, "microcode", "an operation of microcode")                              \
    X(FETCH, 12, "fetch", "the sample is of a fetch, not of an operation")                  \
    X(L1I_MISS, 13, "l1i-miss", "missed the first instruction cache")                       \
    X(ITLB_MISS, 14, "itlb-miss", "missed the first instruction TLB")                       \
    X(ITLB_WALK, 15, "itlb-walk", "missed the last instruction TLB")                        \
    X(OP_CACHE_MISS, 16, "op-cache-miss", "missed the cache of decoded operations")

enum td_sample_flag {
#define X(symbol, bit, name, meaning) TD_FLAG_##symbol = 1 << (bit),
    TD_SAMPLE_FLAGS(X)
#undef X
};

/* What a stream of samples is for: X(symbol, number, name) */
#define TD_GROUP_ROLES(X)                                                                       \
    X(TIME, 0, "time")                                                                          \
    X(SLOTS, 1, "slots")           /* a top-down group */                                       \
    X(LOCATOR, 2, "locator")       /* precise events that say where a node's slots were lost */ \
    X(METRIC, 3, "metric")         /* anything else that was asked for */                       \
    X(MODEL, 4, "model")           /* tallies of the modelled core */                           \
    X(REPLICATES, 5, "replicates") /* how far what was sampled of them may be off */            \
    X(VARIANT, 6, "variant")       /* the same run on a core with something changed */

enum td_group_role {
#define X(symbol, number, name) TD_ROLE_##symbol = (number),
    TD_GROUP_ROLES(X)
#undef X
};

/* The columns of a group with role VARIANT, whose name says what is changed
 * (formats/cores/variant.h): slots, instructions. */
#define TD_VARIANT_COLUMNS 2

/* The event whose samples are waits (--off-cpu). */
#define TD_OFF_CPU_EVENT "off-cpu"

/* How slots reach a place (DESIGN.md): X(symbol, number, name) */
#define TD_ATTRIBUTIONS(X)     \
    X(NONE, 0, "none")         \
    X(EXACT, 1, "exact")       \
    X(INTERVAL, 2, "interval") \
    X(PAIRED, 3, "paired")     \
    X(LOCATED, 4, "located")   \
    X(TIMED, 5, "timed")

enum td_attribution {
#define X(symbol, number, name) TD_ATTRIBUTION_##symbol = (number),
    TD_ATTRIBUTIONS(X)
#undef X
};

/* Of one way of counting (formats/cpi_methods.h), components in their order. */
#define TD_CPI_COUNTERS(X, method, first, name)                                                    \
    X(CPI_##method##_ICACHE, (first), "cpi_" name "_icache_misses", "cycles, counted in this way") \
    X(CPI_##method##_ITLB, (first) + 1, "cpi_" name "_itlb_misses", "likewise")                    \
    X(CPI_##method##_BRANCHES, (first) + 2, "cpi_" name "_branches", "likewise")                   \
    X(CPI_##method##_DTLB, (first) + 3, "cpi_" name "_dtlb", "likewise")                           \
    X(CPI_##method##_L2, (first) + 4, "cpi_" name "_l2_bound", "likewise")                         \
    X(CPI_##method##_L3, (first) + 5, "cpi_" name "_l3_bound", "likewise")                         \
    X(CPI_##method##_DRAM, (first) + 6, "cpi_" name "_dram_bound", "likewise")                     \
    X(CPI_##method##_OTHER, (first) + 7, "cpi_" name "_other_stalls", "likewise")

/* Coverage counters, totals of the whole recording: X(symbol, number, name, meaning) */
#define TD_COUNTERS(X)                                                                         \
    X(SAMPLES, 0, "samples", "samples stored")                                                 \
    X(LOST, 1, "lost", "samples the kernel could not deliver")                                 \
    X(LOST_RECORDS, 2, "lost_records", "ring records lost that were not samples, or unknown")  \
    X(THROTTLED, 3, "throttled", "times the kernel throttled an event")                        \
    X(FILTERED, 4, "filtered", "samples of other processes, left out")                         \
    X(TRUNCATED_STACKS, 5, "truncated_stacks", "stacks known to be incomplete")                \
    X(COUNTED_NS, 6, "counted_ns", "CPU time of the profiled tasks, as the kernel counted it") \
    X(SAMPLED_NS, 7, "sampled_ns", "CPU time that the samples stand for")                      \
    X(PROCESSES, 8, "processes", "processes seen")                                             \
    X(THREADS, 9, "threads", "threads seen")                                                   \
    X(UNMAPPED, 10, "unmapped", "user addresses outside every known mapping")                  \
    X(UNWIND_NO_TABLE, 11, "unwind_no_table", "stacks cut: no unwind table for an address")    \
    X(UNWIND_BAD_ADDRESS, 12, "unwind_bad_address", "stacks cut: return address in no module") \
    X(UNWIND_SHORT_COPY, 13, "unwind_short_copy", "stacks cut: the stack copy was too short")  \
    X(UNWIND_BAD_RULE, 14, "unwind_bad_rule", "stacks cut: rule not followable")               \
    X(INVALID_GROUPS, 15, "invalid_groups", "group reads that did not add up")                 \
    X(STARTED_NS, 16, "started_ns", "CLOCK_MONOTONIC when recording began")                    \
    X(ENDED_NS, 17, "ended_ns", "CLOCK_MONOTONIC at the last flush")                           \
    X(CYCLES, 18, "cycles", "cycles of the whole program (modelled or counted)")               \
    X(INSTRUCTIONS, 19, "instructions", "instructions of the whole program")                   \
    X(DETAILED, 20, "detailed", "of them, modelled exactly; the rest was sampled")             \
    X(CYCLES_ERROR, 21, "cycles_error", "two standard errors of the cycles, from sampling")    \
    X(RECORDED_NS, 22, "recorded_ns", "of the time: what was recorded, where that is a part")  \
    X(PIECES, 23, "recorded_pieces", "how many times that was begun")                          \
    X(WAITED_NS, 24, "waited_ns", "time that threads waited, off the CPU (--off-cpu)")         \
    X(PREEMPTED_NS, 25, "preempted_ns", "time that they were off it although they could run")  \
    X(WAITS, 26, "waits", "samples that are waits, each of as many nanoseconds")               \
    X(BRANCHES, 27, "branches", "modelled: branches, calls and returns")                       \
    X(MISPREDICTS, 28, "mispredicts", "of them, mispredicted")                                 \
    X(LOADS, 29, "loads", "modelled: operations that load")                                    \
    X(STORES, 30, "stores", "modelled: operations that store")                                 \
    X(L1D_MISSES, 31, "l1d_misses", "modelled: accesses to data that missed L1")               \
    X(L2_MISSES, 32, "l2_misses", "of them, those that missed L2")                             \
    X(L3_MISSES, 33, "l3_misses", "of them, those that missed L3")                             \
    X(DTLB_WALKS, 34, "dtlb_walks", "modelled: page walks for data")                           \
    X(L1I_MISSES, 35, "l1i_misses", "modelled: lines of code that missed L1")                  \
    X(ITLB_MISSES, 36, "itlb_misses", "modelled: pages of code that missed the first TLB")     \
    X(REGION_STRAYS, 37, "region_strays", "ends of regions that their thread had not begun")   \
    X(REGION_OPEN, 38, "region_open", "regions that the end of an outer one ended")            \
    X(CPI_CYCLES, 39, "cpi_cycles", "modelled cycles that were counted in four ways as well")  \
    X(CPI_OVERLAP, 40, "cpi_overlap", "of them: front end and window stalled at once")         \
    TD_CPI_COUNTERS(X, NAIVE, 41, "naive")                                                     \
    TD_CPI_COUNTERS(X, RIGHT_PATH, 49, "naive_right_path")                                     \
    TD_CPI_COUNTERS(X, POWER5, 57, "power5")                                                   \
    TD_CPI_COUNTERS(X, INTERVAL, 65, "interval")

enum td_counter {
#define X(symbol, number, name, meaning) TD_COUNTER_##symbol = (number),
    TD_COUNTERS(X)
#undef X
        TD_COUNTER_COUNT
};
_Static_assert((int)TD_COUNTER_CPI_INTERVAL_OTHER ==
                   (int)TD_COUNTER_CPI_CYCLES + (int)TD_CPI_COUNTS - 1,
               "counters of all ways, in the order of formats/cpi_methods.h");

/* What tdrec records from: X(symbol, number, name, whether its categories are a model's, meaning).
 * A further one is a line here and a file with its `struct td_source` (record/plan/source.h). */
#define TD_RECORDED_SOURCES(X)                                       \
    X(PMU, 1, pmu, false, "hardware top-down events")                \
    X(SIM, 2, sim, true, "the modelled core under qemu")             \
    X(CLOCK, 3, clock, false, "time, by cpu-clock")                  \
    X(HYBRID, 4, hybrid, true, "measured time, modelled categories") \
    X(LIVE, 6, live, true, "measured time, categories of modelled windows of the same run")

/* Where a profile comes from. */
#define TD_SOURCES(X)      \
    TD_RECORDED_SOURCES(X) \
    X(IMPORT, 5, import, false, "a file of perf's")

enum td_source_id {
    TD_SOURCE_NONE, /* not known; of a request: not asked for */
#define X(symbol, number, name, modelled, meaning) TD_SOURCE_##symbol = (number),
    TD_SOURCES(X)
#undef X
};

/* How tasks are followed: X(symbol, number, name, meaning) */
#define TD_METHODS(X)                                                        \
    X(TASK, 1, "per-task events", "events of tasks, which children inherit") \
    X(CPU, 2, "per-cpu events", "events of whole CPUs; of samples, the wanted tasks' are kept")

enum td_method {
    TD_METHOD_AUTO, /* not known; of a request: not asked for */
#define X(symbol, number, name, meaning) TD_METHOD_##symbol = (number),
    TD_METHODS(X)
#undef X
};

/* The environment: text by key; a key may stand several times (argv), order is kept.
 * X(symbol, key, meaning) */
#define TD_ENV_KEYS(X)                                                                      \
    X(ARGV, "argv", "one word of the command, in order")                                    \
    X(SOURCE, "source", "pmu, sim, clock, hybrid, live, or import")                         \
    X(SOURCE_REASON, "source_reason", "why this source and not pmu; absent when asked for") \
    X(CORE, "core", "core description used for slots; absent for clock")                    \
    X(CORE_TEXT, "core_text", "its text, once for each core")                               \
    X(HOST, "host", "host name")                                                            \
    X(KERNEL, "kernel", "release of the kernel")                                            \
    X(MACHINE, "machine", "uname -m")                                                       \
    X(CPU, "cpu", "CPU model for people")                                                   \
    X(CPU_ID, "cpu_id", "vendor-family-model-stepping or MIDR")                             \
    X(CPUS_ONLINE, "cpus_online", "list of CPUs, \"0-3,8\"")                                \
    X(HYPERVISOR, "hypervisor", "name, when there is one")                                  \
    X(PAGE_BYTES, "page_bytes", "page size of the recorded machine")                        \
    X(CLOCK, "clock", "the clock of sample times; \"monotonic\"")                           \
    X(REALTIME_NS, "realtime_ns", "CLOCK_REALTIME when recording began")                    \
    X(BOOTTIME_NS, "boottime_ns", "CLOCK_BOOTTIME when recording began")                    \
    X(CALL_GRAPH, "call_graph", "auto, fp, dwarf, lbr, or none")                            \
    X(FREQUENCY, "frequency_hz", "samples a second asked for; absent when a period was")    \
    X(PERIOD, "period", "period asked for, in the unit of its event")                       \
    X(SCOPE, "scope", "command, process, thread, system, cpus, or cgroup")                  \
    X(TARGET, "target", "the pids, cpus or cgroup of the scope")                            \
    X(METHOD, "method", "per-task or per-cpu events")                                       \
    X(PRIVILEGE, "privilege", "what was left out for lack of privilege, one sentence")      \
    X(WARNING, "warning", "a sentence that every report shows")                             \
    X(EXIT, "exit", "how the command ended: \"exit 0\", \"signal 11\"")                     \
    X(RANK, "rank", "MPI or Slurm rank")                                                    \
    X(INPUT, "input", "one input of a merge, \"host=...;process=...\" (formats/merge.h)")   \
    X(PARAMETER, "parameter", "one parameter of the source, \"name=value\"")                \
    X(LEFT_OUT, "left_out", "what was asked for and not recorded, with the reason")         \
    X(RECORDER, "recorder", "tdrec and its version, or perf's version for imports")

enum td_env_key {
#define X(symbol, key, meaning) TD_ENV_##symbol,
    TD_ENV_KEYS(X)
#undef X
        TD_ENV_COUNT
};

/* Names by number, for dumps and JSON; "?" for a number that is in no list. */
const char *td_module_kind_name(unsigned kind);
const char *td_unit_name(unsigned unit);
const char *td_column_kind_name(unsigned kind);
const char *td_group_role_name(unsigned role);
const char *td_attribution_name(unsigned attribution);
const char *td_counter_name(unsigned counter);
const char *td_source_name(unsigned source);
const char *td_method_name(unsigned method);
bool td_source_is_modelled(enum td_source_id source);
/* TD_SOURCE_NONE, TD_METHOD_AUTO: the text is the name of none (NULL is allowed). */
enum td_source_id td_source_by_name(const char *text);
enum td_method td_method_by_name(const char *text);
const char *td_env_key_name(enum td_env_key key);
/* TD_ENV_COUNT when the text is no key of this version (it is kept all the same). */
enum td_env_key td_env_key_by_name(const char *name);

#endif
