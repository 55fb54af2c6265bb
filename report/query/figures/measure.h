/* SPDX-License-Identifier: MIT */
/*
 * From what was counted to what it means: a model's tallies, or samples, become a measure. This is
 * the only place that knows how a source's columns turn into time and slots.
 */
#ifndef TD_REPORT_QUERY_FIGURES_MEASURE_H
#define TD_REPORT_QUERY_FIGURES_MEASURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "formats/measure.h"

/* Names or patterns; an empty list lets everything pass. Borrowed. */
struct td_patterns {
    const char *const *at;
    size_t len;
};

/* What to keep: rows whose thread and whose innermost frame match every list. */
struct td_filter {
    struct td_patterns threads;   /* thread names or tids */
    struct td_patterns processes; /* names of processes or pids */
    struct td_patterns modules;
    struct td_patterns functions;
    struct td_patterns regions; /* what ran in one of these, or in a region in it */
    uint32_t origin;            /* string of td_thread.origin: one recording of a merge; 0: all */
    const char *event;          /* of a profile with several; NULL: the first that measures time */
    bool no_inline;             /* of the function filter: the containing function */
    bool by_sample;             /* rows are samples in order of time, where the model has them */
    bool by_leaf; /* of modelled groups: a thread's stacks that end in the same place are one row,
                     whose node is any of theirs */
    /* The columns that are wanted; 0 for all, and for the measures of variants. A modelled profile
     * has millions of rows of thirty columns. Measured slots and joins are whole in any case. */
    td_metric_set metrics;
};

/* All columns, of no variant. */
#define TD_METRICS_ALL (~(td_metric_set)0)

/* What the primary metric is among, and is made from. */
#define TD_METRICS_OF_COST                                                 \
    (TD_METRIC_BIT(TD_METRIC_SAMPLES) | TD_METRIC_BIT(TD_METRIC_TIME_NS) | \
     TD_METRIC_BIT(TD_METRIC_EVENT) | TD_METRIC_BIT(TD_METRIC_CYCLES) |    \
     TD_METRIC_BIT(TD_METRIC_SLOTS))

/* The measure of what passes `filter` (NULL: everything), owned by the caller; it borrows the
 * model. No rows is no failure. TD_ENODATA when the profile has nothing that was counted,
 * TD_EUSAGE when it has no such event, or as td_inside_check (inside.h). */
int td_measure_new(struct td_measure **ret, const struct td_model *model,
                   const struct td_filter *filter, struct td_err *err);

/* True when the categories are modelled and not measured; of a join the time is measured all the
 * same. */
bool td_measure_is_modelled(const struct td_measure *measure);

/* A filter, decided for every thread, location and group of a model. */
struct td_kept {
    bool *threads;
    bool *locations;
    bool *groups; /* td_filter.regions */
    bool unknown; /* rows without any frame */
};

/* Release it. */
void td_kept_of(struct td_kept *kept, const struct td_model *model, const struct td_filter *filter);
void td_kept_release(struct td_kept *kept);
bool td_kept_has(const struct td_kept *kept, const struct td_model *model, uint32_t thread,
                 uint32_t node);

/* The primary metric's sum over the whole profile, before any filter. */
uint64_t td_measure_unfiltered_total(const struct td_model *model, const struct td_filter *filter);

#endif
