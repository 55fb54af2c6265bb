/* SPDX-License-Identifier: MIT */
/* Build-ids of ELF files, images in memory and the running kernel. */
#ifndef TD_SYMBOLIZE_ELF_BUILDID_H
#define TD_SYMBOLIZE_ELF_BUILDID_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"
#include "symbolize/elf/elf.h"

/* The GNU build-id among ELF notes (`data` is a note segment's or section's bytes, aligned to 4).
 * TD_ENODATA when there is none. */
int td_build_id_from_notes(const void *data, size_t size, struct td_build_id *ret,
                           struct td_err *err);
/* size 0 when the file has none. */
struct td_build_id td_elf_build_id(const struct td_elf *elf);
/* Of a whole ELF file or image of this machine's byte order, 32 or 64 bits. TD_EFORMAT when it is
 * no sound ELF, TD_ENODATA when it has no build-id. */
int td_build_id_from_elf(const void *data, size_t size, struct td_build_id *ret,
                         struct td_err *err);
/* Of a file; also TD_ENOENT and TD_EIO. */
int td_build_id_from_file(const char *path, struct td_build_id *ret, struct td_err *err);
/* Of the running kernel, from /sys/kernel/notes. */
int td_build_id_from_kernel(struct td_build_id *ret, struct td_err *err);

#endif
