/* SPDX-License-Identifier: MIT */
/* The spread over hosts, ranks or processes as text and JSON. */
#ifndef TD_REPORT_VIEW_BY_H
#define TD_REPORT_VIEW_BY_H

#include "formats/export/json.h"
#include "report/query/by.h"
#include "report/view/table/style.h"

/* The whole and the first `shown` functions. */
void td_by_print(const struct td_by_table *table, const struct td_measure *measure, enum td_by by,
                 size_t shown, const struct td_style *style);
/* Members "by", "metric", "parts", "whole" and "functions" of the object that is open. */
void td_by_json(const struct td_by_table *table, const struct td_measure *measure, enum td_by by,
                size_t shown, struct td_json *json);

#endif
