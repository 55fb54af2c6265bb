/* SPDX-License-Identifier: MIT */
/* A table of estimates made to add up to what is known of its columns. */
#ifndef TD_REPORT_ATTRIBUTION_RECONCILE_H
#define TD_REPORT_ATTRIBUTION_RECONCILE_H

#include <stddef.h>

#define TD_RECONCILE_COLUMNS_MAX 32

struct td_estimates {
    size_t rows, columns;
    double *at;              /* rows * columns, none negative: each row a vector of parts */
    const double *error;     /* by part: how far its share of the row can be wrong */
    const double *row_sums;  /* what the parts of a row should add up to, */
    const double *row_error; /* and how far that can be wrong, as a share of it */
    const double *sums;      /* what the parts of a column do add up to */
};

/* What rows' and columns' sums miss is given to the parts by how unsure they are: least squares
 * under these conditions. Afterwards the columns add up to `sums`, the rows as nearly as that and
 * row_error allow, and nothing is negative. */
void td_reconcile(const struct td_estimates *estimates);

#endif
