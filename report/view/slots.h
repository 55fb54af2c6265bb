/* SPDX-License-Identifier: MIT */
/* How measured slots were attributed, in words and in JSON. */
#ifndef TD_REPORT_VIEW_SLOTS_H
#define TD_REPORT_VIEW_SLOTS_H

#include <stdio.h>

#include "formats/export/json.h"
#include "formats/measure.h"
#include "report/query/figures/rows.h"
#include "report/view/table/style.h"

/* A paragraph of the head, without a line's end: what was counted, how it reached functions, what
 * is missing of it. Nothing when slots were not measured. */
void td_slots_words(FILE *out, const struct td_measure *measure);
/* The same as a member "attribution", with a tree for each kind of core. Nothing when slots were
 * not measured. */
void td_slots_json(struct td_json *json, const struct td_measure *measure);
/* Of a row whose categories have errors: a member "category_errors". */
void td_slots_errors_json(struct td_json *json, const struct td_rows *rows,
                          const struct td_row *row);
/* Of a row: members "attribution", and where slots were measured what they rest on. */
void td_slots_row_json(struct td_json *json, const struct td_rows *rows, const struct td_row *row);
/* A line below a table of a node's children that says which of them come from a later run; nothing
 * when none does. */
void td_slots_print_runs(const struct td_measure *measure, enum td_tma_node parent,
                         const struct td_style *style);

#endif
