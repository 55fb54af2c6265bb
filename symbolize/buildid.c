/* SPDX-License-Identifier: MIT */
#include "symbolize/buildid.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"

#define NOTES_LIMIT ((size_t)1 << 20)

int td_build_id_from_notes(const void *data, size_t size, struct td_build_id *ret,
                           struct td_err *err)
{
    struct td_rd rd = td_rd_init(data, size, 0);

    while (td_rd_left(&rd) >= 12) {
        const uint32_t name_size = td_rd_u32(&rd);
        const uint32_t desc_size = td_rd_u32(&rd);
        const uint32_t type = td_rd_u32(&rd);
        const uint8_t *name = td_rd_bytes(&rd, ((size_t)name_size + 3) & ~(size_t)3);
        /* The last description may lack its padding. */
        size_t padded = ((size_t)desc_size + 3) & ~(size_t)3;

        if (padded > td_rd_left(&rd))
            padded = desc_size;
        const uint8_t *desc = td_rd_bytes(&rd, padded);

        if (!td_rd_ok(&rd))
            return td_fail_at(err, TD_EFORMAT, td_rd_offset(&rd), "an ELF note is cut off");
        if (type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) != 0)
            continue;
        if (desc_size == 0 || desc_size > TD_BUILD_ID_MAX)
            return td_fail(err, TD_EFORMAT, "a build-id of %u bytes", desc_size);
        *ret = (struct td_build_id){.size = (uint8_t)desc_size};
        memcpy(ret->bytes, desc, desc_size);
        return TD_OK;
    }
    return td_fail(err, TD_ENODATA, "no build-id");
}

/* What of an ELF header is needed to walk its program headers. */
struct program_headers {
    bool wide; /* ELFCLASS64 */
    uint64_t offset;
    uint16_t entry_size, count;
};

static int read_header(const uint8_t *data, size_t size, struct program_headers *ret,
                       struct td_err *err)
{
    struct td_rd rd = td_rd_init(data, size, 0);
    const uint8_t *ident = td_rd_bytes(&rd, EI_NIDENT);

    if (!ident || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return td_fail(err, TD_EFORMAT, "not an ELF file");
    if (ident[EI_DATA] != ELFDATA2LSB)
        return td_fail(err, TD_EFORMAT, "an ELF file of the other byte order");
    ret->wide = ident[EI_CLASS] == ELFCLASS64;
    td_rd_bytes(&rd, 8); /* type, machine, version */
    if (ret->wide) {
        td_rd_u64(&rd);
        ret->offset = td_rd_u64(&rd);
        td_rd_u64(&rd);
    } else {
        td_rd_u32(&rd);
        ret->offset = td_rd_u32(&rd);
        td_rd_u32(&rd);
    }
    td_rd_bytes(&rd, 6); /* flags, size of this header */
    ret->entry_size = td_rd_u16(&rd);
    ret->count = td_rd_u16(&rd);
    if (!td_rd_ok(&rd) || ret->offset > size)
        return td_fail(err, TD_EFORMAT, "an ELF header that is cut off");
    return TD_OK;
}

struct segment {
    uint32_t type;
    uint64_t offset, size;
};

static struct segment read_segment(struct td_rd *rd, bool wide)
{
    struct segment segment = {.type = td_rd_u32(rd)};

    if (wide) {
        td_rd_u32(rd); /* flags */
        segment.offset = td_rd_u64(rd);
        td_rd_u64(rd);
        td_rd_u64(rd);
        segment.size = td_rd_u64(rd);
    } else {
        segment.offset = td_rd_u32(rd);
        td_rd_u32(rd);
        td_rd_u32(rd);
        segment.size = td_rd_u32(rd);
    }
    return segment;
}

int td_build_id_from_elf(const void *data, size_t size, struct td_build_id *ret, struct td_err *err)
{
    const uint8_t *bytes = data;
    struct program_headers headers = {0};
    int rc = read_header(bytes, size, &headers, err);

    for (unsigned i = 0; i < headers.count && rc == TD_OK; i++) {
        const uint64_t at = headers.offset + (uint64_t)i * headers.entry_size;

        if (at > size)
            return td_fail_at(err, TD_EFORMAT, at, "a program header behind the end");
        struct td_rd rd = td_rd_init(bytes + at, size - (size_t)at, at);
        const struct segment segment = read_segment(&rd, headers.wide);

        if (!td_rd_ok(&rd))
            return td_fail_at(err, TD_EFORMAT, at, "a program header is cut off");
        if (segment.type != PT_NOTE || segment.offset > size ||
            segment.size > size - segment.offset)
            continue;
        if (td_build_id_from_notes(bytes + segment.offset, (size_t)segment.size, ret, NULL) ==
            TD_OK)
            return TD_OK;
    }
    return rc < 0 ? rc : td_fail(err, TD_ENODATA, "no build-id");
}

int td_build_id_from_file(const char *path, struct td_build_id *ret, struct td_err *err)
{
    struct td_file_map map = {0};
    int rc = td_file_map(&map, path, err);

    if (rc < 0)
        return rc;
    rc = td_build_id_from_elf(map.data, map.size, ret, err);
    if (rc < 0)
        td_err_prefix(err, "%s", path);
    td_file_unmap(&map);
    return rc;
}

int td_build_id_from_kernel(struct td_build_id *ret, struct td_err *err)
{
    struct td_buf buf = {0};
    int rc = td_file_read("/sys/kernel/notes", NOTES_LIMIT, &buf, err);

    if (rc == TD_OK)
        rc = td_build_id_from_notes(buf.data, buf.len, ret, err);
    td_buf_release(&buf);
    return rc;
}
