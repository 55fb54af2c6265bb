/* SPDX-License-Identifier: MIT */
/*
 * The last-level cache: one for all threads of a process, with the directory of what they share.
 * Its contents are shared; its time and bandwidth are each thread's own. Cores that run other
 * programs may bring in lines of theirs, at a steady rate, and so do other processes of the
 * recording (company.h): what is not used for long is gone.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_LLC_H
#define TD_RECORD_SIM_MODEL_MEMORY_LLC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/cores/core.h"
#include "record/sim/model/memory/caches.h"
#include "record/sim/model/memory/company.h"
#include "record/sim/model/memory/sharing.h"

/* Of a core's first_touch, and in no description: the program ran before what is modelled of it. */
#define TD_FIRST_TOUCH_LEFT 2

struct td_llc {
    struct td_cache cache;
    int64_t set_cycles;   /* in which neighbours bring one line into each set; INT64_MAX: never */
    _Atomic bool crowded; /* neighbours or the company bring in any */
    int64_t *turns;       /* by set: lines that neighbours have brought in so far */
    _Atomic int64_t company_turns; /* lines that the company has brought into each set */
    _Atomic uint64_t fills;        /* lines that were new to it; written by the holder of `busy` */
    atomic_flag busy;              /* taken for a lookup; threads run in parallel */
    struct td_company company;
    struct td_sharing *sharing;
    bool used; /* the first thread has come */
};

struct td_llc *td_llc_new(const struct td_core_desc *desc);
void td_llc_free(struct td_llc *llc); /* NULL is allowed; no td_memory may be left */
/* In a forked child, where the parent's threads are no more: those that begin now are alone. */
void td_llc_forget_threads(struct td_llc *llc, const struct td_core_desc *desc);
/* What the company has brought in since is let in. Any thread, now and then. */
void td_llc_let_company_in(struct td_llc *llc);
/* Lines that were new to it up to now. Any thread. */
uint64_t td_llc_fills(const struct td_llc *llc);
/* Finds the line in the thread's cycle `t`, else fills it. True when it was held. Any thread. */
bool td_llc_touch(struct td_llc *llc, uint64_t line, int64_t t);
/* The same of many lines, at one time. */
void td_llc_touch_all(struct td_llc *llc, const uint64_t *lines, size_t count, int64_t t);
/* Whether it holds the line; changes nothing. Any thread. */
bool td_llc_holds(struct td_llc *llc, uint64_t line);

#endif
