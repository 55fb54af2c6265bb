/* SPDX-License-Identifier: MIT */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void td_map_release(struct td_map *map)
{
    free(map->slots);
    *map = (struct td_map){0};
}

void td_map_clear(struct td_map *map)
{
    if (map->slots)
        memset(map->slots, 0, map->cap * sizeof(*map->slots));
    map->len = 0;
}

/* The entry's slot, or the empty slot where it would go. cap must not be 0. */
static struct td_map_slot *probe(const struct td_map *map, uint64_t a, uint64_t b)
{
    size_t i = (size_t)td_hash_mix(a, b) & (map->cap - 1);

    while (map->slots[i].used && (map->slots[i].a != a || map->slots[i].b != b))
        i = (i + 1) & (map->cap - 1);
    return &map->slots[i];
}

static void grow(struct td_map *map)
{
    struct td_map bigger = {.cap = map->cap ? map->cap * 2 : 64, .len = map->len};

    bigger.slots = td_xcalloc(bigger.cap, sizeof(*bigger.slots));
    for (size_t i = 0; i < map->cap; i++) {
        const struct td_map_slot *old = &map->slots[i];

        if (old->used)
            *probe(&bigger, old->a, old->b) = *old;
    }
    free(map->slots);
    *map = bigger;
}

uint32_t *td_map_find(const struct td_map *map, uint64_t a, uint64_t b)
{
    if (map->cap == 0)
        return NULL;
    struct td_map_slot *slot = probe(map, a, b);
    return slot->used ? &slot->value : NULL;
}

uint32_t *td_map_put(struct td_map *map, uint64_t a, uint64_t b, uint32_t value, bool *added)
{
    if (map->len * 4 >= map->cap * 3)
        grow(map);
    struct td_map_slot *slot = probe(map, a, b);
    if (added)
        *added = !slot->used;
    if (!slot->used) {
        *slot = (struct td_map_slot){.a = a, .b = b, .value = value, .used = 1};
        map->len++;
    }
    return &slot->value;
}
