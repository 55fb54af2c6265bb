/* SPDX-License-Identifier: MIT */
/*
 * What formulas need beside counts, as a profile tells it: the core's clock, and how long the
 * instructions of an event held up retirement.
 */
#ifndef TD_REPORT_ATTRIBUTION_GIVEN_H
#define TD_REPORT_ATTRIBUTION_GIVEN_H

#include <stdbool.h>

#include "formats/cores/pmu.h"
#include "formats/model.h"

/* The clock in GHz: the cycles of the first run over its CPU time (*counted), else the highest that
 * the machine says it has. NaN: neither is known. */
double td_given_clock(const struct td_model *model, bool *counted);

/* By event of the core: for "EVENT.R" the mean retire latency of EVENT's samples, in cycles; NaN
 * where there are none. Newly allocated; NULL when there are none at all. */
double *td_given_latencies(const struct td_pmu_core *core, const struct td_model *model);

#endif
