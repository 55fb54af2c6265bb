/* SPDX-License-Identifier: MIT */
/* Ranges of addresses that do not overlap, sorted: what is mapped where. */
#ifndef TD_BASE_RANGE_H
#define TD_BASE_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct td_range {
    uint64_t start, end; /* [start, end) */
    uint64_t offset;     /* what `start` stands for (an offset in a file); moves with splits */
    uint32_t value;      /* the caller's: whose range this is */
};

/* A zeroed struct is empty. */
struct td_range_set {
    struct td_range *items;
    size_t len, cap;
};

void td_range_set_release(struct td_range_set *ranges);
/* Adds a range; what it overlaps is cut back, split or dropped. An empty range is ignored. */
void td_range_set_put(struct td_range_set *ranges, const struct td_range *range);
/* The index of the first range that ends behind `at`; the number of ranges when none does. */
size_t td_range_set_first(const struct td_range_set *ranges, uint64_t at);
/* The range that holds `at`, or NULL. Valid until the next put. */
const struct td_range *td_range_set_find(const struct td_range_set *ranges, uint64_t at);
/* Whether some range has a part of [start, end). */
bool td_range_set_overlaps(const struct td_range_set *ranges, uint64_t start, uint64_t end);
void td_range_set_copy(struct td_range_set *ret, const struct td_range_set *ranges);

#endif
