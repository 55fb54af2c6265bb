/* SPDX-License-Identifier: MIT */
/* The call stack of a sample: its address, call chain and branch records, as frames. */
#ifndef TD_FORMATS_KERNEL_CHAIN_H
#define TD_FORMATS_KERNEL_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kernel/record.h"

struct td_stack_frame {
    uint64_t address; /* of a caller: in its call, which ends at the return address */
    uint32_t context; /* PERF_RECORD_MISC_KERNEL, _USER and so on */
    bool caller;      /* found by walking: not exact by itself */
};

/* A zeroed struct is empty and can be filled again and again. */
struct td_stack {
    struct td_stack_frame *frames; /* the innermost first */
    size_t len, cap;
    bool truncated; /* there was more */
};

void td_stack_release(struct td_stack *stack);

/* One frame at `address`, of the user or, in the upper half, of the kernel. */
void td_stack_set(struct td_stack *stack, uint64_t address);

/* The frames of a sample: its address, then the callers as its chain has them or, where its branch
 * records are a call stack, the user's from those. `big` is the order of its bytes. */
void td_stack_take(struct td_stack *stack, const struct td_rec *rec, bool big);

/* The user's frames as they were unwound from the sample's copied stack, the innermost first: they
 * go behind the kernel's, or the first stands for the sample's address, which is kept. */
void td_stack_add_unwound(struct td_stack *stack, const uint64_t *frames, size_t count);

/* Whether the kernel's map says what is there, where no mapping of the process does: with a mode
 * that is the interrupt's, the address may be one of the kernel's entry code, just before or after.
 * The upper half is the kernel's on all machines that have 64 bits, but for what is mapped there
 * (x86's vsyscall page). */
bool td_stack_is_kernel(const struct td_stack_frame *frame);

/* Whether the innermost frame is the user's. */
bool td_stack_in_user(const struct td_stack *stack);

#endif
