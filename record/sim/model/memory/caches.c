/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/caches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { HOST_LINE = 64 }; /* bytes */

void td_cache_init(struct td_cache *cache, uint32_t lines, uint32_t ways)
{
    const uint32_t sets = lines / ways;

    *cache = (struct td_cache){.set_mask = sets - 1, .ways = ways};
    cache->set_bits = (uint32_t)__builtin_ctz(sets);
    cache->all = ways < 32 ? (1U << ways) - 1 : UINT32_MAX;
    /* No set of a large cache is then in more lines of the host's than it must be. */
    cache->room = td_xcalloc((size_t)lines + TD_CACHE_TAGS_AT_ONCE + HOST_LINE / sizeof(uint32_t),
                             sizeof(uint32_t));
    cache->tags = (uint32_t *)(((uintptr_t)cache->room + HOST_LINE - 1) & -(uintptr_t)HOST_LINE);
    cache->uses = td_xcalloc(sets, sizeof(*cache->uses));
}

void td_cache_set_lru(struct td_cache *cache)
{
    assert(cache->ways <= TD_LRU_WAYS_MAX);
    cache->lru = true;
    for (uint32_t set = 0; set <= cache->set_mask; set++)
        cache->uses[set] = UINT64_C(0xfedcba9876543210);
}

void td_cache_release(struct td_cache *cache)
{
    free(cache->room);
    free(cache->uses);
    *cache = (struct td_cache){0};
}

void td_cache_copy(struct td_cache *to, const struct td_cache *from)
{
    const size_t sets = (size_t)from->set_mask + 1;

    assert(to->set_mask == from->set_mask && to->ways == from->ways && to->lru == from->lru);
    memcpy(to->tags, from->tags, td_cache_slots(from) * sizeof(*to->tags));
    memcpy(to->uses, from->uses, sets * sizeof(*to->uses));
}

/* A bit for each of the set's ways that has the tag: one or none. No branch depends on which. */
static inline uint32_t matches(const struct td_cache *cache, uint32_t first, uint32_t tag)
{
    const uint32_t *tags = cache->tags + first;
    uint32_t found = 0;

    for (uint32_t way = 0; way < cache->ways; way += TD_CACHE_TAGS_AT_ONCE)
        found |= td_cache_matches(tags + way, tag) << way;
    return found & cache->all;
}

uint32_t td_cache_search(struct td_cache *cache, uint32_t set, uint32_t tag)
{
    return td_cache_hit(cache, set, matches(cache, set * cache->ways, tag));
}

bool td_cache_holds(const struct td_cache *cache, uint64_t key)
{
    const uint32_t first = ((uint32_t)key & cache->set_mask) * cache->ways;

    return matches(cache, first, td_cache_tag(cache, key)) != 0;
}

/* Uses the way to be replaced next; returns its slot. */
static inline uint32_t take(struct td_cache *cache, uint32_t set)
{
    const uint64_t uses = cache->uses[set];
    const uint32_t unused = ~(uint32_t)uses & cache->all;
    const uint32_t first = unused ? (uint32_t)__builtin_ctz(unused) : 0;
    const uint32_t way = cache->lru ? (uint32_t)(uses >> 4 * (cache->ways - 1)) & 15 : first;

    td_cache_use(cache, set, way);
    return set * cache->ways + way;
}

uint32_t td_cache_fill(struct td_cache *cache, uint64_t key)
{
    const uint32_t slot = take(cache, (uint32_t)key & cache->set_mask);

    cache->tags[slot] = td_cache_tag(cache, key);
    return slot;
}

uint32_t td_cache_replace(struct td_cache *cache, uint64_t key, uint64_t *gone)
{
    const uint32_t set = (uint32_t)key & cache->set_mask, slot = take(cache, set);
    const uint32_t tag = cache->tags[slot];

    *gone = tag ? (uint64_t)(tag & ~TD_CACHE_TAG) << cache->set_bits | set : TD_CACHE_NO_KEY;
    cache->tags[slot] = td_cache_tag(cache, key);
    return slot;
}

void td_cache_crowd(struct td_cache *cache, uint64_t key, uint32_t count)
{
    const uint32_t set = (uint32_t)key & cache->set_mask;

    for (uint32_t i = 0; i < count && i < cache->ways; i++)
        cache->tags[take(cache, set)] = 0;
}

bool td_cache_touch(struct td_cache *cache, uint64_t key)
{
    if (td_cache_find(cache, key) != TD_CACHE_MISS)
        return true;
    td_cache_fill(cache, key);
    return false;
}
