/* SPDX-License-Identifier: MIT */
#include "record/sim/model/regions.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/map.h"
#include "base/mem.h"

struct open {
    uint32_t region;
    uint32_t name; /* as it was begun, which its end says again */
    bool inner;    /* of TD_REGION_OTHERS in itself: it is counted there already */
    struct td_region_clock begun;
};

struct td_sim_regions {
    uint64_t lost[TD_CAUSE_COUNT], retired[TD_RETIRED_COUNT];
    struct td_sim_region *regions;
    size_t count, cap;
    struct td_map by_name; /* parent and name to region */
    struct open *open;     /* the innermost last */
    size_t open_count, open_cap;
    uint64_t beyond; /* open ones that found no place */
    struct td_sim_region_misuse misuse;
};

struct td_sim_regions *td_sim_regions_new(void)
{
    return td_xcalloc(1, sizeof(struct td_sim_regions));
}

void td_sim_regions_free(struct td_sim_regions *regions)
{
    if (!regions)
        return;
    free(regions->regions);
    free(regions->open);
    td_map_release(&regions->by_name);
    free(regions);
}

uint64_t *td_sim_regions_lost(struct td_sim_regions *regions)
{
    return regions->lost;
}

void td_sim_regions_block(struct td_sim_regions *regions, const struct td_block *block)
{
    for (uint32_t i = 0; i < block->insn_count; i++)
        regions->retired[block->insn_retired[i]] += block->insn_slots[i];
}

static struct td_region_clock clock_of(const struct td_sim_regions *regions, uint64_t all,
                                       uint64_t exact)
{
    struct td_region_clock clock = {.instructions = all};

    clock.values[TD_SIM_COLUMN_INSTRUCTIONS] = exact;
    for (int i = 0; i < TD_RETIRED_COUNT; i++)
        clock.values[TD_SIM_FIRST_RETIRED_COLUMN + i] = regions->retired[i];
    for (int i = 0; i < TD_CAUSE_COUNT; i++)
        clock.values[TD_SIM_FIRST_CAUSE_COLUMN + i] = regions->lost[i];
    return clock;
}

static uint32_t put_region(struct td_sim_regions *regions, uint32_t parent, uint32_t name)
{
    bool added = false;
    const uint32_t id =
        *td_map_put(&regions->by_name, parent, name, (uint32_t)regions->count, &added);

    if (!added)
        return id;
    regions->regions =
        td_grow(regions->regions, &regions->cap, regions->count + 1, sizeof(*regions->regions));
    regions->regions[regions->count++] = (struct td_sim_region){.parent = parent, .name = name};
    return id;
}

/* The region of the name in the innermost open one; the one for all others where there is no more
 * room for it. */
static uint32_t find_region(struct td_sim_regions *regions, uint32_t name)
{
    const size_t depth = regions->open_count;
    const uint32_t parent = depth > 0 ? regions->open[depth - 1].region : TD_REGION_NONE;
    const uint32_t *known = td_map_find(&regions->by_name, parent, name);

    if (known && name != TD_SIM_REGION_OTHERS)
        return *known;
    if (depth > TD_REGION_DEPTH_MAX || regions->count >= TD_SIM_REGIONS_MAX ||
        name == TD_SIM_REGION_OTHERS)
        return put_region(regions, TD_REGION_NONE, TD_SIM_REGION_OTHERS);
    return put_region(regions, parent, name);
}

static bool is_open(const struct td_sim_regions *regions, uint32_t region)
{
    for (size_t i = 0; i < regions->open_count; i++) {
        if (regions->open[i].region == region)
            return true;
    }
    return false;
}

static void open_region(struct td_sim_regions *regions, uint32_t name,
                        const struct td_region_clock *now)
{
    const uint32_t region = find_region(regions, name);
    const bool others = regions->regions[region].name == TD_SIM_REGION_OTHERS;

    regions->regions[region].row.begun++;
    if (regions->open_count >= TD_SIM_REGIONS_OPEN_MAX) {
        regions->beyond++;
        return;
    }
    regions->open =
        td_grow(regions->open, &regions->open_cap, regions->open_count + 1, sizeof(*regions->open));
    regions->open[regions->open_count] = (struct open){
        .region = region, .name = name, .inner = others && is_open(regions, region), .begun = *now};
    regions->open_count++;
}

