/* SPDX-License-Identifier: MIT */
/*
 * System calls by which threads of a process meet: one waits for what another does, or lets it go
 * on. What each did before is modelled before what the others do then (image.h).
 */
#ifndef TD_RECORD_SIM_QEMU_MEETING_H
#define TD_RECORD_SIM_QEMU_MEETING_H

#include <stdbool.h>
#include <stdint.h>

/* `number` as x86-64's. A call that begins a thread is one also while there is one thread. */
bool td_meeting_is(int64_t number, const uint64_t arguments[5]);
bool td_meeting_begins_thread(int64_t number, const uint64_t arguments[5]);

#endif
