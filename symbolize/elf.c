/* SPDX-License-Identifier: MIT */
#include "symbolize/elf.h"

#include <assert.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "symbolize/inflate.h"

/* Smaller sections are not worth asking; a file of more pieces is not sparse but odd. */
#define HOLE_BYTES_MIN ((uint64_t)16 << 20)
#define EXTENTS_MAX    4096

struct td_elf {
    char *path;
    struct td_file_map map; /* empty when the bytes are borrowed */
    struct td_bytes bytes;
    bool is_64;
    uint16_t machine;
    struct td_elf_section *sections;
    uint8_t **inflated; /* by section: decompressed bytes, or NULL */
    size_t *inflated_size;
    size_t section_count;
    struct td_elf_segment *segments;
    size_t segment_count;
    struct td_build_id build_id;
};

/* What the file header says of its two tables. */
struct tables {
    uint64_t segments_at, sections_at;
    uint16_t segment_size, section_size;
    uint32_t segment_count, section_count, names;
};

static uint64_t word(struct td_cur *cur, bool is_64)
{
    return is_64 ? td_cur_u64(cur) : td_cur_u32(cur);
}

static struct td_elf_section read_section(struct td_cur *cur, bool is_64, uint32_t *name)
{
    struct td_elf_section s = {.name = ""};

    *name = td_cur_u32(cur);
    s.type = td_cur_u32(cur);
    s.flags = word(cur, is_64);
    s.addr = word(cur, is_64);
    s.offset = word(cur, is_64);
    s.size = word(cur, is_64);
    s.link = td_cur_u32(cur);
    s.info = td_cur_u32(cur);
    (void)word(cur, is_64); /* alignment */
    s.entry_size = word(cur, is_64);
    return s;
}

static int read_header(struct td_elf *elf, struct tables *t, struct td_err *err)
{
    struct td_cur cur = td_cur_init(elf->bytes);
    const uint8_t *ident = elf->bytes.data;

    if (elf->bytes.size < EI_NIDENT || memcmp(ident, ELFMAG, SELFMAG) != 0)
        return td_fail(err, TD_EFORMAT, "'%s' is not an ELF file", elf->path);
    if (ident[EI_DATA] != ELFDATA2LSB)
        return td_fail(err, TD_EUNSUPPORTED, "'%s' is not little-endian", elf->path);
    elf->is_64 = ident[EI_CLASS] == ELFCLASS64;
    td_cur_skip(&cur, EI_NIDENT);
    (void)td_cur_u16(&cur); /* type */
    elf->machine = td_cur_u16(&cur);
    (void)td_cur_u32(&cur); /* version */
    (void)word(&cur, elf->is_64);
    t->segments_at = word(&cur, elf->is_64);
    t->sections_at = word(&cur, elf->is_64);
    (void)td_cur_u32(&cur); /* flags */
    (void)td_cur_u16(&cur); /* size of this header */
    t->segment_size = td_cur_u16(&cur);
    t->segment_count = td_cur_u16(&cur);
    t->section_size = td_cur_u16(&cur);
    t->section_count = td_cur_u16(&cur);
    t->names = td_cur_u16(&cur);
    if (cur.bad)
        return td_fail_at(err, TD_EFORMAT, elf->bytes.size, "'%s': the ELF header is cut off",
                          elf->path);
    return TD_OK;
}

/* Counts that do not fit into the header stand in section 0 (ELF gABI, "Sections"). */
static void read_big_counts(const struct td_elf *elf, struct tables *t)
{
    struct td_cur cur = td_cur_at(elf->bytes, t->sections_at);
    uint32_t name = 0;

    if (t->sections_at == 0)
        return;
    const struct td_elf_section first = read_section(&cur, elf->is_64, &name);
    if (cur.bad)
        return;
    if (t->section_count == 0 && first.size <= UINT32_MAX)
        t->section_count = (uint32_t)first.size;
    if (t->names == SHN_XINDEX)
        t->names = first.link;
    if (t->segment_count == PN_XNUM)
        t->segment_count = first.info;
}

