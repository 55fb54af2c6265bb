/* SPDX-License-Identifier: MIT */
/* Regions on their way into the profile: those of one thread, again and again while it runs. */
#ifndef TD_RECORD_RUN_REGIONS_H
#define TD_RECORD_RUN_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/profile/write.h"

/* What was written of one. */
struct td_written_region {
    uint32_t id; /* the profile's */
    struct td_region_row row;
};

/* By the number of the region in its thread. A zeroed struct is of none. */
struct td_written_regions {
    struct td_written_region *at;
    size_t count, cap;
};

/* All that is known of a region by now. */
struct td_region_news {
    uint32_t number; /* of one that is written, or the next */
    uint32_t parent; /* a number below it, or TD_REGION_NONE */
    const char *name;
    size_t name_len;
    const struct td_region_row *row; /* its `region` says nothing; NULL: it is described, no more */
    const uint64_t *values;
};

void td_written_regions_release(struct td_written_regions *regions);
/* What did not change is not written again: nothing is charged to a region without an instruction
 * or a moment that it takes. */
void td_written_regions_put(struct td_written_regions *regions, struct td_profile_writer *writer,
                            const struct td_region_news *news);

#endif
