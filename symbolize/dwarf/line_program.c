/* SPDX-License-Identifier: MIT */
/* Line programs (DWARF 5, 6.2). No table of rows is made: the queries are sorted, so that each row
 * is held against the next of them while the program runs. */
#include <string.h>

#include "base/search.h"
#include "symbolize/dwarf/line_table.h"

size_t td_query_lower(const struct td_query *queries, size_t count, uint64_t address)
{
    size_t low = 0;

    TD_SEARCH(low, count, i, queries[i].address < address)
    return low;
}

struct row {
    uint64_t address;
    uint32_t operation; /* inside the instruction: machines of very long ones */
    uint32_t file, line, column;
};

/* What a special opcode does (DWARF 5, 6.2.5.1). */
struct step {
    uint32_t operations;
    int32_t lines;
};

/* The machine, and how far the queries have come. */
struct runner {
    const struct td_line_table *table;
    const struct td_ranges *code;
    struct td_query *queries;
    size_t count;
    size_t next;           /* the first query that can lie above `last` */
    uint64_t next_address; /* its address, or UINT64_MAX */
    bool in_sequence, discarded;
    struct row last; /* the row before */
    struct row row;
    struct step steps[256]; /* by opcode */
};

static void reset(struct runner *r)
{
    r->row = (struct row){.file = 1, .line = 1};
    r->in_sequence = false;
}

static void go_to(struct runner *r, size_t next)
{
    r->next = next;
    r->next_address = next < r->count ? r->queries[next].address : UINT64_MAX;
}

/* Gives the last row's place to the queries below `address`. */
static void give(struct runner *r, uint64_t address)
{
    size_t i = r->next;

    for (; i < r->count && r->queries[i].address < address; i++) {
        struct td_query *q = &r->queries[i];

        if (q->has_line)
            continue;
        q->has_line = true;
        q->file = r->last.file;
        q->line = r->last.line;
        q->column = r->last.column;
    }
    go_to(r, i);
}

/* The row is done: what the one before says holds up to here. */
static inline void emit(struct runner *r)
{
    const uint64_t address = r->row.address;

    if (__builtin_expect(!r->in_sequence, 0)) {
        r->in_sequence = true;
        r->discarded = !td_ranges_hold(r->code, address);
        if (!r->discarded)
            go_to(r, td_query_lower(r->queries, r->count, address));
    } else if (!r->discarded) {
        if (address > r->next_address)
            give(r, address);
        else if (__builtin_expect(address < r->last.address, 0))
            go_to(r, td_query_lower(r->queries, r->count, address));
    }
    r->last = r->row;
}

static inline void advance(struct runner *r, uint64_t operations)
{
    const struct td_line_table *table = r->table;

    if (__builtin_expect(table->max_operations <= 1, 1)) {
        r->row.address += table->min_instruction * operations;
        return;
    }
    const uint64_t sum = r->row.operation + operations;
    r->row.address += table->min_instruction * (sum / table->max_operations);
    r->row.operation = (uint32_t)(sum % table->max_operations);
}

static void run_extended(struct runner *r, struct td_cur *cur)
{
    const uint64_t length = td_cur_uleb(cur);
    const uint8_t *const at = td_cur_bytes(cur, length);

    if (!at || length == 0) {
        cur->bad = true;
        return;
    }
    struct td_cur operation = {.at = at, .end = at + length};
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

static inline void run_standard(struct runner *r, struct td_cur *cur, uint8_t opcode)
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
        if (r->table->line_range)
            advance(r, r->steps[255].operations);
        break;
    case DW_LNS_fixed_advance_pc:
        r->row.address += td_cur_u16(cur);
        r->row.operation = 0;
        break;
    default:
        for (unsigned i = 0; i < r->table->operand_counts[opcode]; i++)
            (void)td_cur_uleb(cur);
        break;
    }
}

static void make_steps(struct runner *r)
{
    const struct td_line_table *table = r->table;
    const unsigned range = table->line_range ? table->line_range : 1;

    for (unsigned opcode = table->opcode_base; opcode < 256; opcode++) {
        const unsigned adjusted = opcode - table->opcode_base;

        r->steps[opcode] = (struct step){.operations = adjusted / range,
                                         .lines = table->line_base + (int)(adjusted % range)};
    }
}

static bool run(struct runner *r)
{
    struct td_cur cur = td_cur_init(r->table->program);
    const unsigned base = r->table->opcode_base;

    make_steps(r);
    reset(r);
    while (cur.at < cur.end) {
        const uint8_t opcode = *cur.at++;

        if (opcode >= base) {
            advance(r, r->steps[opcode].operations);
            r->row.line += (uint32_t)r->steps[opcode].lines;
            emit(r);
        } else if (opcode == 0) {
            run_extended(r, &cur);
        } else {
            run_standard(r, &cur, opcode);
        }
    }
    return !cur.bad;
}

bool td_dwarf_unit_lines(struct td_dwarf_unit *unit, const struct td_ranges *code,
                         struct td_query *queries, size_t count)
{
    const struct td_line_table *table = td_dwarf_line_table(unit);

    if (!table)
        return !td_die_has(&unit->die, TD_SLOT_STMT_LIST);
    if (!td_dwarf_work(unit->dwarf, table->program.size))
        return true;
    struct runner r = {.table = table, .code = code, .queries = queries, .count = count};
    return run(&r);
}
