/* SPDX-License-Identifier: MIT */
#include "record/sim/model/bpred.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#    include <emmintrin.h>
#endif

#include "base/mem.h"

/* Lengths of history, geometric as in Seznec's TAGE; the longest covers what the measured cores
 * are known to use (about 200 branches). */
static const uint8_t lengths[TD_TAGE_TABLES] = {5, 11, 22, 44, 90, 180};
enum { TAG_BITS = 11, USEFUL_MAX = 3, INDIRECT_BITS = 11, BASE_WEAK = 1 };

/* Lanes of 32 bits, none of which says more than 16, as lanes of 16. */
static inline td_tag_lanes narrow(td_lanes low, td_lanes high)
{
#ifdef __SSE2__
    return (td_tag_lanes)_mm_packs_epi32((__m128i)low, (__m128i)high);
#else
    td_tag_lanes ret = {0};

    for (int i = 0; i < TD_LANES_AT_ONCE; i++) {
        ret[i] = (int16_t)low[i];
        ret[i + TD_LANES_AT_ONCE] = (int16_t)high[i];
    }
    return ret;
#endif
}

/* A bit for each lane that is all ones; the others are 0. */
static inline uint32_t which(td_tag_lanes lanes)
{
#ifdef __SSE2__
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16((__m128i)lanes, _mm_setzero_si128()));
#else
    uint32_t ret = 0;

    for (int i = 0; i < TD_TAGE_LANES; i++)
        ret |= (uint32_t)(lanes[i] & 1) << i;
    return ret;
#endif
}

static void init_folds(struct td_bpred *bpred, int table, int width)
{
    const int vector = table / TD_LANES_AT_ONCE, lane = table % TD_LANES_AT_ONCE;

    bpred->index.mask[vector][lane] = (1 << width) - 1;
    bpred->index.out[vector][lane] = 1 << (lengths[table] % width);
    bpred->tag.mask[table] = (1 << TAG_BITS) - 1;
    bpred->tag.out[table] = (int16_t)(1 << (lengths[table] % TAG_BITS));
}

void td_bpred_init(struct td_bpred *bpred, const struct td_core_desc *desc)
{
    *bpred = (struct td_bpred){.random = 1};
    bpred->base_mask = (1U << desc->base_bits) - 1;
    bpred->table_mask = (1U << desc->table_bits) - 1;
    bpred->base = td_xcalloc((size_t)bpred->base_mask + 1, 1);
    for (size_t i = 0; i <= bpred->base_mask; i++)
        bpred->base[i] = BASE_WEAK;
    for (int i = 0; i < TD_TAGE_TABLES; i++) {
        bpred->tables[i] = td_xcalloc((size_t)bpred->table_mask + 1, sizeof(*bpred->tables[i]));
        /* Branches that always go opposite ways come in pairs of bits: at an even width half of the
         * index would only repeat the other half. */
        init_folds(bpred, i, (int)desc->table_bits | 1);
    }
    for (int i = 0; i < TD_INDIRECT_TABLES; i++)
        bpred->indirect[i] = td_xcalloc(1U << INDIRECT_BITS, sizeof(*bpred->indirect[i]));
    td_cache_init(&bpred->btb, (uint32_t)desc->btb_lines, (uint32_t)desc->btb_ways);
    td_cache_init(&bpred->btb2, (uint32_t)desc->btb2_lines, (uint32_t)desc->btb2_ways);
    bpred->return_count = (uint32_t)desc->returns;
    /* The first table goes by the branch alone, as a plain target buffer. */
    for (int i = 1; i < TD_INDIRECT_TABLES; i++) {
        const int bits = desc->indirect_history * i / (TD_INDIRECT_TABLES - 1);
        bpred->indirect_masks[i] = ~UINT64_C(0) >> (64 - (bits ? bits : 1));
    }
}

void td_bpred_release(struct td_bpred *bpred)
{
    free(bpred->base);
    for (int i = 0; i < TD_TAGE_TABLES; i++)
        free(bpred->tables[i]);
    for (int i = 0; i < TD_INDIRECT_TABLES; i++)
        free(bpred->indirect[i]);
    td_cache_release(&bpred->btb);
    td_cache_release(&bpred->btb2);
}

/* One bit more, which is the lowest of the value; what goes beyond the mask comes in again below,
 * as does what leaves the history. `out`: all ones in the lanes of the tables whose oldest bit was
 * set.
 */
static inline void fold_bit(struct td_bpred *bpred, int bit, const td_lanes *out,
                            td_tag_lanes tag_out)
{
    struct td_folds *index = &bpred->index;
    struct td_tag_folds *tag = &bpred->tag;

    for (int i = 0; i < TD_LANE_VECTORS; i++) {
        const td_lanes value = index->value[i] << 1 | bit;
        const td_lanes over = (value > index->mask[i]) & 1;
        index->value[i] = (value ^ (index->out[i] & out[i]) ^ over) & index->mask[i];
    }
    const td_tag_lanes value = tag->value << 1 | (int16_t)bit;
    const td_tag_lanes over = (value > tag->mask) & 1;
    tag->value = (value ^ (tag->out & tag_out) ^ over) & tag->mask;
}

