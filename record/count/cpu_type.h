/* SPDX-License-Identifier: MIT */
/* What the counts of one type of CPU say by its core description: the tree and rates. Pure. */
#ifndef TD_RECORD_COUNT_CPU_TYPE_H
#define TD_RECORD_COUNT_CPU_TYPE_H

#include <stdbool.h>

#include "record/count/counts.h"
#include "record/machine/pmu_core.h"

struct td_count_cpu_type {
    char cpu_type[32];           /* as in the plan's groups; "" where there is one type */
    struct td_pmu_choice choice; /* owned; core NULL: no description, so no tree and no rates */
    uint32_t width;              /* slots a cycle; 0: the description's */
    uint32_t model;              /* of the CPU, as CPUID says it; 0: not known */
    double described_ghz;        /* the highest clock that the machine names; NaN: none */
};

/* The parts of this machine that the plan counts on, newly allocated; *count may be 0. */
struct td_count_cpu_type *td_count_cpu_types_new(const struct td_caps *caps,
                                                 const struct td_plan *plan, size_t *count);
void td_count_cpu_types_free(struct td_count_cpu_type *parts, size_t count); /* NULL is allowed */

/* False when nothing of the tree's first level is known. Groups that took turns are brought to the
 * first group's share of the time by an event that both count (the clock). */
bool td_count_cpu_type_tree(const struct td_count_cpu_type *part, const struct td_counts *counts,
                            struct td_pmu_tree *tree);
/* What all groups together count, by the description's events, brought to the first group's share
 * of the time; NaN where nothing does. Newly allocated. */
double *td_count_cpu_type_values(const struct td_count_cpu_type *part,
                                 const struct td_counts *counts) __attribute__((returns_nonnull));
/* The metric, from one group where one has all that it needs; NaN when it is not known. */
double td_count_cpu_type_metric(const struct td_count_cpu_type *part,
                                const struct td_counts *counts, const struct td_pmu_metric *metric);
/* The core's clock while it counted, in GHz: the cycles over the time that they were counted in,
 * when that is the time that the tasks ran (*counted); else what the machine says of it, or NaN. */
double td_count_cpu_type_clock(const struct td_count_cpu_type *part, const struct td_counts *counts,
                               bool *counted);
/* A node is high when it and all above it exceed their thresholds. */
bool td_count_cpu_type_high(const struct td_count_cpu_type *part, const struct td_pmu_tree *tree,
                            enum td_tma_node node);

#endif
