/* SPDX-License-Identifier: MIT */
/*
 * Line programs (DWARF 5, 6.2). No table of rows is ever built: the queries are sorted, so each row
 * is held against the next query while the program runs.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/model.h"
#include "symbolize/dwarf.h"

#define ENTRY_FORMATS_MAX 32

struct entry_format {
    uint64_t content[ENTRY_FORMATS_MAX];
    uint64_t form[ENTRY_FORMATS_MAX];
    size_t count;
};

static void add_directory(struct td_dwarf_lines *lines, size_t *cap, const char *name)
{
    lines->directories =
        td_grow(lines->directories, cap, lines->directory_count + 1, sizeof(*lines->directories));
    lines->directories[lines->directory_count++] = name;
}

static void add_file(struct td_dwarf_lines *lines, size_t *cap, const char *name,
                     uint64_t directory)
{
    lines->files = td_grow(lines->files, cap, lines->file_count + 1, sizeof(*lines->files));
    lines->files[lines->file_count++] =
        (struct td_dwarf_file){.name = name, .directory = directory, .id = TD_NONE};
}

/* Versions 2 to 4: directory 0 is the unit's own, files count from 1. */
static void read_old_tables(struct td_cur *cur, struct td_dwarf_lines *lines, const char *comp_dir)
{
    size_t directory_cap = 0, file_cap = 0;
    const char *name = NULL;

    add_directory(lines, &directory_cap, comp_dir);
    while ((name = td_cur_string(cur)) && name[0] != '\0')
        add_directory(lines, &directory_cap, name);
    add_file(lines, &file_cap, NULL, 0);
    while ((name = td_cur_string(cur)) && name[0] != '\0') {
        add_file(lines, &file_cap, name, td_cur_uleb(cur));
        td_cur_skip_leb(cur); /* time of change */
        td_cur_skip_leb(cur); /* size */
    }
}

static void read_format(struct td_cur *cur, struct entry_format *format)
{
    format->count = td_cur_u8(cur);
    if (format->count > ENTRY_FORMATS_MAX) {
        format->count = 0;
        td_cur_fail(cur);
    }
    for (size_t i = 0; i < format->count && !cur->bad; i++) {
        format->content[i] = td_cur_uleb(cur);
        format->form[i] = td_cur_uleb(cur);
        if (format->form[i] > UINT16_MAX)
            td_cur_fail(cur);
    }
}

static void read_entry(struct td_cur *cur, const struct td_dwarf_unit *shape,
                       const struct entry_format *format, const char **name, uint64_t *directory)
{
    *name = NULL;
    *directory = 0;
    for (size_t i = 0; i < format->count; i++) {
        struct td_dwarf_attr attr = {0};

        td_dwarf_form_read(cur, shape, (uint16_t)format->form[i], 0, &attr);
        if (cur->bad)
            return;
        if (format->content[i] == DW_LNCT_path)
            *name = td_dwarf_form_string(shape, &attr);
        else if (format->content[i] == DW_LNCT_directory_index)
            *directory = attr.value;
    }
}

static void read_v5_tables(struct td_cur *cur, struct td_dwarf_lines *lines,
                           const struct td_dwarf_unit *shape)
{
    struct entry_format format = {0};
    size_t directory_cap = 0, file_cap = 0;
    const char *name = NULL;
    uint64_t directory = 0;

    read_format(cur, &format);
    uint64_t count = td_cur_uleb(cur);
    if (count > td_cur_left(cur))
        td_cur_fail(cur);
    for (; count > 0 && !cur->bad; count--) {
        read_entry(cur, shape, &format, &name, &directory);
        add_directory(lines, &directory_cap, name);
    }
    read_format(cur, &format);
    count = td_cur_uleb(cur);
    if (count > td_cur_left(cur))
        td_cur_fail(cur);
    for (; count > 0 && !cur->bad; count--) {
        read_entry(cur, shape, &format, &name, &directory);
        add_file(lines, &file_cap, name, directory);
    }
}

