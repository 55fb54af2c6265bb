/* SPDX-License-Identifier: MIT */
/* Latencies and data sources of precise samples as text and JSON. */
#ifndef TD_REPORT_VIEW_LATENCY_H
#define TD_REPORT_VIEW_LATENCY_H

#include "formats/export/json.h"
#include "report/query/latency.h"
#include "report/view/table/style.h"

/* For each event a table for each latency that its samples tell, and one of the data's sources;
 * the first `shown` rows of each. */
void td_latency_print(const struct td_latency *latency, const struct td_model *model, bool lines,
                      size_t shown, const struct td_style *style);
/* The members "cycles" and "latency", an array of events, of the object that is open. */
void td_latency_json(const struct td_latency *latency, const struct td_model *model, size_t shown,
                     struct td_json *json);

#endif
