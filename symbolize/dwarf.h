/* SPDX-License-Identifier: MIT */
/*
 * DWARF 2 to 5 as symbolization needs it: units, abbreviations compiled for fast skipping, the
 * attributes of function entries, ranges, line programs. Section and attribute numbers are those of
 * the DWARF 5 standard; GNU extensions are named so. All memory is the td_dwarf's.
 */
#ifndef TD_SYMBOLIZE_DWARF_H
#define TD_SYMBOLIZE_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "symbolize/cursor.h"

/* The sections that are read: X(member, name in the file without the dot). */
#define TD_DWARF_SECTIONS(X)            \
    X(info, "debug_info")               \
    X(abbrev, "debug_abbrev")           \
    X(line, "debug_line")               \
    X(str, "debug_str")                 \
    X(line_str, "debug_line_str")       \
    X(str_offsets, "debug_str_offsets") \
    X(addr, "debug_addr")               \
    X(ranges, "debug_ranges")           \
    X(rnglists, "debug_rnglists")

struct td_dwarf_sections {
#define X(member, name) struct td_bytes member;
    TD_DWARF_SECTIONS(X)
#undef X
};

/* The attributes that are kept of an entry: X(slot, DW_AT_ name); several names may share a slot.
 */
#define TD_DWARF_ATTRIBUTES(X)            \
    X(NAME, name)                         \
    X(LINKAGE_NAME, linkage_name)         \
    X(LINKAGE_NAME, MIPS_linkage_name)    \
    X(LOW_PC, low_pc)                     \
    X(HIGH_PC, high_pc)                   \
    X(RANGES, ranges)                     \
    X(ORIGIN, abstract_origin)            \
    X(SPECIFICATION, specification)       \
    X(DECL_FILE, decl_file)               \
    X(DECL_LINE, decl_line)               \
    X(CALL_FILE, call_file)               \
    X(CALL_LINE, call_line)               \
    X(CALL_COLUMN, call_column)           \
    X(SIBLING, sibling)                   \
    X(DECLARATION, declaration)           \
    X(LANGUAGE, language)                 \
    X(STMT_LIST, stmt_list)               \
    X(COMP_DIR, comp_dir)                 \
    X(DWO_NAME, dwo_name)                 \
    X(DWO_NAME, GNU_dwo_name)             \
    X(DWO_ID, GNU_dwo_id)                 \
    X(STR_OFFSETS_BASE, str_offsets_base) \
    X(ADDR_BASE, addr_base)               \
    X(ADDR_BASE, GNU_addr_base)           \
    X(RNGLISTS_BASE, rnglists_base)       \
    X(GNU_RANGES_BASE, GNU_ranges_base)

enum td_dwarf_slot {
    TD_SLOT_NONE,
    TD_SLOT_NAME,
    TD_SLOT_LINKAGE_NAME,
    TD_SLOT_LOW_PC,
    TD_SLOT_HIGH_PC,
    TD_SLOT_RANGES,
    TD_SLOT_ORIGIN,
    TD_SLOT_SPECIFICATION,
    TD_SLOT_DECL_FILE,
    TD_SLOT_DECL_LINE,
    TD_SLOT_CALL_FILE,
    TD_SLOT_CALL_LINE,
    TD_SLOT_CALL_COLUMN,
    TD_SLOT_SIBLING,
    TD_SLOT_DECLARATION,
    TD_SLOT_LANGUAGE,
    TD_SLOT_STMT_LIST,
    TD_SLOT_COMP_DIR,
    TD_SLOT_DWO_NAME,
    TD_SLOT_DWO_ID,
    TD_SLOT_STR_OFFSETS_BASE,
    TD_SLOT_ADDR_BASE,
    TD_SLOT_RNGLISTS_BASE,
    TD_SLOT_GNU_RANGES_BASE,
    TD_SLOT_COUNT
};

/* An attribute as it stands there: what `value` is depends on the form. */
struct td_dwarf_attr {
    uint64_t value; /* constants, offsets, indexes; a pointer for DW_FORM_string */
    uint16_t form;
};

/* What the scan does with an entry of a tag. */
enum td_dwarf_role {
    TD_DIE_OTHER,      /* its children may hold code */
    TD_DIE_NO_CODE,    /* its children cannot: enumerations, array and function types */
    TD_DIE_SUBPROGRAM, /* a function */
    TD_DIE_INLINED     /* an inlined call */
};

struct td_abbrev_attr {
    uint16_t form;
    uint8_t slot;     /* enum td_dwarf_slot */
    int64_t constant; /* DW_FORM_implicit_const */
};

struct td_abbrev {
    uint16_t tag;
    bool used; /* false: no such code */
    bool children;
    uint8_t role;      /* enum td_dwarf_role */
    bool sibling_last; /* the last attribute is DW_AT_sibling, of four bytes, as gcc puts it */
    bool no_spaces;    /* nothing inside gives names to functions: see struct td_space */
    uint16_t attr_count;
    uint16_t step_count;
    uint32_t attr_first;
    uint32_t step_first;
};

