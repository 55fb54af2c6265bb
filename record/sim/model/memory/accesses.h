/* SPDX-License-Identifier: MIT */
/* The access words of a block (trace.h), taken one after the other by its uops in program order. */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_ACCESSES_H
#define TD_RECORD_SIM_MODEL_MEMORY_ACCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"
#include "record/sim/model/trace.h"

/* Those that are still to come. */
struct td_accesses {
    const uint64_t *at, *end;
};

/* Whether the next one is of `key` (td_trace_key). */
static inline bool td_access_is(const struct td_accesses *a, uint32_t key)
{
    return a->at < a->end && TD_TRACE_ACCESS_KEY(*a->at) == key;
}

/* Skips accesses of earlier instructions and finds the first of `key`. */
static inline bool td_access_find(struct td_accesses *a, uint32_t insn, uint32_t key)
{
    if (TD_LIKELY(td_access_is(a, key)))
        return true;
    while (a->at < a->end && !(*a->at & TD_TRACE_BLOCK_BIT) &&
           (TD_TRACE_KEY(*a->at) & 0x7ff) < insn)
        a->at++;
    return td_access_is(a, key);
}

#endif
