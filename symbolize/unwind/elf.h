/* SPDX-License-Identifier: MIT */
/*
 * What unwinding needs of an ELF file: its call frame sections and where its segments lie.
 */
#ifndef TD_SYMBOLIZE_UNWIND_ELF_H
#define TD_SYMBOLIZE_UNWIND_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/elf/elf.h"
#include "symbolize/unwind/cfi.h"

struct td_unwind_segment {
    uint64_t offset, file_size;
    uint64_t address, memory_size;
    bool executable;
};

enum { TD_UNWIND_SECTIONS = 2, TD_UNWIND_SEGMENTS_MAX = 32, TD_UNWIND_CODE_MAX = 32 };

/* Bytes of code: a section, or a whole segment where there are no section headers. */
struct td_unwind_code {
    uint64_t address, offset, size;
};

struct td_unwind_elf {
    enum td_cfi_arch arch;
    uint64_t entry;
    struct td_unwind_segment segments[TD_UNWIND_SEGMENTS_MAX]; /* PT_LOAD */
    unsigned segment_count;
    struct td_unwind_code code[TD_UNWIND_CODE_MAX]; /* by address */
    unsigned code_count;
    /* .eh_frame, then .debug_frame; size 0 when there is none. The bytes are owned. */
    struct td_cfi sections[TD_UNWIND_SECTIONS];
};

/* From a file that is not needed afterwards. TD_EFORMAT when it is damaged, TD_EUNSUPPORTED for
 * another class or machine, TD_ELIMIT for sections over 1 GB, TD_ENOMEM. A file without call
 * frames is no failure. */
int td_unwind_elf_read(struct td_unwind_elf *ret, struct td_elf *elf, struct td_err *err);
void td_unwind_elf_release(struct td_unwind_elf *elf);

#endif
