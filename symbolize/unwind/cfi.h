/* SPDX-License-Identifier: MIT */
/*
 * Call frame information: .eh_frame (LSB core specification) and .debug_frame (DWARF 5, 6.4) as a
 * sequence of FDEs, and an FDE's program run into rows. Takes (data, size), trusts nothing in it,
 * allocates nothing.
 */
#ifndef TD_SYMBOLIZE_UNWIND_CFI_H
#define TD_SYMBOLIZE_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum td_cfi_arch { TD_CFI_X86_64, TD_CFI_AARCH64 };

/* DWARF numbers (x86-64 psABI 3.6.2, AADWARF64 4.1). Registers above are parsed and forgotten. */
enum {
    TD_CFI_X86_RBP = 6,
    TD_CFI_X86_RSP = 7,
    TD_CFI_X86_RA = 16,
    TD_CFI_A64_FP = 29,
    TD_CFI_A64_LR = 30,
    TD_CFI_A64_SP = 31,
    TD_CFI_A64_PC = 32,
    TD_CFI_REGISTERS = 33,
};

/* One section, as it lies in memory: pointers in it are relative to `address`. */
struct td_cfi {
    const uint8_t *data;
    size_t size;
    uint64_t address;   /* of data[0] */
    uint64_t data_base; /* what DW_EH_PE_datarel adds: the address of .eh_frame_hdr */
    enum td_cfi_arch arch;
    bool debug_frame; /* the layout of .debug_frame, not of .eh_frame */
};

/* Bytes of the section. */
struct td_cfi_span {
    size_t offset, size;
};

struct td_cfi_cie {
    size_t offset;
    uint64_t code_align;
    int64_t data_align;
    struct td_cfi_span program;
    uint8_t return_reg; /* may be TD_CFI_REGISTERS or more: then no frame can be left */
    uint8_t pointer_encoding;
    uint8_t address_bytes;
    bool has_augmentation; /* FDEs carry augmentation data */
    bool signal_frame;     /* 'S': the address that was interrupted is exact */
};

struct td_cfi_fde {
    size_t offset;
    uint64_t begin, end; /* addresses, end excluded */
    struct td_cfi_span program;
};

/* Goes through a section. Zero the struct, then set cfi and, to start elsewhere, pos. */
struct td_cfi_reader {
    const struct td_cfi *cfi;
    size_t pos;
    bool have_cie;
    struct td_cfi_cie cie; /* of the FDE read last */
};

/* The next FDE: 1 and *fde with reader->cie, 0 at the end of the section, TD_EFORMAT when this
 * entry cannot be understood. After TD_EFORMAT the reader stands behind the entry and may go on,
 * unless its length was damaged: then the next call returns 0. */
int td_cfi_next(struct td_cfi_reader *reader, struct td_cfi_fde *fde, struct td_err *err);

/* A pointer in an encoding of the LSB (DW_EH_PE_*), at data[*pos]; `address` is that of data[0].
 * False when it is damaged, omitted, indirect or of a kind that needs a function's address. */
bool td_cfi_pointer(const uint8_t *data, size_t size, size_t *pos, uint8_t encoding,
                    uint64_t address, uint64_t data_base, uint64_t *ret);

enum td_cfi_rule_kind {
    TD_CFI_UNSET = 0,  /* not mentioned: as SAME */
    TD_CFI_UNDEFINED,  /* cannot be recovered; of the return address: the outermost frame */
    TD_CFI_SAME,       /* unchanged */
    TD_CFI_SAVED,      /* at CFA + value */
    TD_CFI_VALUE,      /* is CFA + value */
    TD_CFI_REGISTER,   /* in register `reg`; of the CFA: reg + value */
    TD_CFI_SAVED_EXPR, /* at the address that expr gives */
    TD_CFI_VALUE_EXPR, /* is what expr gives */
};

struct td_cfi_rule {
    uint8_t kind; /* enum td_cfi_rule_kind */
    uint8_t reg;
    uint32_t expr_size;
    union {
        int64_t value;
        size_t expr; /* offset in the section */
    };
};

/* How to leave the frame. The CFA is REGISTER or VALUE_EXPR, or UNSET when no rule was given. */
struct td_cfi_row {
    struct td_cfi_rule cfa;
    struct td_cfi_rule regs[TD_CFI_REGISTERS];
};

/* Holds for addresses in [begin, end). Returns false to stop. */
typedef bool td_cfi_row_fn(void *ctx, uint64_t begin, uint64_t end, const struct td_cfi_row *row);

/* Runs the program of an FDE (of `cie`) and hands out its rows in order. Every instruction takes 1
 * from *budget: what bounds the time that a hostile file can take. TD_EFORMAT for a program that
 * cannot be followed (rows before it were handed out), TD_ELIMIT when the budget is used up. */
int td_cfi_rows(const struct td_cfi *cfi, const struct td_cfi_cie *cie,
                const struct td_cfi_fde *fde, uint64_t *budget, td_cfi_row_fn *fn, void *ctx,
                struct td_err *err);

/* Cursor helpers that base/bytes has no use for. */
struct td_rd;
int64_t td_cfi_sleb(struct td_rd *rd);

#endif
