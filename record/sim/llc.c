/* SPDX-License-Identifier: MIT */
#include "record/sim/llc.h"

#include <stdlib.h>

#include "base/mem.h"

struct td_llc *td_llc_new(const struct td_core_desc *desc)
{
    struct td_llc *llc = td_xcalloc(1, sizeof(*llc));

    atomic_flag_clear(&llc->busy);
    td_cache_init(&llc->cache, (uint32_t)desc->l3_kb * 16, (uint32_t)desc->l3_ways);
    return llc;
}

void td_llc_free(struct td_llc *llc)
{
    if (!llc)
        return;
    td_cache_release(&llc->cache);
    free(llc);
}

bool td_llc_touch(struct td_llc *llc, uint64_t line)
{
    /* Acquire pairs with the release below: the tables are only touched by the holder. */
    while (atomic_flag_test_and_set_explicit(&llc->busy, memory_order_acquire)) {
    }
    /* Slices hash the address; without it, powers of two would meet in a few sets. */
    const bool held = td_cache_touch(&llc->cache, line ^ (line >> 14) * 7);
    atomic_flag_clear_explicit(&llc->busy, memory_order_release);
    return held;
}