/* The bit that leaves table i's history, as a mask. */
static inline int oldest(const struct td_bpred *bpred, int i)
{
    return -(int)bpred->history[(uint8_t)(bpred->newest + lengths[i] - 1)];
}

static inline void push_history(struct td_bpred *bpred, uint32_t bit, uint64_t pc)
{
    const td_lanes out[TD_LANE_VECTORS] = {
        {oldest(bpred, 0), oldest(bpred, 1), oldest(bpred, 2), oldest(bpred, 3)},
        {oldest(bpred, 4), oldest(bpred, 5)},
    };

    fold_bit(bpred, (int)bit, out, narrow(out[0], out[1]));
    bpred->history[--bpred->newest] = (uint8_t)bit;
    if (bit)
        bpred->path = bpred->path << 2 ^ pc >> 1;
}

struct lookup {
    struct td_tage_entry *entries[TD_TAGE_TABLES];
    uint16_t tags[TD_TAGE_LANES];
    int provider; /* the longest history that matches, or -1 */
    bool prediction, alternative;
};

static inline bool says_taken(const struct lookup *look, int table, bool base)
{
    return table < 0 ? base : look->entries[table]->counter >= 0;
}

/* The highest bit's number, or -1. */
static inline int highest(uint32_t bits)
{
    return 31 - __builtin_clz(bits << 1 | 1) - 1;
}

/* The entries of all tables, and those whose tag is the wanted one, a bit each. */
static inline uint32_t find_entries(struct td_bpred *bpred, uint32_t hash, struct lookup *look)
{
    const td_tag_lanes value = bpred->tag.value;
    const int16_t part = (int16_t)(hash >> 2);
    /* Zero tags an empty entry. */
    const td_tag_lanes wanted =
        ((part ^ (value + (value << 2))) & ((1 << TAG_BITS) - 1)) | (1 << TAG_BITS);
    td_tag_lanes tags = {0};

    memcpy(look->tags, &wanted, sizeof(look->tags));
    for (int i = 0; i < TD_TAGE_TABLES; i++) {
        const uint32_t fold =
            (uint32_t)bpred->index.value[i / TD_LANES_AT_ONCE][i % TD_LANES_AT_ONCE];
        const uint32_t index = (hash ^ hash >> (i + 3) ^ fold) & bpred->table_mask;
        look->entries[i] = &bpred->tables[i][index];
        tags[i] = (int16_t)look->entries[i]->tag;
    }
    return which(tags == wanted) & ((1U << TD_TAGE_TABLES) - 1);
}

static inline void look_up(struct td_bpred *bpred, uint64_t pc, bool base, struct lookup *look)
{
    const uint32_t found = find_entries(bpred, (uint32_t)(pc ^ pc >> 13 ^ pc >> 27), look);

    look->provider = highest(found);
    const int second = highest(found & ~(1U << (look->provider & 31)));
    look->prediction = says_taken(look, look->provider, base);
    look->alternative = look->provider < 0 ? base : says_taken(look, second, base);
}

static void learn_counter(int8_t *counter, bool taken)
{
    *counter = (int8_t)(*counter + (taken ? *counter < 3 : -(*counter > -4)));
}

/* After a miss: an entry with a longer history, if one there is of no use. */
static void allocate(struct td_bpred *bpred, const struct lookup *look, bool taken)
{
    bpred->random = bpred->random * 1664525 + 1013904223;
    int first = look->provider + 1;
    if (bpred->random >> 30 == 0 && first < TD_TAGE_TABLES - 1)
        first++;
    for (int i = first; i < TD_TAGE_TABLES; i++) {
        struct td_tage_entry *entry = look->entries[i];
        if (entry->useful == 0) {
            *entry =
                (struct td_tage_entry){.tag = look->tags[i], .counter = (int8_t)(taken ? 0 : -1)};
            return;
        }
    }
    for (int i = first; i < TD_TAGE_TABLES; i++)
        look->entries[i]->useful--;
}

static void learn(struct td_bpred *bpred, uint64_t pc, const struct lookup *look, bool taken)
{
    const bool wrong = look->prediction != taken;

    if (look->provider >= 0) {
        struct td_tage_entry *entry = look->entries[look->provider];
        learn_counter(&entry->counter, taken);
        if (look->prediction != look->alternative) {
            if (!wrong && entry->useful < USEFUL_MAX)
                entry->useful++;
            else if (wrong && entry->useful > 0)
                entry->useful--;
        }
    } else {
        uint8_t *base = &bpred->base[(pc ^ pc >> 14) & bpred->base_mask];
        if (taken && *base < 3)
            ++*base;
        else if (!taken && *base > 0)
            --*base;
    }
    if (wrong && look->provider < TD_TAGE_TABLES - 1)
        allocate(bpred, look, taken);
}

