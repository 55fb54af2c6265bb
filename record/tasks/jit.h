/* SPDX-License-Identifier: MIT */
/* Names of code made at run time: the addresses seen of each process, looked up when it ends in the
 * jitdump that it mapped, or in its perf-PID.map. */
#ifndef TD_RECORD_TASKS_JIT_H
#define TD_RECORD_TASKS_JIT_H

#include <stdint.h>
#include <sys/types.h>

#include "formats/profile/write.h"
#include "record/tasks/modules.h"
#include "record/tasks/stacks.h"
#include "formats/kernel/tasks.h"

struct td_jit;

/* Both borrowed; `modules` may be NULL where only the two functions at the end are used. */
struct td_jit *td_jit_new(struct td_profile_writer *writer, struct td_modules *modules);
void td_jit_free(struct td_jit *jit); /* NULL is allowed */
/* Notes the addresses of a stack that are in anonymous code. */
void td_jit_note(struct td_jit *jit, struct td_process *process, const struct td_stack *stack,
                 uint64_t time_ns);
/* Writes the names of what was noted of this process, and forgets it. */
void td_jit_write_names(struct td_jit *jit, const struct td_process *process);

/* At the end, before td_jit_free: reads the maps that were too large to be read while recording,
 * and says in the profile what is missing. */
void td_jit_finish(struct td_jit *jit);

/* The same for who has addresses and no struct td_process: notes an address of the profile's
 * module. */
void td_jit_note_address(struct td_jit *jit, uint32_t pid, uint64_t address, uint32_t module,
                         uint64_t time_ns);
/* Writes the names of what was noted of this process of this user, and forgets it. `dump_path`: the
 * jitdump that it mapped; NULL: none. */
void td_jit_write_names_of(struct td_jit *jit, uint32_t pid, uid_t owner, const char *dump_path);

#endif
