/* SPDX-License-Identifier: MIT */
/* Units (DWARF 5, 7.5.1) and what their own entry says about the rest of them. */
#include <assert.h>
#include <dwarf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "symbolize/dwarf.h"

void td_dwarf_damaged(struct td_dwarf *dwarf, uint64_t offset)
{
    if (dwarf->damaged_at == UINT64_MAX)
        dwarf->damaged_at = offset;
}

bool td_dwarf_work(struct td_dwarf *dwarf, uint64_t steps)
{
    if (steps > dwarf->work_left) {
        dwarf->work_left = 0;
        return false;
    }
    dwarf->work_left -= steps;
    return true;
}

/* Sound files stay below two steps for each byte. */
static uint64_t work_allowed(const struct td_dwarf_sections *s)
{
    uint64_t bytes = 1 << 20;

#define X(member, name) bytes += s->member.size;
    TD_DWARF_SECTIONS(X)
#undef X
    return 32 * bytes;
}

static void read_v5_header(struct td_cur *cur, struct td_dwarf_unit *unit)
{
    unit->type = td_cur_u8(cur);
    unit->address_size = td_cur_u8(cur);
    unit->abbrev_offset = td_cur_uint(cur, unit->offset_size);
    switch (unit->type) {
    case DW_UT_skeleton:
    case DW_UT_split_compile: unit->dwo_id = td_cur_u64(cur); break;
    case DW_UT_type:
    case DW_UT_split_type:
        (void)td_cur_u64(cur);
        (void)td_cur_uint(cur, unit->offset_size);
        break;
    default: break;
    }
}

/* Reads one header; the cursor goes to the next unit. False at damage. */
static bool read_header(struct td_cur *all, const uint8_t *start, struct td_dwarf_unit *unit)
{
    unit->offset = (uint64_t)(all->p - start);
    unit->offset_size = 4;
    uint64_t length = td_cur_u32(all);
    if (length == UINT32_MAX) {
        length = td_cur_u64(all);
        unit->offset_size = 8;
    } else if (length >= 0xfffffff0) {
        return false;
    }
    if (all->bad || length > td_cur_left(all))
        return false;
    struct td_cur cur = {.p = all->p, .end = all->p + length};
    td_cur_skip(all, length);
    unit->end = (uint64_t)(cur.end - start);
    unit->version = td_cur_u16(&cur);
    if (unit->version == 5) {
        read_v5_header(&cur, unit);
    } else {
        unit->type = DW_UT_compile;
        unit->abbrev_offset = td_cur_uint(&cur, unit->offset_size);
        unit->address_size = td_cur_u8(&cur);
    }
    unit->first_die = (uint64_t)(cur.p - start);
    return !cur.bad && unit->version >= 2 && unit->version <= 5 &&
           (unit->address_size == 4 || unit->address_size == 8);
}

void td_dwarf_init(struct td_dwarf *dwarf, const struct td_dwarf_sections *sections, bool split)
{
    struct td_cur cur = td_cur_init(sections->info);
    size_t cap = 0;

    *dwarf = (struct td_dwarf){.sections = *sections, .split = split, .damaged_at = UINT64_MAX};
    dwarf->work_left = work_allowed(sections);
    while (cur.p < cur.end) {
        struct td_dwarf_unit unit = {.dwarf = dwarf, .stmt_list = UINT64_MAX};
        const uint64_t start = (uint64_t)(cur.p - sections->info.data);

        if (!read_header(&cur, sections->info.data, &unit)) {
            td_dwarf_damaged(dwarf, start);
            /* A unit of an unknown version can still be stepped over. */
            if (cur.bad || unit.end == 0)
                break;
            continue;
        }
        dwarf->units = td_grow(dwarf->units, &cap, dwarf->unit_count + 1, sizeof(unit));
        dwarf->units[dwarf->unit_count++] = unit;
    }
}

static void free_lines(struct td_dwarf_lines *lines)
{
    free(lines->directories);
    free(lines->files);
    free(lines);
}

