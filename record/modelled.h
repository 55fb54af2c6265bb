/* SPDX-License-Identifier: MIT */
/*
 * The `sim` source: the command runs under qemu-user with the modelled core as its plugin. Every
 * process image writes a piece; at the end they are put together.
 */
#ifndef TD_RECORD_MODELLED_H
#define TD_RECORD_MODELLED_H

#include "base/err.h"
#include "formats/model.h"
#include "record/caps.h"
#include "record/plan.h"
#include "record/request.h"

/* As td_session_run, for a plan of the `sim` source. `native`, what a native run of the same
 * command recorded, with its samples, goes into the profile too; NULL for `sim` alone. */
int td_modelled_run(const struct td_request *request, const struct td_caps *caps,
                    const struct td_plan *plan, const struct td_model *native);

#endif