/* The fields from the version to the opcode lengths. Sets shape's sizes to the program's. */
static struct td_cur read_fields(struct td_cur *cur, struct td_dwarf_lines *lines,
                                 struct td_dwarf_unit *shape)
{
    lines->version = td_cur_u16(cur);
    lines->address_size = shape->address_size;
    if (lines->version >= 5) {
        lines->address_size = td_cur_u8(cur);
        (void)td_cur_u8(cur); /* segment selector size */
    }
    const uint64_t header = td_cur_uint(cur, shape->offset_size);
    struct td_cur program = *cur;
    td_cur_skip(&program, header);
    lines->min_instruction = td_cur_u8(cur);
    lines->max_operations = lines->version >= 4 ? td_cur_u8(cur) : 1;
    (void)td_cur_u8(cur); /* default is_stmt: every row counts here */
    lines->line_base = (int8_t)td_cur_u8(cur);
    lines->line_range = td_cur_u8(cur);
    lines->opcode_base = td_cur_u8(cur);
    for (unsigned i = 1; i < lines->opcode_base; i++)
        lines->operand_counts[i] = td_cur_u8(cur);
    return program;
}

static void parse(struct td_dwarf_lines *lines, const struct td_dwarf_unit *unit)
{
    struct td_cur cur = td_cur_at(unit->dwarf->sections.line, unit->stmt_list);
    struct td_dwarf_unit shape = *unit;
    uint64_t length = td_cur_u32(&cur);

    shape.offset_size = 4;
    if (length == UINT32_MAX) {
        length = td_cur_u64(&cur);
        shape.offset_size = 8;
    }
    if (cur.bad || length > td_cur_left(&cur))
        return;
    cur.end = cur.p + length;
    const struct td_cur program = read_fields(&cur, lines, &shape);
    if (cur.bad || program.bad || lines->version < 2 || lines->version > 5 ||
        lines->opcode_base == 0 || (lines->address_size != 4 && lines->address_size != 8))
        return;
    cur.end = program.p; /* the tables end where the program begins */
    if (cur.p > cur.end)
        return;
    if (lines->version >= 5)
        read_v5_tables(&cur, lines, &shape);
    else
        read_old_tables(&cur, lines, unit->comp_dir);
    lines->program = (struct td_bytes){.data = program.p, .size = td_cur_left(&program)};
    lines->valid = !cur.bad;
}

struct td_dwarf_lines *td_dwarf_unit_lines(struct td_dwarf_unit *unit)
{
    struct td_dwarf *dwarf = unit->dwarf;
    bool added = false;

    if (unit->lines || unit->stmt_list == UINT64_MAX)
        return unit->lines && unit->lines->valid ? unit->lines : NULL;
    const uint32_t i =
        *td_map_put(&dwarf->line_ids, unit->stmt_list, 0, (uint32_t)dwarf->lines_len, &added);
    if (added) {
        dwarf->lines =
            td_grow(dwarf->lines, &dwarf->lines_cap, dwarf->lines_len + 1, sizeof(*dwarf->lines));
        dwarf->lines[dwarf->lines_len++] = td_xcalloc(1, sizeof(**dwarf->lines));
        parse(dwarf->lines[i], unit);
    }
    unit->lines = dwarf->lines[i];
    return unit->lines->valid ? unit->lines : NULL;
}

