/* SPDX-License-Identifier: MIT */
/*
 * Samples (or tallies) that wait to be written: added in the order they come, taken out side by
 * side in runs of one group and CPU, which is how they compress.
 */
#ifndef TD_FORMATS_PROFILE_PENDING_H
#define TD_FORMATS_PROFILE_PENDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "formats/profile/columns.h"

struct td_pending_row;
struct td_pending_run;

/* A zeroed struct is empty. */
struct td_pending {
    struct td_pending_row *rows;
    uint64_t *values;
    size_t row_count, row_cap, value_count, value_cap;
    struct td_pending_run *runs; /* in the order of their first row until taken */
    size_t run_count, run_cap;
    struct td_map run_ids; /* (group, cpu) to the index in runs */
    uint32_t last_run;
    struct td_value_runs out; /* what td_pending_take hands out */
};

void td_pending_release(struct td_pending *pending);
void td_pending_add(struct td_pending *pending, const struct td_value_run *place,
                    const struct td_value_row *row, const uint64_t *values);
/* Time to write: one more row may be too many for a chunk. */
bool td_pending_full(const struct td_pending *pending);
/* The runs, by group and CPU, rows in the order they came. Empties the store; what is returned is
 * valid until the next call, NULL when there was nothing. */
const struct td_value_runs *td_pending_take(struct td_pending *pending);

#endif
