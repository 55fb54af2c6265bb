/* SPDX-License-Identifier: MIT */
#include "record/events/ibs.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/kinds.h"

/* CPUID 0x8000001b, as the raw data begins with it. */
#define CAPS_FETCH_EXTENDED (1u << 9)
#define CAPS_ZEN4           (1u << 11) /* five bits of data source */

/* Registers in the order of the raw data. */
enum { OP_CTL, OP_RIP, OP_DATA, OP_DATA2, OP_DATA3, OP_ADDRESS, OP_PHYSICAL, OP_REGISTERS };
enum { FETCH_CTL, FETCH_ADDRESS, FETCH_PHYSICAL, FETCH_REGISTERS };

#define OP_VALID    (UINT64_C(1) << 18) /* IbsOpCtl */
#define FETCH_VALID (UINT64_C(1) << 49) /* IbsFetchCtl */

/* A bit of a register and what it means for us (arch/x86/include/asm/amd/ibs.h). */
struct bit {
    uint8_t number;
    uint32_t flag;
};

static const struct bit op_data[] = {
    {36, TD_FLAG_MISPREDICTED},
    {37, TD_FLAG_BRANCH},
    {40, TD_FLAG_MICROCODE},
};
static const struct bit op_data3[] = {
    {0, TD_FLAG_LOAD},      {1, TD_FLAG_STORE},    {2, TD_FLAG_DTLB_MISS},
    {3, TD_FLAG_DTLB_WALK}, {7, TD_FLAG_L1D_MISS}, {20, TD_FLAG_L2_MISS},
};
static const struct bit fetch_ctl[] = {
    {51, TD_FLAG_L1I_MISS}, {55, TD_FLAG_ITLB_MISS},     {56, TD_FLAG_ITLB_WALK},
    {58, TD_FLAG_L2_MISS},  {60, TD_FLAG_OP_CACHE_MISS}, {61, TD_FLAG_L3_MISS},
};

static uint32_t flags_of(uint64_t word, const struct bit *bits, size_t count)
{
    uint32_t flags = 0;

    for (size_t i = 0; i < count; i++)
        flags |= word >> bits[i].number & 1 ? bits[i].flag : 0;
    return flags;
}

/* IbsOpData2 says where the data of a load that missed came from: 3 is DRAM, 6 persistent and 8
 * extension memory; the upper two bits count from Zen 4 on. Bit 4: of another node. */
static uint32_t source_flags(uint64_t data2, uint32_t caps)
{
    const unsigned low = data2 & 7;
    const unsigned source = caps & CAPS_ZEN4 ? (unsigned)(data2 >> 6 & 3) << 3 | low : low;
    const bool memory = source == 3 || source == 6 || source == 8;

    return (memory ? TD_FLAG_L3_MISS : 0) | (data2 >> 4 & 1 ? TD_FLAG_REMOTE : 0);
}

/* The capabilities and `count` registers; false when they are not all there. */
static bool read_registers(struct td_rd *rd, uint32_t *caps, uint64_t *registers, size_t count)
{
    *caps = td_rd_u32(rd);
    for (size_t i = 0; i < count; i++)
        registers[i] = td_rd_u64(rd);
    return td_rd_ok(rd);
}

bool td_ibs_read_op(struct td_ibs *ret, const uint8_t *data, size_t size)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    uint64_t r[OP_REGISTERS];
    uint32_t caps = 0;

    *ret = (struct td_ibs){.flags = 0};
    if (!read_registers(&rd, &caps, r, OP_REGISTERS) || !(r[OP_CTL] & OP_VALID))
        return false;
    ret->flags = flags_of(r[OP_DATA], op_data, TD_ARRAY_SIZE(op_data)) |
                 flags_of(r[OP_DATA3], op_data3, TD_ARRAY_SIZE(op_data3));
    ret->instr_latency = (uint32_t)(r[OP_DATA] >> 16 & 0xffff);
    ret->retire_wait = (uint32_t)(r[OP_DATA] & 0xffff);
    /* The latencies belong to loads that missed (stores have none). */
    if (ret->flags & TD_FLAG_LOAD && ret->flags & TD_FLAG_L1D_MISS) {
        ret->flags |= source_flags(r[OP_DATA2], caps);
        ret->latency = (uint32_t)(r[OP_DATA3] >> 32 & 0xffff);
    }
    if (ret->flags & TD_FLAG_DTLB_MISS)
        ret->tlb_latency = (uint32_t)(r[OP_DATA3] >> 48);
    return true;
}

