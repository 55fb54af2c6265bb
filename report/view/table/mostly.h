/* SPDX-License-Identifier: MIT */
/* "mispredicts 48, l3 37": what the slots of a row went to, for a column of a table. */
#ifndef TD_REPORT_VIEW_TABLE_MOSTLY_H
#define TD_REPORT_VIEW_TABLE_MOSTLY_H

#include <stddef.h>
#include <stdint.h>

#include "report/query/mostly.h"

#define TD_MOSTLY_WIDTH 28 /* columns of a table */

/* Percents of the row's slots in at most `width` columns, but for one that is longer by itself;
 * what holds half of it or more is always there. "" when nothing is known. Other arguments as of
 * td_mostly_of. Returns `dst`. */
const char *td_mostly_text(char *dst, size_t size, unsigned width, const struct td_measure *measure,
                           const uint64_t *values, td_tma_set thin);

#endif
