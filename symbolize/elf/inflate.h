/* SPDX-License-Identifier: MIT */
/* Compressed bytes inside ELF files that libelf 0.188 leaves to others: sections by zstd, and
 * .gnu_debugdata (xz). */
#ifndef TD_SYMBOLIZE_ELF_INFLATE_H
#define TD_SYMBOLIZE_ELF_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/elf/cursor.h"

#define TD_ELFCOMPRESS_ZSTD 2 /* ELF gABI; elf.h of Debian 12 lacks it */

/* Decompresses a section with its header (ELF gABI, Chdr). The result is the caller's to free.
 * TD_EFORMAT when damaged, TD_ELIMIT or TD_ENOMEM for a size that is absurd or cannot be had. */
int td_inflate_zstd(struct td_bytes raw, bool is_64, uint8_t **ret, size_t *size,
                    struct td_err *err);
/* Decompresses an xz stream; the result is the caller's to free. */
int td_inflate_xz(struct td_bytes raw, uint8_t **ret, size_t *size, struct td_err *err);

#endif
