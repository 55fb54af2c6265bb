/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/image.h"

#include <assert.h>
#include <elf.h>
#include <string.h>

#include "base/mem.h"

/* What libdw and libdwelf look at. */
static const char *const sections[] = {
    ".debug_info",   ".debug_types",    ".debug_abbrev",      ".debug_line",
    ".debug_str",    ".debug_line_str", ".debug_str_offsets", ".debug_addr",
    ".debug_ranges", ".debug_rnglists", ".gnu_debugaltlink",
};

static void pad(struct td_buf *buf, size_t alignment)
{
    while (buf->len % alignment != 0)
        td_buf_u8(buf, 0);
}

/* The file header's room is kept free in front. */
static void begin(struct td_dwarf_image *image)
{
    if (image->bytes.len == 0)
        memset(td_buf_reserve(&image->bytes, sizeof(Elf64_Ehdr)), 0, sizeof(Elf64_Ehdr));
    if (image->bytes.len == 0)
        image->bytes.len = sizeof(Elf64_Ehdr);
}

void td_dwarf_image_cut(struct td_dwarf_image *image, size_t count)
{
    assert(count <= image->count);
    image->count = count;
    image->bytes.len =
        count ? image->sections[count - 1].offset + image->sections[count - 1].size : 0;
}

void td_dwarf_image_add(struct td_dwarf_image *image, const char *name, struct td_bytes bytes)
{
    if (bytes.size == 0)
        return;
    assert(image->count < TD_DWARF_IMAGE_SECTIONS_MAX);
    td_dwarf_image_cut(image, image->count); /* what a finished image had behind its sections */
    begin(image);
    pad(&image->bytes, 8);
    image->sections[image->count].name = name;
    image->sections[image->count].offset = image->bytes.len;
    image->sections[image->count++].size = bytes.size;
    td_buf_bytes(&image->bytes, bytes.data, bytes.size);
}

/* One Elf64_Shdr (ELF gABI, "Section Header"). */
static void put_header(struct td_buf *buf, uint32_t name, uint32_t type, uint64_t offset,
                       uint64_t size)
{
    td_buf_u32(buf, name);
    td_buf_u32(buf, type);
    td_buf_u64(buf, 0); /* flags */
    td_buf_u64(buf, 0); /* address */
    td_buf_u64(buf, offset);
    td_buf_u64(buf, size);
    td_buf_u32(buf, 0); /* link */
    td_buf_u32(buf, 0); /* info */
    td_buf_u64(buf, type == SHT_NULL ? 0 : 1);
    td_buf_u64(buf, 0); /* entry size */
}

/* The file header, in the room that was kept for it. */
static void put_file_header(struct td_dwarf_image *image, uint64_t table)
{
    const uint16_t count = (uint16_t)(image->count + 2);
    struct td_buf head = {0};

    td_buf_bytes(&head, ELFMAG, SELFMAG);
    td_buf_u8(&head, ELFCLASS64);
    td_buf_u8(&head, ELFDATA2LSB);
    td_buf_u8(&head, EV_CURRENT);
    pad(&head, EI_NIDENT);
    td_buf_u16(&head, ET_REL);
    td_buf_u16(&head, EM_NONE);
    td_buf_u32(&head, EV_CURRENT);
    td_buf_u64(&head, 0); /* entry */
    td_buf_u64(&head, 0); /* program headers */
    td_buf_u64(&head, table);
    td_buf_u32(&head, 0); /* flags */
    td_buf_u16(&head, sizeof(Elf64_Ehdr));
    td_buf_u16(&head, 0);
    td_buf_u16(&head, 0);
    td_buf_u16(&head, sizeof(Elf64_Shdr));
    td_buf_u16(&head, count);
    td_buf_u16(&head, (uint16_t)(count - 1)); /* the section of names is the last */
    assert(head.len == sizeof(Elf64_Ehdr));
    memcpy(image->bytes.data, head.data, head.len);
    td_buf_release(&head);
}

struct td_bytes td_dwarf_image_finish(struct td_dwarf_image *image)
{
    struct td_buf *buf = &image->bytes;
    uint32_t name = 1;

    td_dwarf_image_cut(image, image->count);
    begin(image);
    const uint64_t names = buf->len;
    td_buf_u8(buf, 0);
    for (size_t i = 0; i < image->count; i++)
        td_buf_bytes(buf, image->sections[i].name, strlen(image->sections[i].name) + 1);
    td_buf_bytes(buf, ".shstrtab", sizeof(".shstrtab"));
    const uint64_t names_size = buf->len - names;
    pad(buf, 8);
    const uint64_t table = buf->len;
    put_header(buf, 0, SHT_NULL, 0, 0);
    for (size_t i = 0; i < image->count; i++) {
        put_header(buf, name, SHT_PROGBITS, image->sections[i].offset, image->sections[i].size);
        name += (uint32_t)strlen(image->sections[i].name) + 1;
    }
    put_header(buf, name, SHT_STRTAB, names, names_size);
    put_file_header(image, table);
    return (struct td_bytes){.data = buf->data, .size = buf->len};
}

void td_dwarf_image_release(struct td_dwarf_image *image)
{
    td_buf_release(&image->bytes);
    *image = (struct td_dwarf_image){.count = 0};
}

/* libdw 0.188 cannot take the file: a section is compressed by zstd; or it shall not, because a
 * section is a hole of gigabytes. */
static bool needs_image(const struct td_elf *elf)
{
    if (td_elf_has_holes(elf))
        return true;
    for (size_t i = 0; i < td_elf_section_count(elf); i++) {
        if (td_elf_section_is_zstd(elf, i))
            return true;
    }
    return false;
}

/* As dwz shares them; libdw takes them for no debug information at all. */
static bool has_only_strings(const struct td_elf *elf)
{
    return !td_elf_section(elf, ".debug_info") && !td_elf_section(elf, ".zdebug_info") &&
           !td_elf_section(elf, ".debug_line") && !td_elf_section(elf, ".zdebug_line");
}

int td_dwarf_image_of(struct td_dwarf_image *image, struct td_elf *elf, struct td_err *err)
{
    static const uint8_t no_lines[4] = {0};
    const bool only_strings = has_only_strings(elf), needed = only_strings || needs_image(elf);

    /* Damaged compressed sections are named; libdw would leave them out. */
    for (size_t i = 0; i < TD_ARRAY_SIZE(sections); i++) {
        struct td_bytes bytes = {0};
        struct td_err why = TD_ERR_INIT;
        const int rc = td_elf_debug_bytes(elf, sections[i] + 1, &bytes, &why);

        if (rc != TD_OK && rc != TD_ENODATA)
            return td_fail(err, rc, "%s", why.text);
        if (needed)
            td_dwarf_image_add(image, sections[i], bytes);
    }
    if (only_strings) /* one section of more must be seen */
        td_dwarf_image_add(image, ".debug_line",
                           (struct td_bytes){.data = no_lines, .size = sizeof(no_lines)});
    return TD_OK;
}
