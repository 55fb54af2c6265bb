/* SPDX-License-Identifier: MIT */
/*
 * Faults of QEMU's that are kept from the program and from the model. What needs no call from us is
 * in quirks.c.
 */
#ifndef TD_RECORD_SIM_QEMU_QUIRKS_H
#define TD_RECORD_SIM_QEMU_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

#include "record/sim/share/guest.h"

/* Signals of Linux are numbered below this (_NSIG plus 1). */
#define TD_QUIRKS_SIGNALS 65

/* Handlers of signals and mappings of code. A zeroed one has none yet. */
struct td_quirks {
    /* Guest address of the code that calls them; 0: none was needed so far. */
    _Atomic uint64_t entry;
    bool refused; /* this QEMU, or the program's limits, leave no room for it */
    /* The descriptor, plus 1, of a mapping that is not to be; 0: there is none under way. */
    _Atomic int unmapped;
};

/* A thread's rt_sigaction while it is under way. */
struct td_quirks_action {
    uint64_t act, oact; /* guest addresses, as the program gave them; oact may be 0 */
    uint64_t handler, before;
    unsigned signal; /* 0: nothing was changed */
};

/* Before and after the program's rt_sigaction (x86-64), with its first three arguments. */
void td_quirks_before_action(struct td_quirks *quirks, struct td_quirks_action *action,
                             const uint64_t arguments[3]);
void td_quirks_after_action(struct td_quirks *quirks, struct td_quirks_action *action,
                            int64_t result);

/* Whether the program's mmap, by its first five arguments, would not work under QEMU: it is refused
 * instead. Before and after it; and whether QEMU's own mmap for it is to fail. */
bool td_quirks_cannot_map(const uint64_t arguments[5]);
void td_quirks_before_map(struct td_quirks *quirks, const uint64_t arguments[5]);
void td_quirks_after_map(struct td_quirks *quirks);
bool td_quirks_refuses_map(const struct td_quirks *quirks, int flags, int fd);

/* Whether memory of this size is more than the emulator can keep: it would be busy for minutes, and
 * have no memory left, before the program goes on. */
bool td_quirks_is_too_large(uint64_t size);

/* Whether QEMU has taken the instruction at this address, the last of several of a block, out of
 * the block again: the plugin is still shown what was read of it. */
bool td_quirks_is_taken_back(const struct td_guest *guest, uint64_t address);

#endif
