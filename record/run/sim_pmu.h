/* SPDX-License-Identifier: MIT */
/*
 * The modelled core as a machine with a PMU: its events are planned, its ring records parsed and
 * its group reads taken apart by what does so for real machines, while the model knows what is
 * exactly true of the same execution. For judging attribution (report/attribution/attribution.md).
 */
#ifndef TD_RECORD_SIM_PMU_RUN_H
#define TD_RECORD_SIM_PMU_RUN_H

#include "base/err.h"
#include "record/plan/plan.h"
#include "record/request.h"

struct td_sim_pmu_run;

/* The request's sim_pmu is "HZ[+NS][xN],...": for each rate, N samplings of the one execution that
 * differ by chance; with NS, pairs of samples so far apart. Plans them for `core`, no deeper than
 * the request's topdown_level, and writes the plan for the emulator's plugin. What it writes and
 * what the plugin does is in files without a name in TMPDIR or /tmp, of which nothing is left when
 * the run ends in any way. TD_EUSAGE for another spec, TD_EUNSUPPORTED for a core without a
 * simulated PMU. */
int td_sim_pmu_prepare(struct td_sim_pmu_run **ret, const struct td_request *request,
                       const char *core, struct td_err *err);
/* Under which others may open the plan; valid as long as the run. */
const char *td_sim_pmu_plan_path(const struct td_sim_pmu_run *run);
/* Makes a profile of each sampling from its records, named after `output`: x.td gives x.4000.td, or
 * x.4000.1.td, x.4000.2.td. */
int td_sim_pmu_collect(struct td_sim_pmu_run *run, const struct td_request *request,
                       const char *output, struct td_err *err);
void td_sim_pmu_run_free(struct td_sim_pmu_run *run); /* NULL is allowed */

#endif
