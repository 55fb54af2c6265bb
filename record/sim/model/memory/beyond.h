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
    uint64_t *asked; /* a physical line, or TD_BEYOND_PAGE and the number of a page first touched */
    size_t count, cap;
};

#define TD_BEYOND_PAGE (UINT64_C(1) << 63)

void td_beyond_release(struct td_beyond *beyond);
void td_beyond_add(struct td_beyond *beyond, uint64_t asked);

#endif
