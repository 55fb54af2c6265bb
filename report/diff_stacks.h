/* SPDX-License-Identifier: MIT */
/* Stacks of two profiles side by side, for differential flame graphs. */
#ifndef TD_REPORT_DIFF_STACKS_H
#define TD_REPORT_DIFF_STACKS_H

#include "base/err.h"
#include "report/query/diff/diff.h"

struct td_diff_stacks_opts {
    const char *format;   /* "folded", "speedscope" */
    const char *category; /* a metric's id; NULL: what shares are of */
    const char *output;   /* NULL or "-": stdout */
    bool no_inline;
};

/* Folded: "stack OLD NEW" a line, as difffolded.pl writes it for flamegraph.pl. speedscope:
 * profiles OLD, NEW, what is more and what is less in NEW. Stacks are the same by the names of
 * their functions. Values are means of a side's runs. TD_EUSAGE, TD_EMISMATCH, TD_EIO. */
int td_diff_stacks_write(const struct td_diff_side *sides, size_t count,
                         const struct td_diff_stacks_opts *opts, struct td_err *err);

#endif
