/* SPDX-License-Identifier: MIT */
#include "formats/kernel/record.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cursor.h"
#include "base/search.h"

#define BIT(name) PERF_SAMPLE_##name

/* The fields that sample_id_all puts at the end of records other than samples, 8 bytes each. */
#define TRAILER_BITS (BIT(TID) | BIT(TIME) | BIT(ID) | BIT(STREAM_ID) | BIT(CPU) | BIT(IDENTIFIER))

/* Newer than an older system's header. */
#define BRANCH_COUNTERS (UINT64_C(1) << 19) /* PERF_SAMPLE_BRANCH_COUNTERS */
#define FORMAT_LOST     (UINT64_C(1) << 4)  /* PERF_FORMAT_LOST */

/* PERF_RECORD_MISC_LOST_SAMPLES_BPF (tools/perf/util/event.h): a filter left them out. */
#define MISC_LOST_SAMPLES_BPF (1U << 15)

static unsigned count_bits(uint64_t word)
{
    return (unsigned)__builtin_popcountll(word);
}

static const struct td_layout *find_layout(const struct td_layouts *layouts, uint64_t id)
{
    size_t low = 0;

    if (layouts->count == 1)
        return layouts->items;
    TD_SEARCH(low, layouts->count, i, layouts->items[i].id < id)
    return low < layouts->count && layouts->items[low].id == id ? &layouts->items[low] : NULL;
}

/* The layout of a sample whose body `rd` stands at: IDENTIFIER is its first word, ID stands behind
 * some others. */
static const struct td_layout *sample_layout(const struct td_layouts *layouts, struct td_cur rd)
{
    const uint64_t type = layouts->items[0].sample_type;

    if (layouts->count == 1 || !(type & (BIT(IDENTIFIER) | BIT(ID))))
        return layouts->items;
    if (!(type & BIT(IDENTIFIER)))
        td_cur_bytes(&rd, 8 * count_bits(type & (BIT(IP) | BIT(TID) | BIT(TIME) | BIT(ADDR))));
    const struct td_layout *const found = find_layout(layouts, td_cur_u64(&rd));
    return found ? found : layouts->shared;
}

/* The layout of another record, whose last word is the identifier if there is one; NULL when that
 * is none of ours. */
static const struct td_layout *trailer_layout(const struct td_layouts *layouts,
                                              const struct td_cur *rd)
{
    const struct td_layout *const first = layouts->items;

    if (first->sample_id_all && first->sample_type & BIT(IDENTIFIER) && td_cur_left(rd) >= 8)
        return find_layout(layouts, td_cur_word(rd->end - 8, rd->big));
    return first;
}

/* Counted arrays: `count` times `each` bytes. */
static const uint8_t *counted(struct td_cur *rd, uint64_t count, size_t each)
{
    if (count > td_cur_left(rd) / each) {
        rd->bad = true;
        return NULL;
    }
    return td_cur_bytes(rd, count * each);
}

static void parse_ids(struct td_rec *rec, struct td_cur *rd)
{
    const uint64_t type = rec->layout->sample_type;
    struct td_rec_sample *const sample = &rec->u.sample;

    if (type & BIT(IDENTIFIER))
        sample->id = td_cur_u64(rd);
    if (type & BIT(IP))
        sample->ip = td_cur_u64(rd);
    if (type & BIT(TID)) {
        rec->pid = td_cur_u32(rd);
        rec->tid = td_cur_u32(rd);
    }
    if (type & BIT(TIME))
        rec->time_ns = td_cur_u64(rd);
    if (type & BIT(ADDR))
        sample->address = td_cur_u64(rd);
    if (type & BIT(ID))
        sample->id = td_cur_u64(rd);
    if (type & BIT(STREAM_ID))
        td_cur_u64(rd);
    if (type & BIT(CPU)) {
        sample->cpu = td_cur_u32(rd);
        td_cur_u32(rd);
    }
    sample->period = type & BIT(PERIOD) ? td_cur_u64(rd) : rec->layout->period;
}

unsigned td_rec_value_words(uint64_t read_format)
{
    return 1U + count_bits(read_format & (PERF_FORMAT_ID | FORMAT_LOST));
}

