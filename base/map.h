/* SPDX-License-Identifier: MIT */
/* A hash map from 128 bits (two words) to 32: ids of pairs, ids of addresses. Open addressing. */
#ifndef TD_BASE_MAP_H
#define TD_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct td_map_slot {
    uint64_t a, b;
    uint32_t value;
    uint32_t used;
};

/* A zeroed struct is an empty map. */
struct td_map {
    struct td_map_slot *slots;
    size_t cap; /* a power of two, or 0 */
    size_t len;
};

void td_map_release(struct td_map *map);
/* Forgets the entries and keeps the memory. */
void td_map_clear(struct td_map *map);
/* The value's place, or NULL. Valid until the next insertion. */
uint32_t *td_map_find(const struct td_map *map, uint64_t a, uint64_t b);
/* Finds (a, b), or adds it with `value`; *added (may be NULL) says which. Returns the value's
 * place, valid until the next insertion. */
uint32_t *td_map_put(struct td_map *map, uint64_t a, uint64_t b, uint32_t value, bool *added);

#endif
