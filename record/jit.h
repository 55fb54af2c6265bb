/* SPDX-License-Identifier: MIT */
/* Names of code made at run time: the addresses seen of each process, looked up when it ends in the
 * jitdump that it mapped, or in its perf-PID.map. */
#ifndef TD_RECORD_JIT_H
#define TD_RECORD_JIT_H

#include <stdint.h>

#include "formats/profile_write.h"
#include "record/modules.h"
#include "record/stacks.h"
#include "record/tasks.h"

struct td_jit;

/* Both borrowed. */
struct td_jit *td_jit_new(struct td_profile_writer *writer, struct td_modules *modules);
void td_jit_free(struct td_jit *jit); /* NULL is allowed */
/* Notes the addresses of a stack that are in anonymous code. */
void td_jit_note(struct td_jit *jit, struct td_process *process, const struct td_stack *stack,
                 uint64_t time_ns);
/* Writes the names of what was noted of this process, and forgets it. */
void td_jit_write_names(struct td_jit *jit, const struct td_process *process);

#endif
