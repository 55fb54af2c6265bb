/* SPDX-License-Identifier: MIT */
/* Code ranges of entries. */
#include <stdlib.h>

#include "base/mem.h"
#include "symbolize/dwarf/dwarf.h"

void td_ranges_add(struct td_ranges *ranges, uint64_t low, uint64_t high)
{
    if (low >= high)
        return;
    ranges->at = td_grow(ranges->at, &ranges->cap, ranges->len + 1, sizeof(*ranges->at));
    ranges->at[ranges->len++] = (struct td_range){.low = low, .high = high};
}

bool td_ranges_hold(const struct td_ranges *ranges, uint64_t address)
{
    for (size_t i = 0; i < ranges->len; i++) {
        if (address >= ranges->at[i].low && address < ranges->at[i].high)
            return true;
    }
    return false;
}

void td_ranges_release(struct td_ranges *ranges)
{
    free(ranges->at);
    *ranges = (struct td_ranges){0};
}

/* low_pc and high_pc, the usual case, out of what was read already. */
static void add_contiguous(struct td_die *die, struct td_ranges *ranges)
{
    uint64_t low = 0, high = 0;

    if (!td_die_address(die, TD_SLOT_LOW_PC, &low) || !td_die_has(die, TD_SLOT_HIGH_PC))
        return;
    /* A constant is a length since version 4. */
    if (td_die_address(die, TD_SLOT_HIGH_PC, &high))
        td_ranges_add(ranges, low, high);
    else if (td_die_uint(die, TD_SLOT_HIGH_PC, &high))
        td_ranges_add(ranges, low, low + high);
}

void td_die_ranges(struct td_dwarf *dwarf, struct td_die *die, struct td_ranges *ranges)
{
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;

    ranges->len = 0;
    if (!td_die_has(die, TD_SLOT_RANGES)) {
        add_contiguous(die, ranges);
        return;
    }
    while (td_dwarf_work(dwarf, 1) && (at = dwarf_ranges(&die->die, at, &base, &low, &high)) > 0)
        td_ranges_add(ranges, low, high);
    if (at < 0)
        td_dwarf_damaged(dwarf, dwarf_dieoffset(&die->die));
}
