/* SPDX-License-Identifier: MIT */
/*
 * Debug information of one file. libdw reads it; this is what symbolization asks of it: the units
 * in order, an entry's attributes read once, code ranges, namespaces around a function, lines for
 * many sorted addresses at once. Attributes are those of the DWARF 5 standard; GNU extensions are
 * named so. Not for more than one thread.
 */
#ifndef TD_SYMBOLIZE_DWARF_DWARF_H
#define TD_SYMBOLIZE_DWARF_DWARF_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"
#include "symbolize/dwarf/image.h"
#include "symbolize/elf/elf.h"

/* The attributes that are kept of an entry: X(slot, DW_AT_ name); several names may share a slot.
 */
#define TD_DWARF_ATTRIBUTES(X)         \
    X(NAME, name)                      \
    X(LINKAGE_NAME, linkage_name)      \
    X(LINKAGE_NAME, MIPS_linkage_name) \
    X(LOW_PC, low_pc)                  \
    X(HIGH_PC, high_pc)                \
    X(RANGES, ranges)                  \
    X(ORIGIN, abstract_origin)         \
    X(SPECIFICATION, specification)    \
    X(DECL_FILE, decl_file)            \
    X(DECL_LINE, decl_line)            \
    X(CALL_FILE, call_file)            \
    X(CALL_LINE, call_line)            \
    X(CALL_COLUMN, call_column)        \
    X(ARTIFICIAL, artificial)          \
    X(LANGUAGE, language)              \
    X(STMT_LIST, stmt_list)            \
    X(COMP_DIR, comp_dir)              \
    X(DWO_NAME, dwo_name)              \
    X(DWO_NAME, GNU_dwo_name)          \
    X(ADDR_BASE, addr_base)            \
    X(ADDR_BASE, GNU_addr_base)        \
    X(GNU_RANGES_BASE, GNU_ranges_base)

enum td_dwarf_slot {
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
    TD_SLOT_ARTIFICIAL,
    TD_SLOT_LANGUAGE,
    TD_SLOT_STMT_LIST,
    TD_SLOT_COMP_DIR,
    TD_SLOT_DWO_NAME,
    TD_SLOT_ADDR_BASE,
    TD_SLOT_GNU_RANGES_BASE,
    TD_SLOT_COUNT
};

/* An entry and those of its attributes that are kept. */
struct td_die {
    Dwarf_Die die;
    uint32_t present; /* bit per slot */
    Dwarf_Attribute attr[TD_SLOT_COUNT];
};

static inline bool td_die_has(const struct td_die *die, enum td_dwarf_slot slot)
{
    return die->present >> slot & 1;
}

/* Reads the attributes of an entry. False when they are damaged. */
bool td_die_read(struct td_die *ret, const Dwarf_Die *die);
/* The same up to those that tell the entry's code, which stand before most others. */
bool td_die_read_code(struct td_die *ret, const Dwarf_Die *die);
/* An attribute as what it means. False or NULL when it is absent, of another class, or damaged. */
bool td_die_address(struct td_die *die, enum td_dwarf_slot slot, uint64_t *ret);
bool td_die_uint(struct td_die *die, enum td_dwarf_slot slot, uint64_t *ret);
const char *td_die_string(struct td_die *die, enum td_dwarf_slot slot);
/* The entry that an attribute refers to, in whichever unit or file. */
bool td_die_reference(struct td_die *die, enum td_dwarf_slot slot, Dwarf_Die *ret);

struct td_range {
    uint64_t low, high; /* [low, high) */
};

struct td_ranges {
    struct td_range *at;
    size_t len, cap;
};

void td_ranges_add(struct td_ranges *ranges, uint64_t low, uint64_t high);
/* Looks at each: for short lists. */
bool td_ranges_hold(const struct td_ranges *ranges, uint64_t address);
void td_ranges_release(struct td_ranges *ranges);

/* An entry that others stand in. The name of a namespace, class or function stands before those of
 * the functions inside; blocks and inlined calls only hold them. */
struct td_space {
    Dwarf_Die die;
    uint64_t start, end; /* offsets: the entry, and where its children end */
    size_t first, count; /* of the unit's spaces: those right inside, when they were listed */
    uint32_t around;     /* the named space that this one stands in, or TD_NONE */
    bool named, function, listed;
};

