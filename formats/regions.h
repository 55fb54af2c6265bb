/* SPDX-License-Identifier: MIT */
/*
 * Regions: parts of its run that a program marked itself (region/tdprof/region.h). What was counted
 * in one, in one thread, with all that it called and all regions in it.
 */
#ifndef TD_FORMATS_REGIONS_H
#define TD_FORMATS_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Regions in regions in regions: a profile has no more levels. */
#define TD_REGION_DEPTH_MAX 64
#define TD_REGION_NONE      UINT32_MAX /* the parent of those that are in no other */
/* What stands for regions that are too many to be told apart, or nested too deep. */
#define TD_REGION_OTHERS "(other regions)"

/* The same name in another region is another region. */
struct td_region {
    uint32_t parent; /* TD_REGION_NONE: it is in no other */
    uint32_t name;   /* string */
    uint32_t depth;  /* 0 with no parent */
};

/* One region in one thread. */
struct td_region_row {
    uint32_t thread, region;
    uint32_t group;        /* whose columns the values are of; UINT32_MAX: nothing was counted */
    uint32_t unit;         /* enum td_unit: of lengths: ns, or slots of the modelled core */
    uint64_t begun, ended; /* calls; fewer ended than begun: some were open at the end */
    /* Of calls whose length is known. */
    uint64_t timed, sum, min, max;
    uint64_t squares[2]; /* the sum of the squares of their lengths: low, high 64 bits */
    /* The values are of a part of what ran: `seen` of `whole`, both instructions or both ns. */
    uint64_t whole, seen;
    size_t values; /* of a model: where they begin */
};

/* Whether its numbers can be: `what` is of a file. */
bool td_region_row_is_right(const struct td_region_row *row);
/* Adds another row of the same place. False, and nothing was added, when a sum cannot be. */
bool td_region_row_add(struct td_region_row *sum, const struct td_region_row *row);
/* One more call of this length. */
void td_region_row_call(struct td_region_row *row, uint64_t length);

/* How long a call took; NaN when no length is known. The deviation is that of the calls. */
double td_region_mean(const struct td_region_row *row);
double td_region_deviation(const struct td_region_row *row);

#endif
