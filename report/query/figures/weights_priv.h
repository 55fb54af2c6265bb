/* SPDX-License-Identifier: MIT */
/* What a join keeps of how it was made: weights.c makes it, weights_errors.c tells how sure it is.
 */
#ifndef TD_REPORT_QUERY_FIGURES_WEIGHTS_PRIV_H
#define TD_REPORT_QUERY_FIGURES_WEIGHTS_PRIV_H

#include "formats/measure.h"

#define USEFUL (TD_METRIC_FIRST_NODE + TD_NODE_RETIRING)

/* Code whose measured time is one with its modelled slots: a function. */
struct td_join_unit {
    double modelled, useful; /* slots on the modelled core; those that retired uops */
    double samples, ns;      /* of the native run */
    double slots;            /* that long at the modelled clock and width */
    double keep, grow;       /* of its modelled slots: what is left of useful, lost ones */
    double without;          /* measured slots of no category, for each modelled slot */
    /* Windows met another version of the function than the native run (versions.h): */
    uint32_t borrowed; /* a number from 1 on; 0: they did not */
    uint32_t from;     /* the function that has most of its modelled slots */
    double from_slots, modelled_ns;
};

struct td_join_row {
    uint32_t modelled; /* row of the modelled measure; TD_NONE: a native row */
    uint32_t unit;     /* TD_NONE: not in both runs. Of a native row: of a borrowed unit */
};

struct td_join {
    struct td_measure *modelled; /* owned */
    /* The model is of windows of the native run itself: it knows shares, not how often what ran. */
    bool windows;
    struct td_join_unit *units;
    size_t unit_count;
    uint32_t borrowed_count;
    uint32_t *unit_of;        /* by location of the model; the last: no location */
    double *nodes;            /* by unit and node: modelled slots */
    struct td_join_row *rows; /* by row of the join */
};

void td_join_free(struct td_join *join); /* NULL is allowed */

#endif
