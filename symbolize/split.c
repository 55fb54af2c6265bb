/* SPDX-License-Identifier: MIT */
#include "symbolize/split.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Sections of a package that a unit has a part of: X(member, name, number in version 5's index,
 * number in GNU's version 2); DWARF 5, 7.3.5.3. Strings are shared by all. */
#define PARTS(X)                                  \
    X(info, "debug_info.dwo", 1, 1)               \
    X(abbrev, "debug_abbrev.dwo", 3, 3)           \
    X(line, "debug_line.dwo", 4, 4)               \
    X(str_offsets, "debug_str_offsets.dwo", 6, 6) \
    X(rnglists, "debug_rnglists.dwo", 8, UINT32_MAX)

struct td_package {
    struct td_elf *elf;
    struct td_dwarf_sections sections; /* whole */
    struct td_bytes index;
    uint32_t version, columns, units, slots;
};

static void load(struct td_elf *elf, struct td_dwarf_sections *s)
{
#define X(member, name, v5, v2) (void)td_elf_debug_bytes(elf, name, &s->member, NULL);
    PARTS(X)
#undef X
    (void)td_elf_debug_bytes(elf, "debug_str.dwo", &s->str, NULL);
}

static bool read_index(struct td_package *p)
{
    struct td_cur cur = td_cur_init(p->index);

    /* Version 5 is two bytes and two of padding; version 2 is four. */
    p->version = td_cur_u32(&cur) & 0xffff;
    p->columns = td_cur_u32(&cur);
    p->units = td_cur_u32(&cur);
    p->slots = td_cur_u32(&cur);
    const uint64_t cells = ((uint64_t)p->units * 2 + 1) * p->columns;
    return !cur.bad && (p->version == 2 || p->version == 5) && p->slots > 0 &&
           (p->slots & (p->slots - 1)) == 0 &&
           p->index.size / 4 >= 4 + (uint64_t)p->slots * 3 + cells;
}

static struct td_package *open_at(char *path)
{
    struct td_package *p = td_xcalloc(1, sizeof(*p));

    if (access(path, R_OK) == 0 && td_elf_open(&p->elf, path, NULL) == TD_OK) {
        load(p->elf, &p->sections);
        (void)td_elf_debug_bytes(p->elf, "debug_cu_index", &p->index, NULL);
    }
    free(path);
    if (p->elf && read_index(p))
        return p;
    td_package_free(p);
    return NULL;
}

struct td_package *td_package_open(const struct td_object *object, const struct td_search *search)
{
    const char *path = td_elf_path(object->elf);
    const char *slash = strrchr(path, '/');
    struct td_package *p = open_at(td_xasprintf("%s.dwp", path));

    if (!p && object->debug)
        p = open_at(td_xasprintf("%s.dwp", td_elf_path(object->debug)));
    for (const char *const *dir = search->debug_dirs; !p && dir && *dir; dir++)
        p = open_at(td_xasprintf("%s/%s.dwp", *dir, slash ? slash + 1 : path));
    return p;
}

void td_package_free(struct td_package *package)
{
    if (!package)
        return;
    td_elf_free(package->elf);
    free(package);
}

static uint64_t u32_at(struct td_bytes bytes, uint64_t offset)
{
    struct td_cur cur = td_cur_at(bytes, offset);

    return td_cur_u32(&cur);
}

/* The row of the unit in the index (from 1), 0 when it has none: a hash table with double hashing
 * (DWARF 5, 7.3.5.3). */
static uint32_t find_row(const struct td_package *p, uint64_t id)
{
    const uint64_t mask = p->slots - 1;
    const uint64_t step = ((id >> 32) & mask) | 1;
    uint64_t slot = id & mask;

    for (uint32_t i = 0; i < p->slots; i++, slot = (slot + step) & mask) {
        struct td_cur cur = td_cur_at(p->index, 16 + slot * 8);
        const uint64_t found = td_cur_u64(&cur);
        const uint32_t row = (uint32_t)u32_at(p->index, 16 + (uint64_t)p->slots * 8 + slot * 4);

        if (row == 0 && found == 0)
            return 0;
        if (found == id)
            return row <= p->units ? row : 0;
    }
    return 0;
}

/* The unit's part of the section in one column of the index. */
static struct td_bytes part(const struct td_package *p, struct td_bytes whole, uint32_t row,
                            uint32_t column)
{
    const uint64_t table = 16 + (uint64_t)p->slots * 12;
    const uint64_t offsets = table + ((uint64_t)row * p->columns + column) * 4;
    const uint64_t sizes = offsets + (uint64_t)p->units * p->columns * 4;

    return td_bytes_part(whole, u32_at(p->index, offsets), u32_at(p->index, sizes));
}