static void parse_read(struct td_rec_sample *sample, uint64_t format, struct td_cur *rd)
{
    const unsigned words = td_rec_value_words(format);

    if (format & PERF_FORMAT_GROUP) {
        sample->value_count = td_cur_u64(rd);
    } else {
        sample->value_count = 1;
        sample->values = td_cur_bytes(rd, 8);
    }
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        sample->time_enabled = td_cur_u64(rd);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        sample->time_running = td_cur_u64(rd);
    if (format & PERF_FORMAT_GROUP) {
        sample->values = counted(rd, sample->value_count, words * sizeof(uint64_t));
    } else {
        if (format & PERF_FORMAT_ID)
            sample->id = td_cur_u64(rd);
        td_cur_bytes(rd, format & FORMAT_LOST ? 8 : 0);
    }
}

static void skip_registers(struct td_cur *rd, uint64_t mask)
{
    if (td_cur_u64(rd) != PERF_SAMPLE_REGS_ABI_NONE)
        td_cur_bytes(rd, 8 * (uint64_t)count_bits(mask));
}

/* All that stands behind the branch records. */
static void parse_tail(struct td_rec_sample *sample, const struct td_layout *layout,
                       struct td_cur *rd)
{
    const uint64_t type = layout->sample_type;

    if (type & BIT(REGS_USER)) {
        sample->regs_abi = td_cur_u64(rd);
        if (sample->regs_abi != PERF_SAMPLE_REGS_ABI_NONE)
            sample->regs = td_cur_bytes(rd, 8 * (uint64_t)count_bits(layout->user_regs));
    }
    if (type & BIT(STACK_USER)) {
        const uint64_t room = td_cur_u64(rd);

        sample->stack = td_cur_bytes(rd, room);
        sample->stack_size = room > 0 ? td_cur_u64(rd) : 0;
        if (sample->stack_size > room)
            rd->bad = true;
    }
    if (type & (BIT(WEIGHT) | BIT(WEIGHT_STRUCT)))
        sample->weight = td_cur_u64(rd);
    if (type & BIT(DATA_SRC))
        sample->data_source = td_cur_u64(rd);
    if (type & BIT(TRANSACTION))
        td_cur_u64(rd);
    if (type & BIT(REGS_INTR))
        skip_registers(rd, layout->intr_regs);
    td_cur_bytes(rd, 8 * (uint64_t)count_bits(type & (BIT(PHYS_ADDR) | BIT(CGROUP) |
                                                      BIT(DATA_PAGE_SIZE) | BIT(CODE_PAGE_SIZE))));
    if (type & BIT(AUX))
        td_cur_bytes(rd, td_cur_u64(rd));
}

/* The branch records and all behind them, with the words that may stand around the records. */
static void parse_branches_with(struct td_rec_sample *sample, const struct td_layout *layout,
                                struct td_cur *rd, bool index, bool counters)
{
    td_cur_bytes(rd, index ? 8 : 0);
    sample->branches = counted(rd, sample->branch_count, TD_BRANCH_BYTES);
    td_cur_bytes(rd, counters ? sample->branch_count * 8 : 0);
    parse_tail(sample, layout, rd);
}

/* The kernel leaves out the index of the hardware's ring when no stack was captured, and the
 * counters when there are none, whatever was asked for. Nothing says so: the reading that ends
 * where the record does is right. */
static void parse_branches(struct td_rec_sample *sample, const struct td_layout *layout,
                           struct td_cur *rd)
{
    const bool index = layout->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX;
    const bool counters = layout->branch_sample_type & BRANCH_COUNTERS;

    sample->branch_count = td_cur_u64(rd);
    const struct td_cur start = *rd;
    for (unsigned without = 0; without < 4; without++) {
        *rd = start;
        parse_branches_with(sample, layout, rd, index && !(without & 1),
                            counters && !(without & 2));
        if ((!rd->bad && rd->at == rd->end) || !(index || counters))
            return;
    }
    /* None is exact (padding, or fields of a newer kernel): as perf reads it. */
    *rd = start;
    parse_branches_with(sample, layout, rd, index, counters);
}

/* The order of man perf_event_open, PERF_RECORD_SAMPLE. */
static void parse_sample(struct td_rec *rec, struct td_cur *rd)
{
    const struct td_layout *const layout = rec->layout;
    const uint64_t type = layout->sample_type;
    struct td_rec_sample *const sample = &rec->u.sample;

    sample->cpu = TD_NONE;
    parse_ids(rec, rd);
    if (type & BIT(READ))
        parse_read(sample, layout->read_format, rd);
    if (type & BIT(CALLCHAIN)) {
        sample->chain_count = td_cur_u64(rd);
        sample->chain = counted(rd, sample->chain_count, 8);
    }
    if (type & BIT(RAW)) {
        sample->raw_size = td_cur_u32(rd);
        sample->raw = td_cur_bytes(rd, sample->raw_size);
    }
    if (type & BIT(BRANCH_STACK))
        parse_branches(sample, layout, rd);
    else
        parse_tail(sample, layout, rd);
}