static int read_sections(struct td_elf *elf, const struct tables *t, struct td_err *err)
{
    const size_t least = elf->is_64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    const uint64_t need = (uint64_t)t->section_count * t->section_size;
    uint32_t *names = NULL;

    if (t->sections_at == 0 || t->section_count == 0)
        return TD_OK;
    if (t->section_size < least || !td_bytes_part(elf->bytes, t->sections_at, need).data)
        return td_fail_at(err, TD_EFORMAT, t->sections_at,
                          "'%s': the section table does not lie in the file", elf->path);
    elf->sections = td_xcalloc(t->section_count, sizeof(*elf->sections));
    elf->inflated = td_xcalloc(t->section_count, sizeof(*elf->inflated));
    elf->inflated_size = td_xcalloc(t->section_count, sizeof(*elf->inflated_size));
    elf->section_count = t->section_count;
    names = td_xcalloc(t->section_count, sizeof(*names));
    for (uint32_t i = 0; i < t->section_count; i++) {
        struct td_cur cur = td_cur_at(elf->bytes, t->sections_at + (uint64_t)i * t->section_size);

        elf->sections[i] = read_section(&cur, elf->is_64, &names[i]);
    }
    if (t->names < t->section_count) {
        const struct td_elf_section *s = &elf->sections[t->names];
        const struct td_bytes strings = td_bytes_part(elf->bytes, s->offset, s->size);

        for (uint32_t i = 0; i < t->section_count; i++) {
            const char *name = td_bytes_string(strings, names[i]);

            elf->sections[i].name = name ? name : "";
        }
    }
    free(names);
    return TD_OK;
}

/* GNU notes: name size, payload size, type, "GNU\0", payload, each padded to 4. */
static void find_build_id(struct td_elf *elf, struct td_bytes notes)
{
    struct td_cur cur = td_cur_init(notes);

    while (!elf->build_id.size && td_cur_left(&cur) >= 12) {
        const uint32_t name_size = td_cur_u32(&cur);
        const uint32_t size = td_cur_u32(&cur);
        const uint32_t type = td_cur_u32(&cur);
        const uint8_t *name = cur.p;

        td_cur_skip(&cur, ((uint64_t)name_size + 3) & ~UINT64_C(3));
        const uint8_t *payload = cur.p;
        if (cur.bad || size > td_cur_left(&cur))
            return;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 && size > 0 &&
            size <= TD_BUILD_ID_MAX) {
            elf->build_id.size = (uint8_t)size;
            memcpy(elf->build_id.bytes, payload, size);
        }
        td_cur_skip(&cur, ((uint64_t)size + 3) & ~UINT64_C(3));
    }
}

static struct td_elf_segment read_segment(struct td_cur *cur, bool is_64, uint32_t *type)
{
    struct td_elf_segment s = {0};
    uint32_t flags = 0;

    *type = td_cur_u32(cur);
    if (is_64)
        flags = td_cur_u32(cur);
    s.offset = word(cur, is_64);
    s.vaddr = word(cur, is_64);
    (void)word(cur, is_64); /* physical address */
    s.file_size = word(cur, is_64);
    s.mem_size = word(cur, is_64);
    if (!is_64)
        flags = td_cur_u32(cur);
    s.executable = flags & PF_X;
    return s;
}

static int read_segments(struct td_elf *elf, const struct tables *t, struct td_err *err)
{
    const size_t least = elf->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    const uint64_t need = (uint64_t)t->segment_count * t->segment_size;

    if (t->segments_at == 0 || t->segment_count == 0)
        return TD_OK;
    if (t->segment_size < least || !td_bytes_part(elf->bytes, t->segments_at, need).data)
        return td_fail_at(err, TD_EFORMAT, t->segments_at,
                          "'%s': the program headers do not lie in the file", elf->path);
    elf->segments = td_xcalloc(t->segment_count, sizeof(*elf->segments));
    for (uint32_t i = 0; i < t->segment_count; i++) {
        struct td_cur cur = td_cur_at(elf->bytes, t->segments_at + (uint64_t)i * t->segment_size);
        uint32_t type = 0;
        const struct td_elf_segment s = read_segment(&cur, elf->is_64, &type);

        if (type == PT_LOAD)
            elf->segments[elf->segment_count++] = s;
        else if (type == PT_NOTE)
            find_build_id(elf, td_bytes_part(elf->bytes, s.offset, s.file_size));
    }
    return TD_OK;
}

