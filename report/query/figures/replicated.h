/* SPDX-License-Identifier: MIT */
/* How sure the figures of a sampled model are: from its replicates (formats/replicates.h). */
#ifndef TD_REPORT_QUERY_FIGURES_REPLICATED_H
#define TD_REPORT_QUERY_FIGURES_REPLICATED_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/measure.h"
#include "formats/replicates.h"

struct td_rows;

/* Of a row: ±, 95 %. */
struct td_replicated_row {
    double error;                  /* of its share of all slots */
    double of_node[TD_NODE_COUNT]; /* of each node's share of its slots */
    double all[TD_REPLICATES];     /* the replicates of its slots */
};

/* Whether what the measure says is of a model that was sampled: all that follows is of such. Where
 * all windows were alike there are no replicates, and errors are what windows have in common. */
bool td_replicated_is(const struct td_measure *measure);

/* ±, 95 %, of a node's share of the measure's slots. */
double td_replicated_error(const struct td_measure *measure, enum td_tma_node node);

/* ±, 95 %, by which a category's share of a row may be off, where few windows met the row: its own
 * total is known to `spread`, a standard error as a part of it. */
double td_replicated_sparse(double share, double spread);
/* ±, 95 %, of a sampled recording's cycles, as a part of them; 0 when they are exact. */
double td_replicated_cycles_error(const struct td_model *model);
/* ±, 95 %, of the measure's slots, as a part of them. */
double td_replicated_total_error(const struct td_measure *measure);

/* The replicates of the measure's slots. */
void td_replicated_all(double ret[TD_REPLICATES], const struct td_measure *measure);
/* Slots that were sampled in the same windows as others, and their replicates. */
struct td_replicated_slots {
    uint64_t slots;
    const double *replicates; /* TD_REPLICATES */
};
/* ±, 95 %, of one over the other, as a part of it; `model` is of both. `few`: they are of a place
 * that few windows may have met. */
double td_replicated_quotient_error(const struct td_replicated_slots *above,
                                    const struct td_replicated_slots *below,
                                    const struct td_model *model, bool few);

/* keys[i] is the row of measure->replicates[i], or TD_NONE; `ret` has room for all rows. */
void td_replicated_rows(struct td_replicated_row *ret, const struct td_rows *rows,
                        const uint32_t *keys);

#endif
