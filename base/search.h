/* SPDX-License-Identifier: MIT */
/* Binary search in whatever is sorted. */
#ifndef TD_BASE_SEARCH_H
#define TD_BASE_SEARCH_H

#include <stddef.h>

/* Raises `low`, a size_t variable, to the first index below `end` for which `is_below` is false, or
 * to `end`. `is_below` is an expression of the index `i`: true of the first ones, false of the
 * rest. */
#define TD_SEARCH(low, end, i, is_below)                \
    for (size_t td_end_ = (end); (low) < td_end_;) {    \
        const size_t i = (low) + (td_end_ - (low)) / 2; \
        if (is_below)                                   \
            (low) = i + 1;                              \
        else                                            \
            td_end_ = i;                                \
    }

#endif
