/* SPDX-License-Identifier: MIT */
/*
 * Where threads wait off the CPU, and for what (tdrec --off-cpu). A wait ends in the kernel, mostly
 * by way of the C library: its place is the first frame above both, and what it waits for is what
 * the functions below that are called.
 */
#ifndef TD_REPORT_QUERY_WAITS_H
#define TD_REPORT_QUERY_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/frames.h"
#include "report/query/figures/measure.h"

struct td_wait_place {
    struct td_frame frame; /* location TD_NONE: no stack is known */
    const char *reason;    /* "lock", "sleep", ...; "" when the names do not say */
    uint32_t thread;       /* string: the name of those that wait there; 0: of several names */
    uint64_t ns, waits;
};

struct td_wait_places {
    struct td_wait_place *at; /* the longest first */
    size_t len;
    uint64_t ns, waits, preempted_ns; /* of all; the last unfiltered */
};

/* Whether the profile tells of waits. */
bool td_waits_known(const struct td_model *model);
/* Of what passes the filter, whose event does not matter. Release in either case. Fails as
 * td_measure_new does. */
int td_waits_of(struct td_wait_places *ret, const struct td_model *model,
                const struct td_filter *filter, struct td_err *err);
void td_waits_release(struct td_wait_places *places);

/* What a function of the kernel or the C library waits for, by its name; NULL when it is none that
 * waits. */
const char *td_wait_reason(const char *function, bool kernel);

#endif
