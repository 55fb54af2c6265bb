/* SPDX-License-Identifier: MIT */
#include "formats/perfdata/spe.h"

#include <linux/perf_event.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/kinds.h"

/* Headers of one byte, without the bits that say how many bytes follow (5:4) and the index. */
enum {
    HEADER_PADDING = 0x00,
    HEADER_END = 0x01,
    HEADER_TIMESTAMP = 0x71,
    HEADER_EVENTS = 0x42, /* bits 7:6 and 3:0 */
    HEADER_SOURCE = 0x43,
    HEADER_CONTEXT = 0x64, /* bits 7:2 */
    HEADER_OPERATION = 0x48,
    HEADER_EXTENDED = 0x20, /* a second byte follows: a header, or 0 for alignment */
    HEADER_ADDRESS = 0xb0,  /* bits 7:3 */
    HEADER_COUNTER = 0x98
};

enum { ADDRESS_PC = 0, ADDRESS_DATA = 2 };
enum { COUNTER_TOTAL = 0, COUNTER_ISSUE = 1, COUNTER_TRANSLATION = 2 };

struct packet {
    unsigned header, index;
    uint64_t payload;
};

struct td_spe td_spe_init(const uint8_t *data, size_t size, uint64_t origin)
{
    return (struct td_spe){.data = data, .size = size, .origin = origin};
}

/* What kind of packet a header is of: its constant bits; HEADER_PADDING for none. */
static unsigned kind_of(unsigned header)
{
    if (header == HEADER_END || header == HEADER_TIMESTAMP)
        return header;
    if ((header & 0xcf) == HEADER_EVENTS || (header & 0xcf) == HEADER_SOURCE)
        return header & 0xcf;
    if ((header & 0xfc) == HEADER_CONTEXT || (header & 0xfc) == HEADER_OPERATION)
        return header & 0xfc;
    if ((header & 0xf8) == HEADER_ADDRESS || (header & 0xf8) == HEADER_COUNTER)
        return header & 0xf8;
    return HEADER_PADDING;
}

/* Up to the next multiple of a power of two, of 2 to 32768 bytes. */
static void skip_alignment(struct td_spe *spe, unsigned header)
{
    const uint64_t unit = UINT64_C(1) << ((header & 0xf) + 1);
    const uint64_t left = unit - ((spe->origin + spe->at) & (unit - 1));

    spe->at = left < spe->size - spe->at ? spe->at + (size_t)left : spe->size;
}

/* The packet at the cursor, which moves on; false when it is cut off or none, then the cursor moves
 * by one byte, or to the end. */
static bool read_packet(struct td_spe *spe, struct packet *packet)
{
    unsigned first = spe->data[spe->at], high = 0;
    size_t used = 1;

    if ((first & 0xfc) == HEADER_EXTENDED && spe->size - spe->at > 1) {
        if (spe->data[spe->at + 1] == 0) {
            *packet = (struct packet){.header = HEADER_PADDING};
            skip_alignment(spe, first);
            return true;
        }
        high = (first & 3) << 3;
        first = spe->data[spe->at + 1];
        used = 2;
    }
    packet->header = kind_of(first);
    if (packet->header == HEADER_PADDING && (first != 0 || used > 1)) {
        spe->bad++;
        spe->at++;
        return false;
    }
    const bool bare = packet->header == HEADER_PADDING || packet->header == HEADER_END;
    const size_t bytes = bare ? 0 : (size_t)1 << (first >> 4 & 3);
    struct td_rd rd = td_rd_init(spe->data + spe->at + used, spe->size - spe->at - used, 0);

    packet->index = high | (first & 7);
    packet->payload = bytes == 8   ? td_rd_u64(&rd)
                      : bytes == 4 ? td_rd_u32(&rd)
                      : bytes == 2 ? td_rd_u16(&rd)
                      : bytes == 1 ? td_rd_u8(&rd)
                                   : 0;
    const bool whole = td_rd_ok(&rd);
    spe->at = whole ? spe->at + used + bytes : spe->size;
    return whole;
}

/* Seven bytes and, above them, the security state and the exception level, or a tag. Bit 55 says
 * which half of the addresses it is in. */
static uint64_t canonical(uint64_t payload)
{
    const uint64_t low = payload & (UINT64_MAX >> 8);

    return low >> 55 ? low | UINT64_C(0xff) << 56 : low;
}

static void take_address(struct td_spe_record *record, const struct packet *packet)
{
    if (packet->index == ADDRESS_PC) {
        record->has_pc = true;
        record->level = packet->payload >> 61 & 3;
        record->pc = canonical(packet->payload);
    } else if (packet->index == ADDRESS_DATA) {
        record->data_address = canonical(packet->payload);
    }
}

