/* SPDX-License-Identifier: MIT */
/* The stall report, in place of the tree and the rates: text of 80 columns, or JSON. */
#ifndef TD_RECORD_COUNT_PRINT_STALLS_H
#define TD_RECORD_COUNT_PRINT_STALLS_H

#include <stdio.h>

#include "formats/export/json.h"
#include "record/count/print.h"

/* Both are for views whose `machine` is not NULL. */
void td_count_stalls_print(const struct td_count_view *view, FILE *out);
/* The members "stalls", "latency_model" and "rates" of a type of CPU. */
void td_count_stalls_json(const struct td_count_view *view, const struct td_count_cpu_type *part,
                          struct td_json *json);
/* The member "machine" of an object. */
void td_count_machine_json(const struct td_count_view *view, struct td_json *json);

#endif
