/* SPDX-License-Identifier: MIT */
/*
 * How long threads are off the CPU, and where they left it: from the kernel's records of context
 * switches, in the order of time. A thread that could have gone on was preempted; it did not wait.
 */
#ifndef TD_FORMATS_KERNEL_WAITS_H
#define TD_FORMATS_KERNEL_WAITS_H

#include <stdint.h>

#include "formats/kernel/chain.h"
#include "formats/kernel/record.h"

struct td_wait {
    uint32_t pid, tid;
    uint64_t since_ns, ns;
    const struct td_stack *stack; /* where it left the CPU; empty: not known */
};

/* Called when a thread that waited goes on. */
typedef void td_wait_fn(void *ctx, const struct td_wait *wait);

struct td_waits;

struct td_waits *td_waits_new(td_wait_fn *fn, void *ctx);
void td_waits_free(struct td_waits *waits); /* NULL is allowed */

/* The stack of a thread that is about to leave the CPU; copied. */
void td_waits_leave(struct td_waits *waits, uint32_t tid, const struct td_stack *stack);
/* TD_REC_SWITCH: it has left, or is back. */
void td_waits_switch(struct td_waits *waits, const struct td_rec *rec);
/* Records were lost up to this time (0: up to the last one seen), among them maybe those that say
 * that threads came back: td_waits_end then tells nothing of those that left before. */
void td_waits_lost(struct td_waits *waits, uint64_t time_ns);
/* The thread has ended: it does not come back. */
void td_waits_exit(struct td_waits *waits, uint32_t tid);
/* Nothing more is known after this time: threads that wait have waited until then. */
void td_waits_end(struct td_waits *waits, uint64_t now_ns);

/* For how long threads that could run were off the CPU, all together. */
uint64_t td_waits_preempted_ns(const struct td_waits *waits);

#endif
