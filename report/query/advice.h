/* SPDX-License-Identifier: MIT */
/*
 * What to do about a node of the top-down tree: what usually causes it and what to try. The
 * verdict, `tdreport explain` and the manual page (CATEGORIES) are made from this one table.
 */
#ifndef TD_REPORT_QUERY_ADVICE_H
#define TD_REPORT_QUERY_ADVICE_H

#include "formats/cores/tma.h"

#define TD_ADVICE_TRY_MAX 70 /* columns: a line behind a label in a terminal of 80 */

struct td_advice {
    const char *causes;   /* what usually is behind it, a sentence */
    const char *try_this; /* at most TD_ADVICE_TRY_MAX columns */
    const char *details;  /* how to do that, and how to check it; one or two sentences */
};

/* `node` must be a node, not NONE. */
const struct td_advice *td_advice_of(enum td_tma_node node) __attribute__((returns_nonnull));

#endif
