/* SPDX-License-Identifier: MIT */
/* Which groups of a profile were counted in the regions that a filter names. */
#ifndef TD_REPORT_QUERY_FIGURES_INSIDE_H
#define TD_REPORT_QUERY_FIGURES_INSIDE_H

#include <stdbool.h>

#include "base/err.h"
#include "report/query/figures/measure.h"

/* Whether each pattern names a region of which the places are known. TD_EUSAGE where a name is of
 * no region, TD_ENODATA where there are none, or where the profile has no places of them: with what
 * there is, or how to record it. No patterns: TD_OK. */
int td_inside_check(const struct td_model *model, const struct td_patterns *regions,
                    struct td_err *err);

/* By group: whether it is of a region of these names, or of one in such a region; all where there
 * are no patterns. Newly allocated. */
bool *td_inside_groups(const struct td_model *model, const struct td_patterns *regions)
    __attribute__((returns_nonnull));

#endif
