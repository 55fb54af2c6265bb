/* SPDX-License-Identifier: MIT */
/* What a report says about a join of measured time with modelled categories (hybrid). Nothing is
 * printed of another measure. */
#ifndef TD_REPORT_VIEW_WEIGHTS_H
#define TD_REPORT_VIEW_WEIGHTS_H

#include "report/view/table.h"

/* How the categories were made, in words. */
void td_weights_words(FILE *out, const struct td_measure *measure);
/* Below the tree: how much time has no categories, and where it is. */
void td_weights_print(const struct td_measure *measure, const struct td_style *style);
/* A column of marks for functions whose modelled time is far from the measured one. */
void td_weights_add_mark(struct td_table *table);
/* What the marks of the first `shown` rows mean. */
void td_weights_print_marks(const struct td_rows *rows, size_t shown, const struct td_style *style);

#endif
