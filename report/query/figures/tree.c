/* SPDX-License-Identifier: MIT */
#include "report/query/figures/tree.h"

#include <math.h>

#include "report/query/figures/replicated.h"
#include "report/attribution/slots.h"
#include "report/attribution/stats.h"
#include "report/query/figures/weights.h"

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
    [TD_NODE_DSB_SWITCHES] = 0.05,
    [TD_NODE_LCP] = 0.05,
    [TD_NODE_MS_SWITCHES] = 0.05,
    [TD_NODE_MITE] = 0.10,
    [TD_NODE_DSB] = 0.15,
    [TD_NODE_LSD] = 0.15,
    [TD_NODE_SERIALIZING_OPERATION] = 0.10,
    [TD_NODE_FP_ARITH] = 0.20,
    [TD_NODE_INT_OPERATIONS] = 0.10,
    [TD_NODE_MEMORY_OPERATIONS] = 0.10,
    [TD_NODE_FUSED_INSTRUCTIONS] = 0.10,
    [TD_NODE_NON_FUSED_BRANCHES] = 0.10,
    [TD_NODE_NOP_INSTRUCTIONS] = 0.10,
    [TD_NODE_FEW_UOPS_INSTRUCTIONS] = 0.05,
    [TD_NODE_MICROCODE_SEQUENCER] = 0.05,
    [TD_NODE_BRANCH_DETECT] = 0.05,
    [TD_NODE_DECODE] = 0.05,
    [TD_NODE_PREDECODE] = 0.05,
    [TD_NODE_MISPREDICTS_RESTEERS] = 0.05,
    [TD_NODE_CLEARS_RESTEERS] = 0.05,
    [TD_NODE_UNKNOWN_BRANCHES] = 0.05,
    [TD_NODE_DTLB_LOAD] = 0.10,
    [TD_NODE_STORE_FWD_BLK] = 0.10,
    [TD_NODE_L1_LATENCY_DEPENDENCY] = 0.10,
    [TD_NODE_LOCK_LATENCY] = 0.20,
    [TD_NODE_SPLIT_LOADS] = 0.20,
    [TD_NODE_ALIASING_4K] = 0.20,
    [TD_NODE_FB_FULL] = 0.30,
    [TD_NODE_L2_HIT_LATENCY] = 0.05,
    [TD_NODE_CONTESTED_ACCESSES] = 0.05,
    [TD_NODE_DATA_SHARING] = 0.05,
    [TD_NODE_L3_HIT_LATENCY] = 0.10,
    [TD_NODE_SQ_FULL] = 0.30,
    [TD_NODE_MEM_BANDWIDTH] = 0.20,
    [TD_NODE_MEM_LATENCY] = 0.10,
    [TD_NODE_STORE_LATENCY] = 0.10,
    [TD_NODE_FALSE_SHARING] = 0.05,
    [TD_NODE_SPLIT_STORES] = 0.20,
    [TD_NODE_STREAMING_STORES] = 0.20,
    [TD_NODE_DTLB_STORE] = 0.05,
    [TD_NODE_PORTS_UTILIZED_0] = 0.20,
    [TD_NODE_PORTS_UTILIZED_1] = 0.20,
    [TD_NODE_PORTS_UTILIZED_2] = 0.15,
    [TD_NODE_PORTS_UTILIZED_3M] = 0.40,
    [TD_NODE_X87_USE] = 0.10,
    [TD_NODE_FP_SCALAR] = 0.10,
    [TD_NODE_FP_VECTOR] = 0.10,
    [TD_NODE_ASSISTS] = 0.10,
    [TD_NODE_CISC] = 0.10,
    [TD_NODE_FP_VECTOR_128B] = 0.10,
    [TD_NODE_FP_VECTOR_256B] = 0.10,
    [TD_NODE_FP_VECTOR_512B] = 0.10,
    [TD_NODE_OTHER_LIGHT_OPS] = 0.30,
    [TD_NODE_DEPENDENCY_CHAINS] = 0.15,
    [TD_NODE_INTEGER_PORTS] = 0.10,
    [TD_NODE_MULTIPLY_PORT] = 0.10,
    [TD_NODE_BRANCH_PORTS] = 0.10,
    [TD_NODE_FLOAT_PORTS] = 0.10,
    [TD_NODE_SHUFFLE_PORTS] = 0.10,
    [TD_NODE_VECTOR_PORTS] = 0.10,
    [TD_NODE_LOAD_PORTS] = 0.10,
    [TD_NODE_STORE_PORTS] = 0.10,
    [TD_NODE_FRONTEND_MEM_BOUND] = 0.10,
    [TD_NODE_FRONTEND_CORE_BOUND] = 0.10,
    [TD_NODE_FRONTEND_MEM_CACHE_BOUND] = 0.10,
    [TD_NODE_FRONTEND_MEM_TLB_BOUND] = 0.10,
    [TD_NODE_FRONTEND_CORE_FLOW_BOUND] = 0.10,
    [TD_NODE_FRONTEND_CORE_FLUSH_BOUND] = 0.10,
    [TD_NODE_FRONTEND_CACHE_L1I_BOUND] = 0.05,
    [TD_NODE_FRONTEND_CACHE_L2I_BOUND] = 0.05,
    [TD_NODE_BACKEND_MEM_CACHE_BOUND] = 0.10,
    [TD_NODE_BACKEND_MEM_TLB_BOUND] = 0.10,
    [TD_NODE_BACKEND_CACHE_L1D_BOUND] = 0.05,
    [TD_NODE_BACKEND_CACHE_L2D_BOUND] = 0.05,
    [TD_NODE_BACKEND_CORE_RENAME_BOUND] = 0.10,
};

