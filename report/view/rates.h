/* SPDX-License-Identifier: MIT */
/* Rates beside the tree, as tdrec --count shows them. */
#ifndef TD_REPORT_VIEW_RATES_H
#define TD_REPORT_VIEW_RATES_H

#include "formats/export/json.h"
#include "report/query/figures/rates.h"
#include "report/view/table/style.h"

/* Nothing where there are none. */
void td_rates_print(const struct td_rates *rates, const struct td_style *style);
/* The member "rates" of the object that is open; none where there are none. */
void td_rates_json(const struct td_rates *rates, struct td_json *json);

#endif
