/* SPDX-License-Identifier: MIT */
#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void td_buf_release(struct td_buf *buf)
{
    free(buf->data);
    *buf = (struct td_buf){0};
}

void td_buf_clear(struct td_buf *buf)
{
    buf->len = 0;
}

uint8_t *td_buf_reserve(struct td_buf *buf, size_t size)
{
    buf->data = td_grow(buf->data, &buf->cap, buf->len + size, 1);
    return buf->data + buf->len;
}

void td_buf_bytes(struct td_buf *buf, const void *data, size_t size)
{
    if (size == 0)
        return;
    memcpy(td_buf_reserve(buf, size), data, size);
    buf->len += size;
}

void td_buf_u8(struct td_buf *buf, uint8_t value)
{
    *td_buf_reserve(buf, 1) = value;
    buf->len++;
}

static void put_le(struct td_buf *buf, uint64_t value, unsigned size)
{
    uint8_t *p = td_buf_reserve(buf, size);

    for (unsigned i = 0; i < size; i++)
        p[i] = (uint8_t)(value >> (8 * i));
    buf->len += size;
}

void td_buf_u16(struct td_buf *buf, uint16_t value)
{
    put_le(buf, value, 2);
}

void td_buf_u32(struct td_buf *buf, uint32_t value)
{
    put_le(buf, value, 4);
}

void td_buf_u64(struct td_buf *buf, uint64_t value)
{
    put_le(buf, value, 8);
}

void td_buf_uleb(struct td_buf *buf, uint64_t value)
{
    uint8_t *p = td_buf_reserve(buf, TD_LEB_MAX);
    size_t n = 0;

    while (value >= 0x80) {
        p[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    p[n++] = (uint8_t)value;
    buf->len += n;
}

void td_buf_zigzag(struct td_buf *buf, int64_t value)
{
    td_buf_uleb(buf, ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0));
}

void td_buf_string(struct td_buf *buf, const char *s, size_t len)
{
    td_buf_uleb(buf, len);
    td_buf_bytes(buf, s, len);
}

struct td_rd td_rd_init(const void *data, size_t size, uint64_t base)
{
    return (struct td_rd){.data = data, .size = size, .base = base};
}

bool td_rd_ok(const struct td_rd *rd)
{
    return !rd->bad;
}

size_t td_rd_left(const struct td_rd *rd)
{
    return rd->bad ? 0 : rd->size - rd->pos;
}

uint64_t td_rd_offset(const struct td_rd *rd)
{
    return rd->base + (rd->bad ? rd->bad_pos : rd->pos);
}

void td_rd_fail(struct td_rd *rd)
{
    if (rd->bad)
        return;
    rd->bad = true;
    rd->bad_pos = rd->pos;
}

const uint8_t *td_rd_bytes(struct td_rd *rd, size_t size)
{
    if (rd->bad || size > rd->size - rd->pos) {
        td_rd_fail(rd);
        return NULL;
    }
    const uint8_t *p = rd->data + rd->pos;
    rd->pos += size;
    return p;
}

static uint64_t get_le(struct td_rd *rd, unsigned size)
{
    const uint8_t *p = td_rd_bytes(rd, size);
    uint64_t value = 0;

    if (!p)
        return 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

uint8_t td_rd_u8(struct td_rd *rd)
{
    return (uint8_t)get_le(rd, 1);
}

uint16_t td_rd_u16(struct td_rd *rd)
{
    return (uint16_t)get_le(rd, 2);
}

uint32_t td_rd_u32(struct td_rd *rd)
{
    return (uint32_t)get_le(rd, 4);
}

uint64_t td_rd_u64(struct td_rd *rd)
{
    return get_le(rd, 8);
}

uint64_t td_rd_uleb(struct td_rd *rd)
{
    uint64_t value = 0;

    if (rd->bad)
        return 0;
    for (size_t i = 0; i < TD_LEB_MAX && rd->pos + i < rd->size; i++) {
        const uint8_t byte = rd->data[rd->pos + i];

        if (i == TD_LEB_MAX - 1 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            rd->pos += i + 1;
            return value;
        }
    }
    td_rd_fail(rd);
    return 0;
}

int64_t td_rd_zigzag(struct td_rd *rd)
{
    const uint64_t u = td_rd_uleb(rd);

    return (int64_t)((u >> 1) ^ (u & 1 ? UINT64_MAX : 0));
}

uint64_t td_rd_uleb_below(struct td_rd *rd, uint64_t limit)
{
    const size_t start = rd->pos;
    const uint64_t value = td_rd_uleb(rd);

    if (rd->bad || value < limit)
        return value;
    rd->pos = start;
    td_rd_fail(rd);
    return 0;
}

const char *td_rd_string(struct td_rd *rd, size_t *len)
{
    const size_t start = rd->pos;
    const uint64_t n = td_rd_uleb(rd);

    *len = 0;
    if (rd->bad || n > rd->size - rd->pos) {
        if (!rd->bad)
            rd->pos = start;
        td_rd_fail(rd);
        return NULL;
    }
    *len = (size_t)n;
    return (const char *)td_rd_bytes(rd, (size_t)n);
}
