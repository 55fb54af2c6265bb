/* SPDX-License-Identifier: MIT */
/* One model's groups of a role put into another that lacks them: a native run's time beside a
 * modelled run. Modules are the same when their build-ids are, wherever the files lay. */
#ifndef TD_FORMATS_OVERLAY_H
#define TD_FORMATS_OVERLAY_H

#include "base/err.h"
#include "formats/model.h"

/* Adds, as a warning, that the two are of different commands or arguments, where both say their own
 * (an import says perf's). */
void td_overlay_compare(struct td_model *to, const struct td_model *from);

/* Adds tallies and samples of `role`, what they refer to, and the counters of how they were taken.
 * TD_EUSAGE when `from` has none of the role, or `to` has some; then nothing was added. */
int td_overlay_add(struct td_model *to, const struct td_model *from, enum td_group_role role,
                   struct td_err *err);

#endif
