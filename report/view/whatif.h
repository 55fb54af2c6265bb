/* SPDX-License-Identifier: MIT */
/* What if a part of the core were perfect: as text and JSON. */
#ifndef TD_REPORT_VIEW_WHATIF_H
#define TD_REPORT_VIEW_WHATIF_H

#include "formats/export/json.h"
#include "report/query/whatif.h"
#include "report/view/table/style.h"

/* "with perfect branches 1.62 times the speed", newly allocated; NULL when it is not known. */
char *td_whatif_words(const struct td_whatif *what_if, const struct td_style *style);
/* One line of a verdict; nothing when nothing else was modelled. */
void td_whatif_print_line(const struct td_measure *measure, const struct td_style *style);
/* Each variant of the whole, the greatest speed-up first. */
void td_whatif_print_whole(const struct td_measure *measure, const struct td_style *style);
/* The first `max` rows, of functions, with as many variants as there is room for. */
void td_whatif_print_rows(const struct td_rows *rows, const struct td_whatif_rows *what_if,
                          size_t max, const struct td_style *style);
/* The member "what_if": an array in the order in which they were asked for. */
void td_whatif_json(const struct td_measure *measure, struct td_json *json);
/* The member "functions", each with its "what_if". */
void td_whatif_json_rows(const struct td_rows *rows, const struct td_whatif_rows *what_if,
                         size_t max, struct td_json *json);

#endif
