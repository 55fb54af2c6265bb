/* SPDX-License-Identifier: MIT */
/*
 * The modelled core's PMU as the kernel would show it: samples become ring records, as the plan of
 * events asks for them, in a file for each session of sampling. A session is one choice of rate and
 * chance; any number run beside each other on the same execution.
 *
 * The plan is text (record/run/sim_pmu.c writes it), a line each:
 *   session FILE HZ SEED PAIR_NS
 *   group SAMPLE_TYPE READ_FORMAT PERIOD SAMPLER FIRST_ID EVENT...
 * PERIOD 0: at the session's rate. SAMPLER: which of the events. The i-th event has id FIRST_ID +
 * i.
 */
#ifndef TD_RECORD_SIM_QEMU_PMU_H
#define TD_RECORD_SIM_QEMU_PMU_H

#include <stdint.h>

#include "base/err.h"
#include "formats/cores/core.h"
#include "record/sim/qemu/snapshot.h"
#include "record/sim/model/sim.h"

struct td_qemu_pmu;
struct td_qemu_pmu_thread;

/* NULL and `err` when the text cannot be read. */
struct td_qemu_pmu *td_qemu_pmu_read(const char *path, const struct td_core_desc *desc,
                                     struct td_err *err);
/* Attaches a PMU to a thread's model. */
struct td_qemu_pmu_thread *td_qemu_pmu_attach(const struct td_qemu_pmu *pmu, struct td_sim *sim);
/* Appends the records so far to the files of the sessions. */
int td_qemu_pmu_write(struct td_qemu_pmu_thread *thread, uint64_t start_ns, uint32_t pid,
                      const struct td_snapshot_thread *who, const struct td_snapshot_maps *maps,
                      struct td_err *err);

#endif
