/* SPDX-License-Identifier: MIT */
#include "record/sim/caches.h"

#include <stdlib.h>

#include "base/mem.h"

void td_cache_init(struct td_cache *cache, uint32_t lines, uint32_t ways)
{
    const uint32_t sets = lines / ways;

    *cache = (struct td_cache){.set_mask = sets - 1, .ways = ways, .clock = 1};
    cache->set_bits = (uint32_t)__builtin_ctz(sets);
    cache->tags = td_xcalloc(lines, sizeof(*cache->tags));
    cache->used = td_xcalloc(lines, sizeof(*cache->used));
    cache->last = td_xcalloc(sets, sizeof(*cache->last));
}

void td_cache_release(struct td_cache *cache)
{
    free(cache->tags);
    free(cache->used);
    free(cache->last);
    *cache = (struct td_cache){0};
}

static uint32_t find_way(const uint32_t *tags, uint32_t ways, uint32_t tag)
{
    for (uint32_t way = 0; way < ways; way++) {
        if (tags[way] == tag)
            return way;
    }
    return TD_CACHE_MISS;
}

uint32_t td_cache_search(struct td_cache *cache, uint32_t set, uint32_t tag)
{
    const uint32_t first = set * cache->ways;
    const uint32_t way = find_way(cache->tags + first, cache->ways, tag);

    if (way == TD_CACHE_MISS)
        return TD_CACHE_MISS;
    /* The way that was last until now gets its time here, not at each of its hits. */
    cache->used[first + cache->last[set]] = cache->clock++;
    cache->last[set] = (uint8_t)way;
    return first + way;
}

bool td_cache_holds(const struct td_cache *cache, uint64_t key)
{
    const uint32_t first = ((uint32_t)key & cache->set_mask) * cache->ways;

    return find_way(cache->tags + first, cache->ways, td_cache_tag(cache, key)) != TD_CACHE_MISS;
}

/* Clock values wrap after 4 billion changes; differences still order what is alive. */
static uint32_t oldest_way(const struct td_cache *cache, uint32_t set)
{
    const uint32_t first = set * cache->ways;
    uint32_t oldest = 0, age = 0;

    for (uint32_t way = 0; way < cache->ways; way++) {
        if (cache->tags[first + way] == 0)
            return way;
        const uint32_t a = way == cache->last[set] ? 0 : cache->clock - cache->used[first + way];
        if (a >= age) {
            age = a;
            oldest = way;
        }
    }
    return oldest;
}

uint32_t td_cache_fill(struct td_cache *cache, uint64_t key)
{
    const uint32_t set = (uint32_t)key & cache->set_mask;
    const uint32_t first = set * cache->ways;
    const uint32_t way = oldest_way(cache, set);

    cache->used[first + cache->last[set]] = cache->clock++;
    cache->last[set] = (uint8_t)way;
    cache->tags[first + way] = td_cache_tag(cache, key);
    return first + way;
}

bool td_cache_touch(struct td_cache *cache, uint64_t key)
{
    if (td_cache_find(cache, key) != TD_CACHE_MISS)
        return true;
    td_cache_fill(cache, key);
    return false;
}
