/* SPDX-License-Identifier: MIT */
/* Entries, their attributes read in one pass: libdw's own questions walk them once each. */
#include "symbolize/dwarf/dwarf.h"

static int slot_of(unsigned attribute)
{
    switch (attribute) {
#define X(slot, name) \
    case DW_AT_##name: return TD_SLOT_##slot;
        TD_DWARF_ATTRIBUTES(X)
#undef X
    default: return -1;
    }
}

static int keep(Dwarf_Attribute *attr, void *ctx)
{
    struct td_die *die = ctx;
    const int slot = slot_of(dwarf_whatattr(attr));

    if (slot >= 0 && !td_die_has(die, (enum td_dwarf_slot)slot)) {
        die->attr[slot] = *attr;
        die->present |= UINT32_C(1) << slot;
    }
    return DWARF_CB_OK;
}

bool td_die_read(struct td_die *ret, const Dwarf_Die *die)
{
    ret->die = *die;
    ret->present = 0;
    return dwarf_getattrs(&ret->die, keep, ret, 0) >= 0;
}

bool td_die_address(struct td_die *die, enum td_dwarf_slot slot, uint64_t *ret)
{
    Dwarf_Addr value = 0;

    if (!td_die_has(die, slot) || dwarf_formaddr(&die->attr[slot], &value) != 0)
        return false;
    *ret = value;
    return true;
}

bool td_die_uint(struct td_die *die, enum td_dwarf_slot slot, uint64_t *ret)
{
    Dwarf_Word value = 0;

    if (!td_die_has(die, slot) || dwarf_formudata(&die->attr[slot], &value) != 0)
        return false;
    *ret = value;
    return true;
}

const char *td_die_string(struct td_die *die, enum td_dwarf_slot slot)
{
    return td_die_has(die, slot) ? dwarf_formstring(&die->attr[slot]) : NULL;
}

bool td_die_reference(struct td_die *die, enum td_dwarf_slot slot, Dwarf_Die *ret)
{
    return td_die_has(die, slot) && dwarf_formref_die(&die->attr[slot], ret);
}
