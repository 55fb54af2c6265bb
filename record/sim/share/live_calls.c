/* SPDX-License-Identifier: MIT */
#include "record/sim/share/live_calls.h"

/* sys/uio.h; no kernel takes more at a time */
#define VECTOR_ITEM  16
#define VECTOR_ITEMS 1024

/* Marks in the bytes. */
enum { OPTIONAL = 1, VECTOR = 1, WEAK = 2 };

static bool place_vector(const struct td_live_part *part, uint64_t address, td_live_peek_fn *peek,
                         td_live_piece_fn *each, void *ctx)
{
    size_t at = 0;

    for (uint32_t i = 0; i < part->count && at < part->size; i++) {
        const size_t left = part->size - at;
        uint64_t item[2]; /* base, size */

        if (!peek(ctx, address + (uint64_t)i * VECTOR_ITEM, item, sizeof(item)))
            return false;
        const size_t size = item[1] < left ? (size_t)item[1] : left;
        if (size > 0 && !each(ctx, item[0], at, size))
            return false;
        at += size;
    }
    return at == part->size;
}

bool td_live_part_place(const struct td_live_part *part,
                        const uint64_t arguments[TD_LIVE_ARGUMENTS], td_live_peek_fn *peek,
                        td_live_piece_fn *each, void *ctx)
{
    uint64_t address = arguments[part->argument];

    if (part->through != TD_LIVE_NOT_THROUGH &&
        !peek(ctx, address + part->through, &address, sizeof(address)))
        return false;
    address += part->offset;
    return part->vector ? place_vector(part, address, peek, each, ctx)
                        : each(ctx, address, 0, part->size);
}

void td_live_call_put(struct td_buf *buf, const struct td_live_call *call,
                      const struct td_live_part *parts, size_t part_count)
{
    struct td_buf bytes = {0};

    for (size_t i = 0; i < part_count; i++) {
        const struct td_live_part *part = &parts[i];

        td_buf_u8(&bytes, part->argument);
        td_buf_u8(&bytes, (uint8_t)((part->vector ? VECTOR : 0) | (part->weak ? WEAK : 0)));
        td_buf_u16(&bytes, part->through);
        td_buf_u32(&bytes, part->offset);
        td_buf_u32(&bytes, part->count);
        td_buf_u32(&bytes, (uint32_t)part->size);
        td_buf_bytes(&bytes, part->bytes, part->size);
    }
    td_buf_u32(buf, call->number);
    td_buf_u8(buf, call->same);
    td_buf_u8(buf, call->room);
    td_buf_u8(buf, call->optional ? OPTIONAL : 0);
    td_buf_u64(buf, (uint64_t)call->result);
    td_buf_u64(buf, call->time_ns);
    for (size_t i = 0; i < TD_LIVE_ARGUMENTS; i++)
        td_buf_u64(buf, call->arguments[i]);
    td_buf_u32(buf, (uint32_t)bytes.len);
    td_buf_bytes(buf, bytes.data, bytes.len);
    td_buf_release(&bytes);
}

bool td_live_call_next(struct td_rd *rd, struct td_live_call *call)
{
    if (td_rd_left(rd) == 0)
        return false;
    call->number = td_rd_u32(rd);
    call->same = td_rd_u8(rd);
    call->room = td_rd_u8(rd);
    call->optional = td_rd_u8(rd) & OPTIONAL;
    call->result = (int64_t)td_rd_u64(rd);
    call->time_ns = td_rd_u64(rd);
    for (size_t i = 0; i < TD_LIVE_ARGUMENTS; i++)
        call->arguments[i] = td_rd_u64(rd);
    call->parts_size = td_rd_u32(rd);
    call->parts = td_rd_bytes(rd, call->parts_size);
    if (call->room != TD_LIVE_NO_ARGUMENT && call->room >= TD_LIVE_ARGUMENTS)
        td_rd_fail(rd);
    return td_rd_ok(rd);
}

bool td_live_part_next(struct td_rd *rd, struct td_live_part *part)
{
    if (td_rd_left(rd) == 0)
        return false;
    part->argument = td_rd_u8(rd);
    const uint8_t marks = td_rd_u8(rd);
    part->vector = marks & VECTOR;
    part->weak = marks & WEAK;
    part->through = td_rd_u16(rd);
    part->offset = td_rd_u32(rd);
    part->count = td_rd_u32(rd);
    part->size = td_rd_u32(rd);
    part->bytes = td_rd_bytes(rd, part->size);
    if (part->argument >= TD_LIVE_ARGUMENTS || part->count > VECTOR_ITEMS)
        td_rd_fail(rd);
    return td_rd_ok(rd);
}