/* One abbreviation table, compiled for one kind of unit. Codes are nearly always 1, 2, 3, ... */
struct td_abbrevs {
    struct td_abbrev *at; /* by code, below `count` */
    size_t count;
    struct td_abbrev *others; /* of codes far above; `sparse` has their places */
    size_t others_len;
    struct td_map sparse;
    struct td_abbrev_attr *attrs;
    /* How to get past an entry's attributes: a number of bytes, or TD_STEP_*. */
    uint16_t *steps;
};

enum {
    TD_STEP_LEB = 0xfff0, /* lower values are numbers of bytes */
    TD_STEP_STRING,
    TD_STEP_BLOCK1,
    TD_STEP_BLOCK2,
    TD_STEP_BLOCK4,
    TD_STEP_BLOCK_LEB,
    TD_STEP_INDIRECT,
};

struct td_dwarf_file {
    const char *name;
    uint64_t directory;
    uint32_t id; /* of the answers' strings; TD_NONE until asked for */
};

/* The header of a line program: its files, and where the program stands. */
struct td_dwarf_lines {
    bool valid;
    uint16_t version;
    uint8_t min_instruction, max_operations, line_range, opcode_base;
    int8_t line_base;
    uint8_t address_size;
    uint8_t operand_counts[256];
    struct td_bytes program;
    const char **directories;
    size_t directory_count;
    struct td_dwarf_file *files;
    size_t file_count;
};

struct td_dwarf;

struct td_dwarf_unit {
    struct td_dwarf *dwarf;
    uint64_t offset, first_die, end; /* in .debug_info */
    uint64_t abbrev_offset, dwo_id;
    uint16_t version;
    uint8_t type; /* DW_UT_* */
    uint8_t offset_size, address_size;
    bool opened;                      /* what follows was read from the unit's entry */
    bool damaged;                     /* ... and could not be */
    bool has_code_ranges;             /* low_pc and high_pc, or ranges */
    const struct td_abbrevs *abbrevs; /* NULL when damaged */
    uint16_t tag;
    uint64_t low_pc;
    uint64_t str_offsets_base, addr_base, rnglists_base, gnu_ranges_base;
    uint64_t stmt_list;              /* UINT64_MAX when there is none */
    const char *comp_dir, *dwo_name; /* NULL when there is none */
    struct td_dwarf_lines *lines;    /* NULL until asked for */
    bool qualified;                  /* the language's names have namespaces */
    struct td_space *spaces;         /* by offset; NULL until asked for */
    size_t space_count;
};

/* A namespace, class or function whose name stands before those of the functions inside. */
struct td_space {
    uint64_t die, end; /* the entry, and where its children end */
    uint32_t parent;   /* of the unit's spaces, or TD_NONE */
    bool function;
};

struct td_dwarf {
    struct td_dwarf_sections sections;
    struct td_dwarf *alt; /* the supplementary file, borrowed; NULL */
    bool split;           /* a .dwo, or a unit out of a .dwp */
    struct td_dwarf_unit *units;
    size_t unit_count;
    struct td_arena arena;
    struct td_map abbrev_ids, line_ids; /* by offset -> index into the following */
    struct td_abbrevs **abbrevs;
    size_t abbrevs_len, abbrevs_cap;
    struct td_dwarf_lines **lines;
    size_t lines_len, lines_cap;
    unsigned needs_alt;  /* references that found no supplementary file */
    uint64_t work_left;  /* steps that reading may still take: see td_dwarf_work */
    uint64_t damaged_at; /* where in .debug_info the first damage was seen, or UINT64_MAX */
};

/* An entry that is kept: which attributes it has, and they. */
struct td_die {
    const struct td_abbrev *abbrev;
    uint64_t offset;
    uint32_t present; /* bit per slot */
    struct td_dwarf_attr attr[TD_SLOT_COUNT];
};

static inline bool td_die_has(const struct td_die *die, enum td_dwarf_slot slot)
{
    return die->present >> slot & 1;
}

struct td_range {
    uint64_t low, high; /* [low, high) */
};

struct td_ranges {
    struct td_range *at;
    size_t len, cap;
};

/* Reads the unit headers. Units after a damaged header are not there; damaged_at says so. The
 * sections are borrowed. */
void td_dwarf_init(struct td_dwarf *dwarf, const struct td_dwarf_sections *sections, bool split);
void td_dwarf_release(struct td_dwarf *dwarf);
/* Remembers where the first damage was. */
void td_dwarf_damaged(struct td_dwarf *dwarf, uint64_t offset);
/* Takes `steps` off what reading may cost in all, which is many times what sound files need: tables
 * that are read again and again from many places would take for ever. False when it is used up. */
bool td_dwarf_work(struct td_dwarf *dwarf, uint64_t steps);
/* The unit that holds the offset of .debug_info, or NULL. */
struct td_dwarf_unit *td_dwarf_unit_at(const struct td_dwarf *dwarf, uint64_t offset);
/* Reads the unit's own entry and abbreviations, once. False when they are damaged. */
bool td_dwarf_unit_open(struct td_dwarf_unit *unit, struct td_die *die);

