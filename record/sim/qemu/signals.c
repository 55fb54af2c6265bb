/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/signals.h"

#include <pthread.h>

#include "record/sim/qemu/guest_memory.h"

enum {
    SIGNAL_COUNT = 64, /* _NSIG of x86-64 and aarch64 */
};

static uint64_t bit(int signal)
{
    return UINT64_C(1) << (signal - 1);
}

/* What QEMU blocks while it holds a signal: all but faults of the guest's own (linux-user/signal.c,
 * host_signal_handler, 7.2). Those that nobody can block, and glibc's own two, tell nothing. */
static uint64_t held_mask(void)
{
    return ~(bit(SIGKILL) | bit(SIGSTOP) | bit(SIGSEGV) | bit(SIGBUS) | bit(32) | bit(33));
}

uint64_t td_signals_of_mask(const sigset_t *mask)
{
    uint64_t blocked = 0;

    for (int i = 1; i <= SIGNAL_COUNT; i++) {
        if (sigismember(mask, i) == 1)
            blocked |= bit(i);
    }
    return blocked;
}

void td_signals_set_mask(uint64_t blocked)
{
    sigset_t mask;

    sigemptyset(&mask);
    for (int i = 1; i <= SIGNAL_COUNT; i++) {
        if (blocked & bit(i))
            sigaddset(&mask, i);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

void td_signals_begin(struct td_signals *signals)
{
    sigset_t mask;

    signals->known = pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0;
    signals->blocked = signals->known ? td_signals_of_mask(&mask) : 0;
}

void td_signals_before_mask(struct td_signals *signals, const uint64_t arguments[5])
{
    uint64_t set;

    if (!arguments[1] || !td_guest_read(&set, arguments[1], sizeof(set)))
        return;
    switch (arguments[0]) {
    case SIG_BLOCK: signals->blocked |= set; break;
    case SIG_UNBLOCK: signals->blocked &= ~set; break;
    case SIG_SETMASK:
        signals->blocked = set;
        signals->known = true;
        break;
    default: break;
    }
}

bool td_signals_hold(const struct td_signals *signals, sigset_t *before)
{
    const uint64_t held = held_mask();
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    const bool all_blocked = (td_signals_of_mask(before) & held) == held;
    if (!all_blocked || !signals->known || (signals->blocked & held) == held)
        return true;
    pthread_sigmask(SIG_SETMASK, before, NULL);
    return false;
}
