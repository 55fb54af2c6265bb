/* SPDX-License-Identifier: MIT */
/* The sources of a profile, in one table, and which of them `auto` takes. Pure. */
#ifndef TD_RECORD_RUN_SOURCES_H
#define TD_RECORD_RUN_SOURCES_H

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/plan/plan.h"
#include "record/plan/source.h"
#include "record/request.h"

#define X(symbol, number, name, modelled, meaning) extern const struct td_source td_source_##name;
TD_RECORDED_SOURCES(X)
#undef X

/* The source that a plan was made for. */
const struct td_source *td_source_of(const struct td_plan *plan) __attribute__((returns_nonnull));
/* Takes the source that was asked for, or the best one there is, and makes its plan (td_plan_make,
 * which says how it fails); plan->source_reason then says why it is not `pmu`. */
int td_source_plan(struct td_plan *plan, const struct td_caps *caps,
                   const struct td_request *request, struct td_err *err);

#endif
