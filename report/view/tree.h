/* SPDX-License-Identifier: MIT */
/* The top-down tree as text, and what it says in words. */
#ifndef TD_REPORT_VIEW_TREE_H
#define TD_REPORT_VIEW_TREE_H

#include "report/query/tree.h"
#include "report/view/style.h"

/* `unit` is "slots" or "modelled slots"; `time_ns` is the whole time, 0 when not known. */
void td_tree_print(const struct td_tree *tree, const char *unit, uint64_t time_ns,
                   const struct td_style *style);
/* In words: the deepest nodes that stand out, and what is ruled out. */
void td_verdict_print(const struct td_tree *tree, uint64_t time_ns, const struct td_style *style);

#endif
