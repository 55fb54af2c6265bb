/* SPDX-License-Identifier: MIT */
/*
 * Functions and inlined calls of a unit for many addresses at once. The entries are walked once;
 * the queries are sorted, so an entry finds those that it covers by its ranges, and the last one to
 * cover a query is the innermost. Nothing is kept of entries that cover none.
 */
#ifndef TD_SYMBOLIZE_DWARF_SCAN_H
#define TD_SYMBOLIZE_DWARF_SCAN_H

#include "symbolize/answers.h"
#include "symbolize/dwarf/dwarf.h"

struct td_scope {
    uint32_t parent;    /* the function or call around an inlined call; TD_NONE for a function */
    uint32_t function;  /* of the answers */
    uint32_t call_file; /* inlined calls: string of the answers */
    uint32_t call_line, call_column;
    bool transparent; /* what is inlined is nobody's own code: its instructions are the call's */
};

struct td_scanner {
    struct td_answers *answers;
    const struct td_ranges *code; /* where functions can be: others were discarded */
    struct td_scope *scopes;
    size_t scope_count, scope_cap;
    struct td_ranges ranges; /* scratch */
    unsigned nesting;        /* of functions that are being named */
    bool nested; /* the second scan: look for functions inside of functions and types, too */
    struct td_map by_origin; /* where an abstract function stands in memory -> function */
};

void td_scanner_release(struct td_scanner *scanner);
/* Walks `unit` (for split DWARF the unit in the .dwo), setting the queries' scopes. `lines` gives
 * the names of files of calls; may be NULL. False when the entries are damaged: what came before
 * counts. */
bool td_scanner_run(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                    struct td_dwarf_unit *lines, struct td_query *queries, size_t count);

/* The function that an entry is, with what its origin and specification say of it. */
uint32_t td_dwarf_function(struct td_scanner *scanner, struct td_dwarf_unit *unit,
                           struct td_dwarf_unit *lines, struct td_die *die);
/* The path of file `index` of the unit's line table; 0 when there is none. */
uint32_t td_dwarf_file_path(struct td_answers *answers, struct td_dwarf_unit *unit, uint64_t index);

#endif
