/* SPDX-License-Identifier: MIT */
/* CPI stacks as a picture: SVG 1.1 that loads nothing and runs nothing. */
#ifndef TD_REPORT_VIEW_CPI_SVG_H
#define TD_REPORT_VIEW_CPI_SVG_H

#include <stdio.h>

#include "report/view/cpi/cpi.h"

/* The stack of all that the measure holds, and one of each of the list: a bar, and below it a table
 * of its components with the exact figures as attributes. Whatever a colour says stands there as
 * text. */
void td_cpi_svg(const struct td_cpi_view *view, const struct td_cpi_list *list, FILE *out);

#endif
