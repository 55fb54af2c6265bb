/* SPDX-License-Identifier: MIT */
#include "symbolize/elf/elf.h"

#include <assert.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "symbolize/elf/inflate.h"

/* Smaller sections are not worth asking; a file of more pieces is not sparse but odd. */
#define HOLE_BYTES_MIN ((uint64_t)16 << 20)
#define EXTENTS_MAX    4096

struct td_elf {
    char *path;
    int fd; /* ours, or -1 */
    Elf *elf;
    uint16_t machine;
    uint64_t entry;
    struct td_elf_section *sections;
    struct td_bytes *expanded; /* by section: decompressed bytes, data NULL when not (yet) so */
    uint8_t **own;             /* by section: those of them that are ours, not libelf's */
    size_t section_count;
    bool has_holes;                  /* sections were left out: see drop_holes */
    struct td_elf_segment *segments; /* PT_LOAD */
    size_t segment_count;
};

static int read_header(struct td_elf *elf, struct td_err *err)
{
    GElf_Ehdr header;

    if (elf_kind(elf->elf) != ELF_K_ELF)
        return td_fail(err, TD_EFORMAT, "'%s' is not an ELF file", elf->path);
    const char *ident = elf_getident(elf->elf, NULL);
    if (ident && ident[EI_DATA] != ELFDATA2LSB)
        return td_fail(err, TD_EUNSUPPORTED, "'%s' is not little-endian", elf->path);
    if (!gelf_getehdr(elf->elf, &header))
        return td_fail(err, TD_EFORMAT, "'%s': the ELF header is cut off", elf->path);
    elf->machine = header.e_machine;
    elf->entry = header.e_entry;
    return TD_OK;
}

static struct td_elf_section make_section(const struct td_elf *elf, const GElf_Shdr *header,
                                          size_t names)
{
    const char *name = elf_strptr(elf->elf, names, header->sh_name);

    return (struct td_elf_section){.name = name ? name : "",
                                   .type = header->sh_type,
                                   .link = header->sh_link,
                                   .info = header->sh_info,
                                   .flags = header->sh_flags,
                                   .addr = header->sh_addr,
                                   .offset = header->sh_offset,
                                   .size = header->sh_size,
                                   .entry_size = header->sh_entsize};
}

static int read_sections(struct td_elf *elf, struct td_err *err)
{
    size_t count = 0, names = 0;

    if (elf_getshdrnum(elf->elf, &count) < 0)
        return td_fail(err, TD_EFORMAT, "'%s': the section table does not lie in the file",
                       elf->path);
    (void)elf_getshdrstrndx(elf->elf, &names);
    elf->sections = td_xcalloc(count, sizeof(*elf->sections));
    elf->expanded = td_xcalloc(count, sizeof(*elf->expanded));
    elf->own = td_xcalloc(count, sizeof(*elf->own));
    for (; elf->section_count < count; elf->section_count++) {
        GElf_Shdr header;

        if (!gelf_getshdr(elf_getscn(elf->elf, elf->section_count), &header))
            return td_fail(err, TD_EFORMAT, "'%s': the section table does not lie in the file",
                           elf->path);
        elf->sections[elf->section_count] = make_section(elf, &header, names);
    }
    return TD_OK;
}

static struct td_elf_segment make_segment(const GElf_Phdr *header)
{
    return (struct td_elf_segment){.offset = header->p_offset,
                                   .vaddr = header->p_vaddr,
                                   .file_size = header->p_filesz,
                                   .mem_size = header->p_memsz,
                                   .executable = header->p_flags & PF_X};
}

static int read_segments(struct td_elf *elf, struct td_err *err)
{
    size_t count = 0;

    if (elf_getphdrnum(elf->elf, &count) < 0)
        count = SIZE_MAX;
    elf->segments = count == SIZE_MAX ? NULL : td_xcalloc(count, sizeof(*elf->segments));
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;

        if (count == SIZE_MAX || !gelf_getphdr(elf->elf, (int)i, &header))
            return td_fail(err, TD_EFORMAT, "'%s': the program headers do not lie in the file",
                           elf->path);
        if (header.p_type == PT_LOAD)
            elf->segments[elf->segment_count++] = make_segment(&header);
    }
    return TD_OK;
}

/* Takes elf->elf; frees `elf` when it fails. */
static int parse(struct td_elf **ret, struct td_elf *elf, struct td_err *err)
{
    int rc = elf->elf ? read_header(elf, err)
                      : td_fail(err, TD_EFORMAT, "'%s' is not an ELF file: %s", elf->path,
                                elf_errmsg(-1));

    if (rc == TD_OK)
        rc = read_sections(elf, err);
    if (rc == TD_OK)
        rc = read_segments(elf, err);
    if (rc != TD_OK) {
        td_elf_free(elf);
        return rc;
    }
    *ret = elf;
    return TD_OK;
}