static void parse_inode_or_build_id(struct td_rec_mmap *mmap, struct td_cur *rd, bool build_id)
{
    const uint8_t *const bytes = td_cur_bytes(rd, 24);
    struct td_cur words = {.at = bytes, .end = bytes ? bytes + 24 : bytes, .big = rd->big};

    if (!bytes)
        return;
    if (!build_id) {
        mmap->major = td_cur_u32(&words);
        mmap->minor = td_cur_u32(&words);
        mmap->inode = td_cur_u64(&words);
    } else if (bytes[0] <= 20) {
        mmap->build_id.size = bytes[0];
        memcpy(mmap->build_id.bytes, bytes + 4, bytes[0]);
    }
}

static void parse_mmap(struct td_rec *rec, struct td_cur *rd, bool second, uint16_t misc)
{
    struct td_rec_mmap *const mmap = &rec->u.mmap;

    rec->pid = td_cur_u32(rd);
    rec->tid = td_cur_u32(rd);
    mmap->start = td_cur_u64(rd);
    mmap->size = td_cur_u64(rd);
    mmap->offset = td_cur_u64(rd);
    mmap->executable = !(misc & PERF_RECORD_MISC_MMAP_DATA);
    if (second) {
        parse_inode_or_build_id(mmap, rd, misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
        const uint32_t protection = td_cur_u32(rd);

        td_cur_u32(rd); /* flags */
        /* Those that perf made up of /proc/PID/maps may have none. */
        mmap->executable = mmap->executable && (protection == 0 || protection & PROT_EXEC);
    }
    mmap->path = td_cur_text(rd, &mmap->path_len);
}

static void parse_task(struct td_rec *rec, struct td_cur *rd, uint16_t misc)
{
    rec->u.task.pid = td_cur_u32(rd);
    rec->u.task.ppid = td_cur_u32(rd);
    rec->u.task.tid = td_cur_u32(rd);
    rec->u.task.ptid = td_cur_u32(rd);
    rec->u.task.made_up = misc & PERF_RECORD_MISC_FORK_EXEC;
}

static void parse_comm(struct td_rec *rec, struct td_cur *rd, uint16_t misc)
{
    rec->pid = td_cur_u32(rd);
    rec->tid = td_cur_u32(rd);
    rec->u.comm.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
    rec->u.comm.name = td_cur_text(rd, &rec->u.comm.len);
}

static void parse_ksymbol(struct td_rec *rec, struct td_cur *rd)
{
    rec->u.ksymbol.start = td_cur_u64(rd);
    rec->u.ksymbol.size = td_cur_u32(rd);
    td_cur_u16(rd); /* type */
    rec->u.ksymbol.unregistered = td_cur_u16(rd) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
    rec->u.ksymbol.name = td_cur_text(rd, &rec->u.ksymbol.len);
}

static enum td_rec_kind kind_of(uint32_t type, uint16_t misc)
{
    switch (type) {
    case PERF_RECORD_SAMPLE: return TD_REC_SAMPLE;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2: return TD_REC_MMAP;
    case PERF_RECORD_COMM: return TD_REC_COMM;
    case PERF_RECORD_FORK: return TD_REC_FORK;
    case PERF_RECORD_EXIT: return TD_REC_EXIT;
    case PERF_RECORD_KSYMBOL: return TD_REC_KSYMBOL;
    case PERF_RECORD_LOST: return TD_REC_LOST;
    case PERF_RECORD_LOST_SAMPLES:
        return misc & MISC_LOST_SAMPLES_BPF ? TD_REC_OTHER : TD_REC_LOST_SAMPLES;
    case PERF_RECORD_THROTTLE: return TD_REC_THROTTLE;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE: return TD_REC_SWITCH;
    default: return TD_REC_OTHER;
    }
}

/* Every record but a sample, without its trailer. */
static void parse_body(struct td_rec *rec, uint32_t type, uint16_t misc, struct td_cur *rd)
{
    switch (rec->kind) {
    case TD_REC_MMAP: parse_mmap(rec, rd, type == PERF_RECORD_MMAP2, misc); break;
    case TD_REC_COMM: parse_comm(rec, rd, misc); break;
    case TD_REC_FORK:
    case TD_REC_EXIT: parse_task(rec, rd, misc); break;
    case TD_REC_KSYMBOL: parse_ksymbol(rec, rd); break;
    case TD_REC_LOST:
        td_cur_u64(rd); /* id */
        __attribute__((fallthrough));
    case TD_REC_LOST_SAMPLES: rec->u.lost = td_cur_u64(rd); break;
    case TD_REC_SWITCH:
        rec->u.leaves.out = misc & PERF_RECORD_MISC_SWITCH_OUT;
        rec->u.leaves.preempted = misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
        break;
    case TD_REC_OTHER:
    case TD_REC_SAMPLE:
    case TD_REC_THROTTLE: break;
    }
}

/* Cuts the trailer off `rd` and returns a cursor over it; what it holds is `layout`'s. */
static struct td_cur cut_trailer(const struct td_layout *layout, struct td_cur *rd)
{
    const uint64_t type = layout->sample_id_all ? layout->sample_type : 0;
    const uint64_t size = 8 * (uint64_t)count_bits(type & TRAILER_BITS);

    if (size > td_cur_left(rd)) {
        rd->bad = true;
        return *rd;
    }
    rd->end -= size;
    return (struct td_cur){.at = rd->end, .end = rd->end + size, .big = rd->big};
}

static void parse_trailer(struct td_rec *rec, const struct td_layout *layout, struct td_cur *rd)
{
    struct td_cur trailer = cut_trailer(layout, rd);

    if (layout->sample_id_all && layout->sample_type & BIT(TID)) {
        rec->pid = td_cur_u32(&trailer);
        rec->tid = td_cur_u32(&trailer);
    }
    if (layout->sample_id_all && layout->sample_type & BIT(TIME))
        rec->time_ns = td_cur_u64(&trailer);
}

struct header {
    uint32_t type;
    uint16_t misc;
};

/* Leaves `rd` at the body. */
static struct header read_header(struct td_cur *rd)
{
    struct header header = {.type = td_cur_u32(rd)};

    header.misc = td_cur_u16(rd);
    td_cur_u16(rd); /* size: the caller's */
    return header;
}

int td_rec_parse(struct td_rec *ret, const uint8_t *data, size_t size,
                 const struct td_layouts *layouts, struct td_err *err)
{
    struct td_cur rd = {.at = data, .end = data + size, .big = layouts->big};
    const struct header header = read_header(&rd);

    memset(ret, 0, sizeof(*ret));
    ret->kind = kind_of(header.type, header.misc);
    ret->mode = header.misc & PERF_RECORD_MISC_CPUMODE_MASK;
    ret->pid = ret->tid = TD_NONE;
    if (ret->kind != TD_REC_SAMPLE) {
        ret->layout = trailer_layout(layouts, &rd);
        parse_trailer(ret, ret->layout ? ret->layout : layouts->items, &rd);
        parse_body(ret, header.type, header.misc, &rd);
        return !rd.bad ? TD_OK
                       : td_fail(err, TD_EFORMAT,
                                 "a record of type %u is shorter than its contents", header.type);
    }
    ret->layout = sample_layout(layouts, rd);
    if (!ret->layout)
        return td_fail(err, TD_EFORMAT, "a sample has an id that no event has");
    ret->u.sample.exact_ip = header.misc & PERF_RECORD_MISC_EXACT_IP;
    parse_sample(ret, &rd);
    return !rd.bad ? TD_OK : td_fail(err, TD_EFORMAT, "a sample is shorter than its contents");
}

uint64_t td_rec_time(const uint8_t *data, size_t size, const struct td_layouts *layouts)
{
    struct td_cur rd = {.at = data, .end = data + size, .big = layouts->big};
    const bool sample = read_header(&rd).type == PERF_RECORD_SAMPLE;
    const struct td_layout *const found =
        sample ? sample_layout(layouts, rd) : trailer_layout(layouts, &rd);
    const struct td_layout *const layout = found || sample ? found : layouts->items;

    if (!layout || !(layout->sample_type & BIT(TIME)) || !(sample || layout->sample_id_all))
        return 0;
    struct td_cur ids = sample ? rd : cut_trailer(layout, &rd);
    td_cur_bytes(&ids,
                 8 * (uint64_t)count_bits(layout->sample_type &
                                          ((sample ? BIT(IDENTIFIER) | BIT(IP) : 0) | BIT(TID))));
    return td_cur_u64(&ids);
}

const char *td_rec_task_name(char buf[TD_TASK_NAME_BYTES], uint32_t tid)
{
    if (tid == 0)
        return "swapper";
    snprintf(buf, TD_TASK_NAME_BYTES, ":%" PRId32, (int32_t)tid);
    return buf;
}
