/* SPDX-License-Identifier: MIT */
/*
 * What warmed caches ask of what lies beyond L2, in order. The last level and the pages are each
 * model's own, since windows change them: all models that go on from the same warmed caches take
 * the same of these.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_BEYOND_H
#define TD_RECORD_SIM_MODEL_MEMORY_BEYOND_H

#include <stddef.h>
#include <stdint.h>

/* A zeroed struct: nothing was asked for. */
struct td_beyond {
    uint64_t *lines; /* physical */
    size_t line_count, line_cap;
    uint64_t *pages; /* numbers of those touched for the first time */
    size_t page_count, page_cap;
};

void td_beyond_release(struct td_beyond *beyond);
void td_beyond_clear(struct td_beyond *beyond);
void td_beyond_add_line(struct td_beyond *beyond, uint64_t line);
void td_beyond_add_page(struct td_beyond *beyond, uint64_t page);

#endif
