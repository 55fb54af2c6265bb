/* SPDX-License-Identifier: MIT */
/* Abbreviation tables (DWARF 5, 7.5.3), each compiled once into steps that skip an entry fast. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/mem.h"
#include "symbolize/dwarf.h"

/* Codes up to here index an array even when some are missing. */
#define DENSE_MAX 65536
#define ATTRS_MAX 4096

struct builder {
    struct td_abbrevs *abbrevs;
    size_t at_cap, others_cap, attrs_len, attrs_cap, steps_len, steps_cap;
};

static uint8_t slot_of(uint64_t name)
{
    switch (name) {
#define X(slot, at) \
    case DW_AT_##at: return TD_SLOT_##slot;
        TD_DWARF_ATTRIBUTES(X)
#undef X
    default: return TD_SLOT_NONE;
    }
}

static uint8_t role_of(uint64_t tag)
{
    switch (tag) {
    case DW_TAG_subprogram: return TD_DIE_SUBPROGRAM;
    case DW_TAG_inlined_subroutine: return TD_DIE_INLINED;
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site: return TD_DIE_NO_CODE;
    default: return TD_DIE_OTHER;
    }
}

/* Whether an entry may hold classes and namespaces: copies of an abstract function (they have an
 * origin) and declarations hold none. */
static bool holds_spaces(uint64_t tag, bool origin, bool declaration)
{
    switch (tag) {
    case DW_TAG_subprogram: return !origin && !declaration;
    case DW_TAG_lexical_block: return !origin;
    case DW_TAG_inlined_subroutine:
    case DW_TAG_enumeration_type:
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site: return false;
    default: return true;
    }
}

/* The step of a form: bytes, or TD_STEP_*. UINT16_MAX for a form that nobody knows. */
static uint16_t step_of(const struct td_dwarf_unit *unit, uint64_t form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4: return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8: return 8;
    case DW_FORM_data16: return 16;
    case DW_FORM_addr: return unit->address_size;
    case DW_FORM_ref_addr: return unit->version <= 2 ? unit->address_size : unit->offset_size;
    case DW_FORM_sec_offset:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return unit->offset_size;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: return TD_STEP_LEB;
    case DW_FORM_string: return TD_STEP_STRING;
    case DW_FORM_block1: return TD_STEP_BLOCK1;
    case DW_FORM_block2: return TD_STEP_BLOCK2;
    case DW_FORM_block4: return TD_STEP_BLOCK4;
    case DW_FORM_block:
    case DW_FORM_exprloc: return TD_STEP_BLOCK_LEB;
    case DW_FORM_indirect: return TD_STEP_INDIRECT;
    default: return UINT16_MAX;
    }
}

/* Neighbouring fixed sizes become one step. */
static void add_step(struct builder *b, struct td_abbrev *abbrev, uint16_t step)
{
    struct td_abbrevs *abbrevs = b->abbrevs;

    if (step == 0)
        return;
    if (abbrev->step_count > 0 && step < TD_STEP_LEB) {
        uint16_t *last = &abbrevs->steps[b->steps_len - 1];

        if (*last < TD_STEP_LEB && *last + step < TD_STEP_LEB) {
            *last = (uint16_t)(*last + step);
            return;
        }
    }
    abbrevs->steps =
        td_grow(abbrevs->steps, &b->steps_cap, b->steps_len + 1, sizeof(*abbrevs->steps));
    abbrevs->steps[b->steps_len++] = step;
    abbrev->step_count++;
}

static bool read_attrs(struct builder *b, struct td_cur *cur, const struct td_dwarf_unit *unit,
                       struct td_abbrev *abbrev)
{
    struct td_abbrevs *abbrevs = b->abbrevs;

    bool origin = false, declaration = false;

    abbrev->attr_first = (uint32_t)b->attrs_len;
    abbrev->step_first = (uint32_t)b->steps_len;
    for (size_t i = 0; i < ATTRS_MAX; i++) {
        const uint64_t name = td_cur_uleb(cur);
        const uint64_t form = td_cur_uleb(cur);
        const int64_t constant = form == DW_FORM_implicit_const ? td_cur_sleb(cur) : 0;
        const uint16_t step = step_of(unit, form);

        if (cur->bad || (name == 0 && form == 0)) {
            abbrev->no_spaces = !holds_spaces(abbrev->tag, origin, declaration);
            return !cur->bad;
        }
        if (step == UINT16_MAX)
            return false;
        abbrevs->attrs =
            td_grow(abbrevs->attrs, &b->attrs_cap, b->attrs_len + 1, sizeof(*abbrevs->attrs));
        abbrevs->attrs[b->attrs_len++] = (struct td_abbrev_attr){
            .form = (uint16_t)form, .slot = slot_of(name), .constant = constant};
        abbrev->attr_count++;
        abbrev->sibling_last = name == DW_AT_sibling && form == DW_FORM_ref4;
        origin = origin || name == DW_AT_abstract_origin;
        declaration = declaration || name == DW_AT_declaration;
        add_step(b, abbrev, step);
    }
    return false;
}

