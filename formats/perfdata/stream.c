/* SPDX-License-Identifier: MIT */
/*
 * perf.data: the stream of records: where each begins and ends, bytes that stand outside of their
 * record's size, compressed pieces, and what pipe mode puts in front.
 */
#include "formats/perfdata/session_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"

/* One compressed piece holds at most what was in one ring (perf's -m, by default 512 kB); it is a
 * record of less than 64 kB. */
#define PIECE_LIMIT ((size_t)32 * 1024 * 1024)
/* Pages are given back in steps of this many bytes, at least. */
#define GIVE_BACK_STEP ((size_t)16 * 1024 * 1024)

#define FILE_SEGMENT 0

struct header {
    uint32_t type;
    uint16_t misc, size;
};

static struct header read_header(const uint8_t *p, bool big)
{
    struct td_cur rd = {.at = p, .end = p + TD_RECORD_HEADER_BYTES, .big = big};
    struct header header = {.type = td_cur_u32(&rd)};

    header.misc = td_cur_u16(&rd);
    header.size = td_cur_u16(&rd);
    return header;
}

uint64_t td_perf_offset(const struct td_perf_session *session, const uint8_t *record,
                        uint32_t segment)
{
    const struct td_perf_segment *const s = &session->segments[segment];

    return s->owned ? s->offset : (uint64_t)(record - s->data);
}

static uint32_t add_segment(struct td_perf_session *session, const uint8_t *data, uint8_t *owned,
                            uint64_t offset, size_t size)
{
    session->segments = td_grow(session->segments, &session->segment_cap,
                                session->segment_count + 1, sizeof(*session->segments));
    session->segments[session->segment_count] =
        (struct td_perf_segment){.data = data, .owned = owned, .offset = offset, .size = size};
    session->unpacked += size;
    return (uint32_t)session->segment_count++;
}

uint32_t td_perf_segment_add(struct td_perf_session *session, uint8_t *owned, uint64_t offset,
                             size_t size)
{
    const uint32_t segment = add_segment(session, owned, owned, offset, size);

    session->segments[segment].operations = true;
    return segment;
}

void td_perf_stream_give_back(struct td_perf_session *session)
{
    const uint8_t *oldest = session->data + session->walked;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 1; i < session->segment_count; i++) {
        struct td_perf_segment *const segment = &session->segments[i];

        if (segment->waiting == 0 && i != session->walked_segment) {
            session->unpacked -= segment->owned ? segment->size : 0;
            free(segment->owned);
            segment->owned = NULL;
            segment->data = NULL;
        }
    }
    for (size_t i = 0; i < session->queue.len; i++) {
        const struct td_perf_queued *const item = &session->queue.items[i];

        if (item->segment == FILE_SEGMENT && item->record < oldest)
            oldest = item->record;
    }
    const size_t end = (size_t)(oldest - session->data) & ~(page - 1);
    if (!session->opts->mapped || end < session->given_back + GIVE_BACK_STEP)
        return;
    madvise((void *)(uintptr_t)(session->data + session->given_back), end - session->given_back,
            MADV_DONTNEED);
    session->given_back = end;
}

void td_perf_stream_release(struct td_perf_session *session)
{
    for (size_t i = 0; i < session->segment_count; i++)
        free(session->segments[i].owned);
    free(session->segments);
    ZSTD_freeDStream(session->zstd);
    td_buf_release(&session->partial);
}

/* A record of the kernel waits for its turn; what perf made up without a time is due at once. */
static void take_record(struct td_perf_session *session, const uint8_t *record,
                        const struct header *header, uint32_t segment)
{
    const struct td_layouts layouts = td_perf_layouts(session);
    const uint64_t time = td_rec_time(record, header->size, &layouts);

    if (time == 0 || time == UINT64_MAX)
        td_perf_deliver(session, record, segment);
    else
        td_perf_queue_put(session, time, record, segment);
}

/* The end of what could be walked of [p, end): a record that is cut off stays. */
static const uint8_t *walk_kernel_records(struct td_perf_session *session, const uint8_t *p,
                                          const uint8_t *end, uint32_t segment)
{
    while (end - p >= TD_RECORD_HEADER_BYTES) {
        const struct header header = read_header(p, session->big);

        if (header.size < TD_RECORD_HEADER_BYTES) {
            td_perf_damage(session, td_perf_offset(session, p, segment),
                           "a compressed record says it is %u bytes long", header.size);
            return end;
        }
        if (header.size > end - p)
            break;
        if (header.type == TD_PERF_FINISHED_ROUND)
            td_perf_queue_round(session);
        else if (header.type < TD_PERF_USER_TYPES)
            take_record(session, p, &header, segment);
        if (td_perf_is_full(session, td_perf_offset(session, p, segment)))
            return end;
        p += header.size;
    }
    return p;
}