/* Adds what passed since the region began. */
static void add_passed(struct td_sim_region *region, const struct open *open,
                       const struct td_region_clock *now)
{
    const uint64_t exact =
        now->values[TD_SIM_COLUMN_INSTRUCTIONS] - open->begun.values[TD_SIM_COLUMN_INSTRUCTIONS];

    if (open->inner)
        return;
    region->row.whole += now->instructions - open->begun.instructions;
    region->row.seen += exact;
    for (int c = 0; c < TD_SIM_COLUMN_COUNT; c++)
        region->values[c] += now->values[c] - open->begun.values[c];
}

/* The slots of a call that was modelled exactly are its length. */
static void add_length(struct td_sim_region *region, const struct open *open,
                       const struct td_region_clock *now)
{
    const uint64_t exact =
        now->values[TD_SIM_COLUMN_INSTRUCTIONS] - open->begun.values[TD_SIM_COLUMN_INSTRUCTIONS];
    uint64_t slots = 0;

    region->row.ended++;
    if (open->inner || exact != now->instructions - open->begun.instructions)
        return;
    for (int c = TD_SIM_FIRST_RETIRED_COLUMN; c < TD_SIM_COLUMN_COUNT; c++)
        slots += now->values[c] - open->begun.values[c];
    td_region_row_call(&region->row, slots);
}

static void close_innermost(struct td_sim_regions *regions, const struct td_region_clock *now)
{
    const struct open *open = &regions->open[--regions->open_count];
    struct td_sim_region *region = &regions->regions[open->region];

    add_passed(region, open, now);
    add_length(region, open, now);
}

void td_sim_regions_begin(struct td_sim_regions *regions, uint32_t name, uint64_t all,
                          uint64_t exact)
{
    const struct td_region_clock now = clock_of(regions, all, exact);

    open_region(regions, name, &now);
}

void td_sim_regions_end(struct td_sim_regions *regions, uint32_t name, uint64_t all, uint64_t exact)
{
    const struct td_region_clock now = clock_of(regions, all, exact);
    size_t at = regions->open_count;

    if (regions->beyond > 0) {
        regions->beyond--;
        return;
    }
    while (at > 0 && regions->open[at - 1].name != name)
        at--;
    if (at == 0) {
        regions->misuse.strays++;
        return;
    }
    regions->misuse.left_open += regions->open_count - at;
    while (regions->open_count >= at)
        close_innermost(regions, &now);
}

uint32_t td_sim_regions_now(const struct td_sim_regions *regions)
{
    return regions->open_count > 0 ? regions->open[regions->open_count - 1].region + 1 : 0;
}

void td_sim_regions_leave(struct td_sim_regions *regions)
{
    regions->open_count = 0;
    regions->beyond = 0;
}

void td_sim_regions_inherit(struct td_sim_regions *regions, const struct td_sim_regions *parent)
{
    const struct td_region_clock now = {.instructions = 0};

    for (size_t i = 0; i < parent->open_count; i++)
        open_region(regions, parent->open[i].name, &now);
}

void td_sim_regions_each(const struct td_sim_regions *regions, uint64_t all, uint64_t exact,
                         td_sim_region_fn *fn, void *ctx)
{
    const struct td_region_clock now = clock_of(regions, all, exact);

    for (uint32_t i = 0; i < regions->count; i++) {
        struct td_sim_region region = regions->regions[i];

        for (size_t k = 0; k < regions->open_count; k++) {
            if (regions->open[k].region == i)
                add_passed(&region, &regions->open[k], &now);
        }
        fn(ctx, &region);
    }
}

struct td_sim_region_misuse td_sim_regions_misuse(const struct td_sim_regions *regions)
{
    return regions->misuse;
}
