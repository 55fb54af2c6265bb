/* SPDX-License-Identifier: MIT */
/* Finds call frame sections by section headers or, where those were stripped, by program headers.
 */
#include "symbolize/unwind/elf.h"

#include <elf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SECTION_MAX    (UINT64_C(1) << 30)
#define EH_FRAME_INDEX 0
#define DEBUG_INDEX    1

static int take_machine(struct td_unwind_elf *ret, const struct td_elf *elf, struct td_err *err)
{
    const uint16_t machine = td_elf_machine(elf);

    if (!td_elf_is_64(elf) || (machine != EM_X86_64 && machine != EM_AARCH64))
        return td_fail_at(err, TD_EUNSUPPORTED, 0, "ELF file of machine %u", machine);
    ret->arch = machine == EM_AARCH64 ? TD_CFI_AARCH64 : TD_CFI_X86_64;
    ret->entry = td_elf_entry(elf);
    return TD_OK;
}

static void take_segments(struct td_unwind_elf *ret, const struct td_elf *elf)
{
    for (size_t i = 0; i < td_elf_segment_count(elf); i++) {
        const struct td_elf_segment *s = td_elf_segment_at(elf, i);

        if (s->mem_size > UINT64_MAX - s->vaddr || s->file_size > UINT64_MAX - s->offset ||
            ret->segment_count == TD_UNWIND_SEGMENTS_MAX)
            continue;
        ret->segments[ret->segment_count++] =
            (struct td_unwind_segment){.offset = s->offset,
                                       .file_size = s->file_size,
                                       .address = s->vaddr,
                                       .memory_size = s->mem_size,
                                       .executable = s->executable};
    }
}

/* A copy: the file is closed before the table goes. */
static int take_frames(struct td_unwind_elf *ret, unsigned index, struct td_bytes bytes,
                       uint64_t address, uint64_t data_base, struct td_err *err)
{
    uint8_t *data = td_try_alloc(bytes.size + 1, 1);

    if (!data)
        return td_fail(err, TD_ENOMEM, "no memory for an ELF section");
    memcpy(data, bytes.data, bytes.size);
    ret->sections[index] = (struct td_cfi){.data = data,
                                           .size = bytes.size,
                                           .address = address,
                                           .data_base = data_base,
                                           .arch = ret->arch,
                                           .debug_frame = index == DEBUG_INDEX};
    return TD_OK;
}

/* What the section takes in memory: libelf would believe a compressed one that claims more. */
static uint64_t full_size(const struct td_elf *elf, size_t i)
{
    const struct td_elf_section *s = td_elf_section_at(elf, i);
    GElf_Chdr header;

    if (s->flags & SHF_COMPRESSED && gelf_getchdr(elf_getscn(td_elf_handle(elf), i), &header) &&
        header.ch_size > s->size)
        return header.ch_size;
    return s->size;
}

static int take_section(struct td_unwind_elf *ret, struct td_elf *elf, size_t i, unsigned index,
                        uint64_t data_base, struct td_err *err)
{
    const struct td_elf_section *s = td_elf_section_at(elf, i);
    struct td_bytes bytes;

    if (full_size(elf, i) > SECTION_MAX)
        return td_fail_at(err, TD_ELIMIT, s->offset, "ELF section of more than 1 GB");
    const int rc = td_elf_section_bytes(elf, s, &bytes, err);
    return rc < 0 ? rc : take_frames(ret, index, bytes, s->addr, data_base, err);
}

/* Segments hold more than code where a linker did not separate it from constants. */
static void take_code(struct td_unwind_elf *ret, const struct td_elf_section *s)
{
    if (s->type != SHT_PROGBITS || !(s->flags & SHF_EXECINSTR) || !s->size ||
        ret->code_count == TD_UNWIND_CODE_MAX || s->size > UINT64_MAX - s->addr)
        return;
    ret->code[ret->code_count++] = (struct td_unwind_code){s->addr, s->offset, s->size};
}

