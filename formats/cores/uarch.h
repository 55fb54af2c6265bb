/* SPDX-License-Identifier: MIT */
/*
 * A description of a core: one text file a core (uarch/NAME.uarch; uarch.md is the specification).
 * This reads the general form: sections of lines of words. What a section's lines mean belongs to
 * its readers: uarch_core.h for the modelled core, others for events and formulas.
 */
#ifndef TD_FORMATS_CORES_UARCH_H
#define TD_FORMATS_CORES_UARCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct td_uarch;

struct td_uarch_line {
    uint32_t number; /* in the file, from 1 */
    uint32_t word_count;
    const char *const *words; /* terminated, borrowed from the description */
};

struct td_uarch_section {
    const char *name;
    uint32_t number; /* the heading's line */
    size_t line_count;
    const struct td_uarch_line *lines;
};

/* Reads the text of a description. On success *ret is the caller's, free with td_uarch_free. */
int td_uarch_parse(struct td_uarch **ret, const char *text, size_t size, struct td_err *err);
void td_uarch_free(struct td_uarch *uarch); /* NULL is allowed */
/* The section of this name, or NULL. Borrowed. */
const struct td_uarch_section *td_uarch_section(const struct td_uarch *uarch, const char *name);
/* The line of the section whose first word is `key`, or NULL. */
const struct td_uarch_line *td_uarch_find(const struct td_uarch_section *section, const char *key);

/* The descriptions that are built in. */
struct td_uarch_builtin {
    const char *name;
    const char *text;
    size_t size;
};
/* The description of this name, or NULL. What follows a '+' in it says what is changed (variant.h),
 * and is not looked at. */
const struct td_uarch_builtin *td_uarch_builtin(const char *name);
/* The i-th, or NULL past the last. */
const struct td_uarch_builtin *td_uarch_builtin_at(size_t i);

#endif
