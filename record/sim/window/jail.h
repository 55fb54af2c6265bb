/* SPDX-License-Identifier: MIT */
/*
 * What an image's code can do once it runs in the emulator: compute. The kernel refuses this
 * process all system calls but those on a list (jail.c): nothing can be written, but to what is led
 * to /dev/null; files are opened for reading only; there is no network, no new process or thread,
 * no signal to others.
 */
#ifndef TD_RECORD_SIM_WINDOW_JAIL_H
#define TD_RECORD_SIM_WINDOW_JAIL_H

#include <stdbool.h>

/* Exit status of an emulator that could not be jailed. */
#define TD_JAIL_REFUSED 90

/* Locks all threads of this process in, for ever. Descriptors that may be written to and are not
 * /dev/null are closed. False when the kernel does not do it: nothing may run then. */
bool td_jail_enter(void);

#endif