static void take_segments_as_code(struct td_unwind_elf *ret)
{
    for (unsigned i = 0; i < ret->segment_count && ret->code_count == 0; i++) {
        const struct td_unwind_segment *s = &ret->segments[i];
        if (s->executable)
            ret->code[ret->code_count++] =
                (struct td_unwind_code){s->address, s->offset, s->file_size};
    }
}

static int compare_code(const void *pa, const void *pb)
{
    const struct td_unwind_code *a = pa, *b = pb;

    return a->address < b->address ? -1 : a->address > b->address;
}

static int take_sections(struct td_unwind_elf *ret, struct td_elf *elf, uint64_t data_base,
                         struct td_err *err)
{
    static const char *const wanted[TD_UNWIND_SECTIONS] = {".eh_frame", ".debug_frame"};

    for (size_t i = 0; i < td_elf_section_count(elf); i++) {
        const struct td_elf_section *s = td_elf_section_at(elf, i);

        take_code(ret, s);
        if (s->type == SHT_NOBITS || s->size == 0)
            continue;
        for (unsigned k = 0; k < TD_UNWIND_SECTIONS; k++) {
            if (ret->sections[k].size || strcmp(s->name, wanted[k]) != 0)
                continue;
            const int rc = take_section(ret, elf, i, k, data_base, err);
            /* Damaged or unknown debug information does not cost the .eh_frame. */
            if (rc < 0 && k == EH_FRAME_INDEX)
                return rc;
        }
    }
    return TD_OK;
}

/* Without section headers: .eh_frame_hdr says where .eh_frame starts; a terminator ends it. */
static int take_by_header(struct td_unwind_elf *ret, const struct td_elf *elf,
                          const struct td_elf_segment *hdr, struct td_err *err)
{
    uint64_t address;
    struct td_bytes bytes;
    size_t pos = 4;

    if (hdr->file_size < 8 || hdr->file_size > SECTION_MAX)
        return TD_OK;
    int rc = td_elf_chunk(elf, hdr->offset, hdr->file_size, &bytes, err);
    if (rc < 0)
        return rc;
    if (bytes.data[0] != 1 || !td_cfi_pointer(bytes.data, bytes.size, &pos, bytes.data[1],
                                              hdr->vaddr, hdr->vaddr, &address))
        return TD_OK;
    for (size_t i = 0; i < td_elf_segment_count(elf); i++) {
        const struct td_elf_segment *s = td_elf_segment_at(elf, i);
        const uint64_t into = address - s->vaddr;

        if (address < s->vaddr || into >= s->file_size)
            continue;
        if (s->file_size - into > SECTION_MAX)
            return td_fail_at(err, TD_ELIMIT, s->offset, "ELF segment of more than 1 GB");
        rc = td_elf_chunk(elf, s->offset + into, s->file_size - into, &bytes, err);
        return rc < 0 ? rc : take_frames(ret, EH_FRAME_INDEX, bytes, address, hdr->vaddr, err);
    }
    return TD_OK;
}

int td_unwind_elf_read(struct td_unwind_elf *ret, struct td_elf *elf, struct td_err *err)
{
    struct td_unwind_elf made = {.segment_count = 0};
    struct td_elf_segment hdr = {.vaddr = 0};
    int rc = take_machine(&made, elf, err);

    if (rc == TD_OK) {
        take_segments(&made, elf);
        td_elf_program_header(elf, PT_GNU_EH_FRAME, &hdr);
        rc = take_sections(&made, elf, hdr.vaddr, err);
        if (made.sections[EH_FRAME_INDEX].size == 0 && hdr.vaddr)
            rc = take_by_header(&made, elf, &hdr, err);
        take_segments_as_code(&made);
        qsort(made.code, made.code_count, sizeof(*made.code), compare_code);
    }
    if (rc < 0) {
        td_unwind_elf_release(&made);
        return rc;
    }
    *ret = made;
    return TD_OK;
}

void td_unwind_elf_release(struct td_unwind_elf *elf)
{
    for (unsigned i = 0; i < TD_UNWIND_SECTIONS; i++) {
        free((void *)(uintptr_t)elf->sections[i].data);
        elf->sections[i] = (struct td_cfi){.size = 0};
    }
}
