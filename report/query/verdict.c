/* SPDX-License-Identifier: MIT */
#include "report/query/verdict.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/query/stats.h"
#include "report/query/weights.h"

static enum td_metric node_metric(enum td_tma_node node)
{
    return (enum td_metric)(TD_METRIC_FIRST_NODE + (int)node);
}

/* Slots that are used: more of them is no loss. */
static bool is_useful(enum td_tma_node node)
{
    return node == TD_NODE_RETIRING || td_tma_info(node)->parent == TD_NODE_RETIRING;
}

static bool has_flagged_child(const struct td_tree *tree, enum td_tma_node node)
{
    for (size_t i = 0; i < tree->len; i++) {
        if (tree->at[i].flagged && td_tma_info(tree->at[i].node)->parent == node)
            return true;
    }
    return false;
}

/* False when the node is not worth a word: a lower node that does not stand out. */
static bool find(const struct td_tree *tree, const struct td_tree_node *n, enum td_finding *ret)
{
    const int level = td_tma_info(n->node)->level;

    if (n->flagged && has_flagged_child(tree, n->node))
        return false;
    if (fabs(n->share - n->threshold) < n->error && (n->flagged || level == 1)) {
        *ret = TD_FINDING_UNSURE;
        return !is_useful(n->node);
    }
    if (n->flagged) {
        *ret = TD_FINDING_HIGH;
        return true;
    }
    *ret = TD_FINDING_RULED_OUT;
    return level == 1 && !is_useful(n->node);
}

static int by_finding(const void *a, const void *b)
{
    const struct td_verdict_node *x = a, *y = b;

    if (x->finding != y->finding)
        return x->finding < y->finding ? -1 : 1;
    if (x->slots != y->slots)
        return x->slots > y->slots ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static void add_nodes(struct td_verdict *verdict, const struct td_measure *measure,
                      const struct td_tree *tree)
{
    for (size_t i = 0; i < tree->len; i++) {
        const struct td_tree_node *n = &tree->at[i];
        enum td_finding finding = TD_FINDING_HIGH;

        if (!find(tree, n, &finding))
            continue;
        /* Of a join, some time has no categories: no gain is known there. */
        const double of_time = n->share * td_ratio(td_measure_categorized_ns(measure),
                                                   measure->totals[TD_METRIC_TIME_NS]);
        const double gone = measure->weighted ? of_time : n->share;

        verdict->nodes[verdict->node_count++] = (struct td_verdict_node){
            .finding = finding,
            .node = n->node,
            .slots = n->slots,
            .share = n->share,
            .error = n->error,
            .threshold = n->threshold,
            .seconds = (double)td_measure_categorized_ns(measure) * n->share * 1e-9,
            .speedup = is_useful(n->node) || gone >= 1 ? 1 : 1 / (1 - gone),
        };
    }
    qsort(verdict->nodes, verdict->node_count, sizeof(verdict->nodes[0]), by_finding);
}

/* A place that lost less is nowhere to look. */
#define PLACE_SHARE 0.005

/* What a place lost to the nodes that are high; useful work counts only when nothing else does. */
struct losses {
    enum td_metric metrics[TD_NODE_COUNT];
    size_t len; /* 0: nothing is high, and what counts is the primary metric */
};

static struct losses losses_of(const struct td_verdict *verdict)
{
    struct losses losses = {.len = 0};

    for (int useful = 0; useful <= 1 && losses.len == 0; useful++) {
        for (size_t i = 0; i < verdict->node_count; i++) {
            const struct td_verdict_node *n = &verdict->nodes[i];

            if (n->finding == TD_FINDING_HIGH && is_useful(n->node) == (useful == 1))
                losses.metrics[losses.len++] = node_metric(n->node);
        }
    }
    return losses;
}

static uint64_t lost_in(const struct td_rows *rows, const struct td_row *row,
                        const struct losses *losses, enum td_tma_node *most)
{
    uint64_t sum = 0, greatest = 0;

    *most = TD_NODE_NONE;
    if (losses->len == 0)
        return row->values[rows->primary];
    for (size_t i = 0; i < losses->len; i++) {
        const uint64_t value = row->values[losses->metrics[i]];

        sum += value;
        if (value > greatest) {
            greatest = value;
            *most = (enum td_tma_node)(losses->metrics[i] - TD_METRIC_FIRST_NODE);
        }
    }
    return sum;
}

/* Keeps the greatest so many, in order; rows come in an order that is the same on every run, so
 * equal ones keep theirs. */
static void put_place(struct td_verdict *verdict, const struct td_verdict_place *place)
{
    size_t at = verdict->place_count;

    while (at > 0 && verdict->places[at - 1].share < place->share)
        at--;
    if (at == TD_VERDICT_PLACES)
        return;
    if (verdict->place_count < TD_VERDICT_PLACES)
        verdict->place_count++;
    for (size_t i = verdict->place_count - 1; i > at; i--)
        verdict->places[i] = verdict->places[i - 1];
    verdict->places[at] = *place;
}

static void add_places(struct td_verdict *verdict, const struct td_measure *measure,
                       enum td_row_kind kind, bool no_inline)
{
    const struct losses losses = losses_of(verdict);
    struct td_rows rows;
    enum td_metric whole = TD_METRIC_SLOTS;

    td_rows_init(&rows, measure, kind, no_inline);
    if (losses.len == 0)
        whole = rows.primary;
    for (size_t i = 0; i < rows.len; i++) {
        const struct td_row *row = &rows.at[i];
        struct td_verdict_place place = {.function = row->function,
                                         .module = row->module,
                                         .file = kind == TD_ROWS_LINES ? row->file : 0,
                                         .line = kind == TD_ROWS_LINES ? row->line : 0};
        const uint64_t lost = lost_in(&rows, row, &losses, &place.node);

        place.share = td_ratio(lost, measure->totals[whole]);
        /* What a line lost is rarely known by itself, what its function lost is. */
        const bool thin = kind == TD_ROWS_FUNCTIONS && place.node != TD_NODE_NONE &&
                          td_row_cell(&rows, row, place.node).thin;
        if (lost > 0 && !thin && place.share >= PLACE_SHARE &&
            (kind != TD_ROWS_LINES || row->line != 0))
            put_place(verdict, &place);
    }
    td_rows_release(&rows);
}

void td_verdict_of(struct td_verdict *verdict, const struct td_measure *measure,
                   const struct td_tree *tree, bool no_inline)
{
    *verdict = (struct td_verdict){.function = TD_NONE};
    if (tree->len == 0)
        return;
    add_nodes(verdict, measure, tree);
    add_places(verdict, measure, TD_ROWS_LINES, no_inline);
    if (verdict->place_count > 0)
        verdict->function = verdict->places[0].function;
    else
        add_places(verdict, measure, TD_ROWS_FUNCTIONS, no_inline);
}
