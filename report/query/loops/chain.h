/* SPDX-License-Identifier: MIT */
/*
 * The chain of dependencies that goes through a loop from one iteration to the next: how many
 * cycles it takes however many units there are. The uops of one iteration are gone through again
 * and again with nothing but latencies, until each iteration takes as long as the one before.
 */
#ifndef TD_REPORT_QUERY_LOOPS_CHAIN_H
#define TD_REPORT_QUERY_LOOPS_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/ran.h"

/* One uop of the iteration, in program order. */
struct td_chain_uop {
    const struct td_ran_uop *uop;
    uint64_t offset; /* of its instruction */
    uint64_t source; /* of the store that its load mostly has its data from; or UINT64_MAX */
    bool passed;     /* what a store had comes to it by a way that takes no time */
    bool after_call; /* a call stands before it: what it left in registers is not known */
    bool link;       /* calls leave the return address in a register: aarch64 */
};

/* An instruction on the chain. */
struct td_chain_part {
    uint64_t offset;
    double cycles; /* per iteration */
    bool loads;    /* a part of it is a load's latency */
};

struct td_chain {
    double cycles;               /* per iteration; 0: nothing goes from one iteration to the next */
    struct td_chain_part *parts; /* in program order; cycles of 0 are left out */
    size_t part_count;
};

enum { TD_CHAIN_UOPS_MAX = 4096 };

/* `count` is at most TD_CHAIN_UOPS_MAX. Release `ret` afterwards. */
void td_chain_find(struct td_chain *ret, const struct td_chain_uop *uops, size_t count);
void td_chain_release(struct td_chain *chain);

#endif
