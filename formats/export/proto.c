/* SPDX-License-Identifier: MIT */
#include "formats/export/proto.h"

enum wire {
    WIRE_VARINT = 0,
    WIRE_BYTES = 2,
};

static void tag(struct td_buf *buf, uint32_t field, enum wire wire)
{
    td_buf_uleb(buf, (uint64_t)field << 3 | wire);
}

void td_proto_u64(struct td_buf *buf, uint32_t field, uint64_t value)
{
    if (value == 0)
        return;
    tag(buf, field, WIRE_VARINT);
    td_buf_uleb(buf, value);
}

void td_proto_bytes(struct td_buf *buf, uint32_t field, const void *data, size_t size)
{
    tag(buf, field, WIRE_BYTES);
    td_buf_uleb(buf, size);
    td_buf_bytes(buf, data, size);
}

static size_t uleb_size(uint64_t value)
{
    size_t size = 1;

    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

void td_proto_packed(struct td_buf *buf, uint32_t field, const uint64_t *values, size_t count)
{
    size_t size = 0;

    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++)
        size += uleb_size(values[i]);
    tag(buf, field, WIRE_BYTES);
    td_buf_uleb(buf, size);
    for (size_t i = 0; i < count; i++)
        td_buf_uleb(buf, values[i]);
}
