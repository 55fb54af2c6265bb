/* SPDX-License-Identifier: MIT */
/* Sections of CIEs and FDEs: lengths, augmentations, pointer encodings. */
#include "symbolize/unwind/cfi.h"

#include <string.h>

#include "base/bytes.h"

/* Pointer encodings (LSB core, "DWARF Exception Header Encoding"). */
enum {
    PE_ABSPTR = 0x00,
    PE_ULEB128 = 0x01,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SLEB128 = 0x09,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_FORMAT = 0x0f,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_ALIGNED = 0x50,
    PE_BASE = 0x70,
    PE_INDIRECT = 0x80,
    PE_OMIT = 0xff,
};

int64_t td_cfi_sleb(struct td_rd *rd)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = td_rd_u8(rd);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (shift > 7 * TD_LEB_MAX)
            td_rd_fail(rd);
    } while ((byte & 0x80) && td_rd_ok(rd));
    if (shift < 64 && (byte & 0x40))
        value |= UINT64_MAX << shift;
    return td_rd_ok(rd) ? (int64_t)value : 0;
}

/* The bare number of a pointer encoding; what it is relative to comes after. */
static bool read_number(struct td_rd *rd, uint8_t encoding, uint64_t *ret)
{
    switch (encoding & PE_FORMAT) {
    case PE_ABSPTR:
    case PE_UDATA8:
    case PE_SDATA8: *ret = td_rd_u64(rd); break;
    case PE_ULEB128: *ret = td_rd_uleb(rd); break;
    case PE_UDATA2: *ret = td_rd_u16(rd); break;
    case PE_UDATA4: *ret = td_rd_u32(rd); break;
    case PE_SLEB128: *ret = (uint64_t)td_cfi_sleb(rd); break;
    case PE_SDATA2: *ret = (uint64_t)(int64_t)(int16_t)td_rd_u16(rd); break;
    case PE_SDATA4: *ret = (uint64_t)(int64_t)(int32_t)td_rd_u32(rd); break;
    default: return false;
    }
    return td_rd_ok(rd);
}

bool td_cfi_pointer(const uint8_t *data, size_t size, size_t *pos, uint8_t encoding,
                    uint64_t address, uint64_t data_base, uint64_t *ret)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    uint64_t value;

    if (encoding == PE_OMIT || (encoding & PE_INDIRECT) || *pos > size)
        return false;
    rd.pos = *pos;
    if ((encoding & PE_BASE) == PE_ALIGNED) {
        const uint64_t at = address + rd.pos;
        td_rd_bytes(&rd, (size_t)(-at & 7));
    }
    const uint64_t here = address + rd.pos;
    if (!read_number(&rd, encoding, &value))
        return false;
    switch (encoding & PE_BASE) {
    case PE_ABSPTR:
    case PE_ALIGNED: break;
    case PE_PCREL: value += here; break;
    case PE_DATAREL: value += data_base; break;
    default: return false; /* textrel and funcrel: no producer for these machines */
    }
    *pos = rd.pos;
    *ret = value;
    return true;
}

/* What stands before every CIE and FDE. */
struct entry {
    size_t offset, end; /* of the whole entry */
    size_t id_pos;      /* where the id or CIE pointer stands */
    uint64_t id;
    uint8_t id_bytes;
};

/* 1 and *entry, 0 at the end (a terminator or no bytes left), TD_EFORMAT for a bad length. */
static int read_entry(const struct td_cfi *cfi, size_t offset, struct entry *entry,
                      struct td_err *err)
{
    struct td_rd rd = td_rd_init(cfi->data, cfi->size, 0);
    uint64_t length;

    if (offset >= cfi->size || cfi->size - offset < 4)
        return 0;
    rd.pos = offset;
    length = td_rd_u32(&rd);
    if (length == 0)
        return 0;
    entry->id_bytes = 4;
    if (length == UINT32_MAX) {
        length = td_rd_u64(&rd);
        entry->id_bytes = cfi->debug_frame ? 8 : 4;
    }
    if (!td_rd_ok(&rd) || length > td_rd_left(&rd) || length < entry->id_bytes)
        return td_fail_at(err, TD_EFORMAT, offset, "call frame entry with an impossible length");
    entry->offset = offset;
    entry->id_pos = rd.pos;
    entry->end = rd.pos + (size_t)length;
    entry->id = entry->id_bytes == 8 ? td_rd_u64(&rd) : td_rd_u32(&rd);
    return 1;
}

static bool entry_is_cie(const struct td_cfi *cfi, const struct entry *entry)
{
    if (!cfi->debug_frame)
        return entry->id == 0;
    return entry->id == (entry->id_bytes == 8 ? UINT64_MAX : UINT32_MAX);
}

/* The letters after 'z' and their data. False for one whose data has an unknown size. */
static bool read_augmentation(const struct td_cfi *cfi, const char *letters, struct td_rd *rd,
                              struct td_cfi_cie *cie)
{
    uint64_t ignored;
    uint8_t encoding;

    for (; *letters; letters++) {
        switch (*letters) {
        case 'R': cie->pointer_encoding = td_rd_u8(rd); break;
        case 'L': td_rd_u8(rd); break;
        case 'S': cie->signal_frame = true; break;
        case 'B': break; /* aarch64: return addresses are signed with the B key */
        case 'P':
            encoding = td_rd_u8(rd);
            if (!td_rd_ok(rd) ||
                !td_cfi_pointer(cfi->data, rd->size, &rd->pos, encoding & (uint8_t)~PE_INDIRECT,
                                cfi->address, 0, &ignored))
                return false;
            break;
        default: return false;
        }
    }
    return td_rd_ok(rd);
}

