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

#include "base/likely.h"
#include "formats/cores/core.h"

#define TD_CACHE_MISS   UINT32_MAX
#define TD_CACHE_NO_KEY UINT64_MAX
#define TD_CACHE_TAG    0x80000000U /* of a place that is taken */

struct td_cache {
    uint32_t set_mask, ways;
    uint32_t set_bits;
    uint32_t all;   /* a bit a way */
    uint32_t *tags; /* by slot: set * ways + way; 0: empty */
    uint32_t *used; /* by set: ways used since all had been */
    /* By set: all ways, four bits each, the one used last in the lowest; NULL: not kept. */
    uint64_t *order;
    uint8_t *last; /* by set: the way used last */
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

/* The slot of a key among the ways not used last, or TD_CACHE_MISS. */
uint32_t td_cache_search(struct td_cache *cache, uint32_t set, uint32_t tag);

/* The slot that holds the key, now the last used of its set, or TD_CACHE_MISS. */
static inline uint32_t td_cache_find(struct td_cache *cache, uint64_t key)
{
    const uint32_t set = (uint32_t)key & cache->set_mask;
    const uint32_t tag = td_cache_tag(cache, key);
    const uint32_t slot = set * cache->ways + cache->last[set];

    if (TD_LIKELY(cache->tags[slot] == tag))
        return slot;
    return td_cache_search(cache, set, tag);
}

/* The host brings the key's set near. */
static inline void td_cache_prefetch(const struct td_cache *cache, uint64_t key)
{
    const uint32_t set = (uint32_t)key & cache->set_mask;

    __builtin_prefetch(&cache->tags[(size_t)set * cache->ways], 1);
    __builtin_prefetch(&cache->used[set], 1);
    __builtin_prefetch(&cache->last[set], 1);
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
