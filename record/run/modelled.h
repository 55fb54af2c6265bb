/* SPDX-License-Identifier: MIT */
/*
 * The `sim` source: the command runs under qemu-user with the modelled core as its plugin. Every
 * process image writes a piece; at the end they are put together.
 */
#ifndef TD_RECORD_RUN_MODELLED_H
#define TD_RECORD_RUN_MODELLED_H

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/plan/plan.h"
#include "record/run/recording.h"
#include "record/request.h"

/* Models the command into `recording` (td_source.run): beside the run that its `native` tells of,
 * if one began. */
int td_modelled_run(const struct td_request *request, const struct td_caps *caps,
                    const struct td_plan *plan, struct td_recording *recording);

#endif
