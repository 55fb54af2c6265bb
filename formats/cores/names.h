/* SPDX-License-Identifier: MIT */
/*
 * The vendors' own names of events, for cores whose names libpfm4 does not have: names/NAME.names
 * beside the description NAME, made by scripts/event_names. The lists are built in.
 */
#ifndef TD_FORMATS_CORES_NAMES_H
#define TD_FORMATS_CORES_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/cores/uarch.h"

struct td_vendor_event {
    const char *name; /* `name_len` bytes, not ended by a zero */
    size_t name_len;
    uint64_t config, config1;
};

/* The i-th list: its core's name and its text. NULL past the last. */
const struct td_uarch_builtin *td_vendor_names_at(size_t i);

/* The next event of a list's text; *at begins as 0. False at its end. */
bool td_vendor_events_next(const struct td_uarch_builtin *list, size_t *at,
                           struct td_vendor_event *ret);

/* The event of this core, whatever the case of its letters: A.B.C, or A:B_C as libpfm4 writes it.
 * False when there is none, or no list of this core. */
bool td_vendor_event_find(struct td_vendor_event *ret, const char *core, const char *name,
                          size_t len);
/* The name that was probably meant, newly allocated; NULL when there is no list of this core, or
 * none is near. */
char *td_vendor_event_near(const char *core, const char *word);

#endif
