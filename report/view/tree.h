/* SPDX-License-Identifier: MIT */
/* The top-down tree as text. */
#ifndef TD_REPORT_VIEW_TREE_H
#define TD_REPORT_VIEW_TREE_H

#include "report/query/figures/tree.h"
#include "report/view/table/style.h"

/* `unit` is "slots" or "modelled slots"; `time_ns` is the whole time, 0 when not known. */
void td_tree_print(const struct td_tree *tree, const char *unit, uint64_t time_ns,
                   const struct td_style *style);

#endif
