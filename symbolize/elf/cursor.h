/* SPDX-License-Identifier: MIT */
/* Pieces of a file, and cursors over them; little-endian. */
#ifndef TD_SYMBOLIZE_ELF_CURSOR_H
#define TD_SYMBOLIZE_ELF_CURSOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cursor.h"

/* A piece of a file, borrowed. data is NULL when there is none. */
struct td_bytes {
    const uint8_t *data;
    size_t size;
};

static inline struct td_cur td_cur_init(struct td_bytes bytes)
{
    const uint8_t *start = bytes.data ? bytes.data : (const uint8_t *)"";

    return (struct td_cur){.at = start, .end = start + bytes.size};
}

/* A cursor from `offset` on; bad at once when that is past the end. */
static inline struct td_cur td_cur_at(struct td_bytes bytes, uint64_t offset)
{
    struct td_cur cur = td_cur_init(bytes);

    if (!bytes.data || offset > bytes.size) {
        cur.at = cur.end;
        cur.bad = true;
    } else {
        cur.at += offset;
    }
    return cur;
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
