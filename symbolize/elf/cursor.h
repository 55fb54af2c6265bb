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
TD_CUR_FIXED(32)
TD_CUR_FIXED(64)
#undef TD_CUR_FIXED

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
