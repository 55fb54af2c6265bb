/* SPDX-License-Identifier: MIT */
/* Memory of one lifetime: allocated piece by piece, freed all at once, never moved. */
#ifndef TD_BASE_ARENA_H
#define TD_BASE_ARENA_H

#include <stddef.h>

struct td_arena_block;

/* A zeroed struct is an empty arena. */
struct td_arena {
    struct td_arena_block *blocks;
    size_t used_bytes; /* handed out so far */
};

void td_arena_release(struct td_arena *arena);
/* Aligned to 8 bytes, not zeroed. */
void *td_arena_alloc(struct td_arena *arena, size_t size) __attribute__((returns_nonnull));
/* A terminated copy of `len` bytes. */
char *td_arena_copy(struct td_arena *arena, const char *s, size_t len)
    __attribute__((returns_nonnull));

#endif
