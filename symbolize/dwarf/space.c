/* SPDX-License-Identifier: MIT */
/* What functions stand in: namespaces, classes, and functions that hold local classes. Of a unit
 * only the entries on the way to those asked for are read, with what stands beside them. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "formats/model.h"
#include "symbolize/dwarf/dwarf.h"

#define DEPTH_MAX 512

static bool is_space(int tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_module:
    case DW_TAG_subprogram: return true;
    default: return false;
    }
}

/* Whether something inside may be a function, or hold one. */
static bool may_hold(int tag)
{
    return is_space(tag) || tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine;
}

static struct td_space *add(struct td_dwarf_unit *unit, Dwarf_Die *die, uint64_t end)
{
    unit->spaces =
        td_grow(unit->spaces, &unit->space_cap, unit->space_count + 1, sizeof(*unit->spaces));
    struct td_space *space = &unit->spaces[unit->space_count++];
    *space = (struct td_space){
        .die = *die, .start = dwarf_dieoffset(die), .end = end, .around = TD_NONE};
    return space;
}

/* Lists what is right inside a space: one behind the other, by offset. */
static void list(struct td_dwarf_unit *unit, uint32_t index)
{
    const struct td_space outside = unit->spaces[index];
    uint64_t before = outside.start;
    bool ended = true; /* of the space that was added last it is known where it ends */
    Dwarf_Die die = outside.die;

    unit->spaces[index].listed = true;
    unit->spaces[index].first = unit->space_count;
    for (int rc = dwarf_child(&die, &die); rc == 0; rc = dwarf_siblingof(&die, &die)) {
        const uint64_t offset = dwarf_dieoffset(&die);
        const int tag = td_dwarf_tag(unit, &die);

        if (offset <= before || offset >= outside.end || !td_dwarf_work(unit->dwarf, 1))
            break;
        before = offset;
        if (!ended)
            unit->spaces[unit->space_count - 1].end = offset;
        ended = !may_hold(tag) || !dwarf_haschildren(&die);
        if (ended)
            continue;
        struct td_space *space = add(unit, &die, outside.end);
        space->named = is_space(tag);
        space->function = tag == DW_TAG_subprogram;
        space->around = outside.named ? index : outside.around;
    }
    unit->spaces[index].count = unit->space_count - unit->spaces[index].first;
}

/* The space right inside that holds the entry at the offset, TD_NONE when none does. */
static uint32_t child_around(const struct td_dwarf_unit *unit, const struct td_space *space,
                             uint64_t offset)
{
    size_t low = space->first;

    TD_SEARCH(low, space->first + space->count, i, unit->spaces[i].start < offset)
    return low > space->first && offset < unit->spaces[low - 1].end ? (uint32_t)low - 1 : TD_NONE;
}

uint32_t td_dwarf_space_around(struct td_dwarf_unit *unit, uint64_t offset)
{
    uint32_t innermost = 0;

    if (!unit->spaces)
        add(unit, &unit->die.die, UINT64_MAX);
    for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
        if (!unit->spaces[innermost].listed)
            list(unit, innermost);
        const uint32_t inside = child_around(unit, &unit->spaces[innermost], offset);

        if (inside == TD_NONE)
            break;
        innermost = inside;
    }
    const struct td_space *space = &unit->spaces[innermost];
    return space->named ? innermost : space->around;
}
