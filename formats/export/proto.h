/* SPDX-License-Identifier: MIT */
/* A small protobuf writer: fields are appended to a buffer; a message is a buffer in a field. */
#ifndef TD_FORMATS_EXPORT_PROTO_H
#define TD_FORMATS_EXPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Any varint type (int64 as its two's complement). A 0 is left out, as proto3 does. */
void td_proto_u64(struct td_buf *buf, uint32_t field, uint64_t value);
/* Bytes, a string or a finished message; written also when empty. */
void td_proto_bytes(struct td_buf *buf, uint32_t field, const void *data, size_t size);
/* A packed repeated varint; left out when empty. */
void td_proto_packed(struct td_buf *buf, uint32_t field, const uint64_t *values, size_t count);

#endif