bool td_ibs_read_fetch(struct td_ibs *ret, const uint8_t *data, size_t size)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    uint64_t r[FETCH_REGISTERS];
    uint32_t caps = 0;

    *ret = (struct td_ibs){.flags = 0};
    if (!read_registers(&rd, &caps, r, FETCH_REGISTERS) || !(r[FETCH_CTL] & FETCH_VALID))
        return false;
    ret->flags = TD_FLAG_FETCH | flags_of(r[FETCH_CTL], fetch_ctl, TD_ARRAY_SIZE(fetch_ctl));
    ret->latency = (uint32_t)(r[FETCH_CTL] >> 32 & 0xffff);
    if (!(caps & CAPS_FETCH_EXTENDED))
        return true;
    const uint64_t extended = td_rd_u64(&rd);
    ret->tlb_latency = (uint32_t)(extended & 0xffff);
    return td_rd_ok(&rd);
}

/* In the order of the tests: the first set of flags that a sample has says its node. */
static const struct rule {
    uint32_t all; /* of these flags */
    enum td_tma_node node;
} rules[] = {
    {TD_FLAG_FETCH | TD_FLAG_ITLB_WALK, TD_NODE_ITLB_MISSES},
    {TD_FLAG_FETCH | TD_FLAG_L1I_MISS, TD_NODE_ICACHE_MISSES},
    {TD_FLAG_FETCH | TD_FLAG_ITLB_MISS, TD_NODE_ITLB_MISSES},
    {TD_FLAG_FETCH, TD_NODE_NONE},
    {TD_FLAG_BRANCH | TD_FLAG_MISPREDICTED, TD_NODE_BRANCH_MISPREDICTS},
    {TD_FLAG_LOAD | TD_FLAG_L1D_MISS | TD_FLAG_L3_MISS, TD_NODE_DRAM_BOUND},
    {TD_FLAG_LOAD | TD_FLAG_L1D_MISS | TD_FLAG_L2_MISS, TD_NODE_L3_BOUND},
    {TD_FLAG_LOAD | TD_FLAG_L1D_MISS, TD_NODE_L2_BOUND},
    {TD_FLAG_LOAD | TD_FLAG_DTLB_WALK, TD_NODE_L1_BOUND},
    {TD_FLAG_STORE | TD_FLAG_L1D_MISS, TD_NODE_STORE_BOUND},
};

enum td_tma_node td_ibs_node(const struct td_ibs *ibs)
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(rules); i++) {
        if ((ibs->flags & rules[i].all) == rules[i].all)
            return rules[i].node;
    }
    return TD_NODE_NONE;
}

const enum td_tma_node *td_ibs_op_nodes(void)
{
    static const enum td_tma_node nodes[] = {
        TD_NODE_BRANCH_MISPREDICTS, TD_NODE_DRAM_BOUND,  TD_NODE_L3_BOUND, TD_NODE_L2_BOUND,
        TD_NODE_L1_BOUND,           TD_NODE_STORE_BOUND, TD_NODE_NONE,
    };

    return nodes;
}

const enum td_tma_node *td_ibs_fetch_nodes(void)
{
    static const enum td_tma_node nodes[] = {
        TD_NODE_ICACHE_MISSES,
        TD_NODE_ITLB_MISSES,
        TD_NODE_NONE,
    };

    return nodes;
}
