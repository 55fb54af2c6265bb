/* SPDX-License-Identifier: MIT */
/*
 * A native run's time with a modelled run's categories (hybrid). Both are of the same code, joined
 * by module and offset: the time of a function is measured; how it is spread over the instructions
 * of a block, and what their slots were lost to, is modelled. So the model's error in how long a
 * function takes cancels; only its error in the mix stays.
 *
 * Between function and instruction stand blocks: modelled code that ran equally often. A block's
 * part of its function's time is what was sampled there, held to what the model says as far as
 * there are few samples: (n_block + K m_block) / (n + K), m_block the modelled part.
 */
#ifndef TD_REPORT_QUERY_WEIGHTS_H
#define TD_REPORT_QUERY_WEIGHTS_H

#include <stdbool.h>

#include "formats/measure.h"

/* The event that sampled the native run when the model holds both runs; else NULL. */
const char *td_weights_event(const struct td_model *model);

/* The join, owned by the caller: modelled rows with the native time put on them, and native rows.
 * Native code that was not modelled (kernel, another variant of a library's function) keeps its
 * time on its own rows, without slots. Both measures are of the same model and borrow nothing of
 * the result. */
struct td_measure *td_weights_join(const struct td_measure *native,
                                   const struct td_measure *modelled);

/* How a place's share of the native samples stands to its share of modelled time, both of the code
 * that ran in both. */
struct td_weights_check {
    double sampled_share, modelled_share;
    double error;   /* of the sampled share: ±, 95 % */
    bool disagrees; /* by more than the error and half as much again */
};

/* Of a row's values (by metric). Zeros when the measure is no join. */
struct td_weights_check td_weights_check_of(const struct td_measure *measure,
                                            const uint64_t *values);

/* What the join leaves out, as shares: of the time, what has no categories because nothing was
 * modelled there; of modelled time, what is in functions without a native sample. */
struct td_weights_coverage {
    double uncategorized, modelled_only;
};

struct td_weights_coverage td_weights_coverage_of(const struct td_measure *measure);

/* Time of the measure that has categories: all of it, but for a join. */
uint64_t td_measure_categorized_ns(const struct td_measure *measure);

#endif
