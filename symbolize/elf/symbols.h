/* SPDX-License-Identifier: MIT */
/* Names out of symbol tables, for addresses where DWARF has none. */
#ifndef TD_SYMBOLIZE_ELF_SYMBOLS_H
#define TD_SYMBOLIZE_ELF_SYMBOLS_H

#include "symbolize/elf/elf.h"

/* An address that is asked for, and the best symbol so far; name NULL when none holds it. */
struct td_symbol_query {
    uint64_t address;
    const char *name; /* borrowed from the ELF file */
    uint64_t value, size;
    int rank;
    bool plt; /* the entry in the procedure linkage table that jumps to `name` */
};

/* Ranks from here on are functions that others may call, without leading underscores. */
#define TD_SYMBOL_PUBLIC 13

/* Looks the queries (sorted by address) up in one table of the file: ".symtab" or ".dynsym".
 * `sections` is the file whose section headers say where code lies (the module's own). */
void td_symbols_lookup(struct td_elf *elf, const char *table, struct td_symbol_query *queries,
                       size_t count);
/* Names entries of procedure linkage tables (x86-64) after what they jump to. */
void td_symbols_plt(struct td_elf *elf, struct td_symbol_query *queries, size_t count);

#endif
