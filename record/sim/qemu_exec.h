/* SPDX-License-Identifier: MIT */
/*
 * Following exec. An emulated process that executes a program would leave the emulator: its system
 * call runs natively. So it is taken from it: the emulator executes itself with the program.
 */
#ifndef TD_RECORD_SIM_QEMU_EXEC_H
#define TD_RECORD_SIM_QEMU_EXEC_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sim/launch.h"

/* Whether the system call `number` with these guest arguments would execute a program that can be
 * emulated: it exists, may be executed, and is (or is a script of) one for this architecture,
 * without privileges of its own. Anything else is left to the kernel. */
bool td_exec_can_follow(const struct td_launch *launch, int64_t number,
                        const uint64_t arguments[5]);

/* Executes it under the emulator. Returns only when that failed; the guest's own call then says
 * why. */
void td_exec_follow(const struct td_launch *launch, int64_t number, const uint64_t arguments[5]);

#endif
