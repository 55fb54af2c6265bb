/* SPDX-License-Identifier: MIT */
/* Code ranges of entries: low and high pc, .debug_ranges (2 to 4), .debug_rnglists (5). */
#include <dwarf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "symbolize/dwarf.h"

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

/* Pairs of addresses relative to a base; (-1, x) sets the base; (0, 0) ends (DWARF 4, 2.17.3). */
static void read_old_list(const struct td_dwarf_unit *unit, uint64_t offset,
                          struct td_ranges *ranges)
{
    const uint64_t all_ones = unit->address_size == 8 ? UINT64_MAX : UINT32_MAX;
    struct td_cur cur = td_cur_at(unit->dwarf->sections.ranges, offset);
    uint64_t base = unit->low_pc;

    while (!cur.bad && td_dwarf_work(unit->dwarf, 1)) {
        const uint64_t low = td_cur_uint(&cur, unit->address_size);
        const uint64_t high = td_cur_uint(&cur, unit->address_size);

        if (cur.bad || (low == 0 && high == 0))
            return;
        if (low == all_ones)
            base = high;
        else
            td_ranges_add(ranges, base + low, base + high);
    }
}

/* An index into the address table that stands at the cursor. */
static uint64_t indexed(struct td_cur *cur, const struct td_dwarf_unit *unit)
{
    const uint64_t index = td_cur_uleb(cur);
    uint64_t address = 0;

    if (!cur->bad && !td_dwarf_address_at(unit, index, &address))
        td_cur_fail(cur);
    return address;
}

/* One entry of a version 5 list (DWARF 5, 2.17.3). False at the end or at damage. */
static bool read_entry(struct td_cur *cur, const struct td_dwarf_unit *unit, uint64_t *base,
                       struct td_range *r)
{
    const unsigned address_size = unit->address_size;

    *r = (struct td_range){0};
    switch (td_cur_u8(cur)) {
    case DW_RLE_base_addressx: *base = indexed(cur, unit); break;
    case DW_RLE_startx_endx:
        r->low = indexed(cur, unit);
        r->high = indexed(cur, unit);
        break;
    case DW_RLE_startx_length:
        r->low = indexed(cur, unit);
        r->high = r->low + td_cur_uleb(cur);
        break;
    case DW_RLE_offset_pair:
        r->low = *base + td_cur_uleb(cur);
        r->high = *base + td_cur_uleb(cur);
        break;
    case DW_RLE_base_address: *base = td_cur_uint(cur, address_size); break;
    case DW_RLE_start_end:
        r->low = td_cur_uint(cur, address_size);
        r->high = td_cur_uint(cur, address_size);
        break;
    case DW_RLE_start_length:
        r->low = td_cur_uint(cur, address_size);
        r->high = r->low + td_cur_uleb(cur);
        break;
    default: return false; /* DW_RLE_end_of_list, or unknown: no length to step over it */
    }
    return !cur->bad;
}

static void read_list(const struct td_dwarf_unit *unit, uint64_t offset, struct td_ranges *ranges)
{
    struct td_cur cur = td_cur_at(unit->dwarf->sections.rnglists, offset);
    uint64_t base = unit->low_pc;
    struct td_range r;

    while (td_dwarf_work(unit->dwarf, 1) && read_entry(&cur, unit, &base, &r))
        td_ranges_add(ranges, r.low, r.high);
}

/* DW_FORM_rnglistx: entry `index` of the offsets at the unit's base, relative to that base. */
static bool list_offset(const struct td_dwarf_unit *unit, uint64_t index, uint64_t *ret)
{
    const struct td_bytes table = unit->dwarf->sections.rnglists;

    if (index > table.size || unit->rnglists_base > table.size)
        return false;
    struct td_cur cur = td_cur_at(table, unit->rnglists_base + index * unit->offset_size);
    *ret = unit->rnglists_base + td_cur_uint(&cur, unit->offset_size);
    return !cur.bad;
}

void td_die_ranges(const struct td_dwarf_unit *unit, const struct td_die *die,
                   struct td_ranges *ranges)
{
    uint64_t low = 0, high = 0, offset = 0;

    ranges->len = 0;
    if (td_die_has(die, TD_SLOT_RANGES)) {
        const struct td_dwarf_attr *attr = &die->attr[TD_SLOT_RANGES];

        if (unit->version < 5)
            read_old_list(unit, attr->value + (unit->dwarf->split ? unit->gnu_ranges_base : 0),
                          ranges);
        else if (attr->form != DW_FORM_rnglistx)
            read_list(unit, attr->value, ranges);
        else if (list_offset(unit, attr->value, &offset))
            read_list(unit, offset, ranges);
        return;
    }
    if (!td_die_address(unit, die, TD_SLOT_LOW_PC, &low) || !td_die_has(die, TD_SLOT_HIGH_PC))
        return;
    /* A constant is a length since version 4. */
    if (td_die_uint(die, TD_SLOT_HIGH_PC, &high))
        td_ranges_add(ranges, low, low + high);
    else if (td_die_address(unit, die, TD_SLOT_HIGH_PC, &high))
        td_ranges_add(ranges, low, high);
}
