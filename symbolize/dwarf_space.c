/* SPDX-License-Identifier: MIT */
/* What functions stand in: namespaces, classes, and functions that hold local classes. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/model.h"
#include "symbolize/dwarf.h"

#define DEPTH_MAX 512

struct walk {
    struct td_dwarf_unit *unit;
    struct td_cur cur;
    size_t cap;
    uint32_t depth;
    uint32_t inside[DEPTH_MAX]; /* by depth: the space around, or TD_NONE */
    bool opened[DEPTH_MAX];     /* by depth: this depth belongs to a space of its own */
};

static bool is_space(uint16_t tag)
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

static bool descend(struct walk *w, const struct td_abbrev *abbrev, uint64_t offset)
{
    struct td_dwarf_unit *unit = w->unit;
    uint32_t around = w->inside[w->depth];

    if (w->depth + 1 >= DEPTH_MAX)
        return false;
    w->depth++;
    w->opened[w->depth] = is_space(abbrev->tag);
    if (w->opened[w->depth]) {
        unit->spaces = td_grow(unit->spaces, &w->cap, unit->space_count + 1, sizeof(*unit->spaces));
        unit->spaces[unit->space_count] =
            (struct td_space){.die = offset,
                              .end = unit->end,
                              .parent = around,
                              .function = abbrev->tag == DW_TAG_subprogram};
        around = (uint32_t)unit->space_count++;
    }
    w->inside[w->depth] = around;
    return true;
}

static void ascend(struct walk *w, uint64_t end)
{
    if (w->opened[w->depth])
        w->unit->spaces[w->inside[w->depth]].end = end;
    w->depth--;
}

static void walk(struct walk *w)
{
    const uint8_t *start = w->unit->dwarf->sections.info.data;

    while (w->cur.p < w->cur.end) {
        const uint64_t offset = (uint64_t)(w->cur.p - start);
        const uint64_t code = td_cur_uleb(&w->cur);

        if (code == 0) {
            if (w->depth <= 1)
                return;
            ascend(w, offset);
            continue;
        }
        const struct td_abbrev *abbrev = td_abbrevs_find(w->unit->abbrevs, code);
        if (!abbrev)
            return;
        td_die_skip(&w->cur, w->unit, abbrev);
        if (!abbrev->children ||
            (abbrev->no_spaces && td_die_skip_children(&w->cur, w->unit, abbrev)))
            continue;
        if (!descend(w, abbrev, offset))
            return;
    }
}

void td_dwarf_unit_spaces(struct td_dwarf_unit *unit)
{
    const uint8_t *start = unit->dwarf->sections.info.data;

    if (unit->spaces || !unit->abbrevs)
        return;
    struct walk *w = td_xcalloc(1, sizeof(*w));
    w->unit = unit;
    w->cur = (struct td_cur){.p = start + unit->first_die, .end = start + unit->end};
    w->inside[0] = TD_NONE;
    unit->spaces = td_grow(NULL, &w->cap, 1, sizeof(*unit->spaces));
    walk(w);
    free(w);
}

uint32_t td_dwarf_space_around(struct td_dwarf_unit *unit, uint64_t offset)
{
    size_t low = 0;

    td_dwarf_unit_spaces(unit);
    for (size_t high = unit->space_count; low < high;) {
        const size_t mid = low + (high - low) / 2;

        if (unit->spaces[mid].die < offset)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == 0)
        return TD_NONE;
    uint32_t space = (uint32_t)low - 1;
    while (space != TD_NONE && unit->spaces[space].end <= offset)
        space = unit->spaces[space].parent;
    return space;
}
