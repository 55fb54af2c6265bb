/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/caches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#    include <emmintrin.h>
#endif

#include "base/mem.h"

/* Tags are compared eight at a time; so many may be read behind the last set. */
enum { TAGS_AT_ONCE = 8 };

void td_cache_init(struct td_cache *cache, uint32_t lines, uint32_t ways)
{
    const uint32_t sets = lines / ways;

    *cache = (struct td_cache){.set_mask = sets - 1, .ways = ways};
    cache->set_bits = (uint32_t)__builtin_ctz(sets);
    cache->all = ways < 32 ? (1U << ways) - 1 : UINT32_MAX;
    cache->tags = td_xcalloc((size_t)lines + TAGS_AT_ONCE, sizeof(*cache->tags));
    cache->used = td_xcalloc(sets, sizeof(*cache->used));
    cache->last = td_xcalloc(sets, sizeof(*cache->last));
}

void td_cache_set_lru(struct td_cache *cache)
{
    assert(cache->ways <= TD_LRU_WAYS_MAX);
    cache->order = td_xcalloc((size_t)cache->set_mask + 1, sizeof(*cache->order));
    for (uint32_t set = 0; set <= cache->set_mask; set++)
        cache->order[set] = UINT64_C(0xfedcba9876543210);
}

void td_cache_release(struct td_cache *cache)
{
    free(cache->tags);
    free(cache->used);
    free(cache->order);
    free(cache->last);
    *cache = (struct td_cache){0};
}

void td_cache_copy(struct td_cache *to, const struct td_cache *from)
{
    const size_t sets = (size_t)from->set_mask + 1;

    assert(to->set_mask == from->set_mask && to->ways == from->ways);
    memcpy(to->tags, from->tags, td_cache_slots(from) * sizeof(*to->tags));
    memcpy(to->used, from->used, sets * sizeof(*to->used));
    memcpy(to->last, from->last, sets * sizeof(*to->last));
    if (from->order)
        memcpy(to->order, from->order, sets * sizeof(*to->order));
}

/* A bit for each of the set's ways that has the tag: one or none. No branch depends on which. */
static inline uint32_t matches(const struct td_cache *cache, uint32_t first, uint32_t tag)
{
    const uint32_t *tags = cache->tags + first;
    uint32_t found = 0;

#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi32((int)tag);
    for (uint32_t way = 0; way < cache->ways; way += TAGS_AT_ONCE) {
        const __m128i *some = (const __m128i *)(const void *)(tags + way);
        const __m128i first4 = _mm_cmpeq_epi32(_mm_loadu_si128(some), wanted);
        const __m128i next4 = _mm_cmpeq_epi32(_mm_loadu_si128(some + 1), wanted);
        const __m128i equal = _mm_packs_epi16(_mm_packs_epi32(first4, next4), _mm_setzero_si128());
        found |= (uint32_t)_mm_movemask_epi8(equal) << way;
    }
#else
    for (uint32_t way = 0; way < cache->ways; way++)
        found |= (uint32_t)(tags[way] == tag) << way;
#endif
    return found & cache->all;
}

/* The order of all ways when this one is used. */
static inline uint64_t move_to_front(uint64_t order, uint32_t way)
{
    /* The way's place is the first four bits that are 0 here. */
    const uint64_t ones = UINT64_C(0x1111111111111111), other = order ^ way * ones;
    const uint64_t zero = (other - ones) & ~other & ones << 3;
    const uint32_t at = (uint32_t)__builtin_ctzll(zero) - 3;
    const uint64_t before = (UINT64_C(1) << at) - 1, whole = before << 4 | 15;

    return (order & ~whole) | (order & before) << 4 | way;
}

static inline void use(struct td_cache *cache, uint32_t set, uint32_t way)
{
    if (cache->order) {
        cache->order[set] = move_to_front(cache->order[set], way);
        cache->last[set] = (uint8_t)way;
        return;
    }
    const uint32_t used = cache->used[set] | 1U << way;

    cache->used[set] = used == cache->all ? 1U << way : used;
    cache->last[set] = (uint8_t)way;
}

uint32_t td_cache_search(struct td_cache *cache, uint32_t set, uint32_t tag)
{
    const uint32_t first = set * cache->ways;
    const uint32_t found = matches(cache, first, tag);

    if (!found)
        return TD_CACHE_MISS;
    const uint32_t way = (uint32_t)__builtin_ctz(found);
    use(cache, set, way);
    return first + way;
}

bool td_cache_holds(const struct td_cache *cache, uint64_t key)
{
    const uint32_t first = ((uint32_t)key & cache->set_mask) * cache->ways;

    return matches(cache, first, td_cache_tag(cache, key)) != 0;
}

/* Uses the way to be replaced next; returns its slot. */
static inline uint32_t take(struct td_cache *cache, uint32_t set)
{
    const uint32_t unused = ~cache->used[set] & cache->all;
    const uint32_t first = unused ? (uint32_t)__builtin_ctz(unused) : 0;
    const uint32_t way =
        cache->order ? (uint32_t)(cache->order[set] >> 4 * (cache->ways - 1)) & 15 : first;

    use(cache, set, way);
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
