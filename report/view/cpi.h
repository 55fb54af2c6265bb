/* SPDX-License-Identifier: MIT */
/* CPI stacks as text and JSON. */
#ifndef TD_REPORT_VIEW_CPI_H
#define TD_REPORT_VIEW_CPI_H

#include "formats/export/json.h"
#include "report/query/cpi.h"
#include "report/query/figures/rows.h"
#include "report/view/table/style.h"

/* What is shown of each stack. */
struct td_cpi_view {
    const struct td_cpi_basis *basis;
    int levels;
    double percent_limit; /* components below go together */
};

/* The stack of all that the measure holds. */
void td_cpi_print_whole(const struct td_cpi_view *view, const struct td_style *style);
/* One of each row, of functions. */
void td_cpi_print_rows(const struct td_cpi_view *view, const struct td_rows *rows,
                       const struct td_style *style);
/* The same as members "cpi_stack" and "functions". */
void td_cpi_json(const struct td_cpi_view *view, const struct td_rows *rows, struct td_json *json);

#endif