static int parse(struct td_elf *elf, struct td_err *err)
{
    struct tables tables = {0};
    int rc = read_header(elf, &tables, err);

    if (rc == TD_OK) {
        read_big_counts(elf, &tables);
        rc = read_sections(elf, &tables, err);
    }
    /* Sections first: --only-keep-debug files keep note sections where PT_NOTE points astray. */
    for (size_t i = 0; rc == TD_OK && i < elf->section_count; i++) {
        const struct td_elf_section *s = &elf->sections[i];

        if (s->type == SHT_NOTE)
            find_build_id(elf, td_bytes_part(elf->bytes, s->offset, s->size));
    }
    if (rc == TD_OK)
        rc = read_segments(elf, &tables, err);
    return rc;
}

int td_elf_parse(struct td_elf **ret, const char *name, struct td_bytes bytes, struct td_err *err)
{
    struct td_elf *elf = td_xcalloc(1, sizeof(*elf));

    elf->path = td_xstrdup(name);
    elf->bytes = bytes;
    const int rc = parse(elf, err);
    if (rc == TD_OK)
        *ret = elf;
    else
        td_elf_free(elf);
    return rc;
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
static void drop_holes(struct td_elf *elf)
{
    const int fd = open(elf->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    for (size_t i = 0; fd >= 0 && i < elf->section_count; i++) {
        struct td_elf_section *s = &elf->sections[i];

        if (s->type != SHT_NOBITS && s->size >= HOLE_BYTES_MIN && s->size <= elf->bytes.size &&
            s->offset <= elf->bytes.size - s->size &&
            written_bytes(fd, s->offset, s->size) < s->size / 2)
            s->type = SHT_NOBITS;
    }
    if (fd >= 0)
        close(fd);
}

int td_elf_open(struct td_elf **ret, const char *path, struct td_err *err)
{
    struct td_file_map map = {0};
    int rc = td_file_map(&map, path, err);

    if (rc != TD_OK)
        return rc;
    rc = td_elf_parse(ret, path, (struct td_bytes){.data = map.data, .size = map.size}, err);
    if (rc < 0) {
        td_file_unmap(&map);
        return rc;
    }
    (*ret)->map = map;
    drop_holes(*ret);
    return rc;
}

void td_elf_free(struct td_elf *elf)
{
    if (!elf)
        return;
    for (size_t i = 0; i < elf->section_count; i++)
        free(elf->inflated[i]);
    free(elf->inflated);
    free(elf->inflated_size);
    free(elf->sections);
    free(elf->segments);
    free(elf->path);
    td_file_unmap(&elf->map);
    free(elf);
}

const char *td_elf_path(const struct td_elf *elf)
{
    return elf->path;
}

struct td_bytes td_elf_bytes(const struct td_elf *elf)
{
    return elf->bytes;
}

uint16_t td_elf_machine(const struct td_elf *elf)
{
    return elf->machine;
}

bool td_elf_is_64(const struct td_elf *elf)
{
    return elf->is_64;
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

int td_elf_section_bytes(struct td_elf *elf, const struct td_elf_section *section,
                         struct td_bytes *ret, struct td_err *err)
{
    if (!section || section->type == SHT_NOBITS)
        return td_fail(err, TD_ENODATA, "'%s' has no such section", elf->path);
    const size_t i = (size_t)(section - elf->sections);
    const struct td_bytes raw = td_bytes_part(elf->bytes, section->offset, section->size);
    const bool zdebug = strncmp(section->name, ".zdebug_", 8) == 0;

    assert(i < elf->section_count);
    if (section->size > 0 && !raw.data)
        return td_fail_at(err, TD_EFORMAT, section->offset, "'%s': section %s is cut off",
                          elf->path, section->name);
    if (!zdebug && !(section->flags & SHF_COMPRESSED)) {
        *ret = raw;
        return TD_OK;
    }
    if (!elf->inflated[i]) {
        const int rc = td_inflate_section(raw, zdebug, elf->is_64, &elf->inflated[i],
                                          &elf->inflated_size[i], err);

        td_err_prefix(err, "'%s', section %s", elf->path, section->name);
        if (rc != TD_OK)
            return rc;
    }
    *ret = (struct td_bytes){.data = elf->inflated[i], .size = elf->inflated_size[i]};
    return TD_OK;
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

bool td_elf_executable(const struct td_elf *elf, uint64_t vaddr)
{
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct td_elf_segment *s = &elf->segments[i];

        if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->mem_size)
            return true;
    }
    return elf->segment_count == 0;
}

struct td_build_id td_elf_build_id(const struct td_elf *elf)
{
    return elf->build_id;
}

bool td_elf_debuglink(const struct td_elf *elf, const char **name, uint32_t *crc)
{
    const struct td_elf_section *s = td_elf_section(elf, ".gnu_debuglink");

    if (!s)
        return false;
    const struct td_bytes bytes = td_bytes_part(elf->bytes, s->offset, s->size);
    const char *text = td_bytes_string(bytes, 0);
    if (!text)
        return false;
    struct td_cur cur = td_cur_at(bytes, (strlen(text) + 4) & ~(size_t)3);
    const uint32_t value = td_cur_u32(&cur);
    if (cur.bad || text[0] == '\0')
        return false;
    *name = text;
    *crc = value;
    return true;
}

bool td_elf_altlink(const struct td_elf *elf, const char **path, struct td_build_id *id)
{
    const struct td_elf_section *s = td_elf_section(elf, ".gnu_debugaltlink");

    if (!s)
        return false;
    const struct td_bytes bytes = td_bytes_part(elf->bytes, s->offset, s->size);
    const char *text = td_bytes_string(bytes, 0);
    if (!text || text[0] == '\0')
        return false;
    const size_t left = bytes.size - strlen(text) - 1;
    if (left == 0 || left > TD_BUILD_ID_MAX)
        return false;
    *id = (struct td_build_id){.size = (uint8_t)left};
    memcpy(id->bytes, bytes.data + strlen(text) + 1, left);
    *path = text;
    return true;
}

static struct td_elf_symbol read_symbol(struct td_cur *cur, bool is_64, uint32_t *name)
{
    struct td_elf_symbol s = {0};
    uint8_t info = 0;

    *name = td_cur_u32(cur);
    if (is_64) {
        info = td_cur_u8(cur);
        (void)td_cur_u8(cur);
        s.section = td_cur_u16(cur);
        s.value = td_cur_u64(cur);
        s.size = td_cur_u64(cur);
    } else {
        s.value = td_cur_u32(cur);
        s.size = td_cur_u32(cur);
        info = td_cur_u8(cur);
        (void)td_cur_u8(cur);
        s.section = td_cur_u16(cur);
    }
    s.type = info & 15;
    s.binding = info >> 4;
    return s;
}

void td_elf_symbols(struct td_elf *elf, const struct td_elf_section *table, td_elf_symbol_fn *fn,
                    void *ctx)
{
    struct td_bytes bytes = {0}, strings = {0};
    const size_t size = elf->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);

    if (!table || table->link >= elf->section_count ||
        td_elf_section_bytes(elf, table, &bytes, NULL) != TD_OK ||
        td_elf_section_bytes(elf, &elf->sections[table->link], &strings, NULL) != TD_OK)
        return;
    struct td_cur cur = td_cur_init(bytes);
    while (td_cur_left(&cur) >= size) {
        uint32_t name = 0;
        struct td_elf_symbol symbol = read_symbol(&cur, elf->is_64, &name);

        if (symbol.section == SHN_UNDEF || symbol.section == SHN_ABS || name == 0)
            continue;
        symbol.name = td_bytes_string(strings, name);
        if (symbol.name && symbol.name[0] != '\0')
            fn(ctx, &symbol);
    }
}
