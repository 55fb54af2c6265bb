/* SPDX-License-Identifier: MIT */
/* Entries, their attributes read in one pass: libdw's own questions walk them once each. */
#include "symbolize/dwarf/dwarf.h"

#include "base/mem.h"

/* Codes of abbreviations that take one byte (ULEB128). */
#define CODES 128

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

static bool read_die(struct td_die *ret, const Dwarf_Die *die,
                     int (*take)(Dwarf_Attribute *attr, void *ctx))
{
    ret->die = *die;
    ret->present = 0;
    return dwarf_getattrs(&ret->die, take, ret, 0) >= 0;
}

bool td_die_read(struct td_die *ret, const Dwarf_Die *die)
{
    return read_die(ret, die, keep);
}

static int keep_code(Dwarf_Attribute *attr, void *ctx)
{
    struct td_die *die = ctx;

    (void)keep(attr, die);
    return td_die_has(die, TD_SLOT_RANGES) ||
                   (td_die_has(die, TD_SLOT_LOW_PC) && td_die_has(die, TD_SLOT_HIGH_PC))
               ? DWARF_CB_ABORT
               : DWARF_CB_OK;
}

bool td_die_read_code(struct td_die *ret, const Dwarf_Die *die)
{
    return read_die(ret, die, keep_code);
}

/* libdw looks each entry's abbreviation up in a table with a lock, unless the entry has it already:
 * a fifth of the time that passing an entry takes. */
struct td_abbrev {
    Dwarf_Abbrev *libdw; /* NULL: not met */
    bool code;
};

static bool says_code(Dwarf_Die *die)
{
    return dwarf_hasattr(die, DW_AT_high_pc) || dwarf_hasattr(die, DW_AT_ranges);
}

/* Compilers give the usual ones codes of one byte. NULL: it has a longer one. */
static struct td_abbrev *abbrev_of(struct td_dwarf_unit *unit, const Dwarf_Die *die)
{
    const uint8_t code = *(const uint8_t *)die->addr;

    if (!unit->abbrevs)
        unit->abbrevs = td_xcalloc(CODES, sizeof(*unit->abbrevs));
    return code < CODES ? &unit->abbrevs[code] : NULL;
}

int td_dwarf_tag(struct td_dwarf_unit *unit, Dwarf_Die *die)
{
    struct td_abbrev *abbrev = abbrev_of(unit, die);

    if (abbrev && !die->abbrev)
        die->abbrev = abbrev->libdw;
    const int tag = dwarf_tag(die);
    if (abbrev && !abbrev->libdw && tag != DW_TAG_invalid)
        *abbrev = (struct td_abbrev){.libdw = die->abbrev, .code = says_code(die)};
    return tag;
}

bool td_dwarf_has_code(struct td_dwarf_unit *unit, Dwarf_Die *die)
{
    const struct td_abbrev *abbrev = abbrev_of(unit, die);

    return abbrev && abbrev->libdw ? abbrev->code : says_code(die);
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