static struct td_elf *make(const char *name)
{
    struct td_elf *elf = td_xcalloc(1, sizeof(*elf));

    (void)elf_version(EV_CURRENT);
    elf->path = td_xstrdup(name);
    elf->fd = -1;
    return elf;
}

int td_elf_parse(struct td_elf **ret, const char *name, struct td_bytes bytes, struct td_err *err)
{
    struct td_elf *elf = make(name);

    /* libelf takes char *, and writes to it only through functions that are not called here. */
    elf->elf = bytes.size > 0 ? elf_memory((char *)(uintptr_t)bytes.data, bytes.size) : NULL;
    return parse(ret, elf, err);
}

/* Whether the tables are of the sizes that stand in the header itself. libelf would take the sizes
 * of larger ones out of section 0, and memory for them before it looks at any. */
static bool has_plain_tables(const uint8_t *head, size_t size)
{
    Elf *elf = elf_memory((char *)(uintptr_t)head, size);
    GElf_Ehdr header;
    const bool read = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header);
    const bool plain =
        !read || ((header.e_shnum > 0 || header.e_shoff == 0) && header.e_phnum != PN_XNUM);

    elf_end(elf);
    return plain;
}

int td_elf_open_fd(struct td_elf **ret, const char *name, int fd, struct td_err *err)
{
    uint8_t head[sizeof(Elf64_Ehdr)] = {0};
    const ssize_t size = pread(fd, head, sizeof(head), 0);
    struct stat st;

    if (size < 0 || fstat(fd, &st) < 0)
        return td_fail_errno(err, TD_EIO, errno, "cannot read '%s'", name);
    if (!S_ISREG(st.st_mode))
        return td_fail(err, TD_EUNSUPPORTED, "'%s' is not a regular file", name);
    struct td_elf *elf = make(name);
    if (!has_plain_tables(head, (size_t)size)) {
        td_elf_free(elf);
        return td_fail(err, TD_ELIMIT, "'%s' has more sections than are read", name);
    }
    elf->elf = elf_begin(fd, ELF_C_READ, NULL);
    return parse(ret, elf, err);
}

/* How many bytes of a part of a file are written; the rest are holes, which read as zeros. */
static uint64_t written_bytes(int fd, uint64_t offset, uint64_t size)
{
    const off_t end = (off_t)(offset + size);
    uint64_t written = 0;
    off_t at = (off_t)offset;

    for (unsigned i = 0; at < end && i < EXTENTS_MAX; i++) {
        const off_t data = lseek(fd, at, SEEK_DATA);

        if (data < 0 || data >= end)
            return written;
        at = lseek(fd, data, SEEK_HOLE);
        written += (uint64_t)((at < 0 || at > end ? end : at) - data);
        at = at < 0 ? end : at;
    }
    return written;
}

/* A section that is mostly a hole holds nothing, but reading it would take the memory of its size:
 * anybody makes a file with a hole of gigabytes. */
static void drop_holes(struct td_elf *elf, uint64_t file_bytes)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        struct td_elf_section *s = &elf->sections[i];

        if (s->type == SHT_NOBITS || s->size < HOLE_BYTES_MIN || s->size > file_bytes ||
            s->offset > file_bytes - s->size ||
            written_bytes(elf->fd, s->offset, s->size) >= s->size / 2)
            continue;
        s->type = SHT_NOBITS;
        elf->has_holes = true;
    }
}

int td_elf_open(struct td_elf **ret, const char *path, struct td_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const int code = errno == ENOENT || errno == ENOTDIR ? TD_ENOENT : TD_EIO;
    struct stat st;

    if (fd < 0)
        return td_fail_errno(err, code, errno, "cannot open '%s'", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return td_fail(err, TD_EUNSUPPORTED, "'%s' is not a regular file", path);
    }
    struct td_elf *elf = make(path);
    elf->fd = fd;
    elf->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    const int rc = parse(ret, elf, err);
    if (rc == TD_OK)
        drop_holes(elf, (uint64_t)st.st_size);
    return rc;
}

void td_elf_free(struct td_elf *elf)
{
    if (!elf)
        return;
    for (size_t i = 0; i < elf->section_count; i++)
        free(elf->own[i]);
    elf_end(elf->elf);
    if (elf->fd >= 0)
        close(elf->fd);
    free(elf->expanded);
    free(elf->own);
    free(elf->sections);
    free(elf->segments);
    free(elf->path);
    free(elf);
}

const char *td_elf_path(const struct td_elf *elf)
{
    return elf->path;
}

