/* SPDX-License-Identifier: MIT */
/*
 * Systematic sampling of a thread, as SMARTS does it (Wunderlich et al., ISCA 2003). The beginning
 * is modelled exactly, so a short program is as a whole. After that, short windows are (SMARTS:
 * measurement units), far apart. Between them comes first a fast-forward, in which the caches
 * follow the lines that go beyond L1; then functional warming of predictors, in its end
 * (near warming) of L1 and the uop cache, too; then detailed warming, which fills the pipeline and
 * counts nothing. Predictors of large programs still learn in all of that: then functional warming
 * takes the place of the fast-forward, as it does for all while a program begins. The rest is split
 * into parts (strata), each as long as all before it; how far apart a part's windows are follows
 * from how much those before differed.
 */
#ifndef TD_RECORD_SIM_MODEL_SAMPLING_SAMPLING_H
#define TD_RECORD_SIM_MODEL_SAMPLING_SAMPLING_H

#include <stdint.h>

#include "record/sim/model/sim.h"

/* Instructions of near warming: L1 holds what they used, and the uop cache what they were. */
#define TD_NEAR_WARMING 20000

struct td_sampling {
    enum td_sim_mode mode;
    bool begun; /* a phase was given out */
    uint64_t random;
    uint64_t ran, part_end; /* instructions of all phases; where the part ends */
    uint64_t distance;      /* of the part's windows, on average */
    double spread;          /* the largest of a part so far */
    bool learns;            /* the predictors still did when much was left out */
    bool warms_all;         /* nothing is left out between windows */
};

struct td_sampling_phase {
    enum td_sim_mode mode;
    uint64_t instructions; /* it lasts so many, or a few less */
};

/* The next phase; a zeroed struct is before the first. The same sequence every time; gaps are of
 * random lengths, so that windows keep no step with loops of the program. */
struct td_sampling_phase td_sampling_next(struct td_sampling *sampling);
/* Whether a part ends before the next phase: its windows are to be settled (windows.h), and
 * td_sampling_plan told their spread and what the predictors learnt (td_sim_totals). */
bool td_sampling_part_ends(const struct td_sampling *sampling);
void td_sampling_plan(struct td_sampling *sampling, double spread, double learning);

#endif
