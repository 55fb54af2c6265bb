/* SPDX-License-Identifier: MIT */
/* Attribute values (DWARF 5, 7.5.4 to 7.5.6) and what they mean in their unit. */
#include <assert.h>
#include <dwarf.h>

#include "symbolize/dwarf.h"

/* DW_FORM_indirect may lead to itself. */
#define INDIRECT_MAX 4

static void read_block(struct td_cur *cur, uint64_t size, struct td_dwarf_attr *ret)
{
    ret->value = size;
    td_cur_skip(cur, size);
}

static void read_indirect(struct td_cur *cur, const struct td_dwarf_unit *unit,
                          struct td_dwarf_attr *ret)
{
    uint64_t form = DW_FORM_indirect;

    for (unsigned i = 0; i < INDIRECT_MAX && form == DW_FORM_indirect; i++)
        form = td_cur_uleb(cur);
    if (form == DW_FORM_indirect || form > UINT16_MAX) {
        td_cur_fail(cur);
        return;
    }
    const int64_t constant = form == DW_FORM_implicit_const ? td_cur_sleb(cur) : 0;
    td_dwarf_form_read(cur, unit, (uint16_t)form, constant, ret);
}

static inline void read_form(struct td_cur *cur, const struct td_dwarf_unit *unit, uint16_t form,
                             int64_t constant, struct td_dwarf_attr *ret)
{
    ret->form = form;
    switch (form) {
    case DW_FORM_implicit_const: ret->value = (uint64_t)constant; break;
    case DW_FORM_flag_present: ret->value = 1; break;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: ret->value = td_cur_u8(cur); break;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: ret->value = td_cur_u16(cur); break;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: ret->value = td_cur_uint(cur, 3); break;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4: ret->value = td_cur_u32(cur); break;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8: ret->value = td_cur_u64(cur); break;
    case DW_FORM_data16: read_block(cur, 16, ret); break;
    case DW_FORM_addr: ret->value = td_cur_uint(cur, unit->address_size); break;
    case DW_FORM_ref_addr:
        ret->value = td_cur_uint(cur, unit->version <= 2 ? unit->address_size : unit->offset_size);
        break;
    case DW_FORM_sec_offset:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: ret->value = td_cur_uint(cur, unit->offset_size); break;
    case DW_FORM_sdata: ret->value = (uint64_t)td_cur_sleb(cur); break;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: ret->value = td_cur_uleb(cur); break;
    case DW_FORM_string: ret->value = (uint64_t)(uintptr_t)td_cur_string(cur); break;
    case DW_FORM_block1: read_block(cur, td_cur_u8(cur), ret); break;
    case DW_FORM_block2: read_block(cur, td_cur_u16(cur), ret); break;
    case DW_FORM_block4: read_block(cur, td_cur_u32(cur), ret); break;
    case DW_FORM_block:
    case DW_FORM_exprloc: read_block(cur, td_cur_uleb(cur), ret); break;
    case DW_FORM_indirect: read_indirect(cur, unit, ret); break;
    default: td_cur_fail(cur); break;
    }
}

void td_dwarf_form_read(struct td_cur *cur, const struct td_dwarf_unit *unit, uint16_t form,
                        int64_t constant, struct td_dwarf_attr *ret)
{
    read_form(cur, unit, form, constant, ret);
}

static void skip_step(struct td_cur *cur, const struct td_dwarf_unit *unit, uint16_t step)
{
    struct td_dwarf_attr ignored;

    switch (step) {
    case TD_STEP_LEB: td_cur_skip_leb(cur); break;
    case TD_STEP_STRING: (void)td_cur_string(cur); break;
    case TD_STEP_BLOCK1: td_cur_skip(cur, td_cur_u8(cur)); break;
    case TD_STEP_BLOCK2: td_cur_skip(cur, td_cur_u16(cur)); break;
    case TD_STEP_BLOCK4: td_cur_skip(cur, td_cur_u32(cur)); break;
    case TD_STEP_BLOCK_LEB: td_cur_skip(cur, td_cur_uleb(cur)); break;
    case TD_STEP_INDIRECT: read_indirect(cur, unit, &ignored); break;
    default: td_cur_skip(cur, step); break;
    }
}

void td_die_skip(struct td_cur *cur, const struct td_dwarf_unit *unit,
                 const struct td_abbrev *abbrev)
{
    const uint16_t *step = unit->abbrevs->steps + abbrev->step_first;
    const uint16_t *const end = step + abbrev->step_count;

    for (; step < end; step++) {
        if (__builtin_expect(*step < TD_STEP_LEB, 1))
            td_cur_skip(cur, *step);
        else
            skip_step(cur, unit, *step);
    }
}

bool td_die_skip_children(struct td_cur *cur, const struct td_dwarf_unit *unit,
                          const struct td_abbrev *abbrev)
{
    const uint8_t *start = unit->dwarf->sections.info.data;
    uint32_t sibling = 0;

    if (!abbrev->sibling_last || cur->bad)
        return false;
    memcpy(&sibling, cur->p - 4, 4);
    const uint64_t target = unit->offset + le32toh(sibling);
    if (target > unit->end || target <= (uint64_t)(cur->p - start))
        return false;
    cur->p = start + target;
    return true;
}

