/* SPDX-License-Identifier: MIT */
/*
 * What if: how fast the same run is on cores with something changed (tdrec --what-if), as a whole
 * and by function. All were modelled in one run, so that the figures are differences of nothing but
 * the core; of a run that was sampled, in the same windows.
 */
#ifndef TD_REPORT_QUERY_WHATIF_H
#define TD_REPORT_QUERY_WHATIF_H

#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"
#include "report/query/figures/rows.h"

/* What the core itself took, and a variant of it. */
struct td_whatif {
    const char *words; /* what is changed (formats/cores/variant.h); borrowed */
    uint64_t cycles;   /* of the variant */
    double speedup;    /* how many times as fast; NaN: not known */
    double error;      /* ±, 95 %, of it; 0: it is exact, or not known */
};

/* The i-th variant of a measure, all of it. Not known where less than 99 % of the instructions, or
 * more than are there, were modelled on it: of profiles that were merged with others. */
struct td_whatif td_whatif_of(const struct td_measure *measure, size_t i);
/* The variants in the order of their speed-ups, the greatest first: as many indexes as there are,
 * which the caller frees. */
size_t *td_whatif_order(const struct td_measure *measure);

/* By row of `rows`, which are functions: what it took on each variant. */
struct td_whatif_rows {
    size_t variants;
    struct td_whatif *at; /* `variants` for each row */
};
void td_whatif_rows_init(struct td_whatif_rows *ret, const struct td_rows *rows, bool no_inline);
void td_whatif_rows_release(struct td_whatif_rows *rows);
static inline const struct td_whatif *td_whatif_row(const struct td_whatif_rows *rows, size_t row,
                                                    size_t variant)
{
    return &rows->at[row * rows->variants + variant];
}

/* The variant that takes this node's cause away, maybe with more of what the node is part of;
 * `variant_count` when there is none. */
size_t td_whatif_of_node(const struct td_measure *measure, enum td_tma_node node);

#endif
