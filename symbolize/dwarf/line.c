/* SPDX-License-Identifier: MIT */
/* Lines out of libdw's tables, which are sorted by address as the queries are. */
#include "base/mem.h"
#include "symbolize/dwarf/dwarf.h"

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

static uint64_t address_of(Dwarf_Lines *lines, size_t i)
{
    Dwarf_Addr address = 0;

    (void)dwarf_lineaddr(dwarf_onesrcline(lines, i), &address);
    return address;
}

/* The first row above the address, from row `low` on. */
static size_t row_above(Dwarf_Lines *lines, size_t low, size_t count, uint64_t address)
{
    size_t high = count;

    for (size_t step = 1; low + step < count; step *= 2) {
        if (address_of(lines, low + step) > address) {
            high = low + step;
            break;
        }
        low += step;
    }
    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (address_of(lines, mid) > address)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static bool ends_sequence(Dwarf_Line *line)
{
    bool end = false;

    return dwarf_lineendsequence(line, &end) == 0 && end;
}

/* Whether a sequence ends at the address of a row; rows of one address stand in any order. */
static bool ends_there(Dwarf_Lines *lines, size_t row)
{
    const uint64_t address = address_of(lines, row);

    for (size_t i = row + 1; i-- > 0 && address_of(lines, i) == address;) {
        if (ends_sequence(dwarf_onesrcline(lines, i)))
            return true;
    }
    return false;
}

/* Functions that the linker discarded have their lines from address 0 on. Where these reach into
 * the code, rows of both stand mixed: no address below the result has a line that is certain. */
static uint64_t mixed_below(Dwarf_Lines *lines, size_t count, const struct td_ranges *code)
{
    size_t i = 0;

    while (i < count && !td_ranges_hold(code, address_of(lines, i)))
        i++;
    if (i == 0 || i == count || ends_there(lines, i - 1))
        return 0;
    while (i < count && !ends_sequence(dwarf_onesrcline(lines, i)))
        i++;
    return i < count ? address_of(lines, i) : UINT64_MAX;
}

/* `row` is the last one at or below the query, or the first of all. */
static void give(struct td_query *q, Dwarf_Lines *lines, size_t row)
{
    const uint64_t address = address_of(lines, row);
    int number = 0, column = 0;

    /* Where one sequence ends another may begin: libdw sorts its first row before that end. */
    while (row > 0 && ends_sequence(dwarf_onesrcline(lines, row)) &&
           address_of(lines, row - 1) == address)
        row--;
    Dwarf_Line *line = dwarf_onesrcline(lines, row);
    if (address > q->address || ends_sequence(line) || dwarf_lineno(line, &number) != 0)
        return;
    (void)dwarf_linecol(line, &column);
    q->has_line = true;
    q->file = dwarf_linesrc(line, NULL, NULL);
    q->line = number > 0 ? (uint32_t)number : 0;
    q->column = column > 0 ? (uint32_t)column : 0;
}

bool td_dwarf_unit_lines(struct td_dwarf_unit *unit, const struct td_ranges *code,
                         struct td_query *queries, size_t count)
{
    Dwarf_Lines *lines = NULL;
    size_t rows = 0, row = 0;

    if (!td_die_has(&unit->die, TD_SLOT_STMT_LIST))
        return true;
    if (dwarf_getsrclines(&unit->die.die, &lines, &rows) != 0)
        return false;
    if (!td_dwarf_work(unit->dwarf, rows))
        return true;
    const uint64_t mixed = mixed_below(lines, rows, code);
    for (size_t i = 0; i < count && rows > 0; i++) {
        row = row_above(lines, row, rows, queries[i].address);
        row -= row > 0;
        if (!queries[i].has_line && queries[i].address >= mixed)
            give(&queries[i], lines, row);
    }
    return true;
}