struct td_bytes td_elf_bytes(const struct td_elf *elf)
{
    size_t size = 0;
    const char *data = elf_rawfile(elf->elf, &size);

    return (struct td_bytes){.data = (const uint8_t *)data, .size = data ? size : 0};
}

uint16_t td_elf_machine(const struct td_elf *elf)
{
    return elf->machine;
}

uint64_t td_elf_entry(const struct td_elf *elf)
{
    return elf->entry;
}

bool td_elf_is_64(const struct td_elf *elf)
{
    return gelf_getclass(elf->elf) == ELFCLASS64;
}

Elf *td_elf_handle(const struct td_elf *elf)
{
    return elf->elf;
}

size_t td_elf_section_count(const struct td_elf *elf)
{
    return elf->section_count;
}

const struct td_elf_section *td_elf_section_at(const struct td_elf *elf, size_t i)
{
    assert(i < elf->section_count);
    return &elf->sections[i];
}

const struct td_elf_section *td_elf_section(const struct td_elf *elf, const char *name)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct td_elf_section *s = &elf->sections[i];

        if (s->type != SHT_NOBITS && s->type != SHT_NULL && strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

/* libelf 0.188 knows zlib, in both of its wrappings, but no other method. */
static int expand(struct td_elf *elf, size_t i, struct td_bytes raw, struct td_err *err)
{
    const struct td_elf_section *s = &elf->sections[i];
    Elf_Scn *section = elf_getscn(elf->elf, i);
    const bool zdebug = strncmp(s->name, ".zdebug_", 8) == 0;
    size_t size = 0;
    int rc = TD_OK;

    if (td_elf_section_is_zstd(elf, i)) {
        rc = td_inflate_zstd(raw, td_elf_is_64(elf), &elf->own[i], &size, err);
        elf->expanded[i] = (struct td_bytes){.data = elf->own[i], .size = size};
    } else if ((zdebug ? elf_compress_gnu(section, 0, 0) : elf_compress(section, 0, 0)) < 0) {
        rc = td_fail(err, TD_EFORMAT, "damaged zlib data");
    } else {
        const Elf_Data *data = elf_getdata(section, NULL);

        if (data)
            elf->expanded[i] = (struct td_bytes){.data = data->d_buf, .size = data->d_size};
    }
    td_err_prefix(err, "'%s', section %s", elf->path, s->name);
    return rc;
}

int td_elf_section_bytes(struct td_elf *elf, const struct td_elf_section *section,
                         struct td_bytes *ret, struct td_err *err)
{
    if (!section || section->type == SHT_NOBITS)
        return td_fail(err, TD_ENODATA, "'%s' has no such section", elf->path);
    const size_t i = (size_t)(section - elf->sections);

    assert(i < elf->section_count);
    if (!elf->expanded[i].data) {
        const Elf_Data *data = elf_rawdata(elf_getscn(elf->elf, i), NULL);

        if (!data || data->d_size != section->size)
            return td_fail_at(err, TD_EFORMAT, section->offset, "'%s': section %s is cut off",
                              elf->path, section->name);
        *ret = (struct td_bytes){.data = data->d_buf, .size = data->d_size};
        if (!(section->flags & SHF_COMPRESSED) && strncmp(section->name, ".zdebug_", 8) != 0)
            return TD_OK;
        const int rc = expand(elf, i, *ret, err);
        if (rc != TD_OK)
            return rc;
    }
    *ret = elf->expanded[i];
    return TD_OK;
}

bool td_elf_has_holes(const struct td_elf *elf)
{
    return elf->has_holes;
}

uint64_t td_elf_disk_bytes(const struct td_elf *elf)
{
    struct stat st;

    return elf->fd >= 0 && fstat(elf->fd, &st) == 0 && st.st_blocks > 0
               ? (uint64_t)st.st_blocks * 512
               : 0;
}

bool td_elf_section_is_zstd(const struct td_elf *elf, size_t i)
{
    GElf_Chdr header;

    return elf->sections[i].flags & SHF_COMPRESSED && elf->sections[i].type != SHT_NOBITS &&
           gelf_getchdr(elf_getscn(elf->elf, i), &header) && header.ch_type == TD_ELFCOMPRESS_ZSTD;
}

int td_elf_debug_bytes(struct td_elf *elf, const char *name, struct td_bytes *ret,
                       struct td_err *err)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const struct td_elf_section *s = &elf->sections[i];
        const char *bare = s->name[0] == '.' ? s->name + 1 : s->name;

        if (s->type != SHT_NOBITS &&
            (strcmp(bare, name) == 0 || (bare[0] == 'z' && strcmp(bare + 1, name) == 0)))
            return td_elf_section_bytes(elf, s, ret, err);
    }
    return td_fail(err, TD_ENODATA, "'%s' has no section .%s", elf->path, name);
}