void td_dwarf_release(struct td_dwarf *dwarf)
{
    for (size_t i = 0; i < dwarf->unit_count; i++)
        free(dwarf->units[i].spaces);
    for (size_t i = 0; i < dwarf->abbrevs_len; i++)
        td_abbrevs_free(dwarf->abbrevs[i]);
    for (size_t i = 0; i < dwarf->lines_len; i++)
        free_lines(dwarf->lines[i]);
    free(dwarf->abbrevs);
    free(dwarf->lines);
    free(dwarf->units);
    td_map_release(&dwarf->abbrev_ids);
    td_map_release(&dwarf->line_ids);
    td_arena_release(&dwarf->arena);
    *dwarf = (struct td_dwarf){0};
}

struct td_dwarf_unit *td_dwarf_unit_at(const struct td_dwarf *dwarf, uint64_t offset)
{
    size_t low = 0, high = dwarf->unit_count;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (dwarf->units[mid].end <= offset)
            low = mid + 1;
        else
            high = mid;
    }
    return low < dwarf->unit_count && dwarf->units[low].offset <= offset ? &dwarf->units[low]
                                                                         : NULL;
}

/* In a split unit the tables begin right after their headers, and no attribute says so (DWARF 5,
 * 7.26 and 7.28); GNU's version 4 has no headers. */
static void default_bases(struct td_dwarf_unit *unit)
{
    if (unit->version < 5)
        return;
    unit->str_offsets_base = unit->offset_size == 8 ? 16 : 8;
    unit->rnglists_base = unit->offset_size == 8 ? 20 : 12;
    if (!unit->dwarf->split)
        unit->addr_base = unit->offset_size == 8 ? 16 : 8;
}

/* The bases come first: strings and addresses of the same entry are found through them. */
static void read_bases(struct td_dwarf_unit *unit, const struct td_die *die)
{
    default_bases(unit);
    (void)td_die_uint(die, TD_SLOT_STR_OFFSETS_BASE, &unit->str_offsets_base);
    (void)td_die_uint(die, TD_SLOT_ADDR_BASE, &unit->addr_base);
    (void)td_die_uint(die, TD_SLOT_RNGLISTS_BASE, &unit->rnglists_base);
    (void)td_die_uint(die, TD_SLOT_GNU_RANGES_BASE, &unit->gnu_ranges_base);
}

/* C has none; of a language that is not named, or new, it does no harm to look for them. */
static bool has_namespaces(const struct td_die *die)
{
    uint64_t language = 0;

    (void)td_die_uint(die, TD_SLOT_LANGUAGE, &language);
    return language != DW_LANG_C && language != DW_LANG_C89 && language != DW_LANG_C99 &&
           language != DW_LANG_C11 && language != DW_LANG_Mips_Assembler;
}

bool td_dwarf_unit_open(struct td_dwarf_unit *unit, struct td_die *die)
{
    if (unit->opened)
        return !unit->damaged && td_die_at(unit, unit->first_die, die);
    unit->opened = true;
    unit->abbrevs = td_abbrevs_get(unit->dwarf, unit);
    if (!td_die_at(unit, unit->first_die, die)) {
        unit->damaged = true;
        unit->abbrevs = NULL;
        td_dwarf_damaged(unit->dwarf, unit->offset);
        return false;
    }
    read_bases(unit, die);
    unit->tag = die->abbrev->tag;
    unit->qualified = has_namespaces(die);
    (void)td_die_uint(die, TD_SLOT_STMT_LIST, &unit->stmt_list);
    (void)td_die_uint(die, TD_SLOT_DWO_ID, &unit->dwo_id);
    (void)td_die_address(unit, die, TD_SLOT_LOW_PC, &unit->low_pc);
    unit->comp_dir = td_die_string(unit, die, TD_SLOT_COMP_DIR);
    unit->dwo_name = td_die_string(unit, die, TD_SLOT_DWO_NAME);
    unit->has_code_ranges = td_die_has(die, TD_SLOT_RANGES) ||
                            (td_die_has(die, TD_SLOT_LOW_PC) && td_die_has(die, TD_SLOT_HIGH_PC));
    return true;
}
