/* SPDX-License-Identifier: MIT */
#include "record/run/regions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void td_written_regions_release(struct td_written_regions *regions)
{
    free(regions->at);
    *regions = (struct td_written_regions){.at = NULL};
}

static void describe(struct td_written_regions *regions, struct td_profile_writer *writer,
                     const struct td_region_news *news)
{
    const uint32_t above = news->parent == TD_REGION_NONE ? TD_NONE : regions->at[news->parent].id;
    char *text = td_xstrndup(news->name, news->name_len);

    regions->at = td_grow(regions->at, &regions->cap, regions->count + 1, sizeof(*regions->at));
    regions->at[regions->count++] =
        (struct td_written_region){.id = td_profile_region(writer, above, text)};
    free(text);
}

static bool is_same(const struct td_region_row *a, const struct td_region_row *b)
{
    return a->thread == b->thread && a->begun == b->begun && a->ended == b->ended &&
           a->whole == b->whole && a->seen == b->seen;
}

void td_written_regions_put(struct td_written_regions *regions, struct td_profile_writer *writer,
                            const struct td_region_news *news)
{
    assert(news->number <= regions->count);
    assert(news->parent == TD_REGION_NONE || news->parent < news->number);
    if (news->number == regions->count)
        describe(regions, writer, news);
    struct td_written_region *known = &regions->at[news->number];
    if (!news->row || is_same(&known->row, news->row))
        return;
    known->row = *news->row;
    struct td_region_row ours = *news->row;
    ours.region = known->id;
    td_profile_region_row(writer, &ours, news->values);
}
