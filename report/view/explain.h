/* SPDX-License-Identifier: MIT */
/* A category in words: `tdreport explain`. */
#ifndef TD_REPORT_VIEW_EXPLAIN_H
#define TD_REPORT_VIEW_EXPLAIN_H

#include "formats/export/json.h"
#include "report/query/explain.h"
#include "report/view/table/style.h"

/* Everything about the node. `here`: the cores are this machine's. */
void td_explain_print(enum td_tma_node node, const struct td_explained_cores *cores, bool here,
                      const struct td_style *style);
/* An object without a name: of an array "categories". */
void td_explain_json(struct td_json *json, enum td_tma_node node,
                     const struct td_explained_cores *cores);
/* All nodes as the tree has them, with threshold and meaning, a line each. */
void td_explain_list(const struct td_style *style);
#endif
