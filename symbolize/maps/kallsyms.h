/* SPDX-License-Identifier: MIT */
/* The kernel's functions, from the text of /proc/kallsyms, kept small: only code, sorted. */
#ifndef TD_SYMBOLIZE_MAPS_KALLSYMS_H
#define TD_SYMBOLIZE_MAPS_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct td_kallsyms;

/* A function; `module` is "" for the kernel proper. Borrowed. */
struct td_kernel_symbol {
    uint64_t start, end; /* end: where the next symbol starts */
    const char *name, *module;
};

struct td_kallsyms *td_kallsyms_new(void);
void td_kallsyms_free(struct td_kallsyms *symbols); /* NULL is allowed */

/* Takes a piece of the text; pieces may end anywhere. Lines that do not parse are left out. */
void td_kallsyms_feed(struct td_kallsyms *symbols, const void *data, size_t size);
/* After the last piece: sorts. TD_EPERM when every address is 0 (kptr_restrict), TD_ENODATA when
 * there is no function. */
int td_kallsyms_end(struct td_kallsyms *symbols, struct td_err *err);
/* All of it from a file. */
int td_kallsyms_read(struct td_kallsyms *symbols, const char *path, struct td_err *err);

/* Where the kernel's text starts (_text or _stext), 0 when not known. */
uint64_t td_kallsyms_text_start(const struct td_kallsyms *symbols);
/* TD_ENODATA when the address is before the first function. The last function of the kernel proper
 * ends at _etext where that is known. */
int td_kallsyms_find(const struct td_kallsyms *symbols, uint64_t address,
                     struct td_kernel_symbol *ret);

#endif