/* The table at `offset` for units of this shape; NULL when it is damaged. Kept. */
const struct td_abbrevs *td_abbrevs_get(struct td_dwarf *dwarf, const struct td_dwarf_unit *unit);
void td_abbrevs_free(struct td_abbrevs *abbrevs);
/* NULL for a code that is not in the table. */
const struct td_abbrev *td_abbrevs_find_other(const struct td_abbrevs *abbrevs, uint64_t code);

static inline const struct td_abbrev *td_abbrevs_find(const struct td_abbrevs *abbrevs,
                                                      uint64_t code)
{
    if (__builtin_expect(code < abbrevs->count, 1))
        return abbrevs->at[code].used ? &abbrevs->at[code] : NULL;
    return td_abbrevs_find_other(abbrevs, code);
}

/* Goes past the attributes of an entry. */
void td_die_skip(struct td_cur *cur, const struct td_dwarf_unit *unit,
                 const struct td_abbrev *abbrev);
/* Behind an entry that was skipped: goes past its children too, when the entry says how. */
bool td_die_skip_children(struct td_cur *cur, const struct td_dwarf_unit *unit,
                          const struct td_abbrev *abbrev);
/* Reads the attributes of an entry whose code was just read. */
void td_die_read(struct td_cur *cur, const struct td_dwarf_unit *unit,
                 const struct td_abbrev *abbrev, struct td_die *die);
/* The entry at an offset of .debug_info inside the unit; false when there is none. */
bool td_die_at(struct td_dwarf_unit *unit, uint64_t offset, struct td_die *die);

/* An attribute as what it means. False or NULL when it is absent, of another class, or damaged. */
bool td_die_address(const struct td_dwarf_unit *unit, const struct td_die *die,
                    enum td_dwarf_slot slot, uint64_t *ret);
bool td_die_uint(const struct td_die *die, enum td_dwarf_slot slot, uint64_t *ret);
const char *td_die_string(const struct td_dwarf_unit *unit, const struct td_die *die,
                          enum td_dwarf_slot slot);
/* The offset of .debug_info (of the unit's own file) that DW_AT_sibling names. */
bool td_die_sibling(const struct td_dwarf_unit *unit, const struct td_die *die, uint64_t *ret);
/* Follows a reference: the unit there, opened, and the offset. NULL when it leads nowhere. */
struct td_dwarf_unit *td_die_reference(const struct td_dwarf_unit *unit, const struct td_die *die,
                                       enum td_dwarf_slot slot, uint64_t *offset);
/* Entry `index` of the unit's address table. */
bool td_dwarf_address_at(const struct td_dwarf_unit *unit, uint64_t index, uint64_t *ret);
/* A string out of .debug_str or .debug_line_str, as a form names it. */
const char *td_dwarf_form_string(const struct td_dwarf_unit *unit,
                                 const struct td_dwarf_attr *attr);
/* One value of a form; for blocks `value` is the length and the cursor stands behind them. */
void td_dwarf_form_read(struct td_cur *cur, const struct td_dwarf_unit *unit, uint16_t form,
                        int64_t constant, struct td_dwarf_attr *ret);

/* Replaces *ranges by the entry's code ranges, empty ones left out. */
void td_die_ranges(const struct td_dwarf_unit *unit, const struct td_die *die,
                   struct td_ranges *ranges);
void td_ranges_add(struct td_ranges *ranges, uint64_t low, uint64_t high);
/* Looks at each: for short lists. */
bool td_ranges_hold(const struct td_ranges *ranges, uint64_t address);
void td_ranges_release(struct td_ranges *ranges);

/* The unit's spaces, read once. */
void td_dwarf_unit_spaces(struct td_dwarf_unit *unit);
/* The innermost space around an entry of the unit, TD_NONE when it is at the top. */
uint32_t td_dwarf_space_around(struct td_dwarf_unit *unit, uint64_t offset);

/* An address that is asked for, and what was found for it so far. */
struct td_query {
    uint64_t address;
    uint32_t scope; /* innermost function or inlined call, or TD_NONE */
    uint32_t file;  /* of the unit's line table */
    uint32_t line, column;
    bool has_line;
};

/* The first query at or above the address. */
size_t td_query_lower(const struct td_query *queries, size_t count, uint64_t address);

/* The unit's line program header, or NULL when it has none or it is damaged. */
struct td_dwarf_lines *td_dwarf_unit_lines(struct td_dwarf_unit *unit);
/* Runs the program and gives file, line and column to the queries (sorted by address) that have
 * none yet. Sequences that begin outside `code` belong to discarded functions and are left out.
 * False when the program is damaged: what came before it counts. */
bool td_dwarf_lines_run(const struct td_dwarf_lines *lines, const struct td_ranges *code,
                        struct td_query *queries, size_t count);

#endif
