/* SPDX-License-Identifier: MIT */
/*
 * Debug sections put together as an ELF file in memory, for a libdw that could not read them where
 * they stand: compressed by zstd, or in a package of split units (.dwp).
 */
#ifndef TD_SYMBOLIZE_DWARF_IMAGE_H
#define TD_SYMBOLIZE_DWARF_IMAGE_H

#include "base/bytes.h"
#include "base/err.h"
#include "symbolize/elf/elf.h"

enum { TD_DWARF_IMAGE_SECTIONS_MAX = 16 };

struct td_dwarf_image {
    struct td_buf bytes;
    struct {
        const char *name; /* with its dot; borrowed */
        size_t offset, size;
    } sections[TD_DWARF_IMAGE_SECTIONS_MAX];
    size_t count;
};

/* Zeroed memory is an empty image. Adds a section; its bytes are copied. Empty ones are left out.
 */
void td_dwarf_image_add(struct td_dwarf_image *image, const char *name, struct td_bytes bytes);
/* Forgets all but the first `count` sections: what many images share is copied once. */
void td_dwarf_image_cut(struct td_dwarf_image *image, size_t count);
/* The ELF file, valid until the image is changed. */
struct td_bytes td_dwarf_image_finish(struct td_dwarf_image *image);
void td_dwarf_image_release(struct td_dwarf_image *image);

/* Fills an empty image with the debug sections of a file when libdw 0.188 would not take the file
 * itself; else leaves it empty. The error names a section that is damaged. */
int td_dwarf_image_of(struct td_dwarf_image *image, struct td_elf *elf, struct td_err *err);

#endif
