/* SPDX-License-Identifier: MIT */
/*
 * Whether numbers of a file can be what they say they are: a count that no recording comes to, or
 * parts that exceed their whole, are damage, whatever the checksums say.
 */
#ifndef TD_FORMATS_SUMS_H
#define TD_FORMATS_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/model.h"

/* What a column sums up to is below: 50 hours of the slots of 1,000 CPUs. */
#define TD_SUM_MAX (UINT64_C(1) << 62)

/* Sums so far, by column, over all groups. A zeroed struct is none. */
struct td_sums {
    uint64_t sampled[TD_COLUMNS_MAX], modelled[TD_COLUMNS_MAX], varied[TD_COLUMNS_MAX];
    uint64_t slots;   /* modelled, of all nodes */
    uint64_t samples; /* times what each stands for */
};

/* Adds a row of samples; false, and nothing added, when a value cannot be, or a sum. */
bool td_sums_add(struct td_sums *sums, const struct td_model *model, const struct td_group *group,
                 uint64_t samples, const uint64_t *values);
/* One modelled tally, as it stands in a file, where it may be a difference: its slots are no more
 * than its cycles have. `width` is how many slots a cycle has; 0: not known. Always true without a
 * column of cycles. */
bool td_sums_parts_are_right(const struct td_model *model, const struct td_group *group,
                             const uint64_t *values, uint64_t width);

/* Takes out the modelled tallies whose sums are negative, for a part of them was lost, or with
 * which a column's sum would be too large. Cycles alone may be negative: those of a recording that
 * was killed, while it owed what was rounded. Returns how many were taken out. */
size_t td_sums_drop_wrong(struct td_sums *sums, struct td_model *model);

#endif
