/* SPDX-License-Identifier: MIT */
/*
 * What a profile with categories says in a few lines: what is high, what is ruled out, where to
 * look first. The same for measured and modelled slots; views turn it into words.
 */
#ifndef TD_REPORT_QUERY_VERDICT_H
#define TD_REPORT_QUERY_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/query/figures/rows.h"
#include "report/query/figures/tree.h"

#define TD_VERDICT_PLACES  3
#define TD_VERDICT_WORKERS 3

enum td_finding {
    TD_FINDING_HIGH,      /* it stands out (td_tree_standing), and nothing that it is made of */
    TD_FINDING_UNSURE,    /* nearer to its threshold than its error */
    TD_FINDING_RULED_OUT, /* level 1: below its threshold by more than its error */
    TD_FINDING_WORK       /* useful work above its threshold: no loss */
};

struct td_verdict_node {
    enum td_finding finding;
    enum td_tma_node node;
    uint64_t slots;
    double share; /* of all slots */
    double error; /* ±, 95 %; 0 when exact */
    double threshold;
    double seconds; /* of the whole time; 0 when no time is known */
    /* HIGH: how many times as fast, were all of its slots gone with those of `with`, and all else
     * as before. No bound: without misses, say, mispredicted branches are found earlier. 1: it is
     * useful work, of which only less can be done. */
    double speedup;
    enum td_tma_node with; /* what goes with it, and is no part of it; NONE: nothing */
};

/* What a place lost to one node that is high. */
struct td_verdict_loss {
    enum td_tma_node node;
    double share; /* of all slots; at most the node's own */
};

/* Where most of what is high was lost; of useful work, or when nothing is high, where most was
 * spent. What a table leaves blank is no loss here either. */
struct td_verdict_place {
    uint32_t function; /* TD_NONE: not known */
    uint32_t module;
    uint32_t file; /* string */
    uint32_t line; /* 0: the place is a function, of whose lines less is known than of itself */
    struct td_verdict_loss losses[TD_NODE_COUNT]; /* the greatest first */
    size_t loss_count; /* 0: no node is high, or of no place is it known */
    double share; /* of all slots (or what else is sorted by): all losses, to order places by */
};

/* A function, and how much of the useful work is in it. */
struct td_verdict_worker {
    uint32_t function; /* TD_NONE: not known; then the module tells */
    uint32_t module;
    double share; /* of `work` */
};

struct td_verdict {
    struct td_verdict_node nodes[TD_NODE_COUNT]; /* by finding, then the greatest first */
    size_t node_count;
    struct td_verdict_place places[TD_VERDICT_PLACES];
    size_t place_count;
    uint32_t function; /* the one to annotate next; TD_NONE: none has source lines */
    bool spins;        /* serializing operations are pauses of threads that wait for others */
    /* More than half of all slots retire: only less work makes that part faster. */
    bool useful;
    double retiring;       /* of all slots */
    double retiring_error; /* ±, 95 %; 0 when exact */
    /* Instructions, or slots that retire where those are not known; without categories the primary
     * metric. */
    enum td_metric work;
    /* When `useful`, or without categories: the functions with most of it, the first the most. */
    struct td_verdict_worker workers[TD_VERDICT_WORKERS];
    size_t worker_count;
};

/* Of a measure without categories it has places alone. */
void td_verdict_of(struct td_verdict *verdict, const struct td_measure *measure,
                   const struct td_tree *tree, bool no_inline);

#endif
