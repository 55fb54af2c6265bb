/* SPDX-License-Identifier: MIT */
/*
 * A program under the emulator: its words and its environment. For tdrec, which starts the first,
 * and for the plugin, which follows what that executes.
 *
 * The plugin is preloaded too, so that it sees the emulator end; the program must not notice, so
 * the emulator takes LD_PRELOAD out of the program's environment, or gives it the program's own.
 */
#ifndef TD_RECORD_SIM_SHARE_LAUNCH_H
#define TD_RECORD_SIM_SHARE_LAUNCH_H

#include "record/sim/share/guest.h"

struct td_launch {
    const char *qemu;             /* path of the emulator */
    const struct td_guest *guest; /* what it emulates */
    const char *plugin;           /* the value of its -plugin option: a path, then ",name=value"s */
};

/* The emulator's argv for `path` with these arguments (argv[0] included) and environment; NULL when
 * it is no file that this emulator can run (program.h). Free with td_launch_free. */
char **td_launch_argv(const struct td_launch *launch, const char *path, char *const *argv,
                      char *const *envp);
/* The emulator's environment. Free with td_launch_free. */
char **td_launch_env(const struct td_launch *launch, char *const *envp);
void td_launch_free(char **strings); /* NULL is allowed */

#endif
