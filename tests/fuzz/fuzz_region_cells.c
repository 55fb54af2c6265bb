/* SPDX-License-Identifier: MIT */
/* What a marked program may have written into the memory that it shares with tdrec. */
#include <stddef.h>
#include <stdint.h>

#include "record/run/region_cells.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct td_marked marked;

    td_marked_read(&marked, data, size);
    for (uint32_t i = 0; i < marked.region_count; i++) {
        const struct td_marked_region *region = &marked.regions[i];

        if (!td_region_row_is_right(&region->row) || region->thread >= marked.thread_count ||
            (region->parent != TD_REGION_NONE && region->parent >= i))
            __builtin_trap();
    }
    td_marked_release(&marked);
    return 0;
}
