/* SPDX-License-Identifier: MIT */
/* The formulas of a core description: [pmu.formulas] and [pmu.metrics]. For uarch_pmu.c. */
#ifndef TD_FORMATS_CORES_TREE_H
#define TD_FORMATS_CORES_TREE_H

#include "formats/cores/pmu.h"

struct td_pmu_formulas;

/* Compiles the formulas and fills core->metrics. Lines of [pmu.formulas] are "slots = EXPR",
 * "NODE = EXPR" and "let NAME = EXPR", each of which may use events, `width`, and what stands above
 * it; lines of [pmu.metrics] are "GROUP NAME UNIT = EXPR". */
int td_pmu_formulas_read(struct td_pmu_formulas **ret, struct td_pmu_core *core,
                         const struct td_uarch *uarch, struct td_err *err);
void td_pmu_formulas_free(struct td_pmu_formulas *formulas); /* NULL is allowed */

#endif