static void take_counter(struct td_spe_record *record, const struct packet *packet)
{
    const uint16_t cycles = packet->payload & UINT16_MAX;

    if (packet->index == COUNTER_TOTAL)
        record->total_latency = cycles;
    else if (packet->index == COUNTER_ISSUE)
        record->issue_latency = cycles;
    else if (packet->index == COUNTER_TRANSLATION)
        record->translation_latency = cycles;
}

static void take_operation(struct td_spe_record *record, const struct packet *packet)
{
    static const enum td_spe_class classes[] = {TD_SPE_OTHER, TD_SPE_MEMORY, TD_SPE_BRANCH,
                                                TD_SPE_OTHER};

    record->class = classes[packet->index & 3];
    record->store = record->class == TD_SPE_MEMORY && packet->payload & 1;
}

static void take(struct td_spe_record *record, const struct packet *packet)
{
    switch (packet->header) {
    case HEADER_ADDRESS: take_address(record, packet); break;
    case HEADER_COUNTER: take_counter(record, packet); break;
    case HEADER_OPERATION: take_operation(record, packet); break;
    case HEADER_EVENTS: record->events = packet->payload; break;
    case HEADER_SOURCE:
        record->has_source = true;
        record->source = packet->payload & UINT16_MAX;
        break;
    case HEADER_CONTEXT:
        record->has_context = true;
        record->context = packet->payload & UINT32_MAX;
        break;
    case HEADER_TIMESTAMP:
        record->has_time = true;
        record->time = packet->payload;
        break;
    default: break;
    }
}

bool td_spe_next(struct td_spe *spe, struct td_spe_record *record)
{
    bool whole = true; /* nothing of it was lost so far */
    struct packet packet;

    *record = (struct td_spe_record){.has_pc = false};
    while (spe->at < spe->size) {
        if (!read_packet(spe, &packet)) {
            whole = false;
            continue;
        }
        take(record, &packet);
        if (packet.header != HEADER_END && packet.header != HEADER_TIMESTAMP)
            continue;
        if (whole && record->has_pc)
            return true;
        *record = (struct td_spe_record){.has_pc = false};
        whole = true;
    }
    return false;
}

/* The numbers of Arm's own cores (their Technical Reference Manuals), and of Ampere's. */
enum source {
    SOURCE_L1 = 0,
    SOURCE_L2 = 8,
    SOURCE_PEER_CORE = 9,
    SOURCE_LOCAL_CLUSTER = 10,
    SOURCE_SYSTEM_CACHE = 11,
    SOURCE_PEER_CLUSTER = 12,
    SOURCE_REMOTE = 13,
    SOURCE_DRAM = 14,
    SOURCE_UNKNOWN = 15
};

static enum source of_arm(unsigned number)
{
    if (number == SOURCE_L1 || (number >= SOURCE_L2 && number <= SOURCE_DRAM))
        return (enum source)number;
    return SOURCE_UNKNOWN;
}

static enum source of_ampereone(unsigned number)
{
    static const uint8_t sources[] = {
        [0] = SOURCE_PEER_CORE,    [1] = SOURCE_UNKNOWN, [2] = SOURCE_UNKNOWN,
        [3] = SOURCE_SYSTEM_CACHE, [4] = SOURCE_UNKNOWN, [5] = SOURCE_REMOTE,
        [6] = SOURCE_UNKNOWN,      [7] = SOURCE_DRAM,    [8] = SOURCE_L1,
        [9] = SOURCE_L2,
    };

    return number < TD_ARRAY_SIZE(sources) ? (enum source)sources[number] : SOURCE_UNKNOWN;
}

/* Implementer and part of MIDR: the cores whose manuals give the numbers above. */
static const struct {
    uint16_t implementer, part;
    enum source (*translate)(unsigned number);
} known[] = {
    {0x41, 0xd0c, of_arm}, /* Neoverse N1 */
    {0x41, 0xd40, of_arm}, /* Neoverse V1 */
    {0x41, 0xd49, of_arm}, /* Neoverse N2 */
    {0x6d, 0xd49, of_arm}, /* Azure Cobalt 100, a Neoverse N2 */
    {0x41, 0xd4f, of_arm}, /* Neoverse V2 */
    {0xc0, 0xac3, of_ampereone},
};