double td_tree_threshold(enum td_tma_node node)
{
    return thresholds[node] > 0 ? thresholds[node] : NAN;
}

enum td_tma_node td_tree_next(enum td_tma_node node)
{
    /* Children first, then the next sibling of it or of what it is part of. */
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == node)
            return (enum td_tma_node)n;
    }
    for (; node != TD_NODE_NONE; node = td_tma_info(node)->parent) {
        for (int n = (int)node + 1; n < TD_NODE_COUNT; n++) {
            if (td_tma_info((enum td_tma_node)n)->parent == td_tma_info(node)->parent)
                return (enum td_tma_node)n;
        }
    }
    return TD_NODE_NONE;
}

/* What a tree is of: a measure's rows, or all that one kind of core counted. */
struct whole {
    const struct td_measure *measure;
    const struct td_slots_part *part;  /* NULL: the rows */
    const struct td_pmu_core *core;    /* NULL: not measured slots */
    double join_errors[TD_NODE_COUNT]; /* of a join */
};

/* The core's own where its description has one. */
static double threshold_of(const struct whole *whole, enum td_tma_node node)
{
    if (whole->core && !isnan(whole->core->thresholds[node]))
        return whole->core->thresholds[node];
    return thresholds[node];
}

static bool has_node(const struct whole *whole, enum td_tma_node node)
{
    return whole->part
               ? !isnan(whole->part->intervals.tree.share[node]) || whole->part->later[node].run
               : whole->measure->values[TD_METRIC_FIRST_NODE + (int)node] != NULL;
}

static double share_of(const struct whole *whole, enum td_tma_node node)
{
    if (whole->part && whole->part->later[node].run)
        return whole->part->later[node].share;
    return whole->part ? whole->part->intervals.tree.share[node]
                       : td_ratio(whole->measure->totals[TD_METRIC_FIRST_NODE + (int)node],
                                  whole->measure->totals[TD_METRIC_SLOTS]);
}

