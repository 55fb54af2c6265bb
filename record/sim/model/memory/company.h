/* SPDX-License-Identifier: MIT */
/*
 * Other modelled processes that run beside this one, and what they leave it of what the cores
 * share: the memory's rate, and the last-level cache. One a process and modelled core.
 *
 * All rates are per cycle of the core, in parts of TD_COMPANY_ONE: how fast the machine emulates
 * whom does not enter, only who runs beside whom. Any thread may call; pure but for that.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_COMPANY_H
#define TD_RECORD_SIM_MODEL_MEMORY_COMPANY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/cores/core.h"

#define TD_COMPANY_ONE (1U << 20)

enum {
    TD_COMPANY_THREADS_MAX = 4096,
    TD_COMPANY_LINES_MAX = 16, /* a cycle and thread: more than any core does */
    /* So few of its lines come through to a core at the least, however many others there are: what
     * is beyond would not fit the lane's windows (queues.h). */
    TD_COMPANY_SLOWEST = 32,
};

/* Another process: so many of its threads run, and each of them brings in so many lines. */
struct td_company_other {
    uint32_t threads;
    uint32_t lines; /* from memory; written lines by what they take of the core's rate */
    uint32_t fills; /* new to the last level */
};

/* What this process has done up to now. */
struct td_company_done {
    uint64_t cycles; /* of all threads */
    uint64_t ticks;  /* of memory's rate that they took (core.h) */
};

struct td_company {
    _Atomic uint64_t cycles, ticks; /* of struct td_company_done */
    _Atomic uint64_t brought;       /* lines that others brought into the last level */
    _Atomic uint32_t fills;         /* lines that they bring in, a cycle of each own thread */
    _Atomic int line, write;        /* what one line, one written back takes now, ticks */
};

/* What one more taker may have of `whole` beside others who take their `lines`: those who take less
 * than an equal share have it all, the rest is divided equally (max-min fairness). */
uint64_t td_company_share(uint64_t whole, const struct td_company_other *others, size_t count);

/* Alone, and nothing done yet. */
void td_company_init(struct td_company *company, const struct td_core_desc *desc);
/* These run beside the process now, of which `threads` run. */
void td_company_set(struct td_company *company, const struct td_core_desc *desc, uint32_t threads,
                    const struct td_company_other *others, size_t count);
/* A thread went on by so many cycles, and took so many ticks. */
void td_company_work(struct td_company *company, uint64_t cycles, uint64_t ticks);
struct td_company_done td_company_done(const struct td_company *company);
/* From what a process did in some time, with `fills` lines new to its last level, what it is for
 * others; 0 cycles: nothing. */
struct td_company_other td_company_rates(const struct td_core_desc *desc,
                                         const struct td_company_done *did, uint64_t fills);

#endif
