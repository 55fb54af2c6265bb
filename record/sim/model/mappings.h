/* SPDX-License-Identifier: MIT */
/*
 * What files are mapped where, and were before: an address and what was mapped there is a place
 * (trace.h). Pure: the caller says what is mapped.
 */
#ifndef TD_RECORD_SIM_MODEL_MAPPINGS_H
#define TD_RECORD_SIM_MODEL_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/range.h"
#include "record/sim/model/trace.h"

/* A zeroed struct is empty. */
struct td_mappings {
    struct td_range_set now; /* by address; value: the caller's number of the file */
    uint32_t *numbers;       /* of places, by index of `now` */
    size_t number_cap;
    struct td_range_set places; /* by place: all that was ever mapped */
    uint32_t count;             /* numbers in use */
};

void td_mappings_release(struct td_mappings *mappings);
/* Nothing is mapped any more. */
void td_mappings_clear(struct td_mappings *mappings);
/* The range is mapped; one that overlaps another is left out. What is mapped where it was before
 * has the number that it had, so that a library that is opened again is the same places again. */
void td_mappings_add(struct td_mappings *mappings, const struct td_range *range);
/* What is mapped at the address, or NULL; *place is its place then. Valid until the next change. */
const struct td_range *td_mappings_find(const struct td_mappings *mappings, uint64_t address,
                                        uint64_t *place);
/* Whether some file is mapped in [start, end). */
bool td_mappings_overlap(const struct td_mappings *mappings, uint64_t start, uint64_t end);

/* Whether the code at the file's offset is what is to be placed. */
typedef bool td_mappings_same_fn(void *ctx, uint32_t file, uint64_t offset);
/* The place of code where no file is mapped: of a file that was mapped there when `same` says that
 * it is that file's code, copied, else of none. */
uint64_t td_mappings_place_copy(const struct td_mappings *mappings, uint64_t address,
                                td_mappings_same_fn *same, void *ctx);

#endif
