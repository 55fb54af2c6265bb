/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf_scan.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/model.h"

/* Entries nest some dozen deep at most; deeper is damage. */
#define DEPTH_MAX 512

/* The function or inlined call around the entries of one depth. */
struct level {
    uint64_t die;     /* its offset, 0 when there is none */
    uint32_t scope;   /* TD_NONE when it covers no query, so far */
    uint32_t outside; /* the level of the function or call around it */
    bool function;
};

struct walk {
    struct td_scanner *scanner;
    struct td_dwarf_unit *unit, *lines;
    struct td_query *queries;
    size_t count;
    struct td_cur cur;
    struct level levels[DEPTH_MAX];
    uint32_t depth;      /* of the next entry; its surroundings are levels[depth] */
    uint32_t skip_above; /* entries deeper than this cover nothing; UINT32_MAX: none do */
};

void td_scanner_release(struct td_scanner *scanner)
{
    free(scanner->scopes);
    td_ranges_release(&scanner->ranges);
    td_map_release(&scanner->by_origin);
    *scanner = (struct td_scanner){0};
}

static uint32_t add_scope(struct walk *w, const struct td_die *die, bool inlined, uint32_t parent)
{
    struct td_scanner *s = w->scanner;
    struct td_scope scope = {.parent = parent};
    uint64_t value = 0;

    scope.function = td_dwarf_function(s, w->unit, w->lines, die);
    if (inlined && w->lines && td_die_uint(die, TD_SLOT_CALL_FILE, &value))
        scope.call_file = td_dwarf_file_path(s->answers, w->lines, value);
    if (inlined && td_die_uint(die, TD_SLOT_CALL_LINE, &value))
        scope.call_line = (uint32_t)value;
    if (inlined && td_die_uint(die, TD_SLOT_CALL_COLUMN, &value))
        scope.call_column = (uint32_t)value;
    s->scopes = td_grow(s->scopes, &s->scope_cap, s->scope_count + 1, sizeof(scope));
    s->scopes[s->scope_count] = scope;
    return (uint32_t)s->scope_count++;
}

/* The scope of a level that covered no query itself, though something inside of it does. */
static uint32_t scope_of_level(struct walk *w, uint32_t index)
{
    struct level *level = &w->levels[index];
    struct td_die die;

    if (level->die == 0 || level->scope != TD_NONE)
        return level->scope;
    const uint32_t parent = level->function ? TD_NONE : scope_of_level(w, level->outside);
    if (td_die_at(w->unit, level->die, &die))
        level->scope = add_scope(w, &die, !level->function, parent);
    return level->scope;
}

/* Hangs the entry to the queries it covers. Returns its scope, TD_NONE when it covers none. */
static uint32_t cover(struct walk *w, const struct td_die *die, bool inlined)
{
    struct td_ranges *ranges = &w->scanner->ranges;
    uint32_t scope = TD_NONE;

    td_die_ranges(w->unit, die, ranges);
    for (size_t i = 0; i < ranges->len; i++) {
        const struct td_range r = ranges->at[i];
        size_t q = td_query_lower(w->queries, w->count, r.low);

        if (q == w->count || w->queries[q].address >= r.high ||
            !td_ranges_hold(w->scanner->code, r.low))
            continue;
        if (scope == TD_NONE)
            scope = add_scope(w, die, inlined, inlined ? scope_of_level(w, w->depth) : TD_NONE);
        for (; q < w->count && w->queries[q].address < r.high; q++)
            w->queries[q].scope = scope;
    }
    return scope;
}

/* Goes to the entry after this one's children, if the entry says where that is. */
static bool jump(struct walk *w, const struct td_die *die)
{
    const uint8_t *start = w->unit->dwarf->sections.info.data;
    uint64_t sibling = 0;

    if (!td_die_sibling(w->unit, die, &sibling) || sibling > w->unit->end ||
        sibling <= (uint64_t)(w->cur.p - start))
        return false;
    w->cur.p = start + sibling;
    return true;
}

/* One level down. False when that is too deep. */
static bool descend(struct walk *w, const struct level *inside)
{
    if (w->depth + 1 >= DEPTH_MAX)
        return false;
    w->levels[++w->depth] = *inside;
    return true;
}

/* A function or an inlined call. */
static bool visit_code(struct walk *w, const struct td_abbrev *abbrev, uint64_t offset)
{
    const bool inlined = abbrev->role == TD_DIE_INLINED;
    struct td_die die;

    td_die_read(&w->cur, w->unit, abbrev, &die);
    if (w->cur.bad)
        return false;
    const struct level inside = {
        .die = offset, .scope = cover(w, &die, inlined), .outside = w->depth, .function = !inlined};
    if (!abbrev->children)
        return true;
    /* An inlined call that covers no query has nothing inside that could; a function may hold
     * another's code (GNU C's nested functions, methods of local classes). */
    const bool empty =
        inside.scope == TD_NONE && (inlined || td_die_has(&die, TD_SLOT_DECLARATION));
    if (empty && jump(w, &die))
        return true;
    if (!descend(w, &inside))
        return false;
    if (empty)
        w->skip_above = w->depth - 1;
    return true;
}

static bool visit(struct walk *w, const struct td_abbrev *abbrev, uint64_t offset)
{
    if (abbrev->role >= TD_DIE_SUBPROGRAM && w->skip_above == UINT32_MAX)
        return visit_code(w, abbrev, offset);
    td_die_skip(&w->cur, w->unit, abbrev);
    if (!abbrev->children ||
        (abbrev->role == TD_DIE_NO_CODE && td_die_skip_children(&w->cur, w->unit, abbrev)))
        return true;
    /* Blocks, namespaces and types are transparent. */
    const struct level inside = w->levels[w->depth];
    return descend(w, &inside);
}

static void ascend(struct walk *w)
{
    w->depth--;
    if (w->depth <= w->skip_above)
        w->skip_above = UINT32_MAX;
}

/* False at damage. */
static bool walk(struct walk *w)
{
    const uint8_t *start = w->unit->dwarf->sections.info.data;

    while (w->cur.p < w->cur.end) {
        const uint64_t offset = (uint64_t)(w->cur.p - start);
        const uint64_t code = td_cur_uleb(&w->cur);

        if (code == 0) {
            if (w->depth <= 1)
                return true; /* the unit's own children end; padding may follow */
            ascend(w);
            continue;
        }
        const struct td_abbrev *abbrev = td_abbrevs_find(w->unit->abbrevs, code);
        if (!abbrev || !visit(w, abbrev, offset) || w->cur.bad) {
            td_dwarf_damaged(w->unit->dwarf, offset);
            return false;
        }
    }
    return !w->cur.bad;
}

bool td_scanner_run(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                    struct td_dwarf_unit *lines, struct td_query *queries, size_t count)
{
    const uint8_t *start = unit->dwarf->sections.info.data;
    struct td_die die;

    if (!td_die_at(unit, unit->first_die, &die))
        return false;
    struct walk *w = td_xalloc(sizeof(*w));
    w->scanner = scanner;
    w->unit = unit;
    w->lines = lines;
    w->queries = queries;
    w->count = count;
    w->cur = (struct td_cur){.p = start + unit->first_die, .end = start + unit->end};
    w->depth = 0;
    w->skip_above = UINT32_MAX;
    w->levels[0] = (struct level){.scope = TD_NONE};
    const bool good = walk(w);
    free(w);
    return good;
}
