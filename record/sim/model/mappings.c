/* SPDX-License-Identifier: MIT */
#include "record/sim/model/mappings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void td_mappings_release(struct td_mappings *mappings)
{
    td_range_set_release(&mappings->now);
    td_range_set_release(&mappings->places);
    free(mappings->numbers);
    *mappings = (struct td_mappings){.numbers = NULL};
}

void td_mappings_clear(struct td_mappings *mappings)
{
    mappings->now.len = 0;
}

/* Whether all that was ever at the places of the range is the same part of the same file. *known:
 * all of it was. */
static bool fits(const struct td_mappings *m, const struct td_range *range, bool *known)
{
    const struct td_range_set *places = &m->places;
    size_t i = td_range_set_first(places, range->start);
    uint64_t covered = range->start;

    for (; i < places->len && places->items[i].start < range->end; i++) {
        const struct td_range *other = &places->items[i];

        if (other->value != range->value ||
            other->offset - other->start != range->offset - range->start)
            return false;
        covered = other->start <= covered ? other->end : covered;
    }
    *known = covered >= range->end;
    return true;
}

void td_mappings_add(struct td_mappings *mappings, const struct td_range *range)
{
    const uint64_t size = range->end - range->start;
    struct td_range placed = *range;
    uint32_t number = 0;
    bool known = false;

    if (range->end >> TD_PLACE_SHIFT || size == 0 ||
        td_mappings_overlap(mappings, range->start, range->end))
        return;
    /* When there are too many, the last is that of the latest. */
    while (!fits(mappings, &placed, &known) && number < TD_PLACE_NUMBERS - 1) {
        placed.start = td_place(range->start, ++number);
        placed.end = placed.start + size;
    }
    if (!known)
        td_range_set_put(&mappings->places, &placed);
    mappings->count = number >= mappings->count ? number + 1 : mappings->count;

    const size_t before = mappings->now.len;
    td_range_set_put(&mappings->now, range);
    mappings->numbers =
        td_grow(mappings->numbers, &mappings->number_cap, before + 1, sizeof(*mappings->numbers));
    const size_t at = td_range_set_first(&mappings->now, range->start);
    memmove(&mappings->numbers[at + 1], &mappings->numbers[at],
            (before - at) * sizeof(*mappings->numbers));
    mappings->numbers[at] = number;
}

const struct td_range *td_mappings_find(const struct td_mappings *mappings, uint64_t address,
                                        uint64_t *place)
{
    const struct td_range *range = td_range_set_find(&mappings->now, address);

    if (range)
        *place = td_place(address, mappings->numbers[range - mappings->now.items]);
    return range;
}

bool td_mappings_overlap(const struct td_mappings *mappings, uint64_t start, uint64_t end)
{
    return td_range_set_overlaps(&mappings->now, start, end);
}

uint64_t td_mappings_place_copy(const struct td_mappings *mappings, uint64_t address,
                                td_mappings_same_fn *same, void *ctx)
{
    bool any = false;

    for (uint32_t number = mappings->count; number-- > 0;) {
        const uint64_t place = td_place(address, number);
        const struct td_range *range = td_range_set_find(&mappings->places, place);

        if (range && same(ctx, range->value, place - range->start + range->offset))
            return place;
        any = any || range;
    }
    return any ? td_place(address, TD_PLACE_NUMBERS) : address;
}
