/* SPDX-License-Identifier: MIT */
/* What an entry's function is called and where it is defined. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/model.h"
#include "symbolize/dwarf/line_table.h"
#include "symbolize/dwarf/scan.h"

/* An inlined call's origin, its specification, and a few more: longer chains are damage. */
#define CHAIN_MAX  8
#define SPACES_MAX 32
/* Functions whose names hold those of other functions. */
#define NESTING_MAX 4

/* Takes "./" out of a path: it says nothing, and the same file would have two names. */
static void clean(char *path)
{
    char *out = path;

    for (const char *p = path; *p;) {
        const bool begins = p == path || p[-1] == '/';

        if (begins && p[0] == '.' && p[1] == '/') {
            p += 2;
            while (*p == '/')
                p++;
            continue;
        }
        *out++ = *p++;
    }
    *out = '\0';
}

uint32_t td_dwarf_file_path(struct td_answers *answers, struct td_dwarf_unit *unit, uint64_t index)
{
    struct td_line_table *table = td_dwarf_line_table(unit);

    if (!table || index >= table->file_count)
        return 0;
    struct td_line_file *file = &table->files[index];
    if (file->path == TD_NONE) {
        char *text = td_line_table_path(table, index);

        file->path = 0;
        if (text) {
            clean(text);
            file->path = td_answers_string(answers, text);
        }
        free(text);
    }
    return file->path;
}

/* What has been found along the chain; the first to say something wins. */
struct found {
    const char *linkage, *name;
    struct td_dwarf_unit *name_unit; /* where the name stood */
    uint64_t name_offset;
    uint32_t file, line;
    bool has_file, has_line;
};

static void look(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                 struct td_dwarf_unit *lines, struct td_die *die, struct found *found)
{
    uint64_t value = 0;

    if (!found->linkage)
        found->linkage = td_die_string(die, TD_SLOT_LINKAGE_NAME);
    /* The last entry with a name is the declaration: it stands inside of its class. */
    const char *name = td_die_string(die, TD_SLOT_NAME);
    if (name) {
        found->name = name;
        found->name_unit = unit;
        found->name_offset = dwarf_dieoffset(&die->die);
    }
    if (!found->has_file && lines && td_die_uint(die, TD_SLOT_DECL_FILE, &value)) {
        found->has_file = true;
        found->file = td_dwarf_file_path(scanner->answers, lines, value);
    }
    if (!found->has_line && td_die_uint(die, TD_SLOT_DECL_LINE, &value) && value <= UINT32_MAX) {
        found->has_line = true;
        found->line = (uint32_t)value;
    }
}

static const char *space_name(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                              const struct td_space *space)
{
    struct td_die die;

    if (!td_die_read(&die, &space->die))
        return NULL;
    if (space->function) {
        const uint32_t function = td_dwarf_function(scanner, unit, unit, &die);

        return function == TD_NONE ? NULL : td_answers_function_name(scanner->answers, function);
    }
    const char *name = td_die_string(&die, TD_SLOT_NAME);
    if (!name && dwarf_tag(&die.die) == DW_TAG_namespace)
        return "(anonymous namespace)";
    return name ? name : "{unnamed}";
}

/* Puts "NAME::" before the text; what does not fit any more is left out. */
static void prepend(char *text, size_t size, const char *name)
{
    const size_t len = strlen(text), add = strlen(name);

    if (len + add + 3 > size)
        return;
    memmove(text + add + 2, text, len + 1);
    for (size_t i = 0; i < add; i++)
        text[i] = name[i];
    text[add] = ':';
    text[add + 1] = ':';
}

/* "outer::box::get": names without a linkage name (gcc gives none to what is local to a file) are
 * put together from what is around them. A function around stands for its own spaces too. */
static uint32_t qualified(struct td_scanner *scanner, const struct found *found)
{
    struct td_dwarf_unit *unit = found->name_unit;
    uint32_t space = td_dwarf_space_around(unit, found->name_offset);
    char text[4096];

    snprintf(text, sizeof(text), "%s", found->name);
    for (unsigned depth = 0; space != TD_NONE && depth < SPACES_MAX; depth++) {
        const char *name = space_name(scanner, unit, &unit->spaces[space]);

        if (name)
            prepend(text, sizeof(text), name);
        space = unit->spaces[space].function ? TD_NONE : unit->spaces[space].around;
    }
    return td_answers_function(scanner->answers, NULL, text, found->file, found->line);
}

/* What one entry and those that it stems from say. */
static void collect(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                    struct td_dwarf_unit *lines, struct td_die *die, struct found *found)
{
    for (unsigned i = 0; i < CHAIN_MAX; i++) {
        const enum td_dwarf_slot slot =
            td_die_has(die, TD_SLOT_ORIGIN) ? TD_SLOT_ORIGIN : TD_SLOT_SPECIFICATION;
        Dwarf_Die there;

        look(scanner, unit, lines, die, found);
        if (!td_die_reference(die, slot, &there) || !td_die_read(die, &there))
            return;
        struct td_dwarf_unit *next = td_dwarf_unit_of(unit->dwarf, &there);
        if (!next)
            return;
        /* A split unit's files are its skeleton's; any other unit brings its own. */
        if (next != unit && !unit->dwarf->skeleton)
            lines = next;
        unit = next;
    }
}

static uint32_t follow(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                       struct td_dwarf_unit *lines, const struct td_die *first)
{
    struct found found = {0};
    struct td_die die = *first;

    collect(scanner, unit, lines, &die, &found);
    if (!found.linkage && (!found.name || found.name[0] == '\0'))
        return TD_NONE;
    if (found.linkage || !found.name_unit->qualified || scanner->nesting >= NESTING_MAX)
        return td_answers_function(scanner->answers, found.linkage, found.name, found.file,
                                   found.line);
    scanner->nesting++;
    const uint32_t function = qualified(scanner, &found);
    scanner->nesting--;
    return function;
}

uint32_t td_dwarf_function(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                           struct td_dwarf_unit *lines, struct td_die *die)
{
    Dwarf_Die origin;

    if (td_die_has(die, TD_SLOT_LINKAGE_NAME) || td_die_has(die, TD_SLOT_NAME) ||
        !td_die_reference(die, TD_SLOT_ORIGIN, &origin))
        return follow(scanner, unit, lines, die);
    const uint64_t place = (uint64_t)(uintptr_t)origin.addr;
    const uint32_t *known = td_map_find(&scanner->by_origin, place, 0);
    if (known)
        return *known;
    const uint32_t function = follow(scanner, unit, lines, die);
    td_map_put(&scanner->by_origin, place, 0, function, NULL);
    return function;
}
