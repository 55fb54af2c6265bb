/* SPDX-License-Identifier: MIT */
/*
 * From intervals to mixes: which part of a key's slots (a function's, a line's, a thread's) was
 * lost to what, how that was found, and how far it can be wrong. attribution.md has the method.
 *
 * An interval is what was counted from one sample of a thread to its next; it is known where both
 * samples were taken, but not what ran between them.
 */
#ifndef TD_REPORT_ATTRIBUTION_MIX_H
#define TD_REPORT_ATTRIBUTION_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/attribution/counted.h"

struct td_interval {
    uint32_t row;    /* of the measure: where it ended */
    uint32_t node;   /* of the model: the same */
    uint32_t thread; /* of the model */
    uint32_t before; /* the interval before it, which ended where this one began; TD_NONE */
    double slots;
    const uint64_t *values; /* by column of the group, borrowed */
};

struct td_intervals {
    struct td_interval *at; /* in the order of time */
    size_t len, cap;
    size_t series; /* how many begin without one before them */
    bool paired;   /* two samples soon after one another: the short ones are windows */
    const struct td_counted *counted;                 /* borrowed */
    double totals[TD_COLUMNS_MAX];                    /* sums of the values */
    double slopes[TD_NODE_COUNT + 1][TD_COLUMNS_MAX]; /* td_counted_slopes at the totals */
    struct td_pmu_tree tree;                          /* of the totals */
    int node_count, node_at[TD_NODE_COUNT]; /* the nodes that are known, in the order of x; -1 */
    float *x;                               /* slots by interval and known node */
};

enum td_mix_kind {
    TD_MIX_INTERVAL, /* all intervals that ended there */
    TD_MIX_SAME,     /* those that began there too */
    TD_MIX_PAIRED,   /* short windows that began and ended there */
    TD_MIX_LOCATED,  /* by precise events (slots.h) */
    TD_MIX_TIMED,    /* the same, weighted by how long each took */
    TD_MIX_JOINED,   /* measured time, modelled categories (weights.h) */
    TD_MIX_KINDS
};
const char *td_mix_kind_name(enum td_mix_kind kind);

struct td_mix {
    uint64_t intervals;
    double slots;
    double slots_error; /* ±, 95 %, by which its share of all slots differs when repeated; */
    double slots_bound; /* and from the truth: samples do not tell short calls apart */
    double same_share;  /* of its intervals, that began where they ended; NaN: not known */
    double clean;       /* of the slots that its mix is from, spent there */
    double doubt;       /* how likely that only seems so, of a program in step with its samples */
    enum td_mix_kind kind;
    double share[TD_NODE_COUNT]; /* of its slots, in [0, 1]; NaN: this core does not say */
    double error[TD_NODE_COUNT]; /* ±, 95 %, what is blurred included; at most 1 */
};

/* Once all intervals are there, with totals, slopes and tree: fills their slots, and x. */
void td_intervals_ready(struct td_intervals *intervals);
void td_intervals_release(struct td_intervals *intervals);

/* A key for each interval, below `keys`; `mixes` has room for as many. */
void td_mix_of(struct td_mix *mixes, const struct td_intervals *intervals, const uint32_t *key,
               size_t keys);

/* ±, 95 %, of each node's share of all slots: counting misses only what ran after the last sample
 * of each thread. */
void td_mix_total_errors(const struct td_intervals *intervals, double errors[TD_NODE_COUNT]);

#endif
