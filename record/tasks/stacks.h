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

#include "formats/profile/write.h"
#include "record/tasks/kernel.h"
#include "record/tasks/tasks.h"

/* More frames than this are cut off at the outer end; the kernel gives 127 unless
 * perf_event_max_stack was raised. */
#define TD_STACK_MAX 512

struct td_frame {
    uint64_t address; /* of a caller: return address - 1, so that it is the call's */
    bool kernel;
    bool caller; /* found by walking: not exact by itself */
};

struct td_stack {
    struct td_frame frames[TD_STACK_MAX]; /* the innermost first */
    size_t len;
    bool truncated; /* there was more */
};

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

/* The frames of a sample: its chain (the kernel's words with PERF_CONTEXT_* markers, at `chain`,
 * not aligned) or, when chain_count is 0, its address alone. */
void td_stack_from_chain(struct td_stack *stack, const uint8_t *chain, uint64_t chain_count,
                         uint64_t ip, bool kernel);
/* The same with the user's callers from the branch records of call-stack mode: the calls that have
 * not returned, the innermost first. `most` are recorded; a stack that has as many is cut. Without
 * records the chain is all there is. */
void td_stack_from_branches(struct td_stack *stack, const struct td_rec_sample *sample,
                            uint32_t most);
struct td_stack_node td_stacks_intern(struct td_stacks *stacks, const struct td_task *task,
                                      const struct td_stack *stack);
/* Whether the vdso was used for the first time since the last call; its module in the profile. */
bool td_stacks_take_vdso(struct td_stacks *stacks, uint32_t *profile_module);

#endif
