/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/llc.h"

#include <stdlib.h>

#include "base/mem.h"

/* Its table is larger than the host's caches. So many lines are touched while other threads wait,
 * and sets are asked for so many lines before. */
enum { TOUCHED_AT_ONCE = 64, TOUCHED_AHEAD = 8 };

struct td_llc *td_llc_new(const struct td_core_desc *desc)
{
    struct td_llc *llc = td_xcalloc(1, sizeof(*llc));

    atomic_flag_clear(&llc->busy);
    td_cache_init(&llc->cache, (uint32_t)desc->l3_kb * 16, (uint32_t)desc->l3_ways);
    const uint32_t sets = llc->cache.set_mask + 1;
    llc->set_cycles = desc->l3_neighbour ? (int64_t)desc->l3_neighbour * sets : INT64_MAX;
    llc->crowded = desc->l3_neighbour != 0;
    llc->turns = td_xcalloc(sets, sizeof(*llc->turns));
    llc->sharing = td_sharing_new(desc);
    td_company_init(&llc->company, desc);
    return llc;
}

void td_llc_free(struct td_llc *llc)
{
    if (!llc)
        return;
    td_cache_release(&llc->cache);
    td_sharing_free(llc->sharing);
    free(llc->turns);
    free(llc);
}

void td_llc_forget_threads(struct td_llc *llc, const struct td_core_desc *desc)
{
    /* What the parent's models still point to stays, as they do. */
    llc->sharing = td_sharing_new(desc);
}

uint64_t td_llc_fills(const struct td_llc *llc)
{
    return atomic_load_explicit(&llc->fills, memory_order_relaxed);
}

void td_llc_let_company_in(struct td_llc *llc)
{
    const uint64_t brought = atomic_load_explicit(&llc->company.brought, memory_order_relaxed);

    if (brought == 0)
        return;
    atomic_store_explicit(&llc->company_turns, (int64_t)(brought / (llc->cache.set_mask + 1)),
                          memory_order_relaxed);
    atomic_store_explicit(&llc->crowded, true, memory_order_relaxed);
}

/* How many lines neighbours have brought into each set up to cycle `t`. */
static int64_t turn_at(const struct td_llc *llc, int64_t t)
{
    return t / llc->set_cycles + atomic_load_explicit(&llc->company_turns, memory_order_relaxed);
}

/* What neighbours have brought into the key's set since it was looked at. */
static void let_neighbours_in(struct td_llc *llc, uint64_t key, int64_t turn)
{
    const uint32_t set = (uint32_t)key & llc->cache.set_mask;
    const int64_t lines = turn - llc->turns[set];

    if (lines <= 0)
        return;
    llc->turns[set] = turn;
    td_cache_crowd(&llc->cache, key, lines < UINT32_MAX ? (uint32_t)lines : UINT32_MAX);
}

/* Slices hash the address; without it, powers of two would meet in a few sets. */
static uint64_t key_of(uint64_t line)
{
    return line ^ (line >> 14) * 7;
}

/* Acquire pairs with the release of who has it: the tables are only touched by the holder. */
static void take(struct td_llc *llc)
{
    while (atomic_flag_test_and_set_explicit(&llc->busy, memory_order_acquire)) {
    }
}

static void leave(struct td_llc *llc)
{
    atomic_flag_clear_explicit(&llc->busy, memory_order_release);
}

/* For who has taken it. */
static bool touch(struct td_llc *llc, uint64_t line, int64_t turn)
{
    const uint64_t key = key_of(line);

    if (atomic_load_explicit(&llc->crowded, memory_order_relaxed))
        let_neighbours_in(llc, key, turn);
    const bool held = td_cache_touch(&llc->cache, key);
    atomic_store_explicit(&llc->fills, td_llc_fills(llc) + !held, memory_order_relaxed);
    return held;
}

bool td_llc_touch(struct td_llc *llc, uint64_t line, int64_t t)
{
    take(llc);
    const bool held = touch(llc, line, turn_at(llc, t));
    leave(llc);
    return held;
}

/* The host brings the line's set near. */
static void come_near(const struct td_llc *llc, uint64_t line)
{
    const uint64_t key = key_of(line);

    td_cache_prefetch(&llc->cache, key);
    __builtin_prefetch(&llc->turns[(uint32_t)key & llc->cache.set_mask], 1);
}

void td_llc_touch_all(struct td_llc *llc, const uint64_t *lines, size_t count, int64_t t)
{
    for (size_t first = 0; first < count; first += TOUCHED_AT_ONCE) {
        take(llc);
        const int64_t turn = turn_at(llc, t);
        for (size_t i = first; i < count && i < first + TOUCHED_AT_ONCE; i++) {
            if (i + TOUCHED_AHEAD < count)
                come_near(llc, lines[i + TOUCHED_AHEAD]);
            touch(llc, lines[i], turn);
        }
        leave(llc);
    }
}

bool td_llc_holds(struct td_llc *llc, uint64_t line)
{
    take(llc);
    const bool held = td_cache_holds(&llc->cache, key_of(line));
    leave(llc);
    return held;
}
