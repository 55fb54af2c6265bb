/* SPDX-License-Identifier: MIT */
/*
 * The cursor of the ELF and DWARF readers: sticky like base/bytes.h's, but inline, because millions
 * of entries pass through it. After the first bad read it stands at the end and reads give 0.
 */
#ifndef TD_SYMBOLIZE_ELF_CURSOR_H
#define TD_SYMBOLIZE_ELF_CURSOR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A piece of a file, borrowed. data is NULL when there is none. */
struct td_bytes {
    const uint8_t *data;
    size_t size;
};

struct td_cur {
    const uint8_t *p, *end;
    bool bad;
};

static inline struct td_cur td_cur_init(struct td_bytes bytes)
{
    const uint8_t *start = bytes.data ? bytes.data : (const uint8_t *)"";

    return (struct td_cur){.p = start, .end = start + bytes.size};
}

/* A cursor from `offset` on; bad at once when that is past the end. */
static inline struct td_cur td_cur_at(struct td_bytes bytes, uint64_t offset)
{
    struct td_cur cur = td_cur_init(bytes);

    if (!bytes.data || offset > bytes.size) {
        cur.p = cur.end;
        cur.bad = true;
    } else {
        cur.p += offset;
    }
    return cur;
}

static inline size_t td_cur_left(const struct td_cur *cur)
{
    return (size_t)(cur->end - cur->p);
}

static inline void td_cur_fail(struct td_cur *cur)
{
    cur->bad = true;
    cur->p = cur->end;
}

static inline void td_cur_skip(struct td_cur *cur, uint64_t size)
{
    if (__builtin_expect(size > td_cur_left(cur), 0))
        td_cur_fail(cur);
    else
        cur->p += size;
}

static inline uint8_t td_cur_u8(struct td_cur *cur)
{
    if (__builtin_expect(cur->p >= cur->end, 0)) {
        td_cur_fail(cur);
        return 0;
    }
    return *cur->p++;
}

/* One definition for each width: a single load where the machine is little-endian itself. */
#define TD_CUR_FIXED(bits)                                           \
    static inline uint##bits##_t td_cur_u##bits(struct td_cur *cur)  \
    {                                                                \
        uint##bits##_t value = 0;                                    \
                                                                     \
        if (__builtin_expect(sizeof(value) > td_cur_left(cur), 0)) { \
            td_cur_fail(cur);                                        \
            return 0;                                                \
        }                                                            \
        memcpy(&value, cur->p, sizeof(value));                       \
        cur->p += sizeof(value);                                     \
        return le##bits##toh(value);                                 \
    }
TD_CUR_FIXED(16)
TD_CUR_FIXED(32)
TD_CUR_FIXED(64)
#undef TD_CUR_FIXED

/* Little-endian, of 1 to 8 bytes. */
static inline uint64_t td_cur_uint(struct td_cur *cur, unsigned size)
{
    uint64_t value = 0;

    if (size == 4)
        return td_cur_u32(cur);
    if (size == 8)
        return td_cur_u64(cur);
    if (size > td_cur_left(cur)) {
        td_cur_fail(cur);
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)cur->p[i] << (8 * i);
    cur->p += size;
    return value;
}

/* LEB128 of any length; bits beyond the 64th are dropped, as every DWARF reader does. */
static inline uint64_t td_cur_uleb(struct td_cur *cur)
{
    uint64_t value = 0;

    if (__builtin_expect(cur->p < cur->end && *cur->p < 0x80, 1))
        return *cur->p++;
    for (unsigned shift = 0; cur->p < cur->end; shift += 7) {
        const uint8_t byte = *cur->p++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    td_cur_fail(cur);
    return 0;
}

static inline int64_t td_cur_sleb(struct td_cur *cur)
{
    uint64_t value = 0;
    unsigned shift = 0;

    while (cur->p < cur->end) {
        const uint8_t byte = *cur->p++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte >= 0x80)
            continue;
        if (shift < 64 && (byte & 0x40))
            value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
    td_cur_fail(cur);
    return 0;
}

static inline void td_cur_skip_leb(struct td_cur *cur)
{
    while (cur->p < cur->end) {
        if (*cur->p++ < 0x80)
            return;
    }
    td_cur_fail(cur);
}

/* A terminated string inside the bytes; NULL (and bad) when the terminator is missing. */
static inline const char *td_cur_string(struct td_cur *cur)
{
    const char *start = (const char *)cur->p;
    const uint8_t *nul = cur->p < cur->end ? memchr(cur->p, 0, td_cur_left(cur)) : NULL;

    if (!nul) {
        td_cur_fail(cur);
        return NULL;
    }
    cur->p = nul + 1;
    return start;
}

/* The terminated string at `offset`, or NULL. */
static inline const char *td_bytes_string(struct td_bytes bytes, uint64_t offset)
{
    if (!bytes.data || offset >= bytes.size ||
        !memchr(bytes.data + offset, 0, bytes.size - (size_t)offset))
        return NULL;
    return (const char *)bytes.data + offset;
}

/* The part [offset, offset + size), or nothing when it is not all there. */
static inline struct td_bytes td_bytes_part(struct td_bytes bytes, uint64_t offset, uint64_t size)
{
    if (!bytes.data || offset > bytes.size || size > bytes.size - offset)
        return (struct td_bytes){0};
    return (struct td_bytes){.data = bytes.data + offset, .size = (size_t)size};
}

#endif
