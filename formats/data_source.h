/* SPDX-License-Identifier: MIT */
/*
 * Where a memory access found its data, from what hardware says of it: perf_mem_data_src
 * (include/uapi/linux/perf_event.h), or the flags that tdrec keeps of AMD's IBS.
 */
#ifndef TD_FORMATS_DATA_SOURCE_H
#define TD_FORMATS_DATA_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* X(symbol, id in JSON, heading) */
#define TD_DATA_SOURCES(X)        \
    X(L1, "l1", "L1")             \
    X(LFB, "lfb", "LFB")          \
    X(L2, "l2", "L2")             \
    X(L3, "l3", "L3")             \
    X(DRAM, "dram", "DRAM")       \
    X(REMOTE, "remote", "remote") \
    X(OTHER, "other", "other")    \
    X(UNKNOWN, "unknown", "unknown")

enum td_data_source {
#define X(symbol, id, heading) TD_DATA_SOURCE_##symbol,
    TD_DATA_SOURCES(X)
#undef X
        TD_DATA_SOURCE_COUNT
};

/* LFB: a miss to the same line was under way. REMOTE: another socket or node, its caches or its
 * memory, or another cluster's cache. OTHER: persistent or device memory, uncached, or a miss of
 * which the level that had it is not known. */
struct td_data_access {
    bool is_access; /* a load or a store: false when the sample is of something else */
    enum td_data_source source;
    bool hitm;     /* another core had changed the line and not written it back */
    bool tlb_walk; /* the translation was in no TLB */
    bool locked;   /* an atomic operation */
    bool store;
};

/* Any number is allowed: bits that say nothing give UNKNOWN. */
struct td_data_access td_data_access_of_perf(uint64_t data_source);
/* Of td_sample_flag bits. */
struct td_data_access td_data_access_of_flags(uint64_t flags);

const char *td_data_source_id(enum td_data_source source);
const char *td_data_source_heading(enum td_data_source source);

#endif
