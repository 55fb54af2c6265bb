/* SPDX-License-Identifier: MIT */
/* A source of profiles, as one value: what it is, how it is planned and how it is run. */
#ifndef TD_RECORD_PLAN_SOURCE_H
#define TD_RECORD_PLAN_SOURCE_H

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/request.h"

struct td_plan;
struct td_recording;

/* What a source cannot do without: bits of td_source.needs. */
enum {
    TD_NEEDS_EVENTS = 1,  /* the right to open events */
    TD_NEEDS_COMMAND = 2, /* a command that it starts */
};

struct td_source {
    enum td_source_id
        id; /* its name, what it is and whether it models: TD_RECORDED_SOURCES (kinds.h) */
    unsigned needs;
    /* Makes the groups. Pure. */
    int (*plan)(struct td_plan *plan, const struct td_caps *caps, const struct td_request *request,
                struct td_err *err);
    /* Records as planned into `recording`, which it opens, and tells the user on stderr; the exit
     * status of tdrec. All borrowed. */
    int (*run)(const struct td_request *request, const struct td_caps *caps,
               const struct td_plan *plan, struct td_recording *recording);
};

#endif
