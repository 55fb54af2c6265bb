/* SPDX-License-Identifier: MIT */
/* The sources of a profile, in one table: what they are, and which one `auto` takes. Pure. */
#ifndef TD_RECORD_PLAN_SOURCE_H
#define TD_RECORD_PLAN_SOURCE_H

#include <stddef.h>

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/request.h"

struct td_plan;

struct td_source {
    const char *name;
    const char *about;
    /* Makes the groups; NULL: not in this build. */
    int (*plan)(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                struct td_err *err);
};

/* The source asked for, or the best one there is; `reason` then says why it is not `pmu` ("" when
 * it was asked for by name). TD_EUSAGE for an unknown name, TD_EUNSUPPORTED for one that this build
 * cannot do. */
int td_source_choose(const struct td_source **ret, const struct td_caps *caps,
                     const struct td_request *request, char *reason, size_t reason_size,
                     struct td_err *err);

#endif
