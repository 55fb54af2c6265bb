/* SPDX-License-Identifier: MIT */
/*
 * A native run's time with a modelled run's categories (hybrid). Both are of the same code, joined
 * by function: below that a sample does not say what took the time, since it lies on an instruction
 * behind that (skid).
 *
 * What a function retires is counted exactly by the model; its measured time has so many cycles,
 * and those so many slots; the slots that are left were lost, as the model's losses are divided. So
 * retiring slots are never more than the uops that ran. Inside of a function it is the model that
 * says where slots are. attribution.md, section 9, says how sure that is.
 */
#ifndef TD_REPORT_QUERY_FIGURES_WEIGHTS_H
#define TD_REPORT_QUERY_FIGURES_WEIGHTS_H

#include <stdbool.h>

#include "formats/measure.h"
#include "report/attribution/mix.h"

/* The event that sampled the native run when the model holds both runs; else NULL. */
const char *td_weights_event(const struct td_model *model);

/* The join, owned by the caller: modelled rows with the native time put on them, and native rows.
 * Native code that was not modelled (kernel, another variant of a library's function) keeps its
 * time on its own rows, without slots. Both measures are of the same model; the join takes the
 * modelled one. */
struct td_measure *td_weights_join(const struct td_measure *native,
                                   struct td_measure *take_modelled);
/* Keeps the rows that pass, by row. */
void td_weights_filter(struct td_measure *measure, const bool *keep);

/* How sure the categories of rows are that each sum rows of a join: key[row] is below `keys`, or
 * `keys` for those that are in none. `mixes` has room for as many. `lines`: each is of a line. */
void td_weights_evidence(struct td_mix *mixes, const struct td_measure *measure,
                         const uint32_t *key, size_t keys, bool lines);
/* ±, 95 %, of each node's share of the join's slots. */
void td_weights_errors(double errors[TD_NODE_COUNT], const struct td_measure *measure);

/* ±, 95 %, of the join's slots, cycles, or time: by samples, the clock, and how far measured and
 * modelled are apart. */
double td_weights_total_error(const struct td_measure *measure, enum td_metric metric);

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
    double unexplained; /* of slots: measured beyond what the model knows a category for */
    double too_fast;    /* of the time: in code that took less than its uops take at full width */
};

/* A version of a C library's function that ran natively, and the one of which it has the
 * categories, since the windows ran that (versions.h). */
struct td_weights_version {
    uint32_t function, from;
    uint64_t ns; /* of the native one */
};

/* The row has slots of another version: they say nothing of its line or instruction. */
bool td_weights_is_borrowed(const struct td_measure *measure, size_t row);
/* Those of the measure's rows, the longest first; `count` gets how many. Owned by the caller. */
struct td_weights_version *td_weights_versions(const struct td_measure *measure, size_t *count);

/* The clock that measured time is counted in cycles of: the modelled core's. 0: not known. */
double td_weights_clock_hz(const struct td_measure *measure);

struct td_weights_coverage td_weights_coverage_of(const struct td_measure *measure);

/* Time of the measure that has categories: all of it, but for a join. */
uint64_t td_measure_categorized_ns(const struct td_measure *measure);

#endif
