/* SPDX-License-Identifier: MIT */
/* All that one page shows of a profile (tdreport html): the same rows, tree and verdict as the
 * tables have, the call tree, and what was taken over time. */
#ifndef TD_REPORT_QUERY_PAGE_H
#define TD_REPORT_QUERY_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/query/code_of.h"
#include "report/query/lines_of.h"
#include "report/query/figures/rows.h"
#include "report/query/stacks.h"
#include "report/query/timeline.h"
#include "report/query/figures/tree.h"
#include "report/query/verdict.h"

struct td_page {
    const struct td_measure *measure; /* borrowed */
    struct td_tree tree;
    struct td_verdict verdict;
    struct td_rows functions;
    struct td_stacks stacks;
    bool has_times;
    struct td_timeline timeline; /* where it has times */
    bool timeline_of_time;       /* a join's: of the native run, which has no categories */
    struct td_sections sections; /* source lines of the hot functions */
    struct td_code_parts code;   /* instructions of the same: of each its hottest copy */
};

/* The measures of one profile under one filter: the one that tables show; the same for exports,
 * which is changed (td_known_only); the same by sample, NULL where there are no times. */
struct td_page_measures {
    const struct td_measure *shown;
    struct td_measure *exported;
    const struct td_measure *by_sample;
};

/* `sources`: of how many functions the lines and instructions are wanted. Release afterwards. */
void td_page_of(struct td_page *page, const struct td_page_measures *measures, bool no_inline,
                size_t sources);
void td_page_release(struct td_page *page);

#endif
