/* SPDX-License-Identifier: MIT */
/*
 * Bytes on disk. struct td_buf grows and is written to; struct td_rd is a sticky cursor over
 * (data, size): after the first bad read every read returns 0 and the cursor remembers where it
 * stopped, so that decoding code stays straight and tests td_rd_ok once. Little-endian.
 */
#ifndef TD_BASE_BYTES_H
#define TD_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes a LEB128 of 64 bits takes. */
#define TD_LEB_MAX 10

struct td_buf {
    uint8_t *data;
    size_t len;
    size_t cap;
};

/* A zeroed struct td_buf is an empty buffer. Release leaves it empty and reusable. */
void td_buf_release(struct td_buf *buf);
void td_buf_clear(struct td_buf *buf);
/* Room for `size` more bytes; returns where they go. Does not change len. */
uint8_t *td_buf_reserve(struct td_buf *buf, size_t size);
void td_buf_bytes(struct td_buf *buf, const void *data, size_t size);
void td_buf_u8(struct td_buf *buf, uint8_t value);
void td_buf_u16(struct td_buf *buf, uint16_t value);
void td_buf_u32(struct td_buf *buf, uint32_t value);
void td_buf_u64(struct td_buf *buf, uint64_t value);
void td_buf_uleb(struct td_buf *buf, uint64_t value);
/* Zigzag, then ULEB128: small magnitudes of either sign are short. (Not DWARF's SLEB128.) */
void td_buf_zigzag(struct td_buf *buf, int64_t value);
/* ULEB128 length, then the bytes. */
void td_buf_string(struct td_buf *buf, const char *s, size_t len);

struct td_rd {
    const uint8_t *data;
    size_t size;
    size_t pos;
    uint64_t base;  /* added to a position to give the offset that a message names */
    size_t bad_pos; /* where the first bad read began */
    bool bad;
};

struct td_rd td_rd_init(const void *data, size_t size, uint64_t base);
bool td_rd_ok(const struct td_rd *rd);
size_t td_rd_left(const struct td_rd *rd);
/* The offset of the failure when bad, of the next byte otherwise. */
uint64_t td_rd_offset(const struct td_rd *rd);
/* Marks the cursor bad at the present position. */
void td_rd_fail(struct td_rd *rd);

uint8_t td_rd_u8(struct td_rd *rd);
uint16_t td_rd_u16(struct td_rd *rd);
uint32_t td_rd_u32(struct td_rd *rd);
uint64_t td_rd_u64(struct td_rd *rd);
/* Refuses more than TD_LEB_MAX bytes and values over 64 bits. */
uint64_t td_rd_uleb(struct td_rd *rd);
int64_t td_rd_zigzag(struct td_rd *rd);
/* ULEB128 that must be below `limit`. */
uint64_t td_rd_uleb_below(struct td_rd *rd, uint64_t limit);
/* A pointer into the data, or NULL when fewer than `size` bytes are left. */
const uint8_t *td_rd_bytes(struct td_rd *rd, size_t size);
/* A length-prefixed string: pointer into the data, not terminated; sets *len. NULL when bad. */
const char *td_rd_string(struct td_rd *rd, size_t *len);

#endif
