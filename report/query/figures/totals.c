/* SPDX-License-Identifier: MIT */
#include "report/query/figures/totals.h"

#include "base/mem.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/replicated.h"
#include "report/attribution/stats.h"
#include "report/query/figures/weights.h"

static double error_of(const struct td_measure *measure, enum td_metric metric)
{
    if (measure->join)
        return td_weights_total_error(measure, metric);
    if (td_replicated_is(measure))
        return (double)measure->totals[metric] * td_replicated_total_error(measure);
    return 0;
}

size_t td_totals_of(struct td_total ret[TD_TOTALS_MAX], const struct td_measure *measure)
{
    static const enum td_metric metrics[TD_TOTALS_MAX] = {TD_METRIC_CYCLES, TD_METRIC_SLOTS,
                                                          TD_METRIC_TIME_NS};
    size_t len = 0;

    for (size_t i = 0; i < TD_TOTALS_MAX && td_measure_is_modelled(measure); i++) {
        if (measure->values[metrics[i]])
            ret[len++] = (struct td_total){
                .metric = metrics[i],
                .value = measure->totals[metrics[i]],
                .error = td_rounded((long double)error_of(measure, metrics[i])),
            };
    }
    return len;
}
