/* SPDX-License-Identifier: MIT */
/* What of the loader depends on the processor. There is no C library. */
#ifndef TD_RECORD_SIM_WINDOW_LOADER_MACHINE_H
#define TD_RECORD_SIM_WINDOW_LOADER_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/sim/share/live_image_layout.h"

/* Numbers of system calls, and e_machine of the images that can be loaded. */
#if defined(__x86_64__)
enum {
    CALL_READ = 0,
    CALL_CLOSE = 3,
    CALL_LSEEK = 8,
    CALL_MMAP = 9,
    CALL_MPROTECT = 10,
    CALL_MUNMAP = 11,
    CALL_BRK = 12,
    CALL_SIGACTION = 13,
    CALL_PREAD = 17,
    CALL_SIGALTSTACK = 131,
    CALL_EXIT_GROUP = 231,
    CALL_OPENAT = 257,
    CALL_DUP3 = 292,
    MACHINE = 62,
};
#endif

/* As the kernel returns it: errors are -4095 to -1. */
long td_loader_call(long number, long a, long b, long c, long d, long e, long f);
#define CALL(number, a, b, c, d, e, f) \
    td_loader_call((long)(number), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Whether the registers and vector registers in `tables` are of a size that can be restored. */
bool td_machine_can_resume(const struct td_live_image_head *head);
/* Prepares what takes system calls. */
void td_machine_prepare(const struct td_live_image_head *head, uint8_t *tables);
/* Then: restores all registers and goes on there. */
void td_machine_resume(const struct td_live_image_head *head, uint8_t *tables)
    __attribute__((noreturn));
/* Calls `handler`, on a stack of its own, with the signal's number and what it interrupted. */
typedef void td_machine_handler(int number, void *info, void *interrupted);
void td_machine_on_signal(int number, td_machine_handler *handler);
/* Gives what was interrupted the result of its system call: when the handler returns. `again`: the
 * call's instruction would be executed anew. */
void td_machine_answer(void *interrupted, int64_t result, bool again);

/* By the entry. */
void td_loader_main(void) __attribute__((noreturn));

#endif