void td_die_read(struct td_cur *cur, const struct td_dwarf_unit *unit,
                 const struct td_abbrev *abbrev, struct td_die *die)
{
    const struct td_abbrev_attr *attr = unit->abbrevs->attrs + abbrev->attr_first;
    const struct td_abbrev_attr *const end = attr + abbrev->attr_count;

    die->abbrev = abbrev;
    die->present = 0;
    for (; attr < end; attr++) {
        struct td_dwarf_attr *to = &die->attr[attr->slot];

        read_form(cur, unit, attr->form, attr->constant, to);
        die->present |= UINT32_C(1) << attr->slot;
    }
}

bool td_die_at(struct td_dwarf_unit *unit, uint64_t offset, struct td_die *die)
{
    if (!unit->abbrevs || offset < unit->first_die || offset >= unit->end)
        return false;
    struct td_cur cur = {.p = unit->dwarf->sections.info.data + offset,
                         .end = unit->dwarf->sections.info.data + unit->end};
    const struct td_abbrev *abbrev = td_abbrevs_find(unit->abbrevs, td_cur_uleb(&cur));

    if (!abbrev)
        return false;
    td_die_read(&cur, unit, abbrev, die);
    die->offset = offset;
    return !cur.bad;
}

bool td_dwarf_address_at(const struct td_dwarf_unit *unit, uint64_t index, uint64_t *ret)
{
    const struct td_bytes table = unit->dwarf->sections.addr;

    if (index > table.size || unit->addr_base > table.size)
        return false;
    struct td_cur cur = td_cur_at(table, unit->addr_base + index * unit->address_size);
    *ret = td_cur_uint(&cur, unit->address_size);
    return !cur.bad;
}

bool td_die_address(const struct td_dwarf_unit *unit, const struct td_die *die,
                    enum td_dwarf_slot slot, uint64_t *ret)
{
    if (!td_die_has(die, slot))
        return false;
    const struct td_dwarf_attr *attr = &die->attr[slot];
    switch (attr->form) {
    case DW_FORM_addr: *ret = attr->value; return true;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index: return td_dwarf_address_at(unit, attr->value, ret);
    default: return false;
    }
}

bool td_die_uint(const struct td_die *die, enum td_dwarf_slot slot, uint64_t *ret)
{
    if (!td_die_has(die, slot))
        return false;
    switch (die->attr[slot].form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_implicit_const:
    case DW_FORM_flag:
    case DW_FORM_flag_present:
    case DW_FORM_sec_offset: *ret = die->attr[slot].value; return true;
    default: return false;
    }
}

static const char *indexed_string(const struct td_dwarf_unit *unit, uint64_t index)
{
    const struct td_dwarf_sections *s = &unit->dwarf->sections;

    if (index > s->str_offsets.size || unit->str_offsets_base > s->str_offsets.size)
        return NULL;
    struct td_cur cur =
        td_cur_at(s->str_offsets, unit->str_offsets_base + index * unit->offset_size);
    const uint64_t offset = td_cur_uint(&cur, unit->offset_size);
    return cur.bad ? NULL : td_bytes_string(s->str, offset);
}

const char *td_dwarf_form_string(const struct td_dwarf_unit *unit, const struct td_dwarf_attr *attr)
{
    struct td_dwarf *dwarf = unit->dwarf;

    switch (attr->form) {
    case DW_FORM_string: return (const char *)(uintptr_t)attr->value;
    case DW_FORM_strp: return td_bytes_string(dwarf->sections.str, attr->value);
    case DW_FORM_line_strp: return td_bytes_string(dwarf->sections.line_str, attr->value);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
        if (!dwarf->alt) {
            dwarf->needs_alt++;
            return NULL;
        }
        return td_bytes_string(dwarf->alt->sections.str, attr->value);
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index: return indexed_string(unit, attr->value);
    default: return NULL;
    }
}

const char *td_die_string(const struct td_dwarf_unit *unit, const struct td_die *die,
                          enum td_dwarf_slot slot)
{
    return td_die_has(die, slot) ? td_dwarf_form_string(unit, &die->attr[slot]) : NULL;
}

/* The place a reference names: the file, and the offset there. */
static struct td_dwarf *reference_target(const struct td_dwarf_unit *unit,
                                         const struct td_dwarf_attr *attr, uint64_t *offset)
{
    struct td_dwarf *dwarf = unit->dwarf;

    switch (attr->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata: *offset = unit->offset + attr->value; return dwarf;
    case DW_FORM_ref_addr: *offset = attr->value; return dwarf;
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
    case DW_FORM_GNU_ref_alt:
        *offset = attr->value;
        if (!dwarf->alt)
            dwarf->needs_alt++;
        return dwarf->alt;
    default: return NULL;
    }
}

bool td_die_sibling(const struct td_dwarf_unit *unit, const struct td_die *die, uint64_t *ret)
{
    return td_die_has(die, TD_SLOT_SIBLING) &&
           reference_target(unit, &die->attr[TD_SLOT_SIBLING], ret) == unit->dwarf;
}

struct td_dwarf_unit *td_die_reference(const struct td_dwarf_unit *unit, const struct td_die *die,
                                       enum td_dwarf_slot slot, uint64_t *offset)
{
    struct td_die unit_die;

    if (!td_die_has(die, slot))
        return NULL;
    const struct td_dwarf *target = reference_target(unit, &die->attr[slot], offset);
    struct td_dwarf_unit *there = target ? td_dwarf_unit_at(target, *offset) : NULL;
    return there && td_dwarf_unit_open(there, &unit_die) ? there : NULL;
}
