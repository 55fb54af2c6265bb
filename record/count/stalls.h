/* SPDX-License-Identifier: MIT */
/*
 * The stall report of --count: how many cycles stood still and for what, and beside the measured
 * cycles those that the accesses to each level of the memory would take, one after the other, by
 * their latencies. After the indicators of Codemon (Zhao, Fu: a tool on pfmon for Itanium 2). Pure.
 */
#ifndef TD_RECORD_COUNT_STALLS_H
#define TD_RECORD_COUNT_STALLS_H

#include "formats/cores/stalls.h"
#include "record/count/cpu_type.h"
#include "record/machine/system.h"

/* What a load waits for each level, in cycles. */
struct td_count_latencies {
    double l2, l3, memory, walk; /* NaN: not known */
    char from[96];               /* where the numbers are from, for people */
};

/* What the report knows beside counts. */
struct td_count_machine {
    struct td_system system;
    struct td_count_latencies latencies;
    const struct td_caps *caps; /* borrowed */
};

/* Everything of one type of CPU; NaN where it is not known. */
struct td_count_stalls {
    double value[TD_STALL_COUNT];
    bool has_event[TD_STALL_COUNT]; /* the core can count it, if not this machine or this user */
    double cpi, cpui;               /* cycles per instruction; per useful one, that is no nop */
    double ucpi, ucpui;             /* of the cycles that did not stall */
    double unstalled, stalled_share, access_share; /* of the stalled: waiting for data */
    double other;                                  /* stalled for nothing that is named */
    double l2_cycles, l3_cycles, memory_cycles, walk_cycles, modelled; /* accesses x latency */
    double cache_share, memory_share, tlb_share;                       /* of the modelled */
    double difference; /* modelled less measured, of the measured */
    double l2_miss_ratio, l3_miss_ratio;
    double elapsed_s; /* of one run */
    double fp_per_s, fp_instructions_per_s;
    double clock_hz;                    /* while it ran */
    bool clock_counted;                 /* else it is the machine's highest */
    double peak_per_s;                  /* operations: width x clock */
    double utilization, fp_utilization; /* instructions and floating point operations of it */
    unsigned width;
};

void td_count_machine_read(struct td_count_machine *machine, const struct td_caps *caps);
/* `elapsed_s` is of one run, `only`: there is one type of CPU, whose clock CPU time tells. */
void td_count_stalls_of(struct td_count_stalls *ret, const struct td_count_cpu_type *part,
                        const struct td_counts *counts, const struct td_count_machine *machine,
                        double elapsed_s, bool only);

#endif
