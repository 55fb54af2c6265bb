/* SPDX-License-Identifier: MIT */
/*
 * The compact unwind table of one ELF file: 6 bytes a row (4 of address, 2 of rule), the rules
 * themselves once each, and an index over the addresses so that a lookup touches two or three
 * cache lines. Built in one pass over .eh_frame and .debug_frame; what they leave out is filled in
 * from prologues (unwind_scan). Read-only afterwards, so any thread may use it.
 */
#ifndef TD_SYMBOLIZE_UNWIND_TABLE_H
#define TD_SYMBOLIZE_UNWIND_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/unwind/cfi.h"
#include "symbolize/unwind/elf.h"

enum td_unwind_cfa_kind {
    TD_UNWIND_NONE = 0, /* no call frame information covers the address */
    TD_UNWIND_REG,      /* cfa_reg + cfa_offset */
    TD_UNWIND_DEREF,    /* *(cfa_reg + cfa_offset) + extra */
    TD_UNWIND_PLT,      /* rsp + 8, and 8 more when (rip & 15) >= extra */
    TD_UNWIND_ODD,      /* anything else: libunwind's work */
};

/* Where the caller's return address or frame pointer is. */
enum td_unwind_where {
    TD_UNWIND_SAME = 0, /* unchanged; of the return address: in the link register */
    TD_UNWIND_AT_CFA,   /* saved at CFA + offset */
    TD_UNWIND_AT_SP,    /* saved at this frame's stack pointer + offset */
    TD_UNWIND_AT_FP,    /* saved at this frame's frame pointer + offset */
    TD_UNWIND_IN_REG,   /* in the register whose number is offset */
    TD_UNWIND_UNDEFINED /* of the return address: the outermost frame */
};

/* 16 bytes without padding: compared and hashed as bytes. */
struct td_unwind_rule {
    int32_t cfa_offset;
    int16_t extra;
    int16_t ra_offset;
    int16_t fp_offset;
    uint8_t cfa_kind; /* enum td_unwind_cfa_kind */
    uint8_t cfa_reg;
    uint8_t ra_where; /* enum td_unwind_where */
    uint8_t fp_where;
    uint8_t signal_frame; /* the address in the caller is exact, not behind a call */
    uint8_t guessed;      /* not from call frame information: by the function's prologue */
};

struct td_unwind_fde {
    uint32_t pc;     /* offset from the table's base */
    uint32_t offset; /* of the entry in its section */
    uint32_t section;
};

struct td_unwind_table {
    uint64_t base; /* the address that row addresses count from */
    uint32_t *pcs; /* row_count, rising; the last one ends the table */
    uint16_t *row_rules;
    uint32_t row_count;
    struct td_unwind_rule *rules; /* rules[0] is TD_UNWIND_NONE */
    uint32_t rule_count;
    uint32_t *index; /* [i]: how many rows start below i << index_shift */
    uint32_t index_count;
    unsigned index_shift;
    struct td_unwind_fde *fdes; /* sorted, for full rows */
    uint32_t fde_count;
    uint32_t bad_count;     /* entries that were left out because they are damaged */
    uint32_t odd_count;     /* rows of kind ODD */
    uint32_t guessed_count; /* rows made from prologues */
    struct td_unwind_elf elf;
};

/* From an image in memory; it is not needed afterwards. A file without call frames gives a table
 * without rows. Damaged entries are left out and counted. Fails as td_elf_parse and
 * td_unwind_elf_read do. */
int td_unwind_table_new(struct td_unwind_table **ret, struct td_bytes image, struct td_err *err);
/* The same from a file, by descriptor (borrowed; `name` is for messages) or path; never mapped,
 * for it may be cut meanwhile. Also TD_ENOENT, TD_EIO, and TD_EUNSUPPORTED when it is not a
 * regular file. */
int td_unwind_table_from_fd(struct td_unwind_table **ret, const char *name, int fd,
                            struct td_err *err);
int td_unwind_table_open(struct td_unwind_table **ret, const char *path, struct td_err *err);
void td_unwind_table_free(struct td_unwind_table *table); /* NULL is allowed */

/* The rule at an address of the file; rules[0] where none covers it. Never NULL. */
const struct td_unwind_rule *td_unwind_table_find(const struct td_unwind_table *table,
                                                  uint64_t address)
    __attribute__((returns_nonnull));

/* The address of a byte of the file, by its segments. False when none holds it. */
bool td_unwind_table_address(const struct td_unwind_table *table, uint64_t file_offset,
                             uint64_t *address);

/* All that call frame information says of an address: TD_OK with *row and *section, TD_ENODATA when
 * no FDE covers it, TD_EFORMAT. */
struct td_unwind_full_row {
    struct td_cfi_row row;
    struct td_cfi_cie cie;
    const struct td_cfi *section; /* where the row's expressions are; borrowed from the table */
};
int td_unwind_table_full_row(const struct td_unwind_table *table, uint64_t address,
                             struct td_unwind_full_row *ret);

/* Bytes of memory that the table holds. */
size_t td_unwind_table_bytes(const struct td_unwind_table *table);

#endif
