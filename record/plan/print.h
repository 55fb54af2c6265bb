/* SPDX-License-Identifier: MIT */
/* `tdrec --plan`: a plan as JSON (schema tdrec-plan/1) and as text. */
#ifndef TD_RECORD_PLAN_PRINT_H
#define TD_RECORD_PLAN_PRINT_H

#include <stdio.h>

#include "record/plan/plan.h"

void td_plan_print_json(const struct td_plan *plan, FILE *out);
void td_plan_print_text(const struct td_plan *plan, FILE *out);

#endif
