/* SPDX-License-Identifier: MIT */
/*
 * The header of a line program (DWARF 5, 6.2.4): its files, and where the program stands. libdw
 * would make a sorted table of all rows of a unit to tell the few that are asked for, and reads the
 * names of files with it.
 */
#ifndef TD_SYMBOLIZE_DWARF_LINE_TABLE_H
#define TD_SYMBOLIZE_DWARF_LINE_TABLE_H

#include "symbolize/dwarf/dwarf.h"

struct td_line_file {
    const char *name; /* NULL when it is damaged, or not to be had */
    uint64_t directory;
    uint32_t path; /* string of the answers; TD_NONE until asked for */
};

struct td_line_table {
    bool valid;
    uint16_t version;
    uint8_t address_size, offset_size;
    uint8_t min_instruction, max_operations, line_range, opcode_base;
    int8_t line_base;
    uint8_t operand_counts[256];
    struct td_bytes program;
    const char *comp_dir; /* NULL when the unit has none */
    const char **directories;
    size_t directory_count, directory_cap;
    struct td_line_file *files;
    size_t file_count, file_cap;
};

/* The table that the unit names, read once. NULL when it names none, or it is damaged. */
struct td_line_table *td_dwarf_line_table(struct td_dwarf_unit *unit);
void td_line_table_free(struct td_line_table *table);
/* The file's path, the caller's to free; NULL when the table has no such file. */
char *td_line_table_path(const struct td_line_table *table, uint64_t file);

#endif