/* Everything between the version and the augmentation. */
static bool read_cie_head(struct td_rd *rd, struct td_cfi_cie *cie, const char **letters)
{
    const uint8_t version = td_rd_u8(rd);
    const char *text = (const char *)rd->data + rd->pos;

    if (!td_rd_ok(rd) || (version != 1 && version != 3 && version != 4) ||
        !memchr(text, 0, td_rd_left(rd)))
        return false;
    td_rd_bytes(rd, strlen(text) + 1);
    if (strcmp(text, "eh") == 0) {
        td_rd_u64(rd); /* gcc 2's exception table */
        text = "";
    }
    if (version == 4) {
        cie->address_bytes = td_rd_u8(rd);
        if (td_rd_u8(rd) != 0)
            return false; /* segmented addresses */
    }
    cie->code_align = td_rd_uleb(rd);
    cie->data_align = td_cfi_sleb(rd);
    const uint64_t reg = version == 1 ? td_rd_u8(rd) : td_rd_uleb(rd);
    cie->return_reg = reg < TD_CFI_REGISTERS ? (uint8_t)reg : TD_CFI_REGISTERS;
    *letters = text;
    return td_rd_ok(rd) && (cie->address_bytes == 8 || cie->address_bytes == 4);
}

static bool read_cie(const struct td_cfi *cfi, const struct entry *entry, struct td_cfi_cie *cie)
{
    struct td_rd rd = td_rd_init(cfi->data, entry->end, 0);
    const char *letters;

    *cie = (struct td_cfi_cie){.offset = entry->offset, .address_bytes = 8};
    rd.pos = entry->id_pos + entry->id_bytes;
    if (!read_cie_head(&rd, cie, &letters))
        return false;
    if (*letters == 'z') {
        const uint64_t size = td_rd_uleb(&rd);
        const size_t start = rd.pos;

        if (!td_rd_bytes(&rd, size <= entry->end ? (size_t)size : entry->end))
            return false;
        cie->has_augmentation = true;
        struct td_rd inner = td_rd_init(cfi->data, start + (size_t)size, 0);
        inner.pos = start;
        if (!read_augmentation(cfi, letters + 1, &inner, cie))
            return false;
    } else if (*letters) {
        return false;
    }
    cie->program = (struct td_cfi_span){rd.pos, entry->end - rd.pos};
    return true;
}

/* The CIE that an FDE names, into reader->cie. */
static bool find_cie(struct td_cfi_reader *reader, const struct entry *fde)
{
    const struct td_cfi *cfi = reader->cfi;
    struct entry entry = {0};
    size_t offset;

    if (cfi->debug_frame) {
        offset = fde->id <= cfi->size ? (size_t)fde->id : cfi->size;
    } else {
        if (fde->id > fde->id_pos)
            return false;
        offset = fde->id_pos - (size_t)fde->id;
    }
    if (reader->have_cie && reader->cie.offset == offset)
        return true;
    reader->have_cie = read_entry(cfi, offset, &entry, NULL) == 1 && entry_is_cie(cfi, &entry) &&
                       read_cie(cfi, &entry, &reader->cie);
    return reader->have_cie;
}

static bool read_fde(const struct td_cfi *cfi, const struct td_cfi_cie *cie,
                     const struct entry *entry, struct td_cfi_fde *fde)
{
    size_t pos = entry->id_pos + entry->id_bytes;
    uint8_t encoding = cie->pointer_encoding;
    uint64_t length;

    if (encoding == PE_ABSPTR && cie->address_bytes == 4)
        encoding = PE_UDATA4;
    fde->offset = entry->offset;
    if (!td_cfi_pointer(cfi->data, entry->end, &pos, encoding, cfi->address, cfi->data_base,
                        &fde->begin) ||
        !td_cfi_pointer(cfi->data, entry->end, &pos, encoding & PE_FORMAT, 0, 0, &length))
        return false;
    struct td_rd rd = td_rd_init(cfi->data, entry->end, 0);
    rd.pos = pos;
    if (cie->has_augmentation) {
        const uint64_t size = td_rd_uleb(&rd);
        if (!td_rd_bytes(&rd, size <= entry->end ? (size_t)size : entry->end))
            return false;
    }
    if (length > UINT64_MAX - fde->begin)
        return false;
    fde->end = fde->begin + length;
    fde->program = (struct td_cfi_span){rd.pos, entry->end - rd.pos};
    return td_rd_ok(&rd);
}

int td_cfi_next(struct td_cfi_reader *reader, struct td_cfi_fde *fde, struct td_err *err)
{
    struct entry entry = {0};
    int n;

    while ((n = read_entry(reader->cfi, reader->pos, &entry, err)) == 1) {
        reader->pos = entry.end;
        if (entry_is_cie(reader->cfi, &entry))
            continue;
        if (!find_cie(reader, &entry))
            return td_fail_at(err, TD_EFORMAT, entry.offset,
                              "FDE whose CIE is missing or of an unknown kind");
        if (!read_fde(reader->cfi, &reader->cie, &entry, fde))
            return td_fail_at(err, TD_EFORMAT, entry.offset, "damaged FDE");
        return 1;
    }
    reader->pos = reader->cfi->size;
    return n;
}
