/* SPDX-License-Identifier: MIT */
/* Finds call frame sections by section headers or, where those were stripped, by program headers.
 */
#include "symbolize/unwind/elf.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "base/bytes.h"
#include "base/mem.h"

#define SECTION_MAX    (UINT64_C(1) << 30)
#define HEADERS_MAX    65536
#define NAMES_MAX      (UINT64_C(1) << 24)
#define EH_FRAME_INDEX 0
#define DEBUG_INDEX    1

struct section {
    uint32_t name, type;
    uint64_t flags, address, offset, size;
};

/* The headers of a file, as far as they have been read. */
struct headers {
    const struct td_unwind_image *image;
    uint64_t phoff, shoff;
    unsigned phentsize, phnum, shentsize, shnum, shstrndx;
    uint64_t hdr_address, hdr_offset, hdr_size; /* PT_GNU_EH_FRAME */
};

int td_unwind_image_read(const struct td_unwind_image *image, uint64_t offset, uint64_t size,
                         uint8_t **ret, struct td_err *err)
{
    uint8_t *data;
    size_t done = 0;

    if (offset > image->size || size > image->size - offset)
        return td_fail_at(err, TD_EFORMAT, offset, "ELF file refers to bytes behind its end");
    if (size > SECTION_MAX)
        return td_fail_at(err, TD_ELIMIT, offset, "ELF section of more than 1 GB");
    data = td_try_alloc((size_t)size + 1, 1);
    if (!data)
        return td_fail(err, TD_ENOMEM, "no memory for an ELF section");
    if (image->data) {
        memcpy(data, image->data + offset, (size_t)size);
        done = (size_t)size;
    }
    while (done < size) {
        const ssize_t n =
            pread(image->fd, data + done, (size_t)size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            free(data);
            return n < 0 ? td_fail_errno(err, TD_EIO, errno, "cannot read ELF file")
                         : td_fail_at(err, TD_EFORMAT, offset + done, "ELF file was cut");
        }
        done += (size_t)n;
    }
    *ret = data;
    return TD_OK;
}

static int read_header(struct td_unwind_elf *elf, struct headers *h, struct td_err *err)
{
    uint8_t *data = NULL;
    int rc = td_unwind_image_read(h->image, 0, sizeof(Elf64_Ehdr), &data, err);

    if (rc < 0)
        return rc;
    struct td_rd rd = td_rd_init(data, sizeof(Elf64_Ehdr), 0);
    rd.pos = EI_NIDENT + 2;
    const unsigned machine = td_rd_u16(&rd);
    td_rd_u32(&rd);
    elf->entry = td_rd_u64(&rd);
    h->phoff = td_rd_u64(&rd);
    h->shoff = td_rd_u64(&rd);
    td_rd_u32(&rd);
    td_rd_u16(&rd);
    h->phentsize = td_rd_u16(&rd);
    h->phnum = td_rd_u16(&rd);
    h->shentsize = td_rd_u16(&rd);
    h->shnum = td_rd_u16(&rd);
    h->shstrndx = td_rd_u16(&rd);
    if (memcmp(data, ELFMAG, SELFMAG) != 0)
        rc = td_fail_at(err, TD_EFORMAT, 0, "not an ELF file");
    else if (data[EI_CLASS] != ELFCLASS64 || data[EI_DATA] != ELFDATA2LSB ||
             (machine != EM_X86_64 && machine != EM_AARCH64))
        rc = td_fail_at(err, TD_EUNSUPPORTED, 0, "ELF file of machine %u", machine);
    elf->arch = machine == EM_AARCH64 ? TD_CFI_AARCH64 : TD_CFI_X86_64;
    free(data);
    return rc;
}

static void take_program_header(struct td_unwind_elf *elf, struct headers *h, struct td_rd *rd)
{
    const uint32_t type = td_rd_u32(rd);
    const uint32_t flags = td_rd_u32(rd);
    struct td_unwind_segment s;

    s.offset = td_rd_u64(rd);
    s.address = td_rd_u64(rd);
    td_rd_u64(rd);
    s.file_size = td_rd_u64(rd);
    s.memory_size = td_rd_u64(rd);
    s.executable = flags & PF_X;
    if (!td_rd_ok(rd) || s.memory_size > UINT64_MAX - s.address ||
        s.file_size > UINT64_MAX - s.offset)
        return;
    if (type == PT_LOAD && elf->segment_count < TD_UNWIND_SEGMENTS_MAX)
        elf->segments[elf->segment_count++] = s;
    if (type == PT_GNU_EH_FRAME) {
        h->hdr_address = s.address;
        h->hdr_offset = s.offset;
        h->hdr_size = s.file_size;
    }
}

