/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/stores.h"

#include <stddef.h>

bool td_stores_crowd(struct td_stores *stores, uint64_t line, uint32_t ways, uint32_t buffer,
                     int64_t t)
{
    struct td_store_set *set = &stores->sets[line % TD_STORE_SETS];
    const uint64_t since = stores->serial - set->serial;
    const uint64_t gone = since * ways * TD_STORE_BUFFER_MAX / buffer;

    if (set->line == line)
        return false;
    set->line = line;
    /* So many lines come in the time of a full buffer that it just goes on; none is waited for when
     * it is empty. */
    set->lines = stores->last_commit > t && set->lines > gone ? set->lines - (uint32_t)gone : 0;
    set->serial = stores->serial;
    if (set->lines >= ways * TD_STORE_BUFFER_MAX)
        return true;
    set->lines += TD_STORE_BUFFER_MAX;
    return false;
}

void td_stores_keep_older(struct td_stores *stores, struct td_store_word *store, uint32_t index)
{
    const struct td_store_word *last = &stores->words[index];

    store->older = last->older;
    if (last->serial == store->serial || !(last->bytes & ~store->bytes))
        return;
    store->older = last->serial;
    stores->older[last->serial % TD_STORE_BUFFER_MAX] =
        (struct td_store_older){.word = *last, .committed = stores->committed[index]};
}

/* The store before this one that has other bytes of its word, unless L1 has it; or NULL. */
static const struct td_store_older *older_of(const struct td_stores *stores,
                                             const struct td_store_word *word, int64_t t)
{
    const struct td_store_older *older = &stores->older[word->older % TD_STORE_BUFFER_MAX];

    if (!word->older || older->word.serial != word->older || older->word.word != word->word ||
        older->committed <= t)
        return NULL;
    return older;
}

/* A store that wrote some of what is wanted. */
static void add_store(struct td_stores_found *found, const struct td_store_word *word,
                      int64_t committed)
{
    const bool first = !found->youngest;

    if (!first && found->youngest->serial != word->serial)
        found->covers = false;
    if (first || (int32_t)(word->serial - found->youngest->serial) > 0)
        found->youngest = word;
    if (committed > found->committed)
        found->committed = committed;
}

/* Adds the bytes [address, address + size) of one word. */
static void look_at(struct td_stores_found *found, const struct td_stores *stores, uint64_t address,
                    uint32_t size, int64_t t)
{
    const uint32_t index = td_stores_index(address);
    const struct td_store_word *word = &stores->words[index];
    int64_t committed = stores->committed[index];
    uint8_t wanted = td_store_bytes(address, size);

    if (committed > t && word->word != address >> 3) {
        if (word->bytes & wanted)
            found->alias = word;
        found->covers = false;
        return;
    }
    while (wanted && committed > t) {
        const struct td_store_older *older = older_of(stores, word, t);

        if (word->bytes & wanted)
            add_store(found, word, committed);
        wanted &= (uint8_t)~word->bytes;
        if (!older)
            break;
        word = &older->word;
        committed = older->committed;
    }
    if (wanted)
        found->covers = false;
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
