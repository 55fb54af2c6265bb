/* SPDX-License-Identifier: MIT */
/* What the kernel grants this process: its capabilities and limits, and what a trial shows. */
#ifndef TD_RECORD_MACHINE_GRANTS_H
#define TD_RECORD_MACHINE_GRANTS_H

#include "record/machine/caps.h"

/* Fills in the capabilities, the seccomp filter, the limits and the namespaces; of a recorded tree,
 * what its files say. */
void td_grants_read(struct td_caps *caps);
/* Corrects what the files say by what the kernel does: opens a clock that stays off. Needs the
 * sysctls and the CPUs of this machine. */
void td_grants_try(struct td_caps *caps);

#endif