/* Decompresses a piece behind what was left of the last one. Returns false when the stream is
 * damaged. */
static bool inflate_piece(struct td_perf_session *session, const uint8_t *data, size_t size,
                          struct td_buf *out)
{
    ZSTD_inBuffer in = {.src = data, .size = size};
    size_t produced = 1;

    if (!session->zstd) {
        session->zstd = ZSTD_createDStream();
        ZSTD_initDStream(session->zstd);
    }
    td_buf_bytes(out, session->partial.data, session->partial.len);
    td_buf_clear(&session->partial);
    while (in.pos < in.size || produced > 0) {
        const size_t room = ZSTD_DStreamOutSize();
        ZSTD_outBuffer piece = {.dst = td_buf_reserve(out, room), .size = room};

        if (ZSTD_isError(ZSTD_decompressStream(session->zstd, &piece, &in)))
            return false;
        produced = piece.pos;
        out->len += piece.pos;
        if (out->len > PIECE_LIMIT)
            return false;
    }
    return true;
}

static void walk_compressed(struct td_perf_session *session, const uint8_t *record,
                            const struct header *header)
{
    const uint64_t offset = (uint64_t)(record - session->data);
    struct td_cur rd = {
        .at = record + TD_RECORD_HEADER_BYTES, .end = record + header->size, .big = session->big};
    struct td_buf out = {0};
    uint64_t size = td_cur_left(&rd);

    if (session->compression_damaged)
        return;
    if (header->type == TD_PERF_COMPRESSED2)
        size = td_cur_u64(&rd);
    const uint8_t *const data = td_cur_bytes(&rd, size);
    if (!data || !inflate_piece(session, data, size, &out)) {
        session->compression_damaged = true;
        td_buf_release(&out);
        td_perf_damage(session, offset, "a compressed piece is damaged; the rest is not read");
        return;
    }
    const uint32_t segment = add_segment(session, out.data, out.data, offset, out.cap);
    session->walked_segment = segment;
    const uint8_t *const rest =
        out.len > 0 ? walk_kernel_records(session, out.data, out.data + out.len, segment) : NULL;
    if (rest)
        td_buf_bytes(&session->partial, rest, (size_t)(out.data + out.len - rest));
    session->walked_segment = FILE_SEGMENT;
}

/* Bytes that follow a record without being counted in its size; false when they are cut off. */
static bool bytes_behind(struct td_perf_session *session, const uint8_t *record,
                         const struct header *header, uint64_t *ret)
{
    struct td_cur rd = {
        .at = record + TD_RECORD_HEADER_BYTES, .end = record + header->size, .big = session->big};

    *ret = 0;
    if (header->type == TD_PERF_AUXTRACE)
        *ret = td_cur_u64(&rd);
    else if (header->type == TD_PERF_TRACING_DATA && session->pipe)
        *ret = ((uint64_t)td_cur_u32(&rd) + 7) & ~UINT64_C(7);
    return !rd.bad;
}

typedef void record_fn(struct td_perf_session *session, const uint8_t *record,
                       const struct header *header);

/* Calls `handle` for each record of the file in [offset, end), up to the first damaged one. */
static void walk(struct td_perf_session *session, uint64_t offset, uint64_t end, record_fn *handle,
                 bool complain)
{
    while (offset < end) {
        const uint8_t *const record = session->data + offset;
        uint64_t behind = 0;

        if (end - offset < TD_RECORD_HEADER_BYTES) {
            if (complain)
                td_perf_cut(session, offset, "the last record is cut off");
            return;
        }
        const struct header header = read_header(record, session->big);
        const bool sound = header.size >= TD_RECORD_HEADER_BYTES && header.size <= end - offset &&
                           bytes_behind(session, record, &header, &behind) &&
                           behind <= end - offset - header.size;
        if (!sound) {
            if (complain)
                td_perf_damage(session, offset,
                               "a record of type %" PRIu32 " and %u bytes cannot be; the rest is "
                               "not read",
                               header.type, header.size);
            return;
        }
        if (td_perf_is_full(session, offset))
            return;
        handle(session, record, &header);
        offset += header.size + behind;
        session->walked = offset;
    }
}

