/* SPDX-License-Identifier: MIT */
#include "record/sim/model/bpred.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Lengths of history, geometric as in Seznec's TAGE; the longest covers what the measured cores
 * are known to use (about 200 branches). */
static const uint8_t lengths[TD_TAGE_TABLES] = {5, 11, 22, 44, 90, 180};
enum { TAG_BITS = 11, USEFUL_MAX = 3, INDIRECT_BITS = 11, BASE_WEAK = 1 };

static void init_fold(struct td_folds *folds, int table, int width)
{
    const int vector = table / TD_LANES_AT_ONCE, lane = table % TD_LANES_AT_ONCE;

    folds->mask[vector][lane] = (1U << width) - 1;
    folds->over[vector][lane] = 1U << width;
    folds->out[vector][lane] = 1U << (lengths[table] % width);
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
        init_fold(&bpred->index, i, desc->table_bits);
        init_fold(&bpred->tag, i, TAG_BITS);
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

/* `out`: all ones in the lanes of the tables whose oldest bit was set. */
static inline void fold_bit(struct td_folds *folds, uint32_t bit, const td_lanes *out)
{
    for (int i = 0; i < TD_LANE_VECTORS; i++) {
        td_lanes value = folds->value[i] << 1 | bit;
        value ^= folds->out[i] & out[i];
        value ^= (td_lanes)((value & folds->over[i]) != 0) & 1;
        folds->value[i] = value & folds->mask[i];
    }
}

/* The bit that leaves table i's history, as a mask. */
static inline uint32_t oldest(const struct td_bpred *bpred, int i)
{
    return -(uint32_t)bpred->history[(uint8_t)(bpred->newest + lengths[i] - 1)];
}

static inline void push_history(struct td_bpred *bpred, uint32_t bit, uint64_t pc)
{
    const td_lanes out[TD_LANE_VECTORS] = {
        {oldest(bpred, 0), oldest(bpred, 1), oldest(bpred, 2), oldest(bpred, 3)},
        {oldest(bpred, 4), oldest(bpred, 5)},
    };

    fold_bit(&bpred->index, bit, out);
    fold_bit(&bpred->tag, bit, out);
    bpred->history[--bpred->newest] = (uint8_t)bit;
    if (bit)
        bpred->path = bpred->path << 2 ^ pc >> 1;
}

struct lookup {
    struct td_tage_entry *entries[TD_TAGE_TABLES];
    uint32_t tags[TD_TAGE_LANES];
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

static inline void look_up(struct td_bpred *bpred, uint64_t pc, bool base, struct lookup *look)
{
    const uint32_t hash = (uint32_t)(pc ^ pc >> 13 ^ pc >> 27);
    uint32_t found = 0;

    for (int i = 0; i < TD_LANE_VECTORS; i++) {
        const td_lanes value = bpred->tag.value[i];
        /* Zero tags an empty entry. */
        const td_lanes tags =
            ((hash >> 2 ^ (value + (value << 2))) & ((1U << TAG_BITS) - 1)) | 1U << TAG_BITS;
        memcpy(&look->tags[i * TD_LANES_AT_ONCE], &tags, sizeof(tags));
    }
    for (int i = 0; i < TD_TAGE_TABLES; i++) {
        const uint32_t fold = bpred->index.value[i / TD_LANES_AT_ONCE][i % TD_LANES_AT_ONCE];
        const uint32_t index = (hash ^ hash >> (i + 3) ^ fold) & bpred->table_mask;
        look->entries[i] = &bpred->tables[i][index];
        found |= (uint32_t)(look->entries[i]->tag == look->tags[i]) << i;
    }
    look->provider = highest(found);
    const int second = highest(found & ~(1U << (look->provider & 31)));
    look->prediction = says_taken(look, look->provider, base);
    look->alternative = look->provider < 0 ? base : says_taken(look, second, base);
}

static void learn_counter(int8_t *counter, bool taken)
{
    if (taken && *counter < 3)
        ++*counter;
    else if (!taken && *counter > -4)
        --*counter;
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
            *entry = (struct td_tage_entry){.tag = (uint16_t)look->tags[i],
                                            .counter = (int8_t)(taken ? 0 : -1)};
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