bool td_bpred_conditional(struct td_bpred *bpred, uint64_t pc, uint8_t *bias, bool taken)
{
    const uint8_t way = taken ? TD_BIAS_TAKEN : TD_BIAS_NOT_TAKEN;
    bool wrong;

    if (*bias == TD_BIAS_BOTH) {
        struct lookup look;
        const bool base = bpred->base[(pc ^ pc >> 14) & bpred->base_mask] > BASE_WEAK;
        look_up(bpred, pc, base, &look);
        wrong = look.prediction != taken;
        bpred->late = !wrong && look.prediction != base;
        learn(bpred, pc, &look, taken);
        push_history(bpred, taken, pc);
    } else {
        bpred->late = false;
        /* Never seen: no target is known, so it falls through. */
        wrong = *bias == TD_BIAS_NEW ? taken : *bias != way;
        if (*bias == TD_BIAS_NEW) {
            *bias = way;
        } else if (*bias != way) {
            *bias = TD_BIAS_BOTH;
            bpred->base[(pc ^ pc >> 14) & bpred->base_mask] = taken ? 1 : 2;
        }
        /* A branch that always goes one way says nothing: it stays out of the history. */
        if (taken)
            bpred->path = bpred->path << 2 ^ pc >> 1;
    }
    return wrong;
}

void td_bpred_direct(struct td_bpred *bpred, uint64_t pc)
{
    bpred->late = false;
    bpred->path = bpred->path << 2 ^ (pc >> 1);
}

static uint64_t mix(uint64_t x)
{
    x *= UINT64_C(0x9e3779b97f4a7c15);
    return x ^ x >> 29;
}

bool td_bpred_indirect(struct td_bpred *bpred, uint64_t pc, uint64_t target)
{
    struct td_indirect_entry *entries[TD_INDIRECT_TABLES];
    uint16_t tags[TD_INDIRECT_TABLES];
    int provider = -1;

    for (int i = 0; i < TD_INDIRECT_TABLES; i++) {
        const uint64_t history = bpred->path & bpred->indirect_masks[i];
        const uint64_t hash = mix(pc ^ mix(history + (uint64_t)i));
        entries[i] = &bpred->indirect[i][hash >> 32 & ((1U << INDIRECT_BITS) - 1)];
        tags[i] = (uint16_t)(hash >> 48 | 1);
        if (entries[i]->tag == tags[i])
            provider = i;
    }
    const bool wrong = provider < 0 || entries[provider]->target != target;
    bpred->late = provider > 0 && !wrong && entries[0]->target != target;
    if (provider >= 0) {
        struct td_indirect_entry *entry = entries[provider];
        if (!wrong && entry->sure < 3)
            entry->sure++;
        else if (wrong && entry->sure > 0)
            entry->sure--;
        else if (wrong)
            entry->target = target;
    }
    if (wrong && provider < TD_INDIRECT_TABLES - 1) {
        struct td_indirect_entry *entry = entries[provider + 1];
        if (entry->tag != tags[provider + 1] && entry->sure > 0)
            entry->sure--;
        else
            *entry = (struct td_indirect_entry){.tag = tags[provider + 1], .target = target};
    }
    bpred->path = bpred->path << 5 ^ target >> 1 ^ pc;
    push_history(bpred, (uint32_t)(target >> 2 ^ target >> 5) & 1, target);
    return wrong;
}

void td_bpred_call(struct td_bpred *bpred, uint64_t return_address)
{
    bpred->return_top = bpred->return_top + 1 == bpred->return_count ? 0 : bpred->return_top + 1;
    bpred->returns[bpred->return_top] = return_address;
}

void td_bpred_leave(struct td_bpred *bpred)
{
    bpred->return_top = bpred->return_top == 0 ? bpred->return_count - 1 : bpred->return_top - 1;
}

bool td_bpred_return(struct td_bpred *bpred, uint64_t target)
{
    const bool wrong = bpred->returns[bpred->return_top] != target;

    bpred->late = false;
    td_bpred_leave(bpred);
    return wrong;
}

enum td_target td_bpred_target(struct td_bpred *bpred, uint64_t pc)
{
    /* Branches lie at any distance, aligned ones too: sets go by a hash. */
    const uint64_t key = mix(pc) >> 20;

    if (td_cache_find(&bpred->btb, key) != TD_CACHE_MISS)
        return TD_TARGET_KNOWN;
    const bool second = td_cache_touch(&bpred->btb2, key);
    td_cache_fill(&bpred->btb, key);
    return second ? TD_TARGET_LATE : TD_TARGET_UNKNOWN;
}
