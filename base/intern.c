/* SPDX-License-Identifier: MIT */
#include "base/intern.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"

struct entry {
    const char *text;
    size_t len;
    uint64_t hash;
};

struct td_intern {
    struct td_arena arena;
    struct entry *entries;
    size_t len, cap;
    uint32_t *table; /* id + 1, or 0 for an empty slot */
    size_t table_cap;
};

static void rehash(struct td_intern *intern)
{
    const size_t cap = intern->table_cap ? intern->table_cap * 2 : 256;

    free(intern->table);
    intern->table = td_xcalloc(cap, sizeof(*intern->table));
    intern->table_cap = cap;
    for (size_t id = 0; id < intern->len; id++) {
        size_t i = (size_t)intern->entries[id].hash & (cap - 1);

        while (intern->table[i])
            i = (i + 1) & (cap - 1);
        intern->table[i] = (uint32_t)id + 1;
    }
}

struct td_intern *td_intern_new(void)
{
    struct td_intern *intern = td_xcalloc(1, sizeof(*intern));

    td_intern_put(intern, "", 0);
    return intern;
}

void td_intern_free(struct td_intern *intern)
{
    if (!intern)
        return;
    td_arena_release(&intern->arena);
    free(intern->entries);
    free(intern->table);
    free(intern);
}

uint32_t td_intern_put(struct td_intern *intern, const char *s, size_t len)
{
    const uint64_t hash = td_hash_bytes(s, len);

    if (intern->len * 2 >= intern->table_cap)
        rehash(intern);
    size_t i = (size_t)hash & (intern->table_cap - 1);
    for (; intern->table[i]; i = (i + 1) & (intern->table_cap - 1)) {
        const struct entry *e = &intern->entries[intern->table[i] - 1];

        if (e->hash == hash && e->len == len && memcmp(e->text, s, len) == 0)
            return intern->table[i] - 1;
    }
    assert(intern->len < UINT32_MAX - 1);
    intern->entries =
        td_grow(intern->entries, &intern->cap, intern->len + 1, sizeof(*intern->entries));
    intern->entries[intern->len] = (struct entry){
        .text = td_arena_copy(&intern->arena, s, len),
        .len = len,
        .hash = hash,
    };
    intern->table[i] = (uint32_t)++intern->len;
    return (uint32_t)intern->len - 1;
}

const char *td_intern_get(const struct td_intern *intern, uint32_t id)
{
    assert(id < intern->len);
    return intern->entries[id].text;
}

size_t td_intern_len(const struct td_intern *intern, uint32_t id)
{
    assert(id < intern->len);
    return intern->entries[id].len;
}

uint32_t td_intern_count(const struct td_intern *intern)
{
    return (uint32_t)intern->len;
}

size_t td_intern_bytes(const struct td_intern *intern)
{
    return intern->arena.used_bytes + intern->cap * sizeof(*intern->entries) +
           intern->table_cap * sizeof(*intern->table);
}
