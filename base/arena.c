/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_BYTES ((size_t)64 * 1024)

struct td_arena_block {
    struct td_arena_block *next;
    size_t used, size;
    _Alignas(8) char data[];
};

void td_arena_release(struct td_arena *arena)
{
    struct td_arena_block *block = arena->blocks;

    while (block) {
        struct td_arena_block *next = block->next;

        free(block);
        block = next;
    }
    *arena = (struct td_arena){0};
}

void *td_arena_alloc(struct td_arena *arena, size_t size)
{
    struct td_arena_block *block = arena->blocks;
    const size_t rounded = (size + 7) & ~(size_t)7;

    if (!block || rounded > block->size - block->used) {
        const size_t room = rounded > BLOCK_BYTES ? rounded : BLOCK_BYTES;

        block = td_xalloc(sizeof(*block) + room);
        *block = (struct td_arena_block){.next = arena->blocks, .size = room};
        arena->blocks = block;
    }
    void *p = block->data + block->used;
    block->used += rounded;
    arena->used_bytes += rounded;
    return p;
}

char *td_arena_copy(struct td_arena *arena, const char *s, size_t len)
{
    char *copy = td_arena_alloc(arena, len + 1);

    memcpy(copy, s, len);
    copy[len] = '\0';
    return copy;
}