size_t td_query_lower(const struct td_query *queries, size_t count, uint64_t address)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (queries[mid].address < address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct row {
    uint64_t address;
    uint32_t operation; /* within the instruction, VLIW machines */
    uint32_t file, line, column;
};

/* The machine, and how far the queries have come. */
struct runner {
    const struct td_dwarf_lines *lines;
    const struct td_ranges *code;
    struct td_query *queries;
    size_t count;
    size_t next;           /* the first query that can still lie above `last` */
    uint64_t next_address; /* its address, or UINT64_MAX */
    bool in_sequence, discarded;
    struct row last; /* the row emitted before */
    struct row row;
};

static void reset(struct runner *r)
{
    r->row = (struct row){.file = 1, .line = 1};
    r->in_sequence = false;
}

static void seek(struct runner *r, uint64_t address)
{
    r->next = td_query_lower(r->queries, r->count, address);
    r->next_address = r->next < r->count ? r->queries[r->next].address : UINT64_MAX;
}

/* Gives the last row's position to the queries below `address`. */
static void give(struct runner *r, uint64_t address)
{
    for (; r->next < r->count && r->queries[r->next].address < address; r->next++) {
        struct td_query *q = &r->queries[r->next];

        if (q->has_line)
            continue;
        q->has_line = true;
        q->file = r->last.file;
        q->line = r->last.line;
        q->column = r->last.column;
    }
    r->next_address = r->next < r->count ? r->queries[r->next].address : UINT64_MAX;
}

static inline void emit(struct runner *r)
{
    const uint64_t address = r->row.address;

    if (__builtin_expect(!r->in_sequence, 0)) {
        r->in_sequence = true;
        r->discarded = !td_ranges_hold(r->code, address);
        if (!r->discarded)
            seek(r, address);
    } else if (!r->discarded) {
        if (address > r->next_address)
            give(r, address);
        else if (__builtin_expect(address < r->last.address, 0))
            seek(r, address);
    }
    r->last = r->row;
}

static inline void advance(struct runner *r, uint64_t operations)
{
    const struct td_dwarf_lines *lines = r->lines;

    if (__builtin_expect(lines->max_operations <= 1, 1)) {
        r->row.address += lines->min_instruction * operations;
        return;
    }
    const uint64_t sum = r->row.operation + operations;
    r->row.address += lines->min_instruction * (sum / lines->max_operations);
    r->row.operation = (uint32_t)(sum % lines->max_operations);
}

static void run_extended(struct runner *r, struct td_cur *cur)
{
    const uint64_t length = td_cur_uleb(cur);

    if (length == 0 || length > td_cur_left(cur)) {
        td_cur_fail(cur);
        return;
    }
    struct td_cur operation = {.p = cur->p, .end = cur->p + length};
    td_cur_skip(cur, length);
    switch (td_cur_u8(&operation)) {
    case DW_LNE_end_sequence:
        emit(r);
        reset(r);
        break;
    case DW_LNE_set_address:
        r->row.address = td_cur_uint(&operation, length - 1 < 8 ? (unsigned)length - 1 : 8);
        r->row.operation = 0;
        break;
    default: break; /* discriminators and the rest change nothing here */
    }
}

static void run_standard(struct runner *r, struct td_cur *cur, uint8_t opcode)
{
    switch (opcode) {
    case DW_LNS_copy: emit(r); break;
    case DW_LNS_advance_pc: advance(r, td_cur_uleb(cur)); break;
    case DW_LNS_advance_line: r->row.line += (uint32_t)td_cur_sleb(cur); break;
    case DW_LNS_set_file: r->row.file = (uint32_t)td_cur_uleb(cur); break;
    case DW_LNS_set_column: r->row.column = (uint32_t)td_cur_uleb(cur); break;
    case DW_LNS_negate_stmt:
    case DW_LNS_set_basic_block:
    case DW_LNS_set_prologue_end:
    case DW_LNS_set_epilogue_begin: break;
    case DW_LNS_const_add_pc:
        if (r->lines->line_range)
            advance(r, (255u - r->lines->opcode_base) / r->lines->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        r->row.address += td_cur_u16(cur);
        r->row.operation = 0;
        break;
    default:
        for (unsigned i = 0; i < r->lines->operand_counts[opcode]; i++)
            td_cur_skip_leb(cur);
        break;
    }
}

bool td_dwarf_lines_run(const struct td_dwarf_lines *lines, const struct td_ranges *code,
                        struct td_query *queries, size_t count)
{
    struct td_cur cur = td_cur_init(lines->program);
    struct runner r = {.lines = lines, .code = code, .queries = queries, .count = count};
    const unsigned base = lines->opcode_base;
    const unsigned range = lines->line_range ? lines->line_range : 1;

    reset(&r);
    while (cur.p < cur.end) {
        const uint8_t opcode = *cur.p++;

        if (opcode >= base) {
            const unsigned adjusted = opcode - base;

            advance(&r, adjusted / range);
            r.row.line += (uint32_t)(lines->line_base + (int)(adjusted % range));
            emit(&r);
        } else if (opcode == 0) {
            run_extended(&r, &cur);
        } else {
            run_standard(&r, &cur, opcode);
        }
    }
    return !cur.bad;
}
