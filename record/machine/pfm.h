/* SPDX-License-Identifier: MIT */
/* libpfm4: events by the names of its tables, and a cross-check of ours. The only file that calls
 * it; one thread at a time (the library keeps state without locks). */
#ifndef TD_RECORD_MACHINE_PFM_H
#define TD_RECORD_MACHINE_PFM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/cores/pmu.h"

struct td_pfm_code {
    uint64_t config[3];
    bool exclude_user, exclude_kernel; /* its own modifiers */
    bool corrected; /* the library's table has it wrong; this is the vendor's encoding */
};

/* "MEM_LOAD_RETIRED:L3_MISS", also with dots, of the core's table (core->libpfm); or with its PMU's
 * name before "::". False when there is no such table, event or mask. */
bool td_pfm_find(struct td_pfm_code *ret, const struct td_pmu_core *core, const char *name,
                 size_t len);

/* The event of the core's table that was probably meant, with its mask when that is what is wrong;
 * newly allocated, NULL when none is near. */
char *td_pfm_near(const struct td_pmu_core *core, const char *word);

/* An event of the description that the library encodes in another way. */
struct td_pfm_difference {
    const char *event;    /* of the description */
    const char *pfm_name; /* static */
    uint64_t ours[2], theirs[2];
};

/* Compares the events that both know; puts up to `max` differences into ret and returns how many
 * there are. *compared: how many were compared. */
size_t td_pfm_compare(const struct td_pmu_core *core, struct td_pfm_difference *ret, size_t max,
                      size_t *compared);

#endif
