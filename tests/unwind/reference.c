/* SPDX-License-Identifier: MIT */
/* libunwind's remote interface: registers, stack bytes and mapped files are ours to hand out. */
#include "tests/unwind/reference.h"

#include <stdlib.h>
#include <string.h>

#include <libunwind.h>

#include "base/file.h"
#include "base/mem.h"

/* libunwind exports it for profilers, and declares it in no installed header. */
#define dwarf_search UNW_OBJ(dwarf_search_unwind_table)
int dwarf_search(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *di, unw_proc_info_t *pi,
                 int need_unwind_info, void *arg);

/* A mapped file: its bytes by address, and where its .eh_frame_hdr is. */
struct image {
    const char *path; /* of the triples: compared by pointer */
    struct td_file_map file;
    uint64_t hdr_address, hdr_size, hdr_offset;
    struct td_unwind_elf elf;
    bool ok;
};

struct reference {
    unw_addr_space_t space;
    uint64_t space_id;
    struct image *images;
    size_t count, cap;
    const struct td_unwind_sample *sample;
    const struct triple_space *maps;
};

static void find_header(struct image *image)
{
    struct td_rd rd = td_rd_init(image->file.data, image->file.size, 0);

    rd.pos = 32;
    const uint64_t phoff = td_rd_u64(&rd);
    rd.pos = 56;
    const unsigned count = td_rd_u16(&rd);
    for (unsigned i = 0; i < count; i++) {
        rd.pos = phoff + 56 * (uint64_t)i;
        const uint32_t type = td_rd_u32(&rd);
        td_rd_u32(&rd);
        const uint64_t offset = td_rd_u64(&rd), address = td_rd_u64(&rd);
        td_rd_u64(&rd);
        const uint64_t size = td_rd_u64(&rd);
        if (type == 0x6474e550 && td_rd_ok(&rd)) {
            image->hdr_address = address;
            image->hdr_offset = offset;
            image->hdr_size = size;
        }
    }
}

static struct image *find_image(struct reference *r, const char *path)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->images[i].path == path)
            return &r->images[i];
    }
    r->images = td_grow(r->images, &r->cap, r->count + 1, sizeof(*r->images));
    struct image *image = &r->images[r->count++];
    *image = (struct image){.path = path};
    if (strcmp(path, "[vdso]") == 0) {
        const struct td_bytes vdso = triples_vdso();
        image->file = (struct td_file_map){.data = vdso.data, .size = vdso.size};
    } else if (path[0] != '/' || td_file_map(&image->file, path, NULL) < 0) {
        return image;
    }
    const struct td_bytes source = {.data = image->file.data, .size = image->file.size};
    struct td_elf *elf = NULL;
    if (td_elf_parse(&elf, path, source, NULL) == TD_OK &&
        td_unwind_elf_read(&image->elf, elf, NULL) == TD_OK) {
        image->ok = true;
        find_header(image);
    }
    td_elf_free(elf);
    return image;
}

/* Bytes of a file by its own addresses. */
static bool image_word(const struct image *image, uint64_t address, uint64_t *value)
{
    for (unsigned i = 0; image->ok && i < image->elf.segment_count; i++) {
        const struct td_unwind_segment *s = &image->elf.segments[i];
        const uint64_t offset = s->offset + (address - s->address);
        if (address < s->address || address - s->address + 8 > s->file_size ||
            offset + 8 > image->file.size)
            continue;
        memcpy(value, image->file.data + offset, 8);
        return true;
    }
    return false;
}

