/* SPDX-License-Identifier: MIT */
#include "report/query/tree.h"

#include "report/query/stats.h"

/* TMA's own thresholds, as in Intel's perfmon metrics (TMA_Metrics-full.csv) for shares of slots.
 */
static const double thresholds[TD_NODE_COUNT] = {
    [TD_NODE_RETIRING] = 0.70,
    [TD_NODE_BAD_SPECULATION] = 0.15,
    [TD_NODE_FRONTEND_BOUND] = 0.15,
    [TD_NODE_BACKEND_BOUND] = 0.20,
    [TD_NODE_LIGHT_OPERATIONS] = 0.60,
    [TD_NODE_HEAVY_OPERATIONS] = 0.10,
    [TD_NODE_BRANCH_MISPREDICTS] = 0.10,
    [TD_NODE_MACHINE_CLEARS] = 0.10,
    [TD_NODE_FETCH_LATENCY] = 0.10,
    [TD_NODE_FETCH_BANDWIDTH] = 0.20,
    [TD_NODE_MEMORY_BOUND] = 0.20,
    [TD_NODE_CORE_BOUND] = 0.10,
    [TD_NODE_ICACHE_MISSES] = 0.05,
    [TD_NODE_ITLB_MISSES] = 0.05,
    [TD_NODE_BRANCH_RESTEERS] = 0.05,
    [TD_NODE_L1_BOUND] = 0.10,
    [TD_NODE_L2_BOUND] = 0.05,
    [TD_NODE_L3_BOUND] = 0.05,
    [TD_NODE_DRAM_BOUND] = 0.10,
    [TD_NODE_STORE_BOUND] = 0.20,
    [TD_NODE_DIVIDER] = 0.20,
    [TD_NODE_PORTS_UTILIZATION] = 0.15,
};

static bool over_threshold(const struct td_measure *measure, enum td_tma_node node)
{
    const enum td_metric metric = (enum td_metric)(TD_METRIC_FIRST_NODE + (int)node);

    return td_ratio(measure->totals[metric], measure->totals[TD_METRIC_SLOTS]) > thresholds[node];
}

static void add_node(struct td_tree *tree, const struct td_measure *measure, enum td_tma_node node,
                     bool parent_flagged)
{
    const uint64_t slots = measure->totals[TD_METRIC_FIRST_NODE + (int)node];
    const double share = td_ratio(slots, measure->totals[TD_METRIC_SLOTS]);
    const bool exact = measure->attribution == TD_ATTRIBUTION_EXACT && !measure->weighted;
    const bool flagged = parent_flagged && over_threshold(measure, node);

    tree->at[tree->len++] = (struct td_tree_node){
        .node = node,
        .slots = slots,
        .share = share,
        .error = exact ? 0 : td_share_error(share, measure->totals[TD_METRIC_SAMPLES]),
        .threshold = thresholds[node],
        .flagged = flagged,
    };
    for (int child = 0; child < TD_NODE_COUNT; child++) {
        const enum td_tma_node c = (enum td_tma_node)child;

        if (td_tma_info(c)->parent == node && measure->values[TD_METRIC_FIRST_NODE + child])
            add_node(tree, measure, c, flagged);
    }
}

struct td_tree td_tree_of(const struct td_measure *measure)
{
    struct td_tree tree = {.len = 0};

    for (int node = 0; node < TD_NODE_COUNT; node++) {
        if (td_tma_info((enum td_tma_node)node)->level == 1 &&
            measure->values[TD_METRIC_FIRST_NODE + node])
            add_node(&tree, measure, (enum td_tma_node)node, true);
    }
    return tree;
}

const struct td_tree_node *td_tree_find(const struct td_tree *tree, enum td_tma_node node)
{
    for (size_t i = 0; i < tree->len; i++) {
        if (tree->at[i].node == node)
            return &tree->at[i];
    }
    return NULL;
}
