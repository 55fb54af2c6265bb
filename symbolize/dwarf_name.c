/* SPDX-License-Identifier: MIT */
/* What an entry's function is called and where it is defined. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/model.h"
#include "symbolize/dwarf_scan.h"

/* An inlined call's origin, its specification, and a few more: longer chains are damage. */
#define CHAIN_MAX  8
#define SPACES_MAX 32
/* Functions whose names hold those of other functions. */
#define NESTING_MAX 4

/* Appends one component of a path; "./" in front says nothing. An absolute one starts anew. */
static void join(char *path, size_t size, const char *part)
{
    size_t len = strlen(path);

    while (part[0] == '.' && part[1] == '/')
        part += part[2] == '/' ? 3 : 2;
    if (part[0] == '\0' || strcmp(part, ".") == 0)
        return;
    if (part[0] == '/')
        len = 0;
    else if (len > 0 && path[len - 1] != '/' && len + 1 < size)
        path[len++] = '/';
    snprintf(path + len, size - len, "%s", part);
}

static uint32_t make_path(struct td_answers *answers, const struct td_dwarf_unit *unit,
                          const struct td_dwarf_lines *lines, const struct td_dwarf_file *file)
{
    char path[4096];

    path[0] = '\0';
    /* Directory 0 is the compilation's own; the others are relative to it. */
    if (lines->directory_count > 0 && lines->directories[0])
        join(path, sizeof(path), lines->directories[0]);
    if (path[0] == '\0' && unit->comp_dir)
        join(path, sizeof(path), unit->comp_dir);
    if (file->directory > 0 && file->directory < lines->directory_count &&
        lines->directories[file->directory])
        join(path, sizeof(path), lines->directories[file->directory]);
    join(path, sizeof(path), file->name);
    return td_answers_string(answers, path);
}

uint32_t td_dwarf_file_path(struct td_answers *answers, struct td_dwarf_unit *unit, uint64_t index)
{
    struct td_dwarf_lines *lines = td_dwarf_unit_lines(unit);

    if (!lines || index >= lines->file_count || !lines->files[index].name)
        return 0;
    struct td_dwarf_file *file = &lines->files[index];
    if (file->id == TD_NONE)
        file->id = make_path(answers, unit, lines, file);
    return file->id;
}

/* What has been found along the chain; the first to say something wins. */
struct found {
    const char *linkage, *name;
    struct td_dwarf_unit *name_unit; /* where the name stood */
    uint64_t name_die;
    uint32_t file, line;
    bool has_file, has_line;
};

static void look(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                 struct td_dwarf_unit *lines, const struct td_die *die, struct found *found)
{
    uint64_t value = 0;

    if (!found->linkage)
        found->linkage = td_die_string(unit, die, TD_SLOT_LINKAGE_NAME);
    /* The last entry with a name is the declaration: it stands inside of its class. */
    const char *name = td_die_string(unit, die, TD_SLOT_NAME);
    if (name) {
        found->name = name;
        found->name_unit = unit;
        found->name_die = die->offset;
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
    const char *name = NULL;

    if (!td_die_at(unit, space->die, &die))
        return NULL;
    if (space->function) {
        const uint32_t function = td_dwarf_function(scanner, unit, unit, &die);

        return function == TD_NONE ? NULL : td_answers_function_name(scanner->answers, function);
    }
    name = td_die_string(unit, &die, TD_SLOT_NAME);
    if (!name && die.abbrev->tag == DW_TAG_namespace)
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
    uint32_t space = td_dwarf_space_around(unit, found->name_die);
    char text[4096];

    snprintf(text, sizeof(text), "%s", found->name);
    for (unsigned depth = 0; space != TD_NONE && depth < SPACES_MAX; depth++) {
        const char *name = space_name(scanner, unit, &unit->spaces[space]);

        if (name)
            prepend(text, sizeof(text), name);
        space = unit->spaces[space].function ? TD_NONE : unit->spaces[space].parent;
    }
    return td_answers_function(scanner->answers, NULL, text, found->file, found->line);
}

static uint32_t follow(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                       struct td_dwarf_unit *lines, const struct td_die *first)
{
    struct found found = {0};
    struct td_die die = *first;

    for (unsigned i = 0; i < CHAIN_MAX; i++) {
        const enum td_dwarf_slot slot =
            td_die_has(&die, TD_SLOT_ORIGIN) ? TD_SLOT_ORIGIN : TD_SLOT_SPECIFICATION;
        uint64_t offset = 0;

        look(scanner, unit, lines, &die, &found);
        struct td_dwarf_unit *next = td_die_reference(unit, &die, slot, &offset);
        if (!next || !td_die_at(next, offset, &die))
            break;
        /* A split unit's files are its skeleton's; any other unit brings its own. */
        if (next != unit)
            lines = next->dwarf->split ? lines : next;
        unit = next;
    }
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
                           struct td_dwarf_unit *lines, const struct td_die *die)
{
    uint64_t offset = 0;

    if (td_die_has(die, TD_SLOT_LINKAGE_NAME) || td_die_has(die, TD_SLOT_NAME))
        return follow(scanner, unit, lines, die);
    const struct td_dwarf_unit *there = td_die_reference(unit, die, TD_SLOT_ORIGIN, &offset);
    if (!there)
        return follow(scanner, unit, lines, die);
    const uint64_t file = (uint64_t)(uintptr_t)there->dwarf;
    const uint32_t *known = td_map_find(&scanner->by_origin, file, offset);
    if (known)
        return *known;
    const uint32_t function = follow(scanner, unit, lines, die);
    td_map_put(&scanner->by_origin, file, offset, function, NULL);
    return function;
}
