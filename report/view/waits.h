/* SPDX-License-Identifier: MIT */
/* Waits as a table, as JSON, and in a line of the head. */
#ifndef TD_REPORT_VIEW_WAITS_H
#define TD_REPORT_VIEW_WAITS_H

#include "formats/export/json.h"
#include "report/query/waits.h"
#include "report/view/table/style.h"

/* The places that are at least `percent` of all waiting, at most `max` of them. */
void td_waits_print(const struct td_wait_places *places, const struct td_model *model,
                    double percent, uint64_t max, const struct td_style *style);
/* "2.40 s of threads off the CPU, most for pipe in serve (waits.c:52)". */
void td_waits_print_head(const struct td_wait_places *places, const struct td_model *model,
                         const struct td_style *style);
/* The member "waits". */
void td_waits_json(const struct td_wait_places *places, const struct td_model *model, uint64_t max,
                   struct td_json *json);

#endif
