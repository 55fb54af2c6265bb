/* SPDX-License-Identifier: MIT */
/* A list of names to suggest one from: the names themselves are borrowed. */
#ifndef TD_BASE_NAMES_H
#define TD_BASE_NAMES_H

#include <stddef.h>

/* A zeroed struct is the empty list. */
struct td_names {
    const char **items; /* ends with NULL once it has an item; NULL before */
    size_t count, cap;
};

void td_names_add(struct td_names *names, const char *name);
/* As td_nearest; NULL of an empty list. */
const char *td_names_nearest(const struct td_names *names, const char *word);
void td_names_release(struct td_names *names);

#endif