struct td_abbrev;
struct td_dwarf;
struct td_line_table;

/* Made when it is first met; lives as long as its file's td_dwarf. */
struct td_dwarf_unit {
    struct td_dwarf *dwarf; /* the module's, also for units of its supplementary file */
    struct td_die die;      /* its own entry */
    uint64_t offset;        /* of that entry */
    uint64_t size_bytes; /* up to the next unit's; 0 for the last, and for those of other files */
    uint64_t dwo_id;     /* skeletons and split units */
    uint16_t version;
    uint8_t type; /* DW_UT_* */
    uint8_t address_size;
    bool damaged;                     /* its entry could not be read */
    bool qualified;                   /* the language's names have namespaces */
    struct td_line_table *line_table; /* NULL until asked for */
    struct td_abbrev *abbrevs;        /* by code, as they were met; NULL until asked for */
    struct td_space *spaces;          /* the unit's own entry first; NULL until asked for */
    size_t space_count, space_cap;
};

/* Where lines and the names of their files stand. */
struct td_line_sections {
    bool loaded;
    struct td_bytes line, line_str, str;
};

struct td_dwarf {
    Dwarf *dw;    /* libdw's */
    Elf *own_elf; /* of an image in memory, or NULL: then it is the td_elf's */
    struct td_dwarf_image image;
    struct td_dwarf_unit **units; /* those of .debug_info itself, in order */
    size_t unit_count;
    struct td_dwarf_unit **met; /* all, by number in `by_cu` */
    size_t met_count, met_cap;
    struct td_map by_cu;
    struct td_line_sections line_sections[2]; /* its own; of the supplementary file */
    struct td_line_table **line_tables;       /* by number in `line_table_ids` */
    struct td_map line_table_ids;             /* by offset and file */
    size_t line_table_count, line_table_cap;
    bool skeleton;       /* split: files are named in the skeleton's line table */
    uint64_t work_left;  /* steps that reading may still take: see td_dwarf_work */
    uint64_t damaged_at; /* where in .debug_info the first damage was seen, or UINT64_MAX */
};

/* Opens the debug information of an ELF file, which must live on. Sections that libdw 0.188 cannot
 * decompress are handed to it decompressed. TD_EFORMAT when libdw refuses the file. */
int td_dwarf_open(struct td_dwarf **ret, struct td_elf *elf, struct td_err *err);
/* Over the bytes of an ELF file in memory, which must live on. */
int td_dwarf_open_image(struct td_dwarf **ret, struct td_bytes bytes, struct td_err *err);
void td_dwarf_free(struct td_dwarf *dwarf); /* NULL is allowed */
/* Remembers where the first damage was. */
void td_dwarf_damaged(struct td_dwarf *dwarf, uint64_t offset);
/* Takes `steps` off what reading may cost in all, which is many times what sound files need: tables
 * that are read again and again from many places would take for ever. False when it is used up. */
bool td_dwarf_work(struct td_dwarf *dwarf, uint64_t steps);
/* The tag of an entry of the unit, as dwarf_tag; for walks over many entries. */
int td_dwarf_tag(struct td_dwarf_unit *unit, Dwarf_Die *die);
/* Whether an entry whose tag was asked for says where its code ends. */
bool td_dwarf_has_code(struct td_dwarf_unit *unit, Dwarf_Die *die);
/* The unit that an entry stands in. NULL when it is damaged. */
struct td_dwarf_unit *td_dwarf_unit_of(struct td_dwarf *dwarf, const Dwarf_Die *die);

/* Replaces *ranges by the entry's code ranges, empty ones left out. */
void td_die_ranges(struct td_dwarf *dwarf, struct td_die *die, struct td_ranges *ranges);

/* The innermost named space around an entry of the unit, TD_NONE when it is at the top. Each space
 * is read once. */
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

/* Runs the unit's line program, and gives file, line and column to the queries (sorted by address)
 * that have none yet. Sequences that begin outside `code` belong to discarded functions and are
 * left out. False when the program is damaged: what came before counts. */
bool td_dwarf_unit_lines(struct td_dwarf_unit *unit, const struct td_ranges *code,
                         struct td_query *queries, size_t count);

#endif
