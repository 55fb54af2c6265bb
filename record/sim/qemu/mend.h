/* SPDX-License-Identifier: MIT */
/*
 * Faults of QEMU's that are kept from the program. What needs no call from us is in qemu_mend.c.
 */
#ifndef TD_RECORD_SIM_QEMU_MEND_H
#define TD_RECORD_SIM_QEMU_MEND_H

#include <stdbool.h>
#include <stdint.h>

/* Signals of Linux are numbered below this (_NSIG plus 1). */
#define TD_MEND_SIGNALS 65

/* Handlers of signals and mappings of code. A zeroed one has none yet. */
struct td_mend {
    /* Guest address of the code that calls them; 0: none was needed so far. */
    _Atomic uint64_t entry;
    bool refused; /* this QEMU, or the program's limits, leave no room for it */
    /* The descriptor, plus 1, of a mapping that is not to be; 0: there is none under way. */
    _Atomic int unmapped;
};

/* A thread's rt_sigaction while it is under way. */
struct td_mend_action {
    uint64_t act, oact; /* guest addresses, as the program gave them; oact may be 0 */
    uint64_t handler, before;
    unsigned signal; /* 0: nothing was changed */
};

/* Before and after the program's rt_sigaction (x86-64), with its first three arguments. */
void td_mend_before_action(struct td_mend *mend, struct td_mend_action *action,
                           const uint64_t arguments[3]);
void td_mend_after_action(struct td_mend *mend, struct td_mend_action *action, int64_t result);

/* Whether the program's mmap, by its first five arguments, would not work under QEMU: it is refused
 * instead. Before and after it; and whether QEMU's own mmap for it is to fail. */
bool td_mend_cannot_map(const uint64_t arguments[5]);
void td_mend_before_map(struct td_mend *mend, const uint64_t arguments[5]);
void td_mend_after_map(struct td_mend *mend);
bool td_mend_refuses_map(const struct td_mend *mend, int flags, int fd);

/* Whether memory of this size is more than the emulator can keep: it would be busy for minutes, and
 * have no memory left, before the program goes on. */
bool td_mend_is_too_large(uint64_t size);

#endif
