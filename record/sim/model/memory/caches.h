/* SPDX-License-Identifier: MIT */
/*
 * A set-associative table of keys (lines, pages, branches). A way that was not used since the set's
 * ways had last all been used is replaced, as most cores' pseudo-LRU does; or the one used least
 * recently (td_cache_set_lru). The way used last in a
 * set is tried first and costs nothing to use again, so the usual hit writes nothing. It holds no
 * data; callers keep theirs in arrays by slot.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_CACHES_H
#define TD_RECORD_SIM_MODEL_MEMORY_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __SSE2__
#    include <emmintrin.h>
#endif

#include "base/likely.h"
#include "formats/cores/core.h"

#define TD_CACHE_MISS   UINT32_MAX
#define TD_CACHE_NO_KEY UINT64_MAX
#define TD_CACHE_TAG    0x80000000U /* of a place that is taken */
/* Tags are compared so many at a time; as many may be read behind the last set. */
#define TD_CACHE_TAGS_AT_ONCE 8
#define TD_CACHE_LAST_AT      32

struct td_cache {
    uint32_t set_mask, ways;
    uint32_t set_bits;
    uint32_t all;   /* a bit a way */
    bool lru;       /* the way used least recently is replaced */
    void *room;     /* that `tags` is in */
    uint32_t *tags; /* by slot: set * ways + way; 0: empty */
    /* By set: ways used since all had been, and from TD_CACHE_LAST_AT on the way used last; of
     * `lru` all ways, four bits each, the one used last in the lowest. */
    uint64_t *uses;
};

/* `lines` / `ways` must be a power of two. */
void td_cache_init(struct td_cache *cache, uint32_t lines, uint32_t ways);
/* From now on the way used least recently is replaced. The cache is empty and has at most
 * TD_LRU_WAYS_MAX. */
void td_cache_set_lru(struct td_cache *cache);
void td_cache_release(struct td_cache *cache);
/* Both are of the same size and ways, and replace alike: `to` then holds what `from` holds. */
void td_cache_copy(struct td_cache *to, const struct td_cache *from);

static inline uint32_t td_cache_slots(const struct td_cache *cache)
{
    return (cache->set_mask + 1) * cache->ways;
}

/* Keys above 32 bits beyond the set are folded: what is lost are bits that addresses do not use
 * together. */
static inline uint32_t td_cache_tag(const struct td_cache *cache, uint64_t key)
{
    const uint64_t high = key >> cache->set_bits;
    return (uint32_t)(high ^ (high >> 32)) | TD_CACHE_TAG;
}

/* A bit for each of eight ways that has the tag. No branch depends on which. */
static inline uint32_t td_cache_matches(const uint32_t *tags, uint32_t tag)
{
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi32((int)tag);
    const __m128i *some = (const __m128i *)(const void *)tags;
    const __m128i first4 = _mm_cmpeq_epi32(_mm_loadu_si128(some), wanted);
    const __m128i next4 = _mm_cmpeq_epi32(_mm_loadu_si128(some + 1), wanted);
    const __m128i equal = _mm_packs_epi16(_mm_packs_epi32(first4, next4), _mm_setzero_si128());

    return (uint32_t)_mm_movemask_epi8(equal);
#else
    uint32_t found = 0;

    for (uint32_t way = 0; way < TD_CACHE_TAGS_AT_ONCE; way++)
        found |= (uint32_t)(tags[way] == tag) << way;
    return found;
#endif
}

/* The order of all ways when this one is used. */
static inline uint64_t td_cache_move_to_front(uint64_t order, uint32_t way)
{
    /* The way's place is the first four bits that are 0 here. */
    const uint64_t ones = UINT64_C(0x1111111111111111), other = order ^ way * ones;
    const uint64_t zero = (other - ones) & ~other & ones << 3;
    const uint32_t at = (uint32_t)__builtin_ctzll(zero) - 3;
    const uint64_t before = (UINT64_C(1) << at) - 1, whole = before << 4 | 15;

    return (order & ~whole) | (order & before) << 4 | way;
}

static inline void td_cache_use(struct td_cache *cache, uint32_t set, uint32_t way)
{
    uint64_t *uses = &cache->uses[set];

    if (cache->lru) {
        *uses = td_cache_move_to_front(*uses, way);
        return;
    }
    const uint32_t used = (uint32_t)*uses | 1U << way;
    *uses = (used == cache->all ? 1U << way : used) | (uint64_t)way << TD_CACHE_LAST_AT;
}

/* The slot of the way that was found (td_cache_matches), now the last used of its set, or
 * TD_CACHE_MISS when none was. */
static inline uint32_t td_cache_hit(struct td_cache *cache, uint32_t set, uint32_t found)
{
    if (TD_UNLIKELY(!found))
        return TD_CACHE_MISS;
    const uint32_t way = (uint32_t)__builtin_ctz(found);
    td_cache_use(cache, set, way);
    return set * cache->ways + way;
}

/* The slot of a key among the ways not used last, or TD_CACHE_MISS. */
uint32_t td_cache_search(struct td_cache *cache, uint32_t set, uint32_t tag);

/* The slot that holds the key, now the last used of its set, or TD_CACHE_MISS. */
static inline uint32_t td_cache_find(struct td_cache *cache, uint64_t key)
{
    const uint32_t set = (uint32_t)key & cache->set_mask;
    const uint32_t tag = td_cache_tag(cache, key);

    if (cache->ways <= TD_CACHE_TAGS_AT_ONCE)
        return td_cache_hit(cache, set,
                            td_cache_matches(cache->tags + set * cache->ways, tag) & cache->all);
    const uint64_t uses = cache->uses[set];
    const uint32_t last = (uint32_t)(cache->lru ? uses & 15 : uses >> TD_CACHE_LAST_AT);
    const uint32_t slot = set * cache->ways + last;
    if (TD_LIKELY(cache->tags[slot] == tag))
        return slot;
    return td_cache_search(cache, set, tag);
}

/* The host brings the key's set near. */
static inline void td_cache_prefetch(const struct td_cache *cache, uint64_t key)
{
    const uint32_t set = (uint32_t)key & cache->set_mask;

    __builtin_prefetch(&cache->tags[(size_t)set * cache->ways], 1);
    __builtin_prefetch(&cache->uses[set], 1);
}

/* Whether the key is held; changes nothing. */
bool td_cache_holds(const struct td_cache *cache, uint64_t key);
/* Puts a key that is not held in the place of the least recently used; returns its slot. */
uint32_t td_cache_fill(struct td_cache *cache, uint64_t key);
/* The same; *gone is the key that gave way, or TD_CACHE_NO_KEY. Only for tables whose keys are so
 * short that the tag has all of them: at most 31 bits beyond the set. */
uint32_t td_cache_replace(struct td_cache *cache, uint64_t key, uint64_t *gone);
/* Empties up to `count` places of a key's set, those that would be replaced next. */
void td_cache_crowd(struct td_cache *cache, uint64_t key, uint32_t count);
/* Finds, else fills. True when it was held. */
bool td_cache_touch(struct td_cache *cache, uint64_t key);

#endif
