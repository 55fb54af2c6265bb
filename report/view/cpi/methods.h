/* SPDX-License-Identifier: MIT */
/* A CPI stack counted in several ways, side by side, as text and JSON. */
#ifndef TD_REPORT_VIEW_CPI_METHODS_H
#define TD_REPORT_VIEW_CPI_METHODS_H

#include "formats/export/json.h"
#include "report/query/cpi_methods.h"
#include "report/view/table/style.h"

void td_cpi_methods_print(const struct td_cpi_ways *ways, const struct td_style *style);
/* The same as a member "methods". */
void td_cpi_methods_json(const struct td_cpi_ways *ways, struct td_json *json);

#endif
