/* SPDX-License-Identifier: MIT */
/*
 * Signals around an exec that the plugin does in the guest's place. Between its system calls QEMU
 * holds a signal that came for the guest in its own memory, with all signals blocked until it hands
 * it over: an exec then would lose the signal and leave the new program with all of them blocked.
 */
#ifndef TD_RECORD_SIM_QEMU_SIGNALS_H
#define TD_RECORD_SIM_QEMU_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Which signals a thread of the guest has blocked itself, as far as it is known. */
struct td_signals {
    bool known;
    uint64_t blocked; /* signal N: 1 << (N - 1) */
};

/* The process' first thread begins, with the calling thread's mask. */
void td_signals_begin(struct td_signals *signals);
/* Before the guest's rt_sigprocmask with these arguments. */
void td_signals_before_mask(struct td_signals *signals, const uint64_t arguments[5]);

/* Blocks all signals of the calling thread: the kernel keeps what comes, over an exec, too.
 * *before: the mask to go back to, here or in the new program. False: QEMU holds a signal, so this
 * is no time for an exec; QEMU refuses the guest's system call by itself, and the guest repeats it
 * after the signal. Nothing is blocked then. */
bool td_signals_hold(const struct td_signals *signals, sigset_t *before);

/* A mask as a number, for the new program's plugin, and back. */
uint64_t td_signals_of_mask(const sigset_t *mask);
void td_signals_set_mask(uint64_t blocked);

#endif
