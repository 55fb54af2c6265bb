/* SPDX-License-Identifier: MIT */
/* The functions of the vdso, from the image that the kernel mapped into this process. */
#ifndef TD_SYMBOLIZE_MAPS_VDSO_H
#define TD_SYMBOLIZE_MAPS_VDSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"

/* The image itself, in this process's memory; false when the kernel maps none. */
bool td_vdso_image(const uint8_t **data, size_t *size);

/* `name` is valid during the call. */
typedef void td_vdso_symbol_fn(void *ctx, uint64_t offset, uint64_t size, const char *name);

/* Calls `fn` for each function; TD_ENODATA when there is no image. */
int td_vdso_symbols(td_vdso_symbol_fn *fn, void *ctx, struct td_err *err);

#endif
