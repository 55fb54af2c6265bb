/* SPDX-License-Identifier: MIT */
/*
 * What the counts of a top-down group mean: the description of the core that counted them, its
 * formulas, and which column holds which of its events.
 */
#ifndef TD_REPORT_ATTRIBUTION_COUNTED_H
#define TD_REPORT_ATTRIBUTION_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "formats/model.h"
#include "formats/cores/pmu.h"

struct td_counted {
    const struct td_model *model; /* borrowed */
    uint32_t group;
    struct td_uarch *uarch;
    struct td_pmu_core *core;
    uint32_t width;            /* slots a cycle, 0: the core's own */
    struct td_pmu_given given; /* what formulas need beside counts */
    double *latencies;         /* owned: given.latencies */
    bool clock_counted;        /* its clock is cycles over CPU time, not what the machine says */
    int event[TD_COLUMNS_MAX]; /* by column: the core's event, -1: none of its */
    td_pmu_event_set zero;     /* events that were not counted and are taken as 0, by bit; */
    char missing[96];          /* their names */
};

/* The description by the name that the profile gives, the text that it holds, or the CPU it was
 * recorded on. TD_ENODATA when none explains the group's columns. Release *ret in either case. */
int td_counted_init(struct td_counted *ret, const struct td_model *model, uint32_t group,
                    struct td_err *err);
/* The same of a group that gives no tree: its columns are events of the core. */
int td_counted_init_rates(struct td_counted *ret, const struct td_model *model, uint32_t group);
void td_counted_release(struct td_counted *counted);

/* Another group of the same core: which of its columns holds which event. False: none does. The
 * core stays the one that it was. */
bool td_counted_columns(struct td_counted *counted, uint32_t group);

/* The tree of such counts, by column of the group. */
void td_counted_tree(const struct td_counted *counted, const double *columns,
                     struct td_pmu_tree *tree);

/* Around these counts, the slots of a node are about the sum of count x slope: exactly so for the
 * counts themselves, since formulas are shares of slots (Euler's theorem on homogeneous
 * functions). slopes[node][column]; the last row is of all slots. NaN of nodes not known. */
void td_counted_slopes(const struct td_counted *counted, const double *columns,
                       double slopes[TD_NODE_COUNT + 1][TD_COLUMNS_MAX]);

#endif
