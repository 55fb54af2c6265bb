/* SPDX-License-Identifier: MIT */
/*
 * The kernel's side of sampling on a faked machine: it runs the text of run.h, counts, and writes
 * what Linux would write into the rings of the events (kernel/events/core.c, ring_buffer.c).
 */
#ifndef TD_TESTS_FAKE_SAMPLING_H
#define TD_TESTS_FAKE_SAMPLING_H

#include "tests/fake/opened.h"

struct fake_sampling;

/* Of this text, which outlives it. */
struct fake_sampling *fake_sampling_new(const struct fake_run *run);
void fake_sampling_free(struct fake_sampling *sampling); /* NULL is allowed */

/* The command is this process: the text begins anew. */
void fake_sampling_command(struct fake_sampling *sampling, pid_t pid);
/* An event was opened. */
void fake_sampling_open(const struct fake_sampling *sampling, struct fake_opened *event);
/* Runs up to the next `wait`; false when nothing was left. */
bool fake_sampling_go_on(struct fake_sampling *sampling);
/* Whether anything is. */
bool fake_sampling_is_left(const struct fake_sampling *sampling);
/* Runs all that is left, if any event has a ring. */
void fake_sampling_finish(struct fake_sampling *sampling);
/* PERF_EVENT_IOC_PERIOD: the event begins a period of this length. */
void fake_sampling_period(struct fake_sampling *sampling, struct fake_opened *event,
                          uint64_t period);
/* What the event has counted so far, of all tasks. */
uint64_t fake_sampling_value(const struct fake_opened *event);
/* Whether the event's ring has something that its reader is to be woken for. */
bool fake_sampling_wakes(struct fake_opened *event);

#endif
