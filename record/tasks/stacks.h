/* SPDX-License-Identifier: MIT */
/*
 * Call chains as nodes of the profile. A chain is compared with the previous one of its thread from
 * the outermost frame on; only what differs is looked up and interned.
 */
#ifndef TD_RECORD_TASKS_STACKS_H
#define TD_RECORD_TASKS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kernel/chain.h"
#include "formats/profile/write.h"
#include "record/tasks/kernel.h"
#include "formats/kernel/tasks.h"

struct td_stacks;

/* What became of a stack. */
struct td_stack_node {
    uint32_t node;
    bool unmapped;   /* the sampled address itself is in no mapping */
    bool truncated;  /* the stack is known to be incomplete */
    bool bad_caller; /* it was cut at a return address outside every mapping */
    bool jit;        /* some address is in anonymous code */
};

/* All borrowed. */
struct td_stacks *td_stacks_new(struct td_profile_writer *writer, struct td_modules *modules,
                                struct td_kernel *kernel);
void td_stacks_free(struct td_stacks *stacks); /* NULL is allowed */

struct td_stack_node td_stacks_intern(struct td_stacks *stacks, const struct td_task *task,
                                      const struct td_stack *stack);
/* Whether the vdso was used for the first time since the last call; its module in the profile. */
bool td_stacks_take_vdso(struct td_stacks *stacks, uint32_t *profile_module);

#endif
