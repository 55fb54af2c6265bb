/* SPDX-License-Identifier: MIT */
/* The regions of a program as tables, and as JSON. */
#ifndef TD_REPORT_VIEW_REGIONS_H
#define TD_REPORT_VIEW_REGIONS_H

#include "formats/export/json.h"
#include "report/query/regions.h"
#include "report/view/table/style.h"

/* The first `shown` rows. */
void td_regions_print(const struct td_region_table *table, const struct td_model *model,
                      size_t shown, const struct td_style *style);
/* "regions" and "region_marks" of the object. */
void td_regions_json(const struct td_region_table *table, const struct td_model *model,
                     struct td_json *json);

#endif