static int read_segments(struct td_unwind_elf *elf, struct headers *h, struct td_err *err)
{
    uint8_t *data = NULL;
    int rc;

    if (h->phnum == 0)
        return TD_OK;
    if (h->phentsize < sizeof(Elf64_Phdr))
        return td_fail_at(err, TD_EFORMAT, h->phoff, "ELF program headers of a wrong size");
    rc = td_unwind_image_read(h->image, h->phoff, (uint64_t)h->phnum * h->phentsize, &data, err);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < h->phnum; i++) {
        struct td_rd rd = td_rd_init(data + (size_t)i * h->phentsize, sizeof(Elf64_Phdr), 0);
        take_program_header(elf, h, &rd);
    }
    free(data);
    return TD_OK;
}

static struct section section_at(const uint8_t *headers, const struct headers *h, unsigned i)
{
    struct td_rd rd = td_rd_init(headers + (size_t)i * h->shentsize, sizeof(Elf64_Shdr), 0);
    struct section s;

    s.name = td_rd_u32(&rd);
    s.type = td_rd_u32(&rd);
    s.flags = td_rd_u64(&rd);
    s.address = td_rd_u64(&rd);
    s.offset = td_rd_u64(&rd);
    s.size = td_rd_u64(&rd);
    return s;
}

/* SHF_COMPRESSED with zlib, the only kind that Debian 12's tools write. */
static int inflate_section(const uint8_t *data, size_t size, uint8_t **ret, size_t *ret_size,
                           struct td_err *err)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    const uint32_t type = td_rd_u32(&rd);
    td_rd_u32(&rd);
    const uint64_t full = td_rd_u64(&rd);
    td_rd_u64(&rd);
    uLongf length = full;
    uint8_t *out;

    if (!td_rd_ok(&rd) || type != ELFCOMPRESS_ZLIB)
        return td_fail(err, TD_EUNSUPPORTED, "section compressed by method %u", type);
    /* zlib's best is 1032 to 1. */
    if (full > SECTION_MAX || full / 1040 > size)
        return td_fail(err, TD_EFORMAT, "compressed section that claims an impossible size");
    out = td_try_alloc((size_t)full + 1, 1);
    if (!out)
        return td_fail(err, TD_ENOMEM, "no memory for a compressed section");
    if (uncompress(out, &length, data + rd.pos, td_rd_left(&rd)) != Z_OK || length != full) {
        free(out);
        return td_fail(err, TD_EFORMAT, "compressed section is damaged");
    }
    *ret = out;
    *ret_size = (size_t)full;
    return TD_OK;
}

static int take_section(struct td_unwind_elf *elf, const struct headers *h, const struct section *s,
                        unsigned index, struct td_err *err)
{
    uint8_t *data = NULL, *full = NULL;
    size_t size = (size_t)s->size;
    int rc = td_unwind_image_read(h->image, s->offset, s->size, &data, err);

    if (rc < 0)
        return rc;
    if (s->flags & SHF_COMPRESSED) {
        rc = inflate_section(data, size, &full, &size, err);
        free(data);
        if (rc < 0)
            return rc;
        data = full;
    }
    elf->sections[index] = (struct td_cfi){.data = data,
                                           .size = size,
                                           .address = s->address,
                                           .data_base = h->hdr_address,
                                           .arch = elf->arch,
                                           .debug_frame = index == DEBUG_INDEX};
    return TD_OK;
}

/* Segments hold more than code where a linker did not separate it from constants. */
static void take_code(struct td_unwind_elf *elf, const struct section *s)
{
    if (s->type != SHT_PROGBITS || !(s->flags & SHF_EXECINSTR) || !s->size ||
        elf->code_count == TD_UNWIND_CODE_MAX || s->size > UINT64_MAX - s->address)
        return;
    elf->code[elf->code_count++] = (struct td_unwind_code){s->address, s->offset, s->size};
}

static void take_segments_as_code(struct td_unwind_elf *elf)
{
    for (unsigned i = 0; i < elf->segment_count && elf->code_count == 0; i++) {
        const struct td_unwind_segment *s = &elf->segments[i];
        if (s->executable)
            elf->code[elf->code_count++] =
                (struct td_unwind_code){s->address, s->offset, s->file_size};
    }
}

static int compare_code(const void *pa, const void *pb)
{
    const struct td_unwind_code *a = pa, *b = pb;

    return a->address < b->address ? -1 : a->address > b->address;
}

