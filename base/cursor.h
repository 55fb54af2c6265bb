/* SPDX-License-Identifier: MIT */
/*
 * A sticky cursor as struct td_rd, for bytes of either order. Its reads are inline, because files
 * of others hold tens of millions of words and entries: perf's, ELF, DWARF, answers about symbols.
 * After the first bad read all give 0.
 */
#ifndef TD_BASE_CURSOR_H
#define TD_BASE_CURSOR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct td_cur {
    const uint8_t *at, *end;
    bool big;
    bool bad;
};

static inline const uint8_t *td_cur_bytes(struct td_cur *rd, uint64_t size)
{
    const uint8_t *const p = rd->at;

    if (rd->bad || size > (uint64_t)(rd->end - rd->at)) {
        rd->bad = true;
        return NULL;
    }
    rd->at += size;
    return p;
}

static inline uint64_t td_cur_word(const uint8_t *p, bool big)
{
    uint64_t value = 0;

    memcpy(&value, p, sizeof(value));
    return big ? be64toh(value) : le64toh(value);
}

static inline uint32_t td_cur_half(const uint8_t *p, bool big)
{
    uint32_t value = 0;

    memcpy(&value, p, sizeof(value));
    return big ? be32toh(value) : le32toh(value);
}

static inline uint64_t td_cur_u64(struct td_cur *rd)
{
    const uint8_t *const p = td_cur_bytes(rd, 8);

    return p ? td_cur_word(p, rd->big) : 0;
}

static inline uint32_t td_cur_u32(struct td_cur *rd)
{
    const uint8_t *const p = td_cur_bytes(rd, 4);

    return p ? td_cur_half(p, rd->big) : 0;
}

static inline uint16_t td_cur_u16(struct td_cur *rd)
{
    const uint8_t *const p = td_cur_bytes(rd, 2);

    if (!p)
        return 0;
    return rd->big ? (uint16_t)(p[0] << 8 | p[1]) : (uint16_t)(p[1] << 8 | p[0]);
}

static inline uint8_t td_cur_u8(struct td_cur *rd)
{
    const uint8_t *const p = td_cur_bytes(rd, 1);

    return p ? p[0] : 0;
}

/* A number of one to eight bytes. */
static inline uint64_t td_cur_uint(struct td_cur *rd, unsigned size)
{
    const uint8_t *const p = td_cur_bytes(rd, size);
    uint64_t value = 0;

    for (unsigned i = 0; p && i < size; i++)
        value |= (uint64_t)p[i] << 8 * (rd->big ? size - 1 - i : i);
    return value;
}

/* LEB128 of either sign (DWARF 5, 7.6); bits beyond the 64th are left out. */
static inline uint64_t td_cur_leb(struct td_cur *rd, bool is_signed)
{
    uint64_t value = 0;

    if (!is_signed && !rd->bad && rd->at < rd->end && *rd->at < 0x80)
        return *rd->at++;
    for (unsigned shift = 0; !rd->bad && rd->at < rd->end;) {
        const uint8_t byte = *rd->at++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80)
            continue;
        if (is_signed && shift < 64 && (byte & 0x40))
            value |= UINT64_MAX << shift;
        return value;
    }
    rd->bad = true;
    return 0;
}

static inline uint64_t td_cur_uleb(struct td_cur *rd)
{
    return td_cur_leb(rd, false);
}

static inline int64_t td_cur_sleb(struct td_cur *rd)
{
    return (int64_t)td_cur_leb(rd, true);
}

static inline uint64_t td_cur_left(const struct td_cur *rd)
{
    return rd->bad ? 0 : (uint64_t)(rd->end - rd->at);
}

/* The bytes up to the first NUL or the end. */
static inline const char *td_cur_text(struct td_cur *rd, size_t *len)
{
    const size_t left = (size_t)td_cur_left(rd);
    const char *const s = (const char *)td_cur_bytes(rd, left);

    *len = s ? strnlen(s, left) : 0;
    return s ? s : "";
}

/* A terminated text, or NULL when its end is missing. */
static inline const char *td_cur_string(struct td_cur *rd)
{
    const uint8_t *const nul = memchr(rd->at, 0, (size_t)td_cur_left(rd));

    if (!nul) {
        rd->bad = true;
        return NULL;
    }
    return (const char *)td_cur_bytes(rd, (uint64_t)(nul - rd->at) + 1);
}

#endif