static double error_of(const struct whole *whole, enum td_tma_node node, double share)
{
    if (td_replicated_is(whole->measure))
        return td_replicated_error(whole->measure, node);
    if (whole->measure->attribution == TD_ATTRIBUTION_EXACT && !whole->measure->weighted)
        return 0;
    if (whole->part)
        return whole->part->later[node].run ? whole->part->later[node].error
                                            : whole->part->error[node];
    if (whole->measure->join)
        return whole->join_errors[node];
    if (whole->measure->slots)
        return td_slots_error(whole->measure, node);
    return td_share_error(share, whole->measure->totals[TD_METRIC_SAMPLES]);
}

static void add_node(struct td_tree *tree, const struct whole *whole, enum td_tma_node node,
                     bool parent_flagged)
{
    const double share = share_of(whole, node);
    const double threshold = threshold_of(whole, node);
    const bool flagged = parent_flagged && share > threshold;

    tree->at[tree->len++] = (struct td_tree_node){
        .node = node,
        .slots = whole->part ? td_rounded(share * (double)whole->part->slots)
                             : whole->measure->totals[TD_METRIC_FIRST_NODE + (int)node],
        .share = share,
        .error = error_of(whole, node, share),
        .threshold = threshold,
        .flagged = flagged,
        .run = whole->part ? whole->part->later[node].run : td_later_run(whole->measure, node),
    };
    for (int child = 0; child < TD_NODE_COUNT; child++) {
        const enum td_tma_node c = (enum td_tma_node)child;

        if (td_tma_info(c)->parent == node && has_node(whole, c))
            add_node(tree, whole, c, flagged);
    }
}

static struct td_tree tree_of(const struct whole *whole)
{
    struct td_tree tree = {.len = 0};

    for (int node = 0; node < TD_NODE_COUNT; node++) {
        if (td_tma_info((enum td_tma_node)node)->level == 1 &&
            has_node(whole, (enum td_tma_node)node))
            add_node(&tree, whole, (enum td_tma_node)node, true);
    }
    return tree;
}

struct td_tree td_tree_of(const struct td_measure *measure)
{
    struct whole whole = {.measure = measure};
    uint64_t most = 0;

    if (measure->join)
        td_weights_errors(whole.join_errors, measure);
    for (size_t p = 0; measure->slots && p < measure->slots->len; p++) {
        if (measure->slots->parts[p].slots < most)
            continue;
        most = measure->slots->parts[p].slots;
        whole.core = measure->slots->parts[p].counted.core;
    }
    return tree_of(&whole);
}

struct td_tree td_tree_of_part(const struct td_measure *measure, size_t part)
{
    const struct td_slots_part *of = &measure->slots->parts[part];
    const struct whole whole = {.measure = measure, .part = of, .core = of->counted.core};

    return tree_of(&whole);
}

enum td_standing td_tree_standing(const struct td_tree_node *node)
{
    if (td_tma_is_work(node->node))
        return node->flagged ? TD_STANDING_WORK : TD_STANDING_NONE;
    if ((node->flagged || td_tma_info(node->node)->level == 1) &&
        fabs(node->share - node->threshold) < node->error)
        return TD_STANDING_UNSURE;
    return node->flagged ? TD_STANDING_HIGH : TD_STANDING_NONE;
}

void td_tree_cut(struct td_tree *tree, int levels, bool all)
{
    struct td_tree whole = *tree;

    tree->len = 0;
    for (size_t i = 0; i < whole.len; i++) {
        const struct td_tma_info *info = td_tma_info(whole.at[i].node);
        const struct td_tree_node *parent =
            info->parent == TD_NODE_NONE ? NULL : td_tree_find(&whole, info->parent);

        if (info->level <= levels && (all || !parent || parent->flagged))
            tree->at[tree->len++] = whole.at[i];
    }
}

const struct td_tree_node *td_tree_find(const struct td_tree *tree, enum td_tma_node node)
{
    for (size_t i = 0; i < tree->len; i++) {
        if (tree->at[i].node == node)
            return &tree->at[i];
    }
    return NULL;
}
