/* SPDX-License-Identifier: MIT */
/*
 * Following exec. An emulated process that executes a program would leave the emulator: its system
 * call runs natively. So it is taken from it: the emulator executes itself with the program.
 */
#ifndef TD_RECORD_SIM_QEMU_EXEC_H
#define TD_RECORD_SIM_QEMU_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sim/share/launch.h"

struct td_exec_call {
    char *path;          /* newly allocated */
    uint64_t argv, envp; /* guest addresses */
};

/* The call, when the system call `number` with these guest arguments executes a program. `own`: the
 * file that the process itself executes, for paths that say so; NULL when it is not known. */
bool td_exec_read(struct td_exec_call *ret, int64_t number, const uint64_t arguments[5],
                  const char *own);

/* Executes it under the emulator. Returns only when that failed; the guest's own call then says
 * why. */
void td_exec_follow(const struct td_launch *launch, const struct td_exec_call *call);

#endif
