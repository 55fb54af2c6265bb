/* SPDX-License-Identifier: MIT */
/*
 * Call stacks from sampled registers and stack bytes, unwound while they lie in the ring: what is
 * kept is the addresses. Tables are built when a file is first met, and kept.
 */
#ifndef TD_RECORD_TASKS_FRAMES_H
#define TD_RECORD_TASKS_FRAMES_H

#include <stdint.h>

#include "record/tasks/modules.h"
#include "formats/kernel/record.h"
#include "record/tasks/stacks.h"
#include "formats/kernel/tasks.h"
#include "symbolize/unwind/unwind.h"

struct td_frames;

struct td_frames *td_frames_new(const struct td_modules *modules); /* borrowed */
void td_frames_free(struct td_frames *frames);                     /* NULL is allowed */

/* The stack of a sample: the kernel's part from its chain, the user's unwound. Returns why it
 * ended; COMPLETE too where there is no user part, as in kernel threads. */
enum td_unwind_stop td_frames_unwind(struct td_frames *frames, const struct td_task *task,
                                     const struct td_rec *rec, struct td_stack *stack);

#endif
