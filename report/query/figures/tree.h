/* SPDX-License-Identifier: MIT */
/* The top-down tree of a measure, with what stands out in it. */
#ifndef TD_REPORT_QUERY_FIGURES_TREE_H
#define TD_REPORT_QUERY_FIGURES_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/measure.h"

struct td_tree_node {
    enum td_tma_node node;
    uint64_t slots;
    double share; /* of all slots */
    double error; /* ±, 95 %; 0 when exact */
    double threshold;
    unsigned run; /* of the recording, that counted it; 0: the first, or the only one */
    bool flagged; /* it and all its ancestors exceed their thresholds, sure or not */
};

/* What is said of a node, in the tree as in the verdict. */
enum td_standing {
    TD_STANDING_NONE,
    TD_STANDING_WORK,   /* useful work that exceeds its threshold: no loss */
    TD_STANDING_UNSURE, /* flagged, or of level 1, but nearer to its threshold than its error */
    TD_STANDING_HIGH    /* flagged, by more than its error */
};

struct td_tree {
    struct td_tree_node at[TD_NODE_COUNT]; /* each node before its children */
    size_t len;                            /* 0 when the profile has no categories */
};

/* The share of slots above which the node is high, where a core's description has none of its own.
 * NaN: it has none. */
double td_tree_threshold(enum td_tma_node node);

/* The next node of the tree in the order in which it is printed; from NONE the first, after the
 * last NONE. */
enum td_tma_node td_tree_next(enum td_tma_node node);

struct td_tree td_tree_of(const struct td_measure *measure);
/* Of all that one kind of core counted, `part` of measure->slots, before any filter. */
struct td_tree td_tree_of_part(const struct td_measure *measure, size_t part);
enum td_standing td_tree_standing(const struct td_tree_node *node);
/* Leaves out nodes below `levels`; and unless `all`, those whose parent does not stand out: they
 * explain a loss that is none. */
void td_tree_cut(struct td_tree *tree, int levels, bool all);
/* NULL when the tree has no such node. */
const struct td_tree_node *td_tree_find(const struct td_tree *tree, enum td_tma_node node);

#endif
