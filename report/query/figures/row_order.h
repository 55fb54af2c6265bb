/* SPDX-License-Identifier: MIT */
/*
 * An order of a measure's rows that follows from what they are. The order in which they stand in a
 * file says only when the recorder met them first: equal programs have equal rows in other orders.
 */
#ifndef TD_REPORT_QUERY_FIGURES_ROW_ORDER_H
#define TD_REPORT_QUERY_FIGURES_ROW_ORDER_H

#include <stddef.h>

#include "formats/measure.h"

/* The rows' indices by the names of their threads and by their stacks (files, build-ids, offsets),
 * neither by numbers of processes nor of the model. Newly allocated, row_count long, never NULL. */
size_t *td_row_order(const struct td_measure *measure);

#endif
