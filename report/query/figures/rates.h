/* SPDX-License-Identifier: MIT */
/*
 * Rates beside the tree (caches, TLBs, branches, instructions a cycle) of the whole recording, from
 * the groups of its first and its further runs: the metrics of the core's description.
 */
#ifndef TD_REPORT_QUERY_FIGURES_RATES_H
#define TD_REPORT_QUERY_FIGURES_RATES_H

#include <stddef.h>

#include "report/attribution/counted.h"
#include "report/query/figures/measure.h"

struct td_rate {
    const struct td_pmu_metric *metric; /* of `cores` */
    const char *cpu_type;               /* "" where there is one kind; borrowed from the model */
    double value;
    unsigned run;  /* that counted it; 0: there was only one */
    bool modelled; /* counted by the modelled core */
};

struct td_rates {
    struct td_rate *at; /* in the order of kinds of cores, then of the description */
    size_t len, cap;
    struct td_counted *cores;
    size_t core_count;
};

void td_rates_of(struct td_rates *rates, const struct td_model *model);
void td_rates_release(struct td_rates *rates);

#endif
