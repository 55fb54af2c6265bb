/* SPDX-License-Identifier: MIT */
#include "symbolize/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbolize/demangle.h"
#include "symbolize/dwarf/scan.h"
#include "symbolize/dwarf/split.h"
#include "symbolize/elf/symbols.h"

/* What an offset became. */
struct place {
    uint64_t offset;
    bool mine;         /* this shard's */
    uint32_t scope;    /* of the scanner, or TD_NONE */
    uint32_t function; /* the outermost one, out of a symbol table; TD_NONE: as DWARF has it */
    uint32_t file, line, column;
    bool has_line;
    bool symbol;               /* one covers it: see mark_symbols */
    const struct share *first; /* of the units that cover it; NULL: none does */
};

/* A unit's share of the queries: pairs[first .. first + count). */
struct share {
    struct td_dwarf_unit *unit;
    size_t first, count;
};

struct resolver {
    const struct td_module_request *request;
    struct td_answers *answers;
    struct td_object object;
    struct td_package *package;
    bool package_tried;
    struct td_ranges code; /* executable segments */
    struct td_scanner scanner;
    struct td_query *queries; /* by address */
    uint32_t *place_of;       /* query -> place */
    struct place *places;     /* by offset */
    size_t query_count;
    uint32_t *pairs;
    size_t pair_count, pair_cap;
    struct share *shares;
    size_t share_count, share_cap;
    bool symbols_marked;
    bool own_pass; /* queries are looked up in their first unit; else in the others */
    unsigned dwo_missing;
    char dwo_why[512];
    struct td_query *scratch;
};

