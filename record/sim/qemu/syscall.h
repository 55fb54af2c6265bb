/* SPDX-License-Identifier: MIT */
/*
 * What to do before and after the program's system calls: after some it may not come back, some the
 * emulator does not have or does wrongly.
 */
#ifndef TD_RECORD_SIM_QEMU_SYSCALL_H
#define TD_RECORD_SIM_QEMU_SYSCALL_H

#include <stdint.h>

#include "record/sim/qemu/image.h"

/* `number` is the guest's; an execve that the emulator can follow does not return. */
void td_image_syscall(struct td_image *process, struct td_image_thread *thread, int64_t number,
                      const uint64_t arguments[TD_LIVE_ARGUMENTS]);
/* The same number, and its result; an error as the kernel gives it, below 0. */
void td_image_syscall_done(struct td_image *process, struct td_image_thread *thread, int64_t number,
                           int64_t result);

#endif