/* Where an abbreviation of this code goes: at[code] as long as codes stay near their count. */
static struct td_abbrev *place(struct builder *b, uint64_t code)
{
    struct td_abbrevs *abbrevs = b->abbrevs;

    if (code >= DENSE_MAX || code > 4 * abbrevs->count + 64) {
        td_map_put(&abbrevs->sparse, code, 0, (uint32_t)abbrevs->others_len, NULL);
        abbrevs->others = td_grow(abbrevs->others, &b->others_cap, abbrevs->others_len + 1,
                                  sizeof(*abbrevs->others));
        return &abbrevs->others[abbrevs->others_len++];
    }
    abbrevs->at = td_grow(abbrevs->at, &b->at_cap, (size_t)code + 1, sizeof(*abbrevs->at));
    while (abbrevs->count <= code)
        abbrevs->at[abbrevs->count++] = (struct td_abbrev){0};
    return &abbrevs->at[code];
}

static struct td_abbrevs *compile(struct td_cur *cur, const struct td_dwarf_unit *unit)
{
    struct builder b = {.abbrevs = td_xcalloc(1, sizeof(*b.abbrevs))};

    b.abbrevs->attrs = td_grow(NULL, &b.attrs_cap, 1, sizeof(*b.abbrevs->attrs));
    b.abbrevs->steps = td_grow(NULL, &b.steps_cap, 1, sizeof(*b.abbrevs->steps));
    for (;;) {
        const uint64_t code = td_cur_uleb(cur);

        if (code == 0 || cur->bad)
            break;
        if (!td_dwarf_work(unit->dwarf, sizeof(struct td_abbrev)))
            td_cur_fail(cur);
        const uint64_t tag = td_cur_uleb(cur);
        struct td_abbrev abbrev = {.tag = (uint16_t)tag, .used = true, .role = role_of(tag)};

        abbrev.children = td_cur_u8(cur) != 0;
        if (!read_attrs(&b, cur, unit, &abbrev)) {
            td_abbrevs_free(b.abbrevs);
            return NULL;
        }
        *place(&b, code) = abbrev;
    }
    if (cur->bad || b.abbrevs->count + b.abbrevs->others_len == 0) {
        td_abbrevs_free(b.abbrevs);
        return NULL;
    }
    return b.abbrevs;
}

void td_abbrevs_free(struct td_abbrevs *abbrevs)
{
    if (!abbrevs)
        return;
    free(abbrevs->at);
    free(abbrevs->others);
    free(abbrevs->attrs);
    free(abbrevs->steps);
    td_map_release(&abbrevs->sparse);
    free(abbrevs);
}

const struct td_abbrevs *td_abbrevs_get(struct td_dwarf *dwarf, const struct td_dwarf_unit *unit)
{
    const uint64_t shape = (uint64_t)(unit->version <= 2) << 16 | (uint64_t)unit->offset_size << 8 |
                           unit->address_size;
    bool added = false;
    const uint32_t i = *td_map_put(&dwarf->abbrev_ids, unit->abbrev_offset, shape,
                                   (uint32_t)dwarf->abbrevs_len, &added);

    if (added) {
        struct td_cur cur = td_cur_at(dwarf->sections.abbrev, unit->abbrev_offset);

        dwarf->abbrevs = td_grow(dwarf->abbrevs, &dwarf->abbrevs_cap, dwarf->abbrevs_len + 1,
                                 sizeof(*dwarf->abbrevs));
        dwarf->abbrevs[dwarf->abbrevs_len++] = compile(&cur, unit);
    }
    return dwarf->abbrevs[i];
}

const struct td_abbrev *td_abbrevs_find_other(const struct td_abbrevs *abbrevs, uint64_t code)
{
    const uint32_t *i = td_map_find(&abbrevs->sparse, code, 0);

    return i ? &abbrevs->others[*i] : NULL;
}
