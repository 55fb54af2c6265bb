/* SPDX-License-Identifier: MIT */
/*
 * Files made by hand, for tests of call frame information: sections of chosen CIEs and FDEs, and a
 * small ELF image around one. Header only, so that a fuzz target of one source can use it.
 */
#ifndef TD_TESTS_UNWIND_SYNTHETIC_H
#define TD_TESTS_UNWIND_SYNTHETIC_H

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "symbolize/unwind/cfi.h"

/* Where the image's parts are, in memory. The code is at the file's end. */
#define SYNTHETIC_TEXT       0x1000
#define SYNTHETIC_TEXT_BYTES 0x1000
#define SYNTHETIC_FRAME      0x10000

static inline void synthetic_patch_u32(struct td_buf *buf, size_t pos, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        buf->data[pos + i] = (uint8_t)(value >> (8 * i));
}

/* Ends an entry that began at `start`: pads with DW_CFA_nop and writes the length. */
static inline void synthetic_end(struct td_buf *buf, size_t start)
{
    while (buf->len % 8 != 0)
        td_buf_u8(buf, 0);
    synthetic_patch_u32(buf, start, (uint32_t)(buf->len - start - 4));
}

/* A CIE of .eh_frame as gcc writes it: code 1, data -8, pc-relative 4-byte pointers. */
static inline size_t synthetic_cie(struct td_buf *buf, const char *augmentation, uint8_t return_reg,
                                   const uint8_t *program, size_t size)
{
    const size_t start = buf->len;

    td_buf_u32(buf, 0);
    td_buf_u32(buf, 0);
    td_buf_u8(buf, 1);
    td_buf_bytes(buf, augmentation, strlen(augmentation) + 1);
    td_buf_u8(buf, 1);    /* code alignment */
    td_buf_u8(buf, 0x78); /* data alignment: -8 */
    td_buf_u8(buf, return_reg);
    td_buf_u8(buf, 1);    /* augmentation data */
    td_buf_u8(buf, 0x1b); /* R: pcrel | sdata4 */
    td_buf_bytes(buf, program, size);
    synthetic_end(buf, start);
    return start;
}

/* An FDE of the CIE at `cie`, for [begin, begin + length). */
static inline void synthetic_fde(struct td_buf *buf, size_t cie, uint64_t begin, uint32_t length,
                                 const uint8_t *program, size_t size)
{
    const size_t start = buf->len;

    td_buf_u32(buf, 0);
    td_buf_u32(buf, (uint32_t)(buf->len - cie));
    td_buf_u32(buf, (uint32_t)(begin - (SYNTHETIC_FRAME + buf->len)));
    td_buf_u32(buf, length);
    td_buf_u8(buf, 0);
    td_buf_bytes(buf, program, size);
    synthetic_end(buf, start);
}

static inline void synthetic_program_header(struct td_buf *elf, uint32_t type, uint32_t flags,
                                            uint64_t address, uint64_t offset, uint64_t size)
{
    td_buf_u32(elf, type);
    td_buf_u32(elf, flags);
    td_buf_u64(elf, offset);
    td_buf_u64(elf, address);
    td_buf_u64(elf, address);
    td_buf_u64(elf, size);
    td_buf_u64(elf, size);
    td_buf_u64(elf, 0x1000);
}

static inline void synthetic_section(struct td_buf *elf, uint32_t name, uint32_t type,
                                     uint64_t address, uint64_t offset, uint64_t size)
{
    td_buf_u32(elf, name);
    td_buf_u32(elf, type);
    td_buf_u64(elf, address == SYNTHETIC_TEXT ? SHF_EXECINSTR : 0);
    td_buf_u64(elf, address);
    td_buf_u64(elf, offset);
    td_buf_u64(elf, size);
    td_buf_u64(elf, 0);
    td_buf_u64(elf, 1);
    td_buf_u64(elf, 0);
}

struct synthetic {
    enum td_cfi_arch arch;
    const struct td_buf *frames;
    const char *section; /* what they are called: ".eh_frame", ".debug_frame" */
    bool stripped;       /* without section headers: found by .eh_frame_hdr */
    const uint8_t *code; /* from SYNTHETIC_TEXT on; int3 follows */
    size_t code_size;
};

static inline void synthetic_elf(struct td_buf *elf, const struct synthetic *from)
{
    static const uint8_t ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1};
    const struct td_buf *frames = from->frames;
    const char *section = from->section;
    const bool stripped = from->stripped;
    const uint8_t *code = from->code;
    const size_t code_size = from->code_size;
    const uint64_t hdr = 64 + 3 * 56, cfi = hdr + 16;
    const uint64_t names = cfi + frames->len;
    const size_t name_size = strlen(section) + 1;
    const uint64_t headers = names + 1 + name_size, code_at = headers + 4 * 64;

    td_buf_bytes(elf, ident, sizeof(ident));
    td_buf_u16(elf, ET_DYN);
    td_buf_u16(elf, from->arch == TD_CFI_AARCH64 ? EM_AARCH64 : EM_X86_64);
    td_buf_u32(elf, 1);
    td_buf_u64(elf, SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES - 16); /* entry: without a rule */
    td_buf_u64(elf, 64);
    td_buf_u64(elf, headers);
    td_buf_u32(elf, 0);
    td_buf_u16(elf, 64);
    td_buf_u16(elf, 56);
    td_buf_u16(elf, 3);
    td_buf_u16(elf, 64);
    td_buf_u16(elf, stripped ? 0 : 4);
    td_buf_u16(elf, stripped ? 0 : 2);
    synthetic_program_header(elf, PT_LOAD, PF_R | PF_X, SYNTHETIC_TEXT, code_at,
                             SYNTHETIC_TEXT_BYTES);
    synthetic_program_header(elf, PT_LOAD, PF_R, SYNTHETIC_FRAME - 16, hdr, 16 + frames->len);
    synthetic_program_header(elf, PT_GNU_EH_FRAME, PF_R, SYNTHETIC_FRAME - 16, hdr, 12);
    td_buf_u32(elf, 0x3b031b01); /* version 1; pcrel sdata4, udata4, datarel sdata4 */
    td_buf_u32(elf, 12);         /* .eh_frame, from here */
    td_buf_u64(elf, 0);
    td_buf_bytes(elf, frames->data, frames->len);
    td_buf_u8(elf, 0);
    td_buf_bytes(elf, section, name_size);
    synthetic_section(elf, 0, SHT_NULL, 0, 0, 0);
    synthetic_section(elf, 1, SHT_PROGBITS, SYNTHETIC_FRAME, cfi, frames->len);
    synthetic_section(elf, 0, SHT_STRTAB, 0, names, 1 + name_size);
    synthetic_section(elf, 0, SHT_PROGBITS, SYNTHETIC_TEXT, code_at, SYNTHETIC_TEXT_BYTES);
    for (size_t i = 0; i < SYNTHETIC_TEXT_BYTES; i++)
        td_buf_u8(elf, i < code_size ? code[i] : 0xcc);
}

#endif
