/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/split.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* Sections of split units: X(member, name, number in version 5's index, number in GNU's version 2);
 * DWARF 5, 7.3.5.3. Strings are shared by all. */
#define PARTS(X)                              \
    X(info, "debug_info", 1, 1)               \
    X(abbrev, "debug_abbrev", 3, 3)           \
    X(line, "debug_line", 4, 4)               \
    X(str_offsets, "debug_str_offsets", 6, 6) \
    X(rnglists, "debug_rnglists", 8, UINT32_MAX)

struct sections {
#define X(member, name, v5, v2) struct td_bytes member;
    PARTS(X)
#undef X
    struct td_bytes str;
};

struct td_package {
    struct td_elf *elf;
    struct sections sections; /* whole */
    struct td_bytes index;
    uint32_t version, columns, units, slots;
    struct td_dwarf_image image; /* its first section is the strings */
};

static void load(struct td_elf *elf, struct sections *s)
{
#define X(member, name, v5, v2) (void)td_elf_debug_bytes(elf, name ".dwo", &s->member, NULL);
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
    td_dwarf_image_release(&package->image);
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

static bool slice(const struct td_package *p, uint64_t id, struct sections *s)
{
    const uint32_t row = find_row(p, id);

    if (row == 0)
        return false;
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

/* From where on the skeleton's file has what its split unit needs of a section. */
static struct td_bytes from_base(struct td_elf *main, const char *name,
                                 struct td_dwarf_unit *skeleton, enum td_dwarf_slot slot)
{
    struct td_bytes whole = {0};
    uint64_t base = 0;

    (void)td_die_uint(&skeleton->die, slot, &base);
    if (td_elf_debug_bytes(main, name, &whole, NULL) != TD_OK || base > whole.size)
        return (struct td_bytes){0};
    return td_bytes_part(whole, base, whole.size - base);
}

/* libdw reads a split unit as one of a file of its own: its sections under their plain names, and
 * those of the skeleton's file from the skeleton's bases on, which is where libdw expects them when
 * the unit names no base. */
static void compose(struct td_dwarf_image *image, const struct sections *s,
                    struct td_dwarf_unit *skeleton, struct td_elf *main)
{
#define X(member, name, v5, v2) td_dwarf_image_add(image, "." name, s->member);
    PARTS(X)
#undef X
    td_dwarf_image_add(image, ".debug_addr",
                       from_base(main, "debug_addr", skeleton, TD_SLOT_ADDR_BASE));
    if (skeleton->version < 5)
        td_dwarf_image_add(image, ".debug_ranges",
                           from_base(main, "debug_ranges", skeleton, TD_SLOT_GNU_RANGES_BASE));
}

/* The unit of the skeleton's id in the image. */
static struct td_dwarf_unit *adopt(struct td_split *split, const struct td_dwarf_unit *skeleton,
                                   struct td_dwarf_image *image)
{
    if (td_dwarf_open_image(&split->dwarf, td_dwarf_image_finish(image), NULL) != TD_OK)
        return NULL;
    split->dwarf->skeleton = true;
    for (size_t i = 0; i < split->dwarf->unit_count; i++) {
        struct td_dwarf_unit *unit = split->dwarf->units[i];

        if (!unit->damaged && unit->dwo_id == skeleton->dwo_id &&
            (unit->type == DW_UT_split_compile || unit->type == DW_UT_compile))
            return unit;
    }
    td_dwarf_free(split->dwarf);
    split->dwarf = NULL;
    return NULL;
}

static struct td_dwarf_unit *out_of_package(struct td_split *split, struct td_dwarf_unit *skeleton,
                                            struct td_elf *main, struct td_package *package)
{
    struct sections sections = {0};

    if (!package || !slice(package, skeleton->dwo_id, &sections))
        return NULL;
    if (package->image.count == 0)
        td_dwarf_image_add(&package->image, ".debug_str", package->sections.str);
    td_dwarf_image_cut(&package->image, package->sections.str.size > 0);
    compose(&package->image, &sections, skeleton, main);
    return adopt(split, skeleton, &package->image);
}

static struct td_dwarf_unit *out_of_dwo(struct td_split *split, struct td_dwarf_unit *skeleton,
                                        struct td_elf *main, const char *path, bool *differs)
{
    struct sections sections = {0};

    if (access(path, R_OK) != 0 || td_elf_open(&split->dwo, path, NULL) != TD_OK)
        return NULL;
    load(split->dwo, &sections);
    td_dwarf_image_add(&split->image, ".debug_str", sections.str);
    compose(&split->image, &sections, skeleton, main);
    struct td_dwarf_unit *unit = adopt(split, skeleton, &split->image);
    if (!unit) {
        *differs = true;
        td_split_release(split);
    }
    return unit;
}

bool td_split_is_skeleton(const struct td_dwarf_unit *unit)
{
    return td_die_has(&unit->die, TD_SLOT_DWO_NAME) &&
           (unit->type == DW_UT_skeleton || unit->version < 5);
}

/* Where the .dwo may be: as the skeleton says; and by its name beside the program (a build that was
 * moved) and in the given folders. The result is the caller's to free; NULL past the last. */
static char *candidate(struct td_dwarf_unit *skeleton, const struct td_search *search,
                       const char *program, size_t i)
{
    const char *name = td_die_string(&skeleton->die, TD_SLOT_DWO_NAME);
    const char *comp_dir = td_die_string(&skeleton->die, TD_SLOT_COMP_DIR);
    const char *slash = strrchr(name, '/');
    const char *root = search->sysroot ? search->sysroot : "";

    if (i == 0)
        return name[0] == '/' || !comp_dir ? td_xasprintf("%s%s", root, name)
                                           : td_xasprintf("%s%s/%s", root, comp_dir, name);
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

struct td_dwarf_unit *td_split_open(struct td_split *split, struct td_dwarf_unit *skeleton,
                                    struct td_elf *main, struct td_package *package,
                                    const struct td_search *search, const char *program,
                                    struct td_err *err)
{
    const char *name = td_die_string(&skeleton->die, TD_SLOT_DWO_NAME);
    char *path = NULL;
    bool differs = false;

    *split = (struct td_split){0};
    if (!name) {
        td_fail(err, TD_EFORMAT, "its name is damaged");
        return NULL;
    }
    struct td_dwarf_unit *unit = out_of_package(split, skeleton, main, package);
    for (size_t i = 0; !unit && (path = candidate(skeleton, search, program, i)); i++) {
        unit = out_of_dwo(split, skeleton, main, path, &differs);
        free(path);
    }
    if (!unit)
        td_fail(err, differs ? TD_EMISMATCH : TD_ENOENT, "'%s' %s", name,
                differs ? "is of another build" : "is not there");
    return unit;
}

void td_split_release(struct td_split *split)
{
    td_dwarf_free(split->dwarf);
    td_dwarf_image_release(&split->image);
    td_elf_free(split->dwo);
    *split = (struct td_split){0};
}
