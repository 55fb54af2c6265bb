/* SPDX-License-Identifier: MIT */
#include "symbolize/buildid.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"

/* What of an image's notes is read at most: they are some hundred bytes. */
#define NOTES_LIMIT ((size_t)1 << 20)
/* The kernel runs no file with more than 64 kB of program headers (fs/binfmt_elf.c). */
#define HEADERS_MAX ((64 << 10) / sizeof(Elf64_Phdr))

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

/* The bytes of an ELF image, wherever they are. A file of others is read and never mapped: they may
 * cut it while we look, and a page of a mapping that is gone ends the process that reads it. */
struct image {
    const uint8_t *bytes; /* NULL: of fd */
    int fd;
    uint64_t size;
};

/* Fills `to`; false where the image does not have all of it, or not any more. */
static bool read_at(const struct image *image, uint64_t at, void *to, size_t size)
{
    size_t done = 0;

    if (at > image->size || size > image->size - at)
        return false;
    if (image->bytes) {
        memcpy(to, image->bytes + at, size);
        return true;
    }
    while (done < size) {
        const ssize_t n = pread(image->fd, (char *)to + done, size - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* What of an ELF header is needed to walk its program headers. */
struct program_headers {
    bool wide; /* ELFCLASS64 */
    uint64_t offset;
    uint16_t entry_size, count;
};

static int read_header(const struct image *image, struct program_headers *ret, struct td_err *err)
{
    uint8_t data[sizeof(Elf64_Ehdr)] = {0};
    const size_t size = image->size < sizeof(data) ? (size_t)image->size : sizeof(data);
    struct td_rd rd = td_rd_init(data, size, 0);

    if (!read_at(image, 0, data, size))
        return td_fail(err, TD_EFORMAT, "an ELF header that is cut off");
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
    if (!td_rd_ok(&rd) || ret->offset > image->size)
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

/* The build-id in a segment of notes. `room` is what may still be read of the image's notes. */
static int find_in_segment(const struct image *image, const struct segment *segment, size_t *room,
                           struct td_build_id *ret)
{
    int rc = TD_ENODATA;

    if (segment->size > *room)
        return rc;
    void *notes = td_xalloc((size_t)segment->size + 1);
    *room -= (size_t)segment->size;
    if (read_at(image, segment->offset, notes, (size_t)segment->size))
        rc = td_build_id_from_notes(notes, (size_t)segment->size, ret, NULL);
    free(notes);
    return rc;
}

static int find_build_id(const struct image *image, struct td_build_id *ret, struct td_err *err)
{
    struct program_headers headers = {0};
    size_t room = NOTES_LIMIT;
    const int rc = read_header(image, &headers, err);

    for (unsigned i = 0; i < headers.count && i < HEADERS_MAX && rc == TD_OK; i++) {
        uint8_t bytes[sizeof(Elf64_Phdr)] = {0};
        const size_t size = headers.wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
        const uint64_t at = headers.offset + (uint64_t)i * headers.entry_size;
        struct td_rd rd = td_rd_init(bytes, size, at);

        if (!read_at(image, at, bytes, size))
            return td_fail_at(err, TD_EFORMAT, at, "a program header is cut off");
        const struct segment segment = read_segment(&rd, headers.wide);
        if (segment.type == PT_NOTE && find_in_segment(image, &segment, &room, ret) == TD_OK)
            return TD_OK;
    }
    return rc < 0 ? rc : td_fail(err, TD_ENODATA, "no build-id");
}

int td_build_id_from_elf(const void *data, size_t size, struct td_build_id *ret, struct td_err *err)
{
    const struct image image = {.bytes = data, .fd = -1, .size = size};

    return data ? find_build_id(&image, ret, err) : td_fail(err, TD_EFORMAT, "not an ELF file");
}

int td_build_id_from_file(const char *path, struct td_build_id *ret, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    int rc = TD_OK;

    if (fd < 0)
        return td_fail_errno(err, errno == ENOENT ? TD_ENOENT : TD_EIO, errno, "cannot open '%s'",
                             path);
    if (fstat(fd, &st) < 0) {
        rc = td_fail_errno(err, TD_EIO, errno, "cannot stat '%s'", path);
    } else if (!S_ISREG(st.st_mode)) {
        rc = td_fail(err, TD_EUNSUPPORTED, "'%s' is not a regular file", path);
    } else {
        const struct image image = {.fd = fd, .size = (uint64_t)st.st_size};

        rc = find_build_id(&image, ret, err);
        if (rc < 0)
            td_err_prefix(err, "%s", path);
    }
    close(fd);
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
