/* SPDX-License-Identifier: MIT */
/* What the shares of a modelled measure are of, and how sure that is. */
#ifndef TD_REPORT_QUERY_FIGURES_TOTALS_H
#define TD_REPORT_QUERY_FIGURES_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

#define TD_TOTALS_MAX 3

struct td_total {
    enum td_metric metric; /* cycles, slots, time */
    uint64_t value;
    uint64_t error; /* ±, 95 %; 0 when exact */
};

/* Fills `ret` and returns how many there are: of a measure that is not modelled, none. */
size_t td_totals_of(struct td_total ret[TD_TOTALS_MAX], const struct td_measure *measure);

#endif
