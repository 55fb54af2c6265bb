/* SPDX-License-Identifier: MIT */
/*
 * The modelled core's PMU: counters, their overflow, and where an interrupt finds the program. It
 * counts what the ledger charges, so what is sampled can be compared with what is exactly true.
 * Pure: a sample is a callback.
 */
#ifndef TD_RECORD_SIM_MODEL_PMU_H
#define TD_RECORD_SIM_MODEL_PMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/sim/model/pmu_signal.h"

struct td_sim;
struct td_block;

/* One sampler. */
struct td_sampler {
    enum td_signal signal;
    uint64_t period;
    /* Of each period, at random: the kernel's frequency control moves periods about. */
    double jitter;
    uint64_t pair;        /* a second sample so many counts after each; 0: none */
    uint32_t skid_cycles; /* from overflow to interrupt; precise signals have none */
    uint64_t seed;
};

struct td_pmu_sample {
    size_t sampler; /* which of them */
    uint64_t ip;
    uint64_t period, cycle;
    const uint64_t *values; /* by signal, since the beginning; metrics not yet in eight bits */
    uint32_t latency, retire_latency; /* of precise samples, cycles */
};
typedef void td_pmu_sample_fn(void *ctx, const struct td_pmu_sample *sample);

struct td_sim_pmu;

/* The samplers are copied. Attach it with td_sim_set_pmu, which takes it over. */
struct td_sim_pmu *td_sim_pmu_new(const struct td_sampler *samplers, size_t count,
                                  td_pmu_sample_fn *fn, void *ctx) __attribute__((returns_nonnull));
void td_sim_pmu_free(struct td_sim_pmu *pmu); /* NULL is allowed */

/* For sim.c: where the ledger is to add up lost slots by cause. */
uint64_t *td_sim_pmu_lost(struct td_sim_pmu *pmu);
/* A block has run whose first uop was the core's `first_uop`. */
void td_sim_pmu_block(struct td_sim_pmu *pmu, const struct td_sim *sim,
                      const struct td_block *block, uint64_t first_uop);
/* A branch was mispredicted; called before its successor runs. */
void td_sim_pmu_mispredict(struct td_sim_pmu *pmu, const struct td_sim *sim, uint64_t branch_pc);

#endif
