/* SPDX-License-Identifier: MIT */
/*
 * Where the main stack is, so that it does not matter. Its address depends on how long the
 * environment, the arguments and the folder's name are, and with it which lines and sets of the
 * caches it falls on: two runs of the same program would differ. The model is told addresses as if
 * the stack always began at the same place, and as if what lies above it, the strings that the
 * kernel copied there, were one line.
 */
#ifndef TD_RECORD_SIM_QEMU_STACK_H
#define TD_RECORD_SIM_QEMU_STACK_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed: nothing is known, and addresses stay as they are. */
struct td_guest_stack {
    uint64_t low, high; /* of the mapping */
    uint64_t strings;   /* from here to `high`: strings */
    uint64_t shift;     /* subtracted from addresses below, modulo 2^64 */
    uint64_t line;      /* what the strings' addresses become */
};

/* Looks for the stack in the mapping of `address`, which the program's first instructions used.
 * Leaves *stack as it is when there is no stack as a program gets it. */
void td_guest_stack_learn(struct td_guest_stack *stack, uint64_t address);

/* Rewrites the accesses among words of trace.h. */
void td_guest_stack_apply(const struct td_guest_stack *stack, uint64_t *words, size_t count);

#endif
