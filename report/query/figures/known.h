/* SPDX-License-Identifier: MIT */
/*
 * What an export may say of a measure: what the tables do. A table leaves a category of a function
 * blank of which too little is known (td_cell.thin); its slots are then nowhere.
 */
#ifndef TD_REPORT_QUERY_FIGURES_KNOWN_H
#define TD_REPORT_QUERY_FIGURES_KNOWN_H

#include <stdbool.h>

#include "formats/measure.h"

/* Takes the slots of blank cells out of the rows (`blank`, `no_line` of the measure say which),
 * into one row a thread without a place, after all others (`placeless`): totals stay as they are.
 * Only to be written after that. Does nothing where everything is exact. */
void td_known_only(struct td_measure *measure, bool no_inline);

/* Of `metric`'s total: what td_known_only found no place for. */
double td_known_nowhere(const struct td_measure *measure, enum td_metric metric);

#endif
