/* SPDX-License-Identifier: MIT */
/* Whether commands can run under the emulator here, and what is needed for it. */
#ifndef TD_RECORD_RUN_SIM_CHECK_H
#define TD_RECORD_RUN_SIM_CHECK_H

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/request.h"
#include "record/sim/share/guest.h"

/* The emulator and the plugin, newly allocated. TD_EUNSUPPORTED with the package to install, or
 * where the plugin was looked for. */
int td_sim_check_emulator(const struct td_guest *guest, char **qemu, char **plugin,
                          struct td_err *err);

/* The path of a command that can be emulated, newly allocated, and its processor. TD_ENOENT or
 * TD_EPERM as td_target_require_program; TD_EUNSUPPORTED when the kernel could run it but the
 * emulator could not, with what would help. */
int td_sim_check_command(const char *command, char **path, const struct td_guest **guest,
                         struct td_err *err);

/* Finds out whether the command can run on the modelled core, or windows of the processes that are
 * attached to (caps->can_model), or why not, and for which processor the command is
 * (caps->program). One that cannot be run at all can be modelled: it fails in the same way. */
void td_sim_check_caps(struct td_caps *caps, const struct td_request *request);

#endif
