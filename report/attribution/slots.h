/* SPDX-License-Identifier: MIT */
/*
 * Measured slots: from the samples of top-down groups, and of the precise events beside them, to
 * what each row of a measure lost to what. attribution.md has the method.
 */
#ifndef TD_REPORT_ATTRIBUTION_SLOTS_H
#define TD_REPORT_ATTRIBUTION_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/measure.h"
#include "report/attribution/later.h"
#include "report/attribution/mix.h"

#define TD_SLOTS_PARTS_MAX 4

/* Precise events that say where a leaf's slots were lost. */
struct td_locator {
    enum td_mix_kind kind; /* LOCATED or TIMED */
    char events[128];      /* their names */
    uint64_t samples;      /* 0: the leaf has none */
    double total, squares; /* of the samples' weights */
    double strange; /* of the leaf's slots, that its events do not explain, or could not take */
    double *weight; /* by row of the measure */
    double *count;  /* the same: samples */
};

/* What one kind of core counted: hybrid machines have several. */
struct td_slots_part {
    const char *cpu_type; /* "" where there is one kind; borrowed */
    struct td_counted counted;
    struct td_intervals intervals;
    uint64_t rest[TD_COLUMNS_MAX]; /* counted after the last samples: it has no place */
    uint64_t slots;
    double error[TD_NODE_COUNT]; /* ±, 95 %, of shares of all slots; NaN where not known */
    double lost_share; /* of slots, of intervals in which samples were lost: they have no place */
    double same_share; /* of intervals, that end in the function where they began; NaN: not known */
    double running;    /* of the time that the group was to count, that it did */
    bool leaf[TD_NODE_COUNT];             /* nodes that make up the slots, nothing counted twice */
    bool used[TD_NODE_COUNT];             /* its slots were spread over functions by its locator; */
    enum td_mix_kind kind[TD_NODE_COUNT]; /* else how they were, for the most part */
    struct td_locator locators[TD_NODE_COUNT]; /* by leaf */
    struct td_later later[TD_NODE_COUNT];      /* what further runs say */
};

struct td_slots {
    struct td_slots_part *parts;
    size_t len;
    uint8_t *part_of; /* by row of the measure */
    double clamped;   /* of all slots: what had to be cut off or scaled for shares to be shares */
};

/* Whether the model has top-down groups. */
bool td_slots_are_in(const struct td_model *model);
/* Makes the rows and all values of `measure`, which is empty but for its model; `measure->slots`
 * becomes the result. TD_ENODATA when no description explains the counts. */
int td_slots_measure(struct td_measure *measure, bool no_inline, bool by_sample,
                     struct td_err *err);
/* Keeps the rows that pass. */
void td_slots_filter(struct td_measure *measure, const bool *keep);
void td_slots_free(struct td_slots *slots); /* NULL is allowed */

/* How sure the values of rows are that each sum rows of the measure: key[row] is below `keys`, or
 * `keys` for those that are in none. `mixes` has room for keys + 1. */
void td_slots_evidence(struct td_mix *mixes, const struct td_measure *measure, const uint32_t *key,
                       size_t keys);
/* Nodes whose slots no precise event places, by bit: of single instructions they say nothing. */
td_tma_set td_slots_not_placed(const struct td_measure *measure);
/* ±, 95 %, of a node's share of the measure's slots. */
double td_slots_error(const struct td_measure *measure, enum td_tma_node node);

#endif
