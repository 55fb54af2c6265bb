/* SPDX-License-Identifier: MIT */
/* What functions stand in: namespaces, classes, and functions that hold local classes. */
#include <stdlib.h>

#include "base/mem.h"
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

struct walk {
    struct td_dwarf_unit *unit;
    size_t cap;
};

static uint32_t add(struct walk *w, Dwarf_Die *die, uint32_t parent, bool function)
{
    struct td_dwarf_unit *unit = w->unit;

    unit->spaces = td_grow(unit->spaces, &w->cap, unit->space_count + 1, sizeof(*unit->spaces));
    unit->spaces[unit->space_count] = (struct td_space){.die = *die,
                                                        .start = dwarf_dieoffset(die),
                                                        .end = UINT64_MAX,
                                                        .parent = parent,
                                                        .function = function};
    return (uint32_t)unit->space_count++;
}

/* The children of `parent`, which stand in `around`. */
static void walk(struct walk *w, Dwarf_Die *parent, uint32_t around, unsigned depth)
{
    uint32_t open = TD_NONE; /* the space whose end the next sibling tells */
    Dwarf_Die die;

    if (depth >= DEPTH_MAX || dwarf_child(parent, &die) != 0)
        return;
    do {
        const int tag = dwarf_tag(&die);
        uint32_t inside = around;

        if (!td_dwarf_work(w->unit->dwarf, 1))
            return;
        if (open != TD_NONE)
            w->unit->spaces[open].end = dwarf_dieoffset(&die);
        open = TD_NONE;
        if (!dwarf_haschildren(&die) || !may_hold(tag))
            continue;
        if (is_space(tag))
            inside = open = add(w, &die, around, tag == DW_TAG_subprogram);
        walk(w, &die, inside, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static void read_spaces(struct td_dwarf_unit *unit)
{
    struct walk w = {.unit = unit};

    if (unit->spaces)
        return;
    unit->spaces = td_grow(NULL, &w.cap, 1, sizeof(*unit->spaces));
    walk(&w, &unit->die.die, TD_NONE, 0);
}

uint32_t td_dwarf_space_around(struct td_dwarf_unit *unit, uint64_t offset)
{
    size_t low = 0;

    read_spaces(unit);
    for (size_t high = unit->space_count; low < high;) {
        const size_t mid = low + (high - low) / 2;

        if (unit->spaces[mid].start < offset)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return TD_NONE;
    uint32_t around = (uint32_t)low - 1;
    /* The end of a last child is not known; that of what holds it is. */
    for (uint32_t s = around; s != TD_NONE; s = unit->spaces[s].parent) {
        if (unit->spaces[s].end <= offset)
            around = unit->spaces[s].parent;
    }
    return around;
}
