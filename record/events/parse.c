/* SPDX-License-Identifier: MIT */
#include "record/events/parse.h"

#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bytes.h"

/* The fields that sample_id_all puts at the end of records other than samples, 8 bytes each. */
#define TRAILER_BITS                                                               \
    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
     PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static const struct td_layout *find_layout(const struct td_layouts *layouts, uint64_t id)
{
    size_t low = 0, high = layouts->count;

    if (layouts->count == 1)
        return layouts->items;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (layouts->items[middle].id == id)
            return &layouts->items[middle];
        if (layouts->items[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static uint64_t first_word(const uint8_t *data, size_t size)
{
    struct td_rd rd = td_rd_init(data, size, 0);

    return td_rd_u64(&rd);
}

/* Counted arrays: a count, then `each` bytes for each. */
static const uint8_t *counted(struct td_rd *rd, uint64_t count, size_t each)
{
    if (count > td_rd_left(rd) / each) {
        td_rd_fail(rd);
        return NULL;
    }
    return td_rd_bytes(rd, (size_t)count * each);
}

static void parse_read(struct td_rd *rd, uint64_t format, struct td_rec_sample *sample)
{
    const size_t times = (size_t)__builtin_popcountll(
        format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
    const size_t extras =
        (size_t)__builtin_popcountll(format & (PERF_FORMAT_ID | PERF_FORMAT_LOST));
    const size_t start = rd->pos;

    if (format & PERF_FORMAT_GROUP) {
        const uint64_t count = td_rd_u64(rd);

        td_rd_bytes(rd, times * 8);
        counted(rd, count, (1 + extras) * 8);
    } else {
        td_rd_bytes(rd, (1 + times + extras) * 8);
    }
    sample->read = rd->data + start;
    sample->read_size = rd->pos - start;
}

/* No event asks for PERF_SAMPLE_BRANCH_HW_INDEX, which would put a word in front. */
static void parse_branches(struct td_rd *rd, struct td_rec_sample *sample)
{
    sample->branch_count = td_rd_u64(rd);
    sample->branches = counted(rd, sample->branch_count, TD_BRANCH_BYTES);
}

static void parse_user_state(struct td_rd *rd, const struct td_layout *layout,
                             struct td_rec_sample *sample)
{
    if (layout->sample_type & PERF_SAMPLE_REGS_USER) {
        sample->regs_abi = td_rd_u64(rd);
        if (sample->regs_abi != PERF_SAMPLE_REGS_ABI_NONE)
            sample->regs = td_rd_bytes(rd, (size_t)__builtin_popcountll(layout->user_regs) * 8);
    }
    if (layout->sample_type & PERF_SAMPLE_STACK_USER) {
        const uint64_t room = td_rd_u64(rd);

        sample->stack = counted(rd, room, 1);
        if (room)
            sample->stack_size = td_rd_u64(rd);
        if (sample->stack_size > room)
            td_rd_fail(rd);
    }
}

/* The order of man perf_event_open, PERF_RECORD_SAMPLE. */
static void parse_sample(struct td_rec *rec, struct td_rd *rd)
{
    const uint64_t type = rec->layout->sample_type;
    struct td_rec_sample *sample = &rec->u.sample;

    if (type & PERF_SAMPLE_IDENTIFIER)
        td_rd_u64(rd);
    if (type & PERF_SAMPLE_IP)
        sample->ip = td_rd_u64(rd);
    if (type & PERF_SAMPLE_TID) {
        rec->pid = td_rd_u32(rd);
        rec->tid = td_rd_u32(rd);
    }
    if (type & PERF_SAMPLE_TIME)
        rec->time_ns = td_rd_u64(rd);
    if (type & PERF_SAMPLE_ADDR)
        sample->address = td_rd_u64(rd);
    if (type & PERF_SAMPLE_ID)
        td_rd_u64(rd);
    if (type & PERF_SAMPLE_STREAM_ID)
        td_rd_u64(rd);
    if (type & PERF_SAMPLE_CPU)
        td_rd_u64(rd);
    if (type & PERF_SAMPLE_PERIOD)
        sample->period = td_rd_u64(rd);
    if (type & PERF_SAMPLE_READ)
        parse_read(rd, rec->layout->read_format, sample);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        sample->chain_count = td_rd_u64(rd);
        sample->chain = counted(rd, sample->chain_count, 8);
    }
    if (type & PERF_SAMPLE_RAW) {
        sample->raw_size = td_rd_u32(rd);
        sample->raw = counted(rd, sample->raw_size, 1);
    }
    if (type & PERF_SAMPLE_BRANCH_STACK)
        parse_branches(rd, sample);
    parse_user_state(rd, rec->layout, sample);
    if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
        sample->weight = td_rd_u64(rd);
    if (type & PERF_SAMPLE_DATA_SRC)
        sample->data_source = td_rd_u64(rd);
}

static void parse_text(struct td_rd *rd, const char **text, size_t *len)
{
    const size_t left = td_rd_left(rd);

    *text = (const char *)td_rd_bytes(rd, left);
    *len = *text ? strnlen(*text, left) : 0;
}

static void parse_mmap2(struct td_rec *rec, struct td_rd *rd, uint16_t misc)
{
    struct td_rec_mmap *mmap = &rec->u.mmap;

    rec->pid = td_rd_u32(rd);
    rec->tid = td_rd_u32(rd);
    mmap->start = td_rd_u64(rd);
    mmap->size = td_rd_u64(rd);
    mmap->offset = td_rd_u64(rd);
    if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
        const uint8_t size = td_rd_u8(rd);
        const uint8_t *bytes = NULL;

        td_rd_bytes(rd, 3);
        bytes = td_rd_bytes(rd, 20);
        if (bytes && size <= 20) {
            mmap->build_id.size = size;
            memcpy(mmap->build_id.bytes, bytes, size);
        }
    } else {
        mmap->major = td_rd_u32(rd);
        mmap->minor = td_rd_u32(rd);
        mmap->inode = td_rd_u64(rd);
        td_rd_u64(rd); /* the inode's generation */
    }
    mmap->executable = td_rd_u32(rd) & PROT_EXEC;
    td_rd_u32(rd); /* flags */
    parse_text(rd, &mmap->path, &mmap->path_len);
}

static void parse_task(struct td_rec *rec, struct td_rd *rd)
{
    rec->u.task.pid = td_rd_u32(rd);
    rec->u.task.ppid = td_rd_u32(rd);
    rec->u.task.tid = td_rd_u32(rd);
    rec->u.task.ptid = td_rd_u32(rd);
}

static void parse_comm(struct td_rec *rec, struct td_rd *rd, uint16_t misc)
{
    rec->pid = td_rd_u32(rd);
    rec->tid = td_rd_u32(rd);
    rec->u.comm.exec = misc & PERF_RECORD_MISC_COMM_EXEC;
    parse_text(rd, &rec->u.comm.name, &rec->u.comm.len);
}

/* Every record but a sample: its body, then the trailer of sample_id_all. */
static void parse_body(struct td_rec *rec, uint32_t type, uint16_t misc, struct td_rd *rd)
{
    switch (type) {
    case PERF_RECORD_MMAP2:
        rec->kind = TD_REC_MMAP;
        parse_mmap2(rec, rd, misc);
        break;
    case PERF_RECORD_COMM:
        rec->kind = TD_REC_COMM;
        parse_comm(rec, rd, misc);
        break;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        rec->kind = type == PERF_RECORD_FORK ? TD_REC_FORK : TD_REC_EXIT;
        parse_task(rec, rd);
        break;
    case PERF_RECORD_LOST:
        rec->kind = TD_REC_LOST;
        td_rd_u64(rd); /* id */
        rec->u.lost = td_rd_u64(rd);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        rec->kind = TD_REC_LOST_SAMPLES;
        rec->u.lost = td_rd_u64(rd);
        break;
    case PERF_RECORD_THROTTLE: rec->kind = TD_REC_THROTTLE; break;
    default: rec->kind = TD_REC_OTHER; break;
    }
}

static void parse_trailer(struct td_rec *rec, uint64_t type, const uint8_t *data, size_t size)
{
    struct td_rd rd = td_rd_init(data, size, 0);

    if (type & PERF_SAMPLE_TID) {
        rec->pid = td_rd_u32(&rd);
        rec->tid = td_rd_u32(&rd);
    }
    if (type & PERF_SAMPLE_TIME)
        rec->time_ns = td_rd_u64(&rd);
}

static int cut_off(struct td_err *err, uint32_t type, uint64_t offset)
{
    return td_fail_at(err, TD_EFORMAT, offset, "a record of type %u is cut off", type);
}

static int parse_other(struct td_rec *rec, uint32_t type, uint16_t misc, const uint8_t *body,
                       size_t size, const struct td_layouts *layouts, struct td_err *err)
{
    uint64_t sample_type = layouts->items[0].sample_type;

    /* The identifier is the last word of each record. */
    if (sample_type & PERF_SAMPLE_IDENTIFIER && size >= 8) {
        rec->layout = find_layout(layouts, first_word(body + size - 8, 8));
        sample_type = rec->layout ? rec->layout->sample_type : sample_type;
    }
    const size_t trailer = (size_t)__builtin_popcountll(sample_type & TRAILER_BITS) * 8;
    if (trailer > size)
        return cut_off(err, type, size);
    struct td_rd rd = td_rd_init(body, size - trailer, 0);
    parse_trailer(rec, sample_type, body + size - trailer, trailer);
    parse_body(rec, type, misc, &rd);
    return td_rd_ok(&rd) ? TD_OK : cut_off(err, type, td_rd_offset(&rd));
}

int td_rec_parse(struct td_rec *ret, const uint8_t *data, size_t size,
                 const struct td_layouts *layouts, struct td_err *err)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    const uint32_t type = td_rd_u32(&rd);
    const uint16_t misc = td_rd_u16(&rd);

    td_rd_u16(&rd); /* size: the caller's */
    if (!td_rd_ok(&rd))
        return cut_off(err, 0, 0);
    memset(ret, 0, sizeof(*ret));
    ret->pid = ret->tid = TD_NONE;
    ret->layout = layouts->items;
    if (type != PERF_RECORD_SAMPLE)
        return parse_other(ret, type, misc, data + 8, size - 8, layouts, err);
    ret->kind = TD_REC_SAMPLE;
    if (layouts->count > 1)
        ret->layout = find_layout(layouts, first_word(data + 8, size - 8));
    if (!ret->layout)
        return td_fail(err, TD_EFORMAT, "a sample of an event that is not ours");
    ret->u.sample.exact_ip = misc & PERF_RECORD_MISC_EXACT_IP;
    ret->u.sample.kernel = (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    parse_sample(ret, &rd);
    return td_rd_ok(&rd) ? TD_OK : cut_off(err, type, td_rd_offset(&rd));
}
