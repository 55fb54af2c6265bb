/* SPDX-License-Identifier: MIT */
/* The core that a report is about: its clock, its width and its caches, without which categories
 * such as l3_bound say little. */
#ifndef TD_REPORT_QUERY_FIGURES_MACHINE_H
#define TD_REPORT_QUERY_FIGURES_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/measure.h"

enum td_cache { TD_CACHE_L1D, TD_CACHE_L1I, TD_CACHE_L2, TD_CACHE_L3, TD_CACHE_COUNT };

struct td_machine {
    const char *name; /* of the core, or of the CPU for people; NULL: not known. Borrowed */
    bool modelled;    /* it is the model's core, not the machine's */
    double clock_hz;  /* modelled: nominal; measured: of the time that was sampled. 0: not known */
    unsigned width;   /* slots per cycle; 0: no slots, or several kinds of cores */
    uint64_t cache_kb[TD_CACHE_COUNT]; /* 0: not known */
    /* Of the machine that recorded, also where the core is modelled; 0, NULL: not known. */
    uint64_t memory_kb, line_bytes, mhz, mhz_max, threads_per_core;
    const char *governor;
    double ipc;            /* instructions per cycle of what is reported; 0: not known */
    uint64_t instructions; /* of the same; 0: not known */
};

struct td_machine td_machine_of(const struct td_measure *measure);

/* The value of a parameter "name=123" of the source, or 0. */
uint64_t td_machine_parameter(const struct td_model *model, const char *name);
/* Its text, borrowed from the model; NULL: there is none. */
const char *td_machine_parameter_text(const struct td_model *model, const char *name);

#endif