static int take_named_sections(struct td_unwind_elf *elf, const struct headers *h,
                               const uint8_t *headers, const char *names, uint64_t names_size,
                               struct td_err *err)
{
    static const char *const wanted[TD_UNWIND_SECTIONS] = {".eh_frame", ".debug_frame"};

    for (unsigned i = 0; i < h->shnum; i++) {
        const struct section s = section_at(headers, h, i);
        take_code(elf, &s);
        if (s.type == SHT_NOBITS || s.size == 0 || s.name >= names_size)
            continue;
        for (unsigned k = 0; k < TD_UNWIND_SECTIONS; k++) {
            if (elf->sections[k].size || strcmp(names + s.name, wanted[k]) != 0)
                continue;
            const int rc = take_section(elf, h, &s, k, err);
            /* Damaged or unknown debug information does not cost the .eh_frame. */
            if (rc < 0 && k == EH_FRAME_INDEX)
                return rc;
        }
    }
    return TD_OK;
}

static int read_sections(struct td_unwind_elf *elf, const struct headers *h, struct td_err *err)
{
    uint8_t *headers = NULL, *names = NULL;
    int rc;

    if (h->shnum == 0 || h->shentsize < sizeof(Elf64_Shdr) || h->shstrndx >= h->shnum)
        return TD_OK;
    rc = td_unwind_image_read(h->image, h->shoff, (uint64_t)h->shnum * h->shentsize, &headers, err);
    if (rc < 0)
        return rc;
    const struct section s = section_at(headers, h, h->shstrndx);
    if (s.size <= NAMES_MAX)
        rc = td_unwind_image_read(h->image, s.offset, s.size, &names, err);
    if (rc == TD_OK && names) /* td_unwind_image_read puts a 0 behind them */
        rc = take_named_sections(elf, h, headers, (const char *)names, s.size, err);
    free(names);
    free(headers);
    return rc;
}

static bool address_to_offset(const struct td_unwind_elf *elf, uint64_t address, uint64_t *offset,
                              uint64_t *left)
{
    for (unsigned i = 0; i < elf->segment_count; i++) {
        const struct td_unwind_segment *s = &elf->segments[i];
        if (address < s->address || address - s->address >= s->file_size)
            continue;
        *offset = s->offset + (address - s->address);
        *left = s->file_size - (address - s->address);
        return true;
    }
    return false;
}

/* Without section headers: .eh_frame_hdr says where .eh_frame starts; a terminator ends it. */
static int read_by_header(struct td_unwind_elf *elf, const struct headers *h, struct td_err *err)
{
    uint8_t *data = NULL;
    struct section s = {.type = SHT_PROGBITS};
    size_t pos = 4;
    int rc;

    if (h->hdr_size < 8 || h->hdr_size > SECTION_MAX)
        return TD_OK;
    rc = td_unwind_image_read(h->image, h->hdr_offset, h->hdr_size, &data, err);
    if (rc < 0)
        return rc;
    if (data[0] == 1 &&
        td_cfi_pointer(data, (size_t)h->hdr_size, &pos, data[1], h->hdr_address, h->hdr_address,
                       &s.address) &&
        address_to_offset(elf, s.address, &s.offset, &s.size))
        rc = take_section(elf, h, &s, EH_FRAME_INDEX, err);
    free(data);
    return rc;
}

int td_unwind_elf_read(struct td_unwind_elf *ret, const struct td_unwind_image *image,
                       struct td_err *err)
{
    struct headers h = {.image = image};
    struct td_unwind_elf elf = {.segment_count = 0};
    int rc = read_header(&elf, &h, err);

    if (rc == TD_OK)
        rc = read_segments(&elf, &h, err);
    if (rc == TD_OK) {
        rc = read_sections(&elf, &h, err);
        if (elf.sections[EH_FRAME_INDEX].size == 0 && h.hdr_address)
            rc = read_by_header(&elf, &h, err);
        take_segments_as_code(&elf);
        qsort(elf.code, elf.code_count, sizeof(*elf.code), compare_code);
    }
    if (rc < 0) {
        td_unwind_elf_release(&elf);
        return rc;
    }
    *ret = elf;
    return TD_OK;
}

void td_unwind_elf_release(struct td_unwind_elf *elf)
{
    for (unsigned i = 0; i < TD_UNWIND_SECTIONS; i++) {
        free((void *)(uintptr_t)elf->sections[i].data);
        elf->sections[i] = (struct td_cfi){.size = 0};
    }
}