static int by_address(const void *a, const void *b)
{
    const struct td_query *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* Offsets to addresses. Queries are sorted; while sorting, `line` carries the place. */
static void make_queries(struct resolver *r)
{
    const struct td_module_request *request = r->request;
    bool sorted = true;

    r->places = td_xcalloc(request->count, sizeof(*r->places));
    r->queries = td_xcalloc(request->count, sizeof(*r->queries));
    r->place_of = td_xcalloc(request->count, sizeof(*r->place_of));
    for (size_t i = 0; i < request->count; i++) {
        struct td_query q = {.scope = TD_NONE, .line = (uint32_t)i};

        r->places[i] =
            (struct place){.offset = request->offsets[i], .scope = TD_NONE, .function = TD_NONE};
        r->places[i].mine = request->shard == 0;
        if (!td_elf_vaddr(r->object.elf, request->offsets[i], &q.address))
            continue;
        sorted =
            sorted && (r->query_count == 0 || r->queries[r->query_count - 1].address <= q.address);
        r->queries[r->query_count++] = q;
    }
    if (!sorted)
        qsort(r->queries, r->query_count, sizeof(*r->queries), by_address);
    for (size_t i = 0; i < r->query_count; i++) {
        r->place_of[i] = r->queries[i].line;
        r->queries[i].line = 0;
    }
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Sorts the unit's pairs and drops doubles (its ranges may overlap, and are in any order). */
static void finish_share(struct resolver *r, struct share *share)
{
    uint32_t *pairs = r->pairs + share->first;
    size_t kept = 0;
    bool sorted = true;

    for (size_t i = 1; i < share->count && sorted; i++)
        sorted = pairs[i - 1] < pairs[i];
    if (sorted)
        return;
    qsort(pairs, share->count, sizeof(*pairs), by_number);
    for (size_t i = 0; i < share->count; i++) {
        if (kept == 0 || pairs[kept - 1] != pairs[i])
            pairs[kept++] = pairs[i];
    }
    share->count = kept;
    r->pair_count = share->first + kept;
}

static void add_share(struct resolver *r, struct td_dwarf_unit *unit,
                      const struct td_ranges *ranges)
{
    struct share share = {.unit = unit, .first = r->pair_count};

    for (size_t i = 0; i < ranges->len; i++) {
        size_t q = td_query_lower(r->queries, r->query_count, ranges->at[i].low);

        if (q == r->query_count || r->queries[q].address >= ranges->at[i].high ||
            !td_ranges_hold(&r->code, ranges->at[i].low))
            continue;
        for (; q < r->query_count && r->queries[q].address < ranges->at[i].high; q++) {
            r->pairs = td_grow(r->pairs, &r->pair_cap, r->pair_count + 1, sizeof(*r->pairs));
            r->pairs[r->pair_count++] = (uint32_t)q;
        }
    }
    share.count = r->pair_count - share.first;
    if (share.count == 0)
        return;
    finish_share(r, &share);
    r->shares = td_grow(r->shares, &r->share_cap, r->share_count + 1, sizeof(share));
    r->shares[r->share_count++] = share;
}

/* Types and what is imported by others say so by having no code. */
static bool has_code_ranges(const struct td_dwarf_unit *unit)
{
    return td_die_has(&unit->die, TD_SLOT_RANGES) ||
           (td_die_has(&unit->die, TD_SLOT_LOW_PC) && td_die_has(&unit->die, TD_SLOT_HIGH_PC));
}

/* Which units cover which queries. */
static void plan(struct resolver *r)
{
    struct td_dwarf *dwarf = r->object.dwarf;
    struct td_ranges ranges = {0};

    for (size_t i = 0; i < dwarf->unit_count; i++) {
        struct td_dwarf_unit *unit = dwarf->units[i];

        if (unit->damaged || !has_code_ranges(unit))
            continue;
        td_die_ranges(dwarf, &unit->die, &ranges);
        add_share(r, unit, &ranges);
    }
    td_ranges_release(&ranges);
}

/* By the size of what has to be read, the largest first. */
static int by_size(const void *a, const void *b)
{
    const struct share *x = *(struct share *const *)a, *y = *(struct share *const *)b;

    if (x->unit->size_bytes != y->unit->size_bytes)
        return x->unit->size_bytes > y->unit->size_bytes ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Finds the first unit that covers each query. Several cover a function that the linker kept once:
 * the first one's it is. Fills `units` with those that are first for any; returns how many. */
static size_t find_first(struct resolver *r, struct share **units)
{
    size_t count = 0;

    for (size_t s = 0; s < r->share_count; s++) {
        bool is_first = false;

        for (size_t i = 0; i < r->shares[s].count; i++) {
            struct place *p = &r->places[r->place_of[r->pairs[r->shares[s].first + i]]];

            is_first = is_first || !p->first;
            p->first = p->first ? p->first : &r->shares[s];
        }
        if (is_first)
            units[count++] = &r->shares[s];
    }
    qsort(units, count, sizeof(struct share *), by_size);
    return count;
}

/* Whether unit `i` of find_first's is this shard's to read: that of whichever asks first. */
static bool claim(const struct td_module_request *request, size_t i)
{
    const uint16_t me = (uint16_t)(request->shard + 1);
    uint16_t owner = 0;

    if (request->shards <= 1)
        return true;
    if (!request->claims || i >= TD_CLAIMS_MAX)
        return i % request->shards == request->shard;
    return atomic_compare_exchange_strong(&request->claims->unit[i], &owner, me) || owner == me;
}

/* The entries of a unit: its own, or those of the .dwo that it stands for. */
static void scan_unit(struct resolver *r, struct td_dwarf_unit *unit, size_t count)
{
    struct td_err err = TD_ERR_INIT;
    struct td_split split;

    if (!td_split_is_skeleton(unit)) {
        (void)td_scanner_run(&r->scanner, unit, unit, r->scratch, count);
        return;
    }
    if (!r->package_tried && !r->request->bytes.data) {
        r->package = td_package_open(&r->object, &r->request->search);
        r->package_tried = true;
    }
    /* Bytes in memory have no files beside them. */
    struct td_dwarf_unit *full =
        r->request->bytes.data
            ? NULL
            : td_split_open(&split, unit, r->object.with_dwarf, r->package, &r->request->search,
                            td_elf_path(r->object.elf), &err);
    if (!full) {
        if (!r->scanner.nested && r->dwo_missing++ == 0)
            snprintf(r->dwo_why, sizeof(r->dwo_why), "%s", err.text);
        return;
    }
    (void)td_scanner_run(&r->scanner, full, unit, r->scratch, count);
    /* Origins are remembered by file, and this one goes. */
    td_map_clear(&r->scanner.by_origin);
    td_split_release(&split);
}

static void keep(struct resolver *r, struct td_dwarf_unit *unit, const struct td_query *q,
                 struct place *p)
{
    if (p->scope == TD_NONE)
        p->scope = q->scope;
    if (p->has_line || !q->has_line)
        return;
    p->has_line = true;
    p->file = td_dwarf_file_path(r->answers, unit, q->file);
    p->line = q->line;
    p->column = q->column;
}

static void count_done(const struct resolver *r, size_t n)
{
    if (r->request->progress)
        atomic_fetch_add_explicit(&r->request->progress->done, n, memory_order_relaxed);
}

/* Should libdw end this process, its parent knows which unit it was. */
static void tell_unit(const struct resolver *r, uint64_t offset)
{
    if (r->request->progress)
        atomic_store_explicit(&r->request->progress->unit_offset, offset, memory_order_relaxed);
}

static bool is_bad(const struct resolver *r, const struct td_dwarf_unit *unit)
{
    for (size_t i = 0; i < r->request->bad_unit_count; i++) {
        if (r->request->bad_units[i] == unit->offset)
            return true;
    }
    return false;
}

/* In the scan of what is nested: code with lines that no function covers, although a symbol does.
 */
static bool is_nested(const struct place *p)
{
    return p->symbol && p->has_line && p->scope == TD_NONE;
}

/* Of this shard, not found yet, and to be looked up in this unit now. */
static bool is_wanted(const struct resolver *r, const struct share *share, const struct place *p)
{
    return p->mine && r->own_pass == (p->first == share) &&
           (r->scanner.nested ? is_nested(p) : p->scope == TD_NONE || !p->has_line);
}

static void resolve_share(struct resolver *r, const struct share *share)
{
    struct td_dwarf_unit *unit = share->unit;
    size_t count = 0;

    for (size_t i = 0; i < share->count; i++) {
        const uint32_t query = r->pairs[share->first + i];

        if (!is_wanted(r, share, &r->places[r->place_of[query]]))
            continue;
        r->scratch[count] = r->queries[query];
        r->scratch[count++].scope = TD_NONE;
    }
    if (count == 0 || is_bad(r, unit))
        return;
    tell_unit(r, unit->offset);
    scan_unit(r, unit, count);
    if (!r->scanner.nested && !td_dwarf_unit_lines(unit, &r->code, r->scratch, count))
        td_dwarf_damaged(r->object.dwarf, unit->offset);
    tell_unit(r, 0);
    for (size_t i = 0, k = 0; i < share->count; i++) {
        struct place *p = &r->places[r->place_of[r->pairs[share->first + i]]];

        if (is_wanted(r, share, p))
            keep(r, unit, &r->scratch[k++], p);
    }
    if (!r->scanner.nested)
        count_done(r, count);
}

/* Units that do not say where their code is (old compilers, some assemblers) are tried with what
 * is left. */
static void resolve_rangeless(struct resolver *r)
{
    struct td_dwarf *dwarf = r->object.dwarf;
    struct share share = {.first = 0};

    r->pair_count = 0;
    for (size_t i = 0; i < r->query_count; i++) {
        const struct place *p = &r->places[r->place_of[i]];

        if (!p->mine || p->scope != TD_NONE || p->has_line)
            continue;
        r->pairs = td_grow(r->pairs, &r->pair_cap, r->pair_count + 1, sizeof(*r->pairs));
        r->pairs[r->pair_count++] = (uint32_t)i;
    }
    share.count = r->pair_count;
    for (size_t i = 0; i < dwarf->unit_count && share.count > 0; i++) {
        share.unit = dwarf->units[i];
        if (!share.unit->damaged && !has_code_ranges(share.unit) &&
            dwarf_tag(&share.unit->die.die) == DW_TAG_compile_unit &&
            td_die_has(&share.unit->die, TD_SLOT_STMT_LIST))
            resolve_share(r, &share);
    }
}

/* Looks sorted addresses up in all symbol tables of the object. */
static void look_up_symbols(struct resolver *r, struct td_symbol_query *queries, size_t count)
{
    struct td_elf *elfs[] = {r->object.elf, r->object.debug, r->object.mini};

    for (size_t i = 0; i < TD_ARRAY_SIZE(elfs) && count > 0; i++) {
        if (!elfs[i])
            continue;
        td_symbols_lookup(elfs[i], ".symtab", queries, count);
        td_symbols_lookup(elfs[i], ".dynsym", queries, count);
    }
}

/* Marks the places that a symbol covers. */
static void mark_symbols(struct resolver *r)
{
    struct td_symbol_query *queries = td_xcalloc(r->query_count, sizeof(*queries));

    for (size_t i = 0; i < r->query_count; i++)
        queries[i].address = r->queries[i].address;
    look_up_symbols(r, queries, r->query_count);
    for (size_t i = 0; i < r->query_count; i++)
        r->places[r->place_of[i]].symbol = queries[i].name;
    free(queries);
    r->symbols_marked = true;
}

/* Whether functions of the unit stand inside of other functions or of types. */
static bool has_nested(struct resolver *r, const struct share *share)
{
    for (size_t i = 0; i < share->count; i++) {
        const struct place *p = &r->places[r->place_of[r->pairs[share->first + i]]];

        if (!p->has_line || p->scope != TD_NONE || !is_wanted(r, share, p))
            continue;
        if (!r->symbols_marked)
            mark_symbols(r);
        if (is_nested(p))
            return true;
    }
    return false;
}

static void resolve_unit(struct resolver *r, const struct share *share)
{
    resolve_share(r, share);
    if (!has_nested(r, share))
        return;
    r->scanner.nested = true;
    resolve_share(r, share);
    r->scanner.nested = false;
}

/* Each query in its first unit, and only where that one does not have it in the others. */
static void resolve_dwarf(struct resolver *r)
{
    r->scratch = td_xcalloc(r->query_count, sizeof(*r->scratch));
    plan(r);
    struct share **units = td_xcalloc(r->share_count, sizeof(struct share *));
    const size_t count = find_first(r, units);
    r->own_pass = true;
    for (size_t u = 0; u < count; u++) {
        const bool mine = claim(r->request, u);

        for (size_t i = 0; i < units[u]->count; i++) {
            struct place *p = &r->places[r->place_of[r->pairs[units[u]->first + i]]];

            p->mine = p->first == units[u] ? mine : p->mine;
        }
        if (mine)
            resolve_unit(r, units[u]);
    }
    r->own_pass = false;
    for (size_t s = 0; s < r->share_count; s++)
        resolve_unit(r, &r->shares[s]);
    resolve_rangeless(r);
    free(units);
}

/* The function that holds the place, by DWARF; NULL when there is none, or it has no name. */
static const struct td_answer_function *outermost(const struct resolver *r, const struct place *p)
{
    const struct td_scope *scopes = r->scanner.scopes;
    uint32_t scope = p->scope;

    while (scope != TD_NONE && scopes[scope].parent != TD_NONE)
        scope = scopes[scope].parent;
    return scope == TD_NONE || scopes[scope].function == TD_NONE
               ? NULL
               : &r->answers->functions[scopes[scope].function];
}

/* A library's functions have names of their own inside: __libc_malloc is malloc to everyone else.
 */
static bool is_internal_name(const struct resolver *r, const struct td_answer_function *f)
{
    const char *name = td_intern_get(r->answers->strings, f->name);

    return name[0] == '_' && name[1] != 'Z';
}

/* Takes what the symbol tables said, where it is better than what is known. */
static void use_symbol(struct resolver *r, struct place *p, const struct td_symbol_query *q)
{
    const struct td_answer_function *known = outermost(r, p);

    if (!q->name || (known && (q->plt || q->name[0] == '_' || q->rank < TD_SYMBOL_PUBLIC)))
        return;
    if (known) {
        p->function = td_answers_function(r->answers, q->name, NULL, known->file, known->line);
    } else if (q->plt) {
        char *demangled = td_demangle(q->name);
        char *name = td_xasprintf("%s@plt", demangled ? demangled : q->name);

        p->function = td_answers_function(r->answers, NULL, name, 0, 0);
        free(name);
        free(demangled);
    } else {
        p->function = td_answers_symbol(r->answers, q->name);
    }
}

/* Names out of the symbol tables for the places where DWARF gave none, or a library's inner one. */
static void resolve_symbols(struct resolver *r)
{
    struct td_symbol_query *queries = td_xcalloc(r->query_count, sizeof(*queries));
    uint32_t *place = td_xcalloc(r->query_count, sizeof(*place));
    size_t count = 0;

    for (size_t i = 0; i < r->query_count; i++) {
        const struct place *p = &r->places[r->place_of[i]];
        const struct td_answer_function *known = outermost(r, p);

        if (!p->mine || (known && !is_internal_name(r, known)))
            continue;
        place[count] = r->place_of[i];
        queries[count++].address = r->queries[i].address;
    }
    look_up_symbols(r, queries, count);
    if (count > 0)
        td_symbols_plt(r->object.elf, queries, count);
    for (size_t i = 0; i < count; i++)
        use_symbol(r, &r->places[place[i]], &queries[i]);
    free(queries);
    free(place);
}

/* A name for an inlined call of which nothing is known but that it is one. */
static uint32_t unknown_inline(struct resolver *r)
{
    return td_answers_function(r->answers, NULL, "[inlined]", 0, 0);
}

/* What the scope's function is called in a chain of frames. */
static uint32_t frame_function(struct resolver *r, const struct place *p, const struct td_scope *s)
{
    uint32_t function = s->function;

    if (s->parent == TD_NONE && p->function != TD_NONE)
        function = p->function;
    else if (s->parent != TD_NONE && function == TD_NONE)
        function = unknown_inline(r);
    return function != TD_NONE ? function
                               : td_answers_function(r->answers, NULL, "[unnamed]", 0, 0);
}

/* Innermost first: the line is the address's own in the first frame, the call's in the others. */
static void add_frames(struct resolver *r, const struct place *p)
{
    struct td_answer_frame frame = {.file = p->file, .line = p->line, .column = p->column};
    uint32_t scope = p->scope;

    while (scope != TD_NONE) {
        const struct td_scope *s = &r->scanner.scopes[scope];

        if (!s->transparent) {
            frame.function = frame_function(r, p, s);
            td_answers_frame(r->answers, &frame);
        }
        frame.file = s->call_file;
        frame.line = s->call_line;
        frame.column = s->call_column;
        scope = s->parent;
    }
    if (p->scope == TD_NONE && p->function != TD_NONE) {
        frame.function = p->function;
        td_answers_frame(r->answers, &frame);
    }
}

/* Every offset becomes a place, also one of which nothing is known: it need not be asked again. */
static void add_places(struct resolver *r)
{
    for (size_t i = 0; i < r->request->count; i++) {
        const struct place *p = &r->places[i];

        if (!p->mine)
            continue;
        add_frames(r, p);
        td_answers_place(r->answers, p->offset);
    }
    if (r->answers->frame_count > 0) {
        const struct td_elf *from = r->object.with_dwarf ? r->object.with_dwarf : r->object.elf;

        r->answers->debug_file = td_answers_string(r->answers, td_elf_path(from));
    }
}

static void note(struct td_answers *answers, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct td_answers *answers, const char *format, ...)
{
    char text[800];
    va_list args;

    if (answers->note != 0)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    answers->note = td_answers_string(answers, text);
    answers->complete = false;
}

/* Says why there are no lines where there is no debug information at all. */
static void note_no_dwarf(struct resolver *r, size_t unnamed)
{
    const char *why = r->object.why;
    const struct td_elf *holed = td_elf_has_holes(r->object.elf) ? r->object.elf
                                 : r->object.debug && td_elf_has_holes(r->object.debug)
                                     ? r->object.debug
                                     : NULL;

    if (holed) {
        note(r->answers,
             "a table of '%s' is mostly a hole in the file, and is left out: copy the file as its "
             "maker wrote it",
             td_elf_path(holed));
        return;
    }
    const bool stripped = !td_elf_section(r->object.elf, ".symtab") && !r->object.mini &&
                          !(r->object.debug && td_elf_section(r->object.debug, ".symtab"));
    const char *what = !stripped ? "no debug information: names come from the symbol table"
                       : unnamed ? "stripped: most names are missing"
                                 : "stripped: names come from the exported symbols";

    if (why[0] != '\0')
        note(r->answers, "%s; %s", what, why);
    else
        note(r->answers,
             "%s; build it with -g, or install its debug symbols (a -dbgsym or -dbg package)",
             what);
}

static void add_note(struct resolver *r)
{
    const struct td_object *o = &r->object;
    size_t unnamed = 0;

    if (r->request->bad_unit_count > 0)
        note(r->answers,
             "libdw failed at %zu of its compilation units (the first at .debug_info+0x%llx): "
             "their lines and inlined functions are missing",
             r->request->bad_unit_count, (unsigned long long)r->request->bad_units[0]);
    for (size_t i = 0; i < r->request->count; i++)
        unnamed += r->places[i].scope == TD_NONE && r->places[i].function == TD_NONE;
    if (o->dwarf && o->dwarf->work_left == 0)
        note(r->answers, "the debug information in '%s' refers to itself without end",
             td_elf_path(o->with_dwarf));
    if (o->dwarf && o->dwarf->damaged_at != UINT64_MAX)
        note(r->answers, "damaged debug information in '%s' (.debug_info+0x%llx)",
             td_elf_path(o->with_dwarf), (unsigned long long)o->dwarf->damaged_at);
    r->answers->no_inlines = r->dwo_missing > 0;
    if (r->dwo_missing > 0)
        note(r->answers,
             "split debug information is missing for %u compilation unit%s: %s; inlined functions "
             "are not shown",
             r->dwo_missing, r->dwo_missing == 1 ? "" : "s", r->dwo_why);
    if (o->with_dwarf && o->why[0] != '\0')
        note(r->answers, "%s", o->why);
    if (!o->with_dwarf && !r->request->functions_only && !r->request->symbols_only)
        note_no_dwarf(r, unnamed);
}

static void find_code(struct resolver *r)
{
    for (size_t i = 0; i < td_elf_segment_count(r->object.elf); i++) {
        const struct td_elf_segment *s = td_elf_segment_at(r->object.elf, i);

        if (s->executable)
            td_ranges_add(&r->code, s->vaddr, s->vaddr + s->mem_size);
    }
}

static void release(struct resolver *r)
{
    td_scanner_release(&r->scanner);
    td_ranges_release(&r->code);
    td_package_free(r->package);
    td_object_release(&r->object);
    free(r->queries);
    free(r->place_of);
    free(r->places);
    free(r->pairs);
    free(r->shares);
    free(r->scratch);
}

static int open_object(struct resolver *r, struct td_err *err)
{
    const struct td_module_request *request = r->request;
    const struct td_search alone = {.alone = true};
    struct td_elf *elf = NULL;

    if (!request->bytes.data)
        return td_object_open(&r->object, &request->search, request->path, &request->build_id, err);
    const int rc = td_elf_parse(&elf, request->path, request->bytes, err);
    if (rc == TD_OK)
        td_object_attach(&r->object, &alone, elf);
    return rc;
}

void td_module_resolve(const struct td_module_request *request, struct td_answers *answers)
{
    struct resolver r = {.request = request, .answers = answers};
    struct td_err err = TD_ERR_INIT;

    r.scanner.answers = answers;
    r.scanner.code = &r.code;
    if (open_object(&r, &err) != TD_OK) {
        note(answers, "%s", err.code == TD_ENOENT ? "the file is gone" : err.text);
        return;
    }
    make_queries(&r);
    find_code(&r);
    if (r.object.dwarf && !request->functions_only && !request->symbols_only)
        resolve_dwarf(&r);
    resolve_symbols(&r);
    if (request->functions_only && r.object.dwarf && !request->symbols_only &&
        answers->function_count == 0)
        resolve_dwarf(&r);
    add_places(&r);
    add_note(&r);
    release(&r);
}
