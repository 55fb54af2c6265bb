/* SPDX-License-Identifier: MIT */
/* How far a profile can be trusted: what it covers, and what it lacks and why. */
#ifndef TD_REPORT_QUERY_FIGURES_COVERAGE_H
#define TD_REPORT_QUERY_FIGURES_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

struct td_coverage {
    uint64_t samples; /* of the event that is reported, before any filter; of a damaged profile,
                         those that could be read */
    uint64_t lost;    /* at least: samples, or records of which most are samples */
    uint64_t throttled;
    double unresolved_share;       /* of the primary metric: innermost frame without a name */
    double no_line_share;          /* ...without a source line, unresolved included */
    double unverified_share;       /* ...named by a file that its inode and time alone identify */
    double truncated_stacks_share; /* of samples */
    double unsampled_share;        /* of CPU time: counted by the kernel, but not sampled */
    double duration_s;             /* 0 when not known; of a merge the longest recording's */
    double cpu_s;                  /* CPU time that the recorded tasks used in it, counted by the
                                      kernel; 0 when not known */
    double recorded_s;             /* of duration_s: when recording was on; 0: all of it */
    uint64_t pieces;               /* how many times it was begun then */
    uint64_t recordings;           /* merged ones; 0 when it is no merge */
    bool complete;
    const struct td_losses *losses; /* of the model */
};

struct td_coverage td_coverage_of(const struct td_measure *measure);
/* How many CPUs were busy with what was recorded, on average: below 1 the rest was waiting. NaN
 * when not known. */
double td_coverage_busy(const struct td_coverage *coverage);

/* A module whose names or lines are missing, and how much of the primary metric that concerns. */
struct td_gap {
    double share; /* of what has no name, else of what has no line, else of where inlined functions
                     are missing */
    uint32_t module;
    bool callers; /* all has a name, but callers in it have none: the share of stacks with such */
};

/* Gaps of modules that have a note, the largest first, into `gaps`; returns how many. */
size_t td_coverage_gaps(const struct td_measure *measure, struct td_gap *gaps, size_t max);

#endif
