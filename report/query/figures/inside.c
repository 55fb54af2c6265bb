/* SPDX-License-Identifier: MIT */
#include "report/query/figures/inside.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "report/query/figures/names.h"
#include "report/query/figures/weights.h"

enum { NAMES_SHOWN = 8 };

static const char *name_of(const struct td_model *model, uint32_t region)
{
    return td_model_string(model, td_model_region(model, region)->name);
}

/* Parents come before what is in them. */
static bool *regions_inside(const struct td_model *model, const struct td_patterns *patterns)
{
    const uint32_t count = td_model_region_count(model);
    bool *inside = td_xcalloc((size_t)count + 1, sizeof(*inside));

    for (uint32_t r = 0; r < count; r++) {
        const uint32_t parent = td_model_region(model, r)->parent;

        inside[r] = parent != TD_REGION_NONE && inside[parent];
        for (size_t i = 0; i < patterns->len && !inside[r]; i++)
            inside[r] = td_pattern_matches(patterns->at[i], name_of(model, r));
    }
    return inside;
}

bool *td_inside_groups(const struct td_model *model, const struct td_patterns *regions)
{
    const uint32_t count = td_model_group_count(model);
    bool *kept = td_xcalloc((size_t)count + 1, sizeof(*kept));
    bool *inside = regions_inside(model, regions);

    for (uint32_t g = 0; g < count; g++) {
        const uint32_t in_region = td_model_group(model, g)->in_region;

        kept[g] = regions->len == 0 || (in_region > 0 && inside[in_region - 1]);
    }
    free(inside);
    return kept;
}

/* Each name once, the first few. */
static char *list_names(const struct td_model *model)
{
    struct td_map seen = {.slots = NULL};
    char *text = NULL;
    size_t size = 0;
    FILE *out = td_xmemstream(&text, &size);

    for (uint32_t r = 0; r < td_model_region_count(model); r++) {
        bool added = false;

        td_map_put(&seen, td_model_region(model, r)->name, 0, 0, &added);
        if (added && seen.len <= NAMES_SHOWN)
            fprintf(out, "%s'%s'", seen.len > 1 ? ", " : "", name_of(model, r));
    }
    if (seen.len > NAMES_SHOWN)
        fprintf(out, ", and %zu more (tdreport regions lists them)", seen.len - NAMES_SHOWN);
    fclose(out);
    td_map_release(&seen);
    return text;
}

static int refuse_name(const struct td_model *model, const char *pattern, struct td_err *err)
{
    char *names = list_names(model);
    const int rc = td_fail(err, TD_EUSAGE, "--region %s: no region is called so; there are %s",
                           pattern, names);

    free(names);
    return rc;
}

/* What is known of a region beside its places. */
static bool is_modelled(const struct td_model *model)
{
    for (uint32_t i = 0; i < td_model_region_row_count(model); i++) {
        if (td_model_region_row(model, i)->unit == TD_UNIT_SLOTS)
            return true;
    }
    return false;
}

/* Why no group is of the regions that are called so. */
static int refuse_places(const struct td_model *model, const char *pattern, struct td_err *err)
{
    if (!is_modelled(model))
        return td_fail(err, TD_ENODATA,
                       "--region %s: samples of a native run do not know their region; tdrec "
                       "--source sim records functions and lines by region, and tdreport regions "
                       "has what is known of this run",
                       pattern);
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        if (td_model_group(model, g)->in_region > 0)
            return td_fail(err, TD_ENODATA,
                           "--region %s: nothing was counted in it, or there are more regions than "
                           "are kept apart (256); tdreport regions has its sums",
                           pattern);
    }
    return td_fail(err, TD_ENODATA,
                   "--region %s: this profile does not say which functions ran in which region: "
                   "record it again with this version of tdrec",
                   pattern);
}

static bool any_group(const struct td_model *model, const bool *groups)
{
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        if (groups[g])
            return true;
    }
    return false;
}

static int check_pattern(const struct td_model *model, const char *pattern, struct td_err *err)
{
    const struct td_patterns one = {.at = &pattern, .len = 1};
    bool *inside = regions_inside(model, &one), *groups = td_inside_groups(model, &one);
    bool known = false;
    int rc = TD_OK;

    for (uint32_t r = 0; r < td_model_region_count(model) && !known; r++)
        known = inside[r];
    if (!known)
        rc = refuse_name(model, pattern, err);
    else if (!any_group(model, groups))
        rc = refuse_places(model, pattern, err);
    free(inside);
    free(groups);
    return rc;
}

int td_inside_check(const struct td_model *model, const struct td_patterns *regions,
                    struct td_err *err)
{
    int rc = TD_OK;

    if (regions->len == 0)
        return TD_OK;
    if (td_model_region_count(model) == 0)
        return td_fail(err, TD_ENODATA,
                       "--region %s: this profile has no regions: a program marks them with "
                       "tdprof/region.h, and tdrec starts it (man 3 tdprof_region)",
                       regions->at[0]);
    for (size_t i = 0; rc == TD_OK && i < regions->len; i++)
        rc = check_pattern(model, regions->at[i], err);
    if (rc == TD_OK && td_weights_event(model))
        return td_fail(err, TD_EUSAGE,
                       "--region %s: the native run of this profile does not know regions; it goes "
                       "with a profile of tdrec --source sim alone",
                       regions->at[0]);
    return rc;
}
