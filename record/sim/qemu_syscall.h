/* SPDX-License-Identifier: MIT */
/* System calls after which the program may not come back: what to do before each. */
#ifndef TD_RECORD_SIM_QEMU_SYSCALL_H
#define TD_RECORD_SIM_QEMU_SYSCALL_H

#include <stdint.h>

#include "record/sim/qemu_process.h"

/* `number` is the guest's; an execve that the emulator can follow does not return. */
void td_process_syscall(struct td_process *process, struct td_process_thread *thread,
                        int64_t number, const uint64_t arguments[5]);

#endif
