/* SPDX-License-Identifier: MIT */
#include "base/range.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"

void td_range_set_release(struct td_range_set *ranges)
{
    free(ranges->items);
    *ranges = (struct td_range_set){0};
}

size_t td_range_set_first(const struct td_range_set *ranges, uint64_t at)
{
    size_t low = 0;

    TD_SEARCH(low, ranges->len, i, ranges->items[i].end <= at)
    return low;
}

const struct td_range *td_range_set_find(const struct td_range_set *ranges, uint64_t at)
{
    const size_t i = td_range_set_first(ranges, at);

    return i < ranges->len && ranges->items[i].start <= at ? &ranges->items[i] : NULL;
}

bool td_range_set_overlaps(const struct td_range_set *ranges, uint64_t start, uint64_t end)
{
    const size_t i = td_range_set_first(ranges, start);

    return i < ranges->len && ranges->items[i].start < end;
}

/* The part of `range` from `at` on. */
static struct td_range tail_of(const struct td_range *range, uint64_t at)
{
    struct td_range tail = *range;

    tail.offset += at - range->start;
    tail.start = at;
    return tail;
}

void td_range_set_put(struct td_range_set *ranges, const struct td_range *range)
{
    struct td_range pieces[3];
    size_t piece_count = 0;
    const size_t first = td_range_set_first(ranges, range->start);
    size_t last = first; /* items[first..last) overlap the new one */

    if (range->start >= range->end)
        return;
    while (last < ranges->len && ranges->items[last].start < range->end)
        last++;
    if (last > first && ranges->items[first].start < range->start) {
        pieces[piece_count] = ranges->items[first];
        pieces[piece_count++].end = range->start;
    }
    pieces[piece_count++] = *range;
    if (last > first && ranges->items[last - 1].end > range->end)
        pieces[piece_count++] = tail_of(&ranges->items[last - 1], range->end);

    const size_t len = ranges->len - (last - first) + piece_count;
    ranges->items = td_grow(ranges->items, &ranges->cap, len, sizeof(*ranges->items));
    memmove(ranges->items + first + piece_count, ranges->items + last,
            (ranges->len - last) * sizeof(*ranges->items));
    memcpy(ranges->items + first, pieces, piece_count * sizeof(*pieces));
    ranges->len = len;
}

void td_range_set_copy(struct td_range_set *ret, const struct td_range_set *ranges)
{
    struct td_range_set copy = {.len = ranges->len};

    if (copy.len) {
        copy.items = td_grow(NULL, &copy.cap, copy.len, sizeof(*copy.items));
        memcpy(copy.items, ranges->items, copy.len * sizeof(*copy.items));
    }
    *ret = copy;
}