size_t td_elf_segment_count(const struct td_elf *elf)
{
    return elf->segment_count;
}

const struct td_elf_segment *td_elf_segment_at(const struct td_elf *elf, size_t i)
{
    assert(i < elf->segment_count);
    return &elf->segments[i];
}

bool td_elf_program_header(const struct td_elf *elf, uint32_t type, struct td_elf_segment *ret)
{
    GElf_Phdr header;
    size_t count = 0;

    (void)elf_getphdrnum(elf->elf, &count);
    for (size_t i = 0; i < count && gelf_getphdr(elf->elf, (int)i, &header); i++) {
        if (header.p_type != type)
            continue;
        *ret = make_segment(&header);
        return true;
    }
    return false;
}

int td_elf_chunk(const struct td_elf *elf, uint64_t offset, uint64_t size, struct td_bytes *ret,
                 struct td_err *err)
{
    const Elf_Data *data =
        offset <= INT64_MAX && size <= SIZE_MAX
            ? elf_getdata_rawchunk(elf->elf, (int64_t)offset, (size_t)size, ELF_T_BYTE)
            : NULL;

    if (!data)
        return td_fail_at(err, TD_EFORMAT, offset, "'%s' is cut off", elf->path);
    *ret = (struct td_bytes){.data = data->d_buf, .size = data->d_size};
    return TD_OK;
}

int td_elf_segment_bytes(const struct td_elf *elf, uint32_t type, size_t limit,
                         struct td_bytes *ret, struct td_err *err)
{
    GElf_Phdr header;
    size_t count = 0;

    (void)elf_getphdrnum(elf->elf, &count);
    for (size_t i = 0; i < count && gelf_getphdr(elf->elf, (int)i, &header); i++) {
        if (header.p_type != type || header.p_filesz > limit)
            continue;
        const Elf_Data *data = elf_getdata_rawchunk(elf->elf, (int64_t)header.p_offset,
                                                    (size_t)header.p_filesz, ELF_T_BYTE);

        if (!data)
            return td_fail_at(err, TD_EFORMAT, header.p_offset, "'%s': a segment is cut off",
                              elf->path);
        *ret = (struct td_bytes){.data = data->d_buf, .size = data->d_size};
        return TD_OK;
    }
    return td_fail(err, TD_ENODATA, "'%s' has no such segment", elf->path);
}

bool td_elf_vaddr(const struct td_elf *elf, uint64_t offset, uint64_t *vaddr)
{
    for (int executable = 1; executable >= 0; executable--) {
        for (size_t i = 0; i < elf->segment_count; i++) {
            const struct td_elf_segment *s = &elf->segments[i];

            if (s->executable != executable || offset < s->offset ||
                offset - s->offset >= s->file_size)
                continue;
            *vaddr = s->vaddr + (offset - s->offset);
            return true;
        }
    }
    return false;
}

bool td_elf_offset(const struct td_elf *elf, uint64_t vaddr, uint64_t *offset)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct td_elf_segment *s = &elf->segments[i];

        if (vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
            continue;
        *offset = s->offset + (vaddr - s->vaddr);
        return true;
    }
    return false;
}

bool td_elf_debuglink(const struct td_elf *elf, const char **name, uint32_t *crc)
{
    GElf_Word sum = 0;

    *name = dwelf_elf_gnu_debuglink(elf->elf, &sum);
    *crc = sum;
    return *name && (*name)[0] != '\0';
}

void td_elf_symbols(struct td_elf *elf, const struct td_elf_section *table, td_elf_symbol_fn *fn,
                    void *ctx)
{
    if (!table || table->type == SHT_NOBITS)
        return;
    Elf_Data *data = elf_getdata(elf_getscn(elf->elf, (size_t)(table - elf->sections)), NULL);
    const size_t size = gelf_fsize(elf->elf, ELF_T_SYM, 1, EV_CURRENT);

    for (size_t i = 0; data && i < data->d_size / size; i++) {
        GElf_Sym s;

        if (!gelf_getsym(data, (int)i, &s) || s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS)
            continue;
        const struct td_elf_symbol symbol = {.name = elf_strptr(elf->elf, table->link, s.st_name),
                                             .value = s.st_value,
                                             .size = s.st_size,
                                             .section = s.st_shndx,
                                             .type = GELF_ST_TYPE(s.st_info),
                                             .binding = GELF_ST_BIND(s.st_info)};
        if (symbol.name && symbol.name[0] != '\0')
            fn(ctx, &symbol);
    }
}
