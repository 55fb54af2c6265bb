/* SPDX-License-Identifier: MIT */
/* What the slots of a row went to, in a few words: the deepest categories that hold most of it. */
#ifndef TD_REPORT_QUERY_MOSTLY_H
#define TD_REPORT_QUERY_MOSTLY_H

#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

#define TD_MOSTLY_MAX 3

struct td_mostly {
    struct {
        enum td_tma_node node;
        double share;    /* of the row's slots */
    } at[TD_MOSTLY_MAX]; /* losses, the greatest first; then useful work */
    size_t len;          /* 0: no categories, or none is known of this row */
};

/* `values` are by enum td_metric; nodes in `thin`, by bit, are not known. A node gives way to its
 * children where those are known for half of it; useful work is one. What holds less than a tenth
 * is left out, unless nothing holds more. */
struct td_mostly td_mostly_of(const struct td_measure *measure, const uint64_t *values,
                              td_tma_set thin);

#endif
