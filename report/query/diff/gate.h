/* SPDX-License-Identifier: MIT */
/* Conditions on a diff, for a build that is to stop where a program got slower:
 * 'total > +2 %', 'probe.l3_bound > +5 %', 'dram_bound > +3 ms'. */
#ifndef TD_REPORT_QUERY_DIFF_GATE_H
#define TD_REPORT_QUERY_DIFF_GATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "report/query/diff/diff.h"

struct td_gate {
    char *target; /* "total", a category, a function, or "function.category"; owned */
    bool below;   /* fails where the change is below the limit: '<' */
    double limit; /* a part of the first column's figure; or of the diff's cost, signed */
    bool is_part;
};

/* "TARGET > LIMIT UNIT" or with <; the unit is %, ns, us, ms or s. TD_EUSAGE
 * with a sentence; release after TD_OK. */
int td_gate_parse(struct td_gate *ret, const char *text, struct td_err *err);
void td_gate_release(struct td_gate *gate);

/* What a gate says of one row of a column. */
struct td_gate_result {
    const struct td_diff_row *row;
    unsigned what; /* of the row */
    size_t column;
    double change, error; /* as the limit is: parts or cost */
    bool beyond;          /* of the limit; */
    bool failed; /* and by chance in at most one of a hundred gates: a gate asks one question
                    beforehand, so it is not judged together with all other rows */
};

/* The result that is worst, over all columns and all functions that the target names: one that
 * failed, else one beyond the limit, else the greatest change. TD_EUSAGE when nothing is called
 * so, the diff has no such category, or the unit is another's. */
int td_gate_check(struct td_gate_result *ret, const struct td_gate *gate,
                  const struct td_diff *diff, struct td_err *err);

#endif