static enum source source_of(const struct td_spe_record *record, const struct td_pmu_cpu *cpu)
{
    if (!record->has_source || cpu->vendor != TD_VENDOR_ARM || record->store)
        return SOURCE_UNKNOWN; /* a store's number says nothing of where the line was */
    for (size_t i = 0; i < TD_ARRAY_SIZE(known); i++) {
        if (known[i].implementer == cpu->family && known[i].part == cpu->model)
            return known[i].translate(record->source);
    }
    return SOURCE_UNKNOWN;
}

#define LEVEL_HIT(level) (PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVL, level))

/* As perf has them (tools/perf/util/arm-spe.c): the system's cache is level 3. */
static uint64_t level_of_source(enum source source)
{
    switch (source) {
    case SOURCE_L1: return LEVEL_HIT(L1) | PERF_MEM_S(LVLNUM, L1);
    case SOURCE_L2:
    case SOURCE_PEER_CORE: return LEVEL_HIT(L2) | PERF_MEM_S(LVLNUM, L2);
    case SOURCE_LOCAL_CLUSTER:
    case SOURCE_SYSTEM_CACHE:
    case SOURCE_PEER_CLUSTER: return LEVEL_HIT(L3) | PERF_MEM_S(LVLNUM, L3);
    case SOURCE_REMOTE:
        return LEVEL_HIT(REM_CCE1) | PERF_MEM_S(LVLNUM, ANY_CACHE) | PERF_MEM_S(REMOTE, REMOTE);
    case SOURCE_DRAM: return LEVEL_HIT(LOC_RAM) | PERF_MEM_S(LVLNUM, RAM);
    case SOURCE_UNKNOWN: break;
    }
    return 0;
}

/* What missed the last cache came from memory; of what missed the first alone nobody says where it
 * was found. */
static uint64_t level_of_events(uint64_t events)
{
    if (events & TD_SPE_REMOTE)
        return LEVEL_HIT(REM_CCE1) | PERF_MEM_S(REMOTE, REMOTE);
    if (events & TD_SPE_LLC_MISS)
        return LEVEL_HIT(LOC_RAM) | PERF_MEM_S(LVLNUM, RAM);
    if (events & TD_SPE_LLC_ACCESS)
        return LEVEL_HIT(L3) | PERF_MEM_S(LVLNUM, L3);
    if (events & TD_SPE_L1D_REFILL)
        return PERF_MEM_S(LVL, MISS) | PERF_MEM_S(LVL, L1);
    if (events & TD_SPE_L1D_ACCESS)
        return LEVEL_HIT(L1) | PERF_MEM_S(LVLNUM, L1);
    return PERF_MEM_S(LVL, NA);
}

uint64_t td_spe_data_source(const struct td_spe_record *record, const struct td_pmu_cpu *cpu)
{
    const uint64_t op = record->store ? PERF_MEM_S(OP, STORE) : PERF_MEM_S(OP, LOAD);
    uint64_t tlb = 0;

    if (record->class != TD_SPE_MEMORY)
        return 0;
    const uint64_t level = level_of_source(source_of(record, cpu));
    if (record->events & TD_SPE_TLB_WALK)
        tlb = PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, MISS);
    else if (record->events & TD_SPE_TLB_ACCESS)
        tlb = PERF_MEM_S(TLB, HIT);
    return op | (level ? level : level_of_events(record->events)) | tlb;
}

uint32_t td_spe_flags(const struct td_spe_record *record)
{
    const bool memory = record->class == TD_SPE_MEMORY;
    const bool branch = record->class == TD_SPE_BRANCH;
    static const struct {
        uint32_t event, flag;
    } misses[] = {
        {TD_SPE_L1D_REFILL, TD_FLAG_L1D_MISS},
        {TD_SPE_L2D_MISS | TD_SPE_LLC_ACCESS, TD_FLAG_L2_MISS},
        {TD_SPE_LLC_MISS, TD_FLAG_L3_MISS},
        {TD_SPE_REMOTE, TD_FLAG_REMOTE},
        {TD_SPE_TLB_WALK, TD_FLAG_DTLB_MISS | TD_FLAG_DTLB_WALK},
    };
    uint32_t flags = TD_FLAG_EXACT_IP;

    flags |= branch ? TD_FLAG_BRANCH : 0;
    flags |= branch && record->events & TD_SPE_MISPREDICTED ? TD_FLAG_MISPREDICTED : 0;
    flags |= memory ? (record->store ? TD_FLAG_STORE : TD_FLAG_LOAD) : 0;
    for (size_t i = 0; memory && i < TD_ARRAY_SIZE(misses); i++)
        flags |= record->events & misses[i].event ? misses[i].flag : 0;
    return flags;
}
