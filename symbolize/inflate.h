/* SPDX-License-Identifier: MIT */
/* Compressed bytes inside ELF files: sections (zlib, zstd, old .zdebug_) and .gnu_debugdata (xz).
 */
#ifndef TD_SYMBOLIZE_INFLATE_H
#define TD_SYMBOLIZE_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbolize/cursor.h"

/* Decompresses a section with its header (ELF gABI Chdr, or "ZLIB" and a size when `zdebug`). The
 * result is the caller's to free. TD_EFORMAT when damaged, TD_EUNSUPPORTED for an unknown method,
 * TD_ELIMIT or TD_ENOMEM for a size that is absurd or cannot be had. */
int td_inflate_section(struct td_bytes raw, bool zdebug, bool is_64, uint8_t **ret, size_t *size,
                       struct td_err *err);
/* Decompresses an xz stream; the result is the caller's to free. */
int td_inflate_xz(struct td_bytes raw, uint8_t **ret, size_t *size, struct td_err *err);

#endif