static int access_mem(unw_addr_space_t as, unw_word_t address, unw_word_t *value, int write,
                      void *arg)
{
    struct reference *r = arg;
    const struct td_unwind_sample *s = r->sample;
    const uint64_t offset = address - s->regs[TD_CFI_X86_RSP];
    uint64_t word;

    (void)as;
    if (write)
        return -UNW_EINVAL;
    if (offset < s->stack_bytes && s->stack_bytes - offset >= 8) {
        memcpy(value, s->stack + offset, 8);
        return 0;
    }
    /* Read-only data lies in a mapping that was not recorded: the nearest file below. */
    for (size_t i = 0; i < r->maps->count; i++) {
        const struct triple_map *map = &r->maps->maps[i];
        if (image_word(find_image(r, map->path), address - map->bias, &word)) {
            *value = word;
            return 0;
        }
    }
    return -UNW_EINVAL;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need,
                          void *arg)
{
    struct reference *r = arg;
    const struct triple_map *map = triples_map(r->maps, ip);
    const struct image *image = map ? find_image(r, map->path) : NULL;
    unw_dyn_info_t di = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};

    if (!image || !image->ok || image->hdr_size < 12)
        return -UNW_ENOINFO;
    /* version, three encodings, pointer (4), count (4), then pairs of 4 + 4 relative to here */
    const uint8_t *hdr = image->file.data + image->hdr_offset;
    uint32_t count;
    if (hdr[1] != 0x1b || hdr[2] != 0x03 || hdr[3] != 0x3b)
        return -UNW_ENOINFO;
    memcpy(&count, hdr + 8, 4);
    di.start_ip = map->begin;
    di.end_ip = map->end;
    di.u.rti.segbase = image->hdr_address + map->bias;
    di.u.rti.table_data = image->hdr_address + map->bias + 12;
    di.u.rti.table_len = (unw_word_t)count * 8 / sizeof(unw_word_t);
    return dwarf_search(as, ip, &di, pi, need, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
    (void)as;
    (void)pi;
    (void)arg;
}

static int no_dyn_info(unw_addr_space_t as, unw_word_t *address, void *arg)
{
    (void)as;
    (void)address;
    (void)arg;
    return -UNW_ENOINFO;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
                      void *arg)
{
    const struct reference *r = arg;

    (void)as;
    if (write || reg < 0 || reg > TD_CFI_X86_RA) /* UNW_X86_64_* are DWARF's numbers */
        return -UNW_EBADREG;
    *value = r->sample->regs[reg];
    return 0;
}

static int access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write,
                        void *arg)
{
    (void)as;
    (void)reg;
    (void)value;
    (void)write;
    (void)arg;
    return -UNW_EINVAL;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
    (void)as;
    (void)cursor;
    (void)arg;
    return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t address, char *buf, size_t size,
                   unw_word_t *offset, void *arg)
{
    (void)as;
    (void)address;
    (void)buf;
    (void)size;
    (void)offset;
    (void)arg;
    return -UNW_EINVAL;
}

struct reference *reference_new(void)
{
    static unw_accessors_t accessors = {.find_proc_info = find_proc_info,
                                        .put_unwind_info = put_unwind_info,
                                        .get_dyn_info_list_addr = no_dyn_info,
                                        .access_mem = access_mem,
                                        .access_reg = access_reg,
                                        .access_fpreg = access_fpreg,
                                        .resume = no_resume,
                                        .get_proc_name = no_name};
    struct reference *r = td_xcalloc(1, sizeof(*r));

    r->space = unw_create_addr_space(&accessors, 0);
    unw_set_caching_policy(r->space, UNW_CACHE_GLOBAL);
    return r;
}

void reference_free(struct reference *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++) {
        td_unwind_elf_release(&r->images[i].elf);
        if (r->images[i].path[0] == '/')
            td_file_unmap(&r->images[i].file);
    }
    free(r->images);
    unw_destroy_addr_space(r->space);
    free(r);
}

size_t reference_unwind(struct reference *r, const struct td_unwind_sample *sample,
                        const struct triple_space *space, uint64_t *frames, size_t max,
                        bool *no_table)
{
    unw_cursor_t cursor;
    size_t count = 0;
    bool exact = true;

    if (r->space_id != sample->space)
        unw_flush_cache(r->space, 0, 0);
    r->space_id = sample->space;
    r->sample = sample;
    r->maps = space;
    if (no_table)
        *no_table = false;
    if (unw_init_remote(&cursor, r->space, r) < 0)
        return 0;
    while (true) {
        unw_word_t ip = 0;
        unw_get_reg(&cursor, UNW_REG_IP, &ip);
        if (ip == 0)
            break;
        if (count > 0 && !triples_map(space, ip - !exact))
            break; /* it does not check; the stack behind is noise */
        frames[count++] = ip - !exact;
        unw_proc_info_t procedure;
        if (no_table) /* 1.6.2 answers with a procedure of one byte where it knows none */
            *no_table = unw_get_proc_info(&cursor, &procedure) < 0 ||
                        procedure.end_ip - procedure.start_ip == 1;
        if (count == max || unw_step(&cursor) <= 0)
            break;
        /* Of the frame that was interrupted, not of the trampoline. */
        exact = unw_is_signal_frame(&cursor) > 0;
    }
    return count;
}
