/* SPDX-License-Identifier: MIT */
#include "formats/data_source.h"

#include "formats/kinds.h"

/* The fields of perf_mem_data_src (include/uapi/linux/perf_event.h): first bit and width. */
enum {
    OP = 0,
    OP_BITS = 5,
    LEVEL = 5,
    LEVEL_BITS = 14,
    SNOOP = 19,
    SNOOP_BITS = 5,
    LOCK = 24,
    LOCK_BITS = 2,
    DTLB = 26,
    DTLB_BITS = 7,
    NUMBER = 33,
    NUMBER_BITS = 4,
    REMOTE = 37,
    HOPS = 43,
    HOPS_BITS = 3
};

enum { OP_LOAD = 2, OP_STORE = 4, SNOOP_HITM = 0x10, LOCK_LOCKED = 2 };

/* mem_lvl, the older field: bits, since several may be set. */
enum {
    LEVEL_MISS = 4,
    LEVEL_L1 = 8,
    LEVEL_LFB = 0x10,
    LEVEL_L2 = 0x20,
    LEVEL_L3 = 0x40,
    LEVEL_LOCAL_RAM = 0x80,
    LEVEL_REMOTE = 0xf00 /* memory and caches, one and two hops away */
};
#define LEVEL_IO_UNCACHED 0x3000

/* mem_lvl_num, since Linux 4.14: a number. 0 is none. */
enum {
    NUMBER_L1 = 1,
    NUMBER_L2 = 2,
    NUMBER_L3 = 3,
    NUMBER_L4 = 4,
    NUMBER_L2_MHB = 5,
    NUMBER_MSC = 6,
    NUMBER_UNCACHED = 8,
    NUMBER_CXL = 9,
    NUMBER_IO = 10,
    NUMBER_ANY_CACHE = 11,
    NUMBER_LFB = 12,
    NUMBER_RAM = 13,
    NUMBER_PMEM = 14
};

enum { DTLB_MISS = 4, DTLB_WALK = 0x20, DTLB_OS = 0x40 };

static unsigned field(uint64_t word, unsigned first, unsigned bits)
{
    return (unsigned)(word >> first & ((UINT64_C(1) << bits) - 1));
}

static enum td_data_source of_number(unsigned number)
{
    switch (number) {
    case NUMBER_L1: return TD_DATA_SOURCE_L1;
    case NUMBER_L2:
    case NUMBER_L2_MHB: return TD_DATA_SOURCE_L2;
    case NUMBER_L3: return TD_DATA_SOURCE_L3;
    case NUMBER_LFB: return TD_DATA_SOURCE_LFB;
    case NUMBER_RAM: return TD_DATA_SOURCE_DRAM;
    case NUMBER_L4:
    case NUMBER_MSC:
    case NUMBER_UNCACHED:
    case NUMBER_CXL:
    case NUMBER_IO:
    case NUMBER_ANY_CACHE:
    case NUMBER_PMEM: return TD_DATA_SOURCE_OTHER;
    default: return TD_DATA_SOURCE_UNKNOWN;
    }
}

static enum td_data_source of_level(unsigned level)
{
    return level & LEVEL_LFB           ? TD_DATA_SOURCE_LFB
           : level & LEVEL_L1          ? TD_DATA_SOURCE_L1
           : level & LEVEL_L2          ? TD_DATA_SOURCE_L2
           : level & LEVEL_L3          ? TD_DATA_SOURCE_L3
           : level & LEVEL_LOCAL_RAM   ? TD_DATA_SOURCE_DRAM
           : level & LEVEL_IO_UNCACHED ? TD_DATA_SOURCE_OTHER
                                       : TD_DATA_SOURCE_UNKNOWN;
}

/* The number is the newer of the two; a level that was missed is not where the data was. */
static enum td_data_source source_of(uint64_t word)
{
    const unsigned level = field(word, LEVEL, LEVEL_BITS);
    const enum td_data_source numbered = of_number(field(word, NUMBER, NUMBER_BITS));

    if (level & LEVEL_REMOTE || field(word, REMOTE, 1) || field(word, HOPS, HOPS_BITS) > 1)
        return TD_DATA_SOURCE_REMOTE;
    if (level & LEVEL_MISS)
        return TD_DATA_SOURCE_OTHER;
    return numbered != TD_DATA_SOURCE_UNKNOWN ? numbered : of_level(level);
}

struct td_data_access td_data_access_of_perf(uint64_t data_source)
{
    const unsigned op = field(data_source, OP, OP_BITS);
    const unsigned dtlb = field(data_source, DTLB, DTLB_BITS);

    return (struct td_data_access){
        .is_access = op & (OP_LOAD | OP_STORE),
        .source = source_of(data_source),
        .hitm = field(data_source, SNOOP, SNOOP_BITS) & SNOOP_HITM,
        /* Hit and walk together: "in the second TLB, or by a walk" of old cores. */
        .tlb_walk = dtlb & DTLB_OS || (dtlb & DTLB_MISS && !(dtlb & 2)),
        .locked = field(data_source, LOCK, LOCK_BITS) & LOCK_LOCKED,
        .store = op & OP_STORE,
    };
}

struct td_data_access td_data_access_of_flags(uint64_t flags)
{
    const bool load = flags & TD_FLAG_LOAD, store = flags & TD_FLAG_STORE;
    struct td_data_access ret = {
        .is_access = load || store, .store = store, .tlb_walk = flags & TD_FLAG_DTLB_WALK};

    /* Of what missed, only loads tell which level had it. */
    ret.source = flags & TD_FLAG_REMOTE        ? TD_DATA_SOURCE_REMOTE
                 : flags & TD_FLAG_L3_MISS     ? TD_DATA_SOURCE_DRAM
                 : !(flags & TD_FLAG_L1D_MISS) ? TD_DATA_SOURCE_L1
                 : !load                       ? TD_DATA_SOURCE_OTHER
                 : flags & TD_FLAG_L2_MISS     ? TD_DATA_SOURCE_L3
                                               : TD_DATA_SOURCE_L2;
    return ret;
}

const char *td_data_source_id(enum td_data_source source)
{
    static const char *const ids[] = {
#define X(symbol, id, heading) id,
        TD_DATA_SOURCES(X)
#undef X
    };

    return ids[source];
}

const char *td_data_source_heading(enum td_data_source source)
{
    static const char *const headings[] = {
#define X(symbol, id, heading) heading,
        TD_DATA_SOURCES(X)
#undef X
    };

    return headings[source];
}