/* AUXTRACE_INFO: u32 what wrote the trace, u32 0; AUXTRACE: u64 how many bytes follow, which the
 * walk has found to be there. */
static void note_trace(struct td_perf_session *session, const uint8_t *record,
                       const struct header *header)
{
    struct td_cur rd = {
        .at = record + TD_RECORD_HEADER_BYTES, .end = record + header->size, .big = session->big};

    if (header->type == TD_PERF_TIME_CONV) {
        td_perf_operations_clock(session, &rd);
    } else if (header->type == TD_PERF_AUXTRACE_INFO) {
        session->trace_type = td_cur_u32(&rd);
        td_cur_u32(&rd);
        if (session->trace_type == TD_PERF_TRACE_ARM_SPE)
            td_perf_operations_begin(session, &rd);
    } else {
        const uint64_t size = td_cur_u64(&rd);

        if (!session->operations ||
            !td_perf_operations_read(session, &rd, record + header->size, size))
            session->trace_bytes += size;
    }
}

static void handle_data(struct td_perf_session *session, const uint8_t *record,
                        const struct header *header)
{
    if (header->type < TD_PERF_USER_TYPES)
        take_record(session, record, header, FILE_SEGMENT);
    else if (header->type == TD_PERF_FINISHED_ROUND)
        td_perf_queue_round(session);
    else if (header->type == TD_PERF_COMPRESSED || header->type == TD_PERF_COMPRESSED2)
        walk_compressed(session, record, header);
    else if (header->type == TD_PERF_AUXTRACE_INFO || header->type == TD_PERF_AUXTRACE ||
             header->type == TD_PERF_TIME_CONV)
        note_trace(session, record, header);
    else if (header->type == TD_PERF_STAT)
        session->is_stat = true;
}

void td_perf_stream(struct td_perf_session *session, uint64_t offset, uint64_t end)
{
    add_segment(session, session->data, NULL, 0, 0);
    walk(session, offset, end, handle_data, true);
    if (session->partial.len > 0)
        td_perf_damage(session, end, "the last compressed record is cut off");
    td_perf_queue_finish(session);
}

static void handle_attr(struct td_perf_session *session, struct td_cur *rd)
{
    struct td_perf_attr attr;

    if (!td_perf_attr_read(&attr, rd)) {
        td_perf_damage(session, (uint64_t)(rd->at - session->data), "an event is damaged");
        return;
    }
    td_perf_event_add(session, &attr);
    td_perf_event_ids(session, session->event_count - 1, rd, UINT64_MAX);
}

/* EVENT_UPDATE: u64 what, u64 id, then a payload; 2 is the name. */
static void handle_update(struct td_perf_session *session, struct td_cur *rd)
{
    const uint64_t what = td_cur_u64(rd);
    struct td_perf_event *const event = td_perf_event_by_id(session, td_cur_u64(rd));
    size_t len = 0;
    const char *const name = td_cur_text(rd, &len);

    if (!rd->bad && what == 2 && event)
        event->name = td_model_intern(session->model, name, len);
}

/* The walk has looked whether the bytes behind it are there. */
static void note_tracing(struct td_perf_session *session, const uint8_t *record,
                         const struct header *header)
{
    uint64_t size = 0;

    if (session->tracing || !bytes_behind(session, record, header, &size) || size == 0)
        return;
    session->tracing = record + header->size;
    session->tracing_bytes = size;
}

static void handle_head(struct td_perf_session *session, const uint8_t *record,
                        const struct header *header)
{
    struct td_cur rd = {
        .at = record + TD_RECORD_HEADER_BYTES, .end = record + header->size, .big = session->big};

    if (header->type == TD_PERF_HEADER_ATTR)
        handle_attr(session, &rd);
    else if (header->type == TD_PERF_TRACING_DATA)
        note_tracing(session, record, header);
    else if (header->type == TD_PERF_EVENT_UPDATE)
        handle_update(session, &rd);
    else if (header->type == TD_PERF_HEADER_FEATURE)
        td_perf_feature_read(session, (uint32_t)td_cur_u64(&rd), &rd);
    else if (header->type == TD_PERF_HEADER_BUILD_ID &&
             !td_perf_build_id_record(session, &rd, header->misc))
        td_perf_damage(session, (uint64_t)(record - session->data), "a build-id is damaged");
}

bool td_perf_stream_head(struct td_perf_session *session, uint64_t offset, uint64_t end)
{
    walk(session, offset, end, handle_head, false);
    session->walked = offset;
    return session->event_count > 0;
}
