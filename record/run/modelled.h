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
#include "record/run/session.h"

/* As td_session_run, for a plan of the `sim` source. `native`: how the native run of the same
 * command went that `recording` holds already; NULL for `sim` alone. */
int td_modelled_run(const struct td_request *request, const struct td_caps *caps,
                    const struct td_plan *plan, struct td_recording *recording,
                    const struct td_session_end *native);

#endif
