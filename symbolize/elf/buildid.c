/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/buildid.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"

/* What of an image's notes is read at most: they are some hundred bytes. */
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

/* The build-id among the notes of a segment or section. Where these say they are larger than any
 * are, they are not looked at: recorders read files of others. */
static bool find_in(Elf *elf, uint64_t offset, uint64_t size, struct td_build_id *ret)
{
    if (size > NOTES_LIMIT)
        return false;
    const Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)offset, (size_t)size, ELF_T_BYTE);

    return data && td_build_id_from_notes(data->d_buf, data->d_size, ret, NULL) == TD_OK;
}

struct td_build_id td_elf_build_id(const struct td_elf *elf)
{
    struct td_build_id id = {0};
    GElf_Phdr header;
    size_t count = 0;

    /* Sections first: --only-keep-debug files keep note sections where PT_NOTE points astray. */
    for (size_t i = 0; i < td_elf_section_count(elf); i++) {
        const struct td_elf_section *s = td_elf_section_at(elf, i);

        if (s->type == SHT_NOTE && find_in(td_elf_handle(elf), s->offset, s->size, &id))
            return id;
    }
    (void)elf_getphdrnum(td_elf_handle(elf), &count);
    for (size_t i = 0; i < count && gelf_getphdr(td_elf_handle(elf), (int)i, &header); i++) {
        if (header.p_type == PT_NOTE &&
            find_in(td_elf_handle(elf), header.p_offset, header.p_filesz, &id))
            return id;
    }
    return id;
}

/* Takes `elf`. */
static int build_id_of(struct td_elf *elf, struct td_build_id *ret, struct td_err *err)
{
    *ret = td_elf_build_id(elf);
    td_elf_free(elf);
    return ret->size ? TD_OK : td_fail(err, TD_ENODATA, "no build-id");
}

int td_build_id_from_elf(const void *data, size_t size, struct td_build_id *ret, struct td_err *err)
{
    struct td_elf *elf = NULL;
    const int rc = td_elf_parse(&elf, "image", (struct td_bytes){.data = data, .size = size}, err);

    return rc == TD_OK ? build_id_of(elf, ret, err) : rc;
}

int td_build_id_from_file(const char *path, struct td_build_id *ret, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct td_elf *elf = NULL;

    if (fd < 0)
        return td_fail_errno(err, errno == ENOENT ? TD_ENOENT : TD_EIO, errno, "cannot open '%s'",
                             path);
    int rc = td_elf_open_fd(&elf, path, fd, err);
    if (rc == TD_OK)
        rc = build_id_of(elf, ret, err);
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
