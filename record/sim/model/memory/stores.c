/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/stores.h"

#include <stddef.h>

/* Adds the bytes [address, address + size) of one word. */
static void look_at(struct td_stores_found *found, const struct td_stores *stores, uint64_t address,
                    uint32_t size, int64_t t)
{
    const uint32_t index = td_stores_index(address);
    const struct td_store_word *word = &stores->words[index];
    const uint8_t wanted = td_store_bytes(address, size);

    if (stores->committed[index] <= t || !(word->bytes & wanted)) {
        found->covers = false;
        return;
    }
    if (word->word != address >> 3) {
        found->alias = word;
        found->covers = false;
        return;
    }
    const bool first = !found->youngest;
    if ((word->bytes & wanted) != wanted || (!first && found->youngest->serial != word->serial))
        found->covers = false;
    if (first || (int32_t)(word->serial - found->youngest->serial) > 0)
        found->youngest = word;
    if (stores->committed[index] > found->committed)
        found->committed = stores->committed[index];
}

struct td_stores_found td_stores_find(const struct td_stores *stores, uint64_t address,
                                      uint32_t size, int64_t t)
{
    const uint64_t end = address + size;
    struct td_stores_found found = {.covers = true};

    for (uint64_t at = address; at < end; at = (at | 7) + 1)
        look_at(&found, stores, at, (uint32_t)(end - at), t);
    found.covers = found.covers && found.youngest;
    return found;
}
