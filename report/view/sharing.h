/* SPDX-License-Identifier: MIT */
/* Lines of the cache that threads share, as text and as JSON. */
#ifndef TD_REPORT_VIEW_SHARING_H
#define TD_REPORT_VIEW_SHARING_H

#include "formats/export/json.h"
#include "report/query/lock_callers.h"
#include "report/query/sharing.h"
#include "report/view/table/style.h"

/* The first `shown` lines (SIZE_MAX: all), with the costliest pairs of each. */
void td_sharing_print(const struct td_shared_table *table, const struct td_model *model,
                      size_t shown, const struct td_style *style);
/* "sharing" of the object: sums, and the first `shown` lines with all pairs. */
void td_sharing_json(const struct td_shared_table *table, const struct td_model *model,
                     size_t shown, struct td_json *json);

/* Who takes contended locks; nothing where no function of locks lost anything. */
void td_lock_callers_print(const struct td_lock_callers *callers, const struct td_measure *measure,
                           const struct td_style *style);
/* "lock_callers" of the object: all of them. */
void td_lock_callers_json(const struct td_lock_callers *callers, const struct td_model *model,
                          struct td_json *json);

#endif
