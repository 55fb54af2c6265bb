/* SPDX-License-Identifier: MIT */
/* What a report says about a join of measured time with modelled categories (hybrid). Nothing is
 * printed of another measure. */
#ifndef TD_REPORT_VIEW_TABLE_WEIGHTS_H
#define TD_REPORT_VIEW_TABLE_WEIGHTS_H

#include "report/view/table/table.h"

/* How the categories were made, in words. */
void td_weights_words(FILE *out, const struct td_measure *measure);
/* Below the tree: how much time has no categories, and where it is. */
void td_weights_print(const struct td_measure *measure, const struct td_style *style);
/* Of a join, a column "model %": a function's share of modelled time, marked where that is far from
 * the measured one. */
void td_weights_add_model(struct td_table *table);
/* What the mark means, if one of the first `shown` rows has it. */
void td_weights_print_legend(const struct td_rows *rows, size_t shown,
                             const struct td_style *style);

#endif