static bool slice(const struct td_package *p, uint64_t id, struct td_dwarf_sections *s)
{
    const uint32_t row = find_row(p, id);

    if (row == 0)
        return false;
    s->str = p->sections.str;
    for (uint32_t column = 0; column < p->columns; column++) {
        const uint64_t number = u32_at(p->index, 16 + (uint64_t)p->slots * 12 + column * 4u);

#define X(member, name, v5, v2)                    \
    if (number == (p->version == 5 ? (v5) : (v2))) \
        s->member = part(p, p->sections.member, row, column);
        PARTS(X)
#undef X
    }
    return s->info.data != NULL;
}

/* The unit of this id in the sections, with what the skeleton knows for it. */
static struct td_dwarf_unit *adopt(struct td_split *split, const struct td_dwarf_unit *skeleton,
                                   struct td_dwarf_sections *sections)
{
    const struct td_dwarf_sections *main = &skeleton->dwarf->sections;
    struct td_die die;

    sections->addr = main->addr;
    if (skeleton->version < 5)
        sections->ranges = main->ranges;
    td_dwarf_init(&split->dwarf, sections, true);
    split->dwarf.alt = skeleton->dwarf->alt;
    for (size_t i = 0; i < split->dwarf.unit_count; i++) {
        struct td_dwarf_unit *unit = &split->dwarf.units[i];

        if (unit->type != DW_UT_split_compile && unit->type != DW_UT_compile)
            continue;
        unit->addr_base = skeleton->addr_base;
        if (!td_dwarf_unit_open(unit, &die) || unit->dwo_id != skeleton->dwo_id)
            continue;
        unit->addr_base = skeleton->addr_base;
        unit->gnu_ranges_base = skeleton->gnu_ranges_base;
        unit->low_pc = skeleton->low_pc;
        return unit;
    }
    td_dwarf_release(&split->dwarf);
    return NULL;
}

/* Where the .dwo may be: as the skeleton says; and by its name beside the program (a build that was
 * moved) and in the given folders. The result is the caller's to free; NULL past the last. */
static char *candidate(const struct td_dwarf_unit *skeleton, const struct td_search *search,
                       const char *program, size_t i)
{
    const char *name = skeleton->dwo_name;
    const char *slash = strrchr(name, '/');
    const char *root = search->sysroot ? search->sysroot : "";

    if (i == 0)
        return name[0] == '/' || !skeleton->comp_dir
                   ? td_xasprintf("%s%s", root, name)
                   : td_xasprintf("%s%s/%s", root, skeleton->comp_dir, name);
    const char *base = slash ? slash + 1 : name;
    const char *end = strrchr(program, '/');
    if (i == 1)
        return td_xasprintf("%.*s/%s", end ? (int)(end - program) : 1, end ? program : ".", base);
    for (const char *const *dir = search->debug_dirs; dir && *dir; dir++) {
        if (i-- == 2)
            return td_xasprintf("%s/%s", *dir, base);
    }
    return NULL;
}

struct td_dwarf_unit *td_split_open(struct td_split *split, const struct td_dwarf_unit *skeleton,
                                    struct td_package *package, const struct td_search *search,
                                    const char *program, struct td_err *err)
{
    struct td_dwarf_unit *unit = NULL;
    char *path = NULL;
    bool differs = false;

    *split = (struct td_split){0};
    if (package) {
        struct td_dwarf_sections sections = {0};

        unit =
            slice(package, skeleton->dwo_id, &sections) ? adopt(split, skeleton, &sections) : NULL;
    }
    for (size_t i = 0; !unit && (path = candidate(skeleton, search, program, i)); i++) {
        struct td_dwarf_sections sections = {0};

        if (access(path, R_OK) == 0 && td_elf_open(&split->dwo, path, NULL) == TD_OK) {
            load(split->dwo, &sections);
            unit = adopt(split, skeleton, &sections);
            if (!unit) {
                differs = true;
                td_elf_free(split->dwo);
                split->dwo = NULL;
            }
        }
        free(path);
    }
    if (!unit)
        td_fail(err, differs ? TD_EMISMATCH : TD_ENOENT, "'%s' %s", skeleton->dwo_name,
                differs ? "is of another build" : "is not there");
    return unit;
}

void td_split_release(struct td_split *split)
{
    td_dwarf_release(&split->dwarf);
    td_elf_free(split->dwo);
    *split = (struct td_split){0};
}
