/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/scan.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/model.h"

/* Entries nest some dozen deep at most; deeper is damage. */
#define DEPTH_MAX 512

/* The function or inlined call around the entries of one depth. */
struct level {
    Dwarf_Die die;
    bool known;       /* there is one */
    uint32_t scope;   /* TD_NONE when it covers no query, so far */
    uint32_t outside; /* the level of the function or call around it */
    bool function;
};

struct walk {
    struct td_scanner *scanner;
    struct td_dwarf_unit *unit, *lines;
    struct td_query *queries;
    size_t count;
    size_t open;   /* queries that nothing covers yet */
    uint64_t last; /* offset of the entry before: entries that lead backwards are damage */
    struct level levels[DEPTH_MAX];
};

void td_scanner_release(struct td_scanner *scanner)
{
    free(scanner->scopes);
    td_ranges_release(&scanner->ranges);
    td_map_release(&scanner->by_origin);
    *scanner = (struct td_scanner){0};
}

/* Compilers mark so what they make themselves, and functions that stand for an instruction
 * (__attribute__((artificial)), as of immintrin.h). */
static bool is_artificial(struct td_die *call)
{
    Dwarf_Die origin;
    struct td_die function;

    return td_die_reference(call, TD_SLOT_ORIGIN, &origin) && td_die_read(&function, &origin) &&
           td_die_has(&function, TD_SLOT_ARTIFICIAL);
}

/* TD_NONE when the entry is damaged. */
static uint32_t add_scope(struct walk *w, const Dwarf_Die *entry, bool inlined, uint32_t parent)
{
    struct td_scanner *s = w->scanner;
    struct td_scope scope = {.parent = parent};
    struct td_die die;
    uint64_t value = 0;

    if (!td_die_read(&die, entry))
        return TD_NONE;
    scope.function = td_dwarf_function(s, w->unit, w->lines, &die);
    if (inlined && w->lines && td_die_uint(&die, TD_SLOT_CALL_FILE, &value))
        scope.call_file = td_dwarf_file_path(s->answers, w->lines, value);
    if (inlined && td_die_uint(&die, TD_SLOT_CALL_LINE, &value))
        scope.call_line = (uint32_t)value;
    if (inlined && td_die_uint(&die, TD_SLOT_CALL_COLUMN, &value))
        scope.call_column = (uint32_t)value;
    scope.transparent = inlined && is_artificial(&die);
    s->scopes = td_grow(s->scopes, &s->scope_cap, s->scope_count + 1, sizeof(scope));
    s->scopes[s->scope_count] = scope;
    return (uint32_t)s->scope_count++;
}

/* The scope of a level that covered no query itself, though something inside of it does. */
static uint32_t scope_of_level(struct walk *w, uint32_t index)
{
    struct level *level = &w->levels[index];

    if (level->known && level->scope == TD_NONE)
        level->scope = add_scope(w, &level->die, !level->function,
                                 level->function ? TD_NONE : scope_of_level(w, level->outside));
    return level->scope;
}

/* Hangs the entry to the queries it covers. Returns its scope, TD_NONE when it covers none. */
static uint32_t cover(struct walk *w, struct td_die *die, bool inlined, uint32_t depth)
{
    struct td_ranges *ranges = &w->scanner->ranges;
    uint32_t scope = TD_NONE;

    td_die_ranges(w->unit->dwarf, die, ranges);
    for (size_t i = 0; i < ranges->len; i++) {
        const struct td_range r = ranges->at[i];
        size_t q = td_query_lower(w->queries, w->count, r.low);

        if (q == w->count || w->queries[q].address >= r.high ||
            !td_ranges_hold(w->scanner->code, r.low))
            continue;
        if (scope == TD_NONE)
            scope = add_scope(w, &die->die, inlined, inlined ? scope_of_level(w, depth) : TD_NONE);
        for (; q < w->count && w->queries[q].address < r.high; q++) {
            w->open -= w->queries[q].scope == TD_NONE;
            w->queries[q].scope = scope;
        }
    }
    return scope;
}

/* Whether functions or calls may stand inside. Of a class's functions most compilers keep only the
 * declarations there; Rust's and some local ones are found by the second scan. */
static bool may_hold_code(const struct walk *w, int tag)
{
    switch (tag) {
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site: return false;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type: return w->scanner->nested;
    default: return true;
    }
}

static bool walk(struct walk *w, Dwarf_Die *parent, uint32_t depth);

/* A function or an inlined call; its surroundings are levels[depth]. False at damage. */
static bool visit_code(struct walk *w, Dwarf_Die *entry, bool inlined, uint32_t depth)
{
    struct td_die die = {.die = *entry, .present = 0};
    const bool code = td_dwarf_has_code(w->unit, entry);

    /* Declarations, and what is inlined everywhere: most functions of C++. */
    if (!code && (inlined || !w->scanner->nested || dwarf_hasattr(entry, DW_AT_declaration)))
        return true;
    if (code && !td_die_read_code(&die, entry))
        return false;
    w->levels[depth + 1] = (struct level){.die = *entry,
                                          .known = true,
                                          .scope = cover(w, &die, inlined, depth),
                                          .outside = depth,
                                          .function = !inlined};
    /* An inlined call that covers no query has nothing inside that could. A function may hold
     * another's code (GNU C's nested functions, methods of local classes), which is rare: most of
     * the entries of a unit are inside of functions, and are passed over at first. */
    if (w->levels[depth + 1].scope == TD_NONE && (inlined || !w->scanner->nested))
        return true;
    return walk(w, &die.die, depth + 1);
}

static bool visit(struct walk *w, Dwarf_Die *die, uint32_t depth)
{
    const int tag = td_dwarf_tag(w->unit, die);

    if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
        return visit_code(w, die, tag == DW_TAG_inlined_subroutine, depth);
    if (!may_hold_code(w, tag) || !dwarf_haschildren(die))
        return true;
    /* Blocks, namespaces and types are transparent. */
    w->levels[depth + 1] = w->levels[depth];
    return walk(w, die, depth + 1);
}

/* The children of an entry. False at damage. */
static bool walk(struct walk *w, Dwarf_Die *parent, uint32_t depth)
{
    Dwarf_Die die;
    int rc = depth + 1 < DEPTH_MAX ? dwarf_child(parent, &die) : -1;

    while (rc == 0) {
        const uint64_t offset = dwarf_dieoffset(&die);

        if (w->open == 0 && w->levels[depth].scope == TD_NONE)
            return true; /* what is left covers nothing more */
        if (offset <= w->last || !td_dwarf_work(w->unit->dwarf, 1))
            return false;
        w->last = offset;
        if (!visit(w, &die, depth))
            return false;
        rc = dwarf_siblingof(&die, &die);
    }
    return rc > 0;
}

bool td_scanner_run(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                    struct td_dwarf_unit *lines, struct td_query *queries, size_t count)
{
    struct walk *w = td_xalloc(sizeof(*w));

    w->scanner = scanner;
    w->unit = unit;
    w->lines = lines;
    w->queries = queries;
    w->count = count;
    w->open = count;
    w->last = unit->offset;
    w->levels[0] = (struct level){.scope = TD_NONE};
    Dwarf_Die top = unit->die.die;
    const bool good = walk(w, &top, 0);
    if (!good)
        td_dwarf_damaged(unit->dwarf, w->last);
    free(w);
    return good;
}
