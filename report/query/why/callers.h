/* SPDX-License-Identifier: MIT */
/*
 * From where a branch is run that is mispredicted: of a function that several call, often one
 * caller alone pays. Which calls tell the executions apart may stand several frames up: a
 * comparator is called by the sort alone.
 */
#ifndef TD_REPORT_QUERY_WHY_CALLERS_H
#define TD_REPORT_QUERY_WHY_CALLERS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

enum { TD_WHY_CALLERS = 4 };

struct td_why_caller {
    uint32_t location; /* of the call; TD_NONE: nothing calls it there */
    double executions; /* part of all of the branch's */
    double lost;       /* part of what its mispredictions cost */
};

/* Those with the largest losses, at most TD_WHY_CALLERS of two or more, the largest first; 0: calls
 * do not tell its executions apart, or they are not known. `location` is the branch's; `stacks` has
 * rows by stack, with what TD_WHY_STACK_METRICS says. */
size_t td_why_callers_of(struct td_why_caller *ret, const struct td_measure *stacks,
                         uint32_t location);

#endif
