/* SPDX-License-Identifier: MIT */
/*
 * Which part of a thread is modelled how closely when it is sampled. The beginning is modelled
 * exactly, so a short program is as a whole; after that, short windows are, far apart. Between them
 * the caches are kept up to date with the lines that go beyond L1, and before each the predictors
 * and L1 are warmed and the pipeline is filled. Predictors that then still learn, as those of large
 * programs do, are warmed all the time, and so are all while a program begins. The rest is split
 * into parts, each as long as all before it; how far apart a part's windows are follows from how
 * much those before differed.
 */
#ifndef TD_RECORD_SIM_MODEL_SAMPLING_SAMPLING_H
#define TD_RECORD_SIM_MODEL_SAMPLING_SAMPLING_H

#include <stdint.h>

#include "record/sim/model/sim.h"

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
