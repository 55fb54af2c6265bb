/* SPDX-License-Identifier: MIT */
#include "report/query/verdict.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/attribution/stats.h"
#include "report/query/figures/shared.h"
#include "report/query/figures/weights.h"

static enum td_metric node_metric(enum td_tma_node node)
{
    return (enum td_metric)(TD_METRIC_FIRST_NODE + (int)node);
}

/* What the node is made of says the same of a smaller part: that is said instead. */
static bool is_said_below(const struct td_tree *tree, const struct td_tree_node *n)
{
    const enum td_standing standing = td_tree_standing(n);

    for (size_t i = 0; i < tree->len; i++) {
        enum td_tma_node above = td_tma_info(tree->at[i].node)->parent;

        if (!tree->at[i].flagged || td_tree_standing(&tree->at[i]) < standing)
            continue;
        while (above != TD_NODE_NONE && above != n->node)
            above = td_tma_info(above)->parent;
        if (above == n->node)
            return true;
    }
    return false;
}

/* False when the node is not worth a word: a lower node that does not stand out. */
static bool find(const struct td_tree *tree, const struct td_tree_node *n, enum td_finding *ret)
{
    static const enum td_finding findings[] = {[TD_STANDING_NONE] = TD_FINDING_RULED_OUT,
                                               [TD_STANDING_WORK] = TD_FINDING_WORK,
                                               [TD_STANDING_UNSURE] = TD_FINDING_UNSURE,
                                               [TD_STANDING_HIGH] = TD_FINDING_HIGH};
    const enum td_standing standing = td_tree_standing(n);

    *ret = findings[standing];
    if (standing == TD_STANDING_NONE)
        return td_tma_info(n->node)->level == 1 && !td_tma_retires(n->node);
    return !(n->flagged && is_said_below(tree, n));
}

/* What else a cause takes, where the tree has it apart: fetch begins anew after each branch that
 * was mispredicted and after each clear. */
static enum td_tma_node goes_with(const struct td_tree *tree, enum td_tma_node node)
{
    static const enum td_tma_node pairs[][2] = {
        {TD_NODE_BRANCH_MISPREDICTS, TD_NODE_MISPREDICTS_RESTEERS},
        {TD_NODE_BRANCH_MISPREDICTS, TD_NODE_BRANCH_RESTEERS},
        {TD_NODE_MACHINE_CLEARS, TD_NODE_CLEARS_RESTEERS},
        {TD_NODE_BAD_SPECULATION, TD_NODE_BRANCH_RESTEERS},
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(pairs); i++) {
        if (pairs[i][0] == node && td_tree_find(tree, pairs[i][1]))
            return pairs[i][1];
    }
    return TD_NODE_NONE;
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
        const enum td_tma_node with = goes_with(tree, n->node);
        const double all = n->share + (with == TD_NODE_NONE ? 0 : td_tree_find(tree, with)->share);
        /* Of a join, some time has no categories: no gain is known there. */
        const double of_time =
            all * td_ratio(td_measure_categorized_ns(measure), measure->totals[TD_METRIC_TIME_NS]);
        const double gone = measure->weighted ? of_time : all;

        verdict->nodes[verdict->node_count++] = (struct td_verdict_node){
            .finding = finding,
            .node = n->node,
            .slots = n->slots,
            .share = n->share,
            .error = n->error,
            .threshold = n->threshold,
            .seconds = (double)td_measure_categorized_ns(measure) * n->share * 1e-9,
            .speedup = td_tma_retires(n->node) || gone >= 1 ? 1 : 1 / (1 - gone),
            .with = with,
        };
    }
    qsort(verdict->nodes, verdict->node_count, sizeof(verdict->nodes[0]), by_finding);
}

/* A place that lost less is nowhere to look. */
#define PLACE_SHARE 0.005
/* Of what a function lost: lines that are known for less do not stand for it. */
#define LINES_PART 0.5

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

            if ((n->finding == TD_FINDING_HIGH || n->finding == TD_FINDING_WORK) &&
                td_tma_retires(n->node) == (useful == 1))
                losses.metrics[losses.len++] = node_metric(n->node);
        }
    }
    return losses;
}

/* In order: the greatest first. */
static void put_loss(struct td_verdict_place *place, struct td_verdict_loss loss)
{
    size_t at = place->loss_count++;

    for (; at > 0 && place->losses[at - 1].share < loss.share; at--)
        place->losses[at] = place->losses[at - 1];
    place->losses[at] = loss;
    place->share += loss.share;
}

static struct td_verdict_place place_of(const struct td_rows *rows, const struct td_row *row,
                                        const struct losses *losses)
{
    const uint64_t *totals = rows->measure->totals;
    const bool line = rows->kind == TD_ROWS_LINES;
    struct td_verdict_place place = {.function = row->function,
                                     .module = row->module,
                                     .file = line ? row->file : 0,
                                     .line = line ? row->line : 0};

    if (losses->len == 0)
        place.share = td_ratio(row->values[rows->primary], totals[rows->primary]);
    for (size_t i = 0; i < losses->len; i++) {
        const enum td_tma_node node = (enum td_tma_node)(losses->metrics[i] - TD_METRIC_FIRST_NODE);
        const double share = td_ratio(row->values[losses->metrics[i]], totals[TD_METRIC_SLOTS]);

        if (share > 0 && !td_row_cell(rows, row, node).thin)
            put_loss(&place, (struct td_verdict_loss){.node = node, .share = share});
    }
    return place;
}

/* Keeps the greatest so many, in order; rows come in an order that is the same on every run, so
 * equal ones keep theirs. */
static void put_place(struct td_verdict *verdict, const struct td_verdict_place *place)
{
    size_t at = verdict->place_count;

    if (place->share < PLACE_SHARE)
        return;
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

/* Of a function that has lines: what is known to be lost in them, of all slots. */
struct in_lines {
    bool any;
    double share;
};

/* Functions, then modules for code without a name. */
static size_t place_index(const struct td_model *model, uint32_t function, uint32_t module)
{
    const size_t functions = td_model_function_count(model);

    if (function != TD_NONE)
        return function;
    return functions + (module == TD_NONE ? td_model_module_count(model) : module);
}

/* A place is a line; but a function whose lines are known for less than half of what itself is
 * known to lose is one as a whole. */
static void add_places(struct td_verdict *verdict, const struct td_measure *measure,
                       struct losses losses, bool no_inline)
{
    const struct td_model *model = measure->model;
    struct in_lines *in_lines =
        td_xcalloc(place_index(model, TD_NONE, TD_NONE) + 1, sizeof(*in_lines));
    bool *whole = td_xcalloc(place_index(model, TD_NONE, TD_NONE) + 1, sizeof(*whole));
    struct td_rows lines, functions;

    td_rows_init(&lines, measure, TD_ROWS_LINES, no_inline);
    td_rows_init(&functions, measure, TD_ROWS_FUNCTIONS, no_inline);
    for (size_t i = 0; i < lines.len; i++) {
        const struct td_verdict_place place = place_of(&lines, &lines.at[i], &losses);
        struct in_lines *in = &in_lines[place_index(model, place.function, place.module)];

        in->any = in->any || place.line != 0;
        in->share += place.line != 0 ? place.share : 0;
    }
    for (size_t i = 0; i < functions.len; i++) {
        const struct td_verdict_place place = place_of(&functions, &functions.at[i], &losses);
        const size_t index = place_index(model, place.function, place.module);

        whole[index] = in_lines[index].share < LINES_PART * place.share;
        if (whole[index])
            put_place(verdict, &place);
    }
    for (size_t i = 0; i < lines.len; i++) {
        const struct td_verdict_place place = place_of(&lines, &lines.at[i], &losses);

        if (place.line != 0 && !whole[place_index(model, place.function, place.module)])
            put_place(verdict, &place);
    }
    if (verdict->place_count > 0 &&
        in_lines[place_index(model, verdict->places[0].function, verdict->places[0].module)].any)
        verdict->function = verdict->places[0].function;
    td_rows_release(&functions);
    td_rows_release(&lines);
    free(whole);
    free(in_lines);
}

/* A function that does less of the work is not worth a word. */
#define WORKER_SHARE 0.02
#define USEFUL_SHARE 0.5

/* Who does the useful work; without categories, who takes what was measured. */
static void add_workers(struct td_verdict *verdict, const struct td_measure *measure,
                        bool no_inline)
{
    struct td_rows rows;

    td_rows_init(&rows, measure, TD_ROWS_FUNCTIONS, no_inline);
    td_rows_sort(&rows, (struct td_sort){.by = TD_SORT_VALUE, .metric = verdict->work});
    for (size_t i = 0; i < rows.len && verdict->worker_count < TD_VERDICT_WORKERS; i++) {
        const struct td_row *row = &rows.at[i];
        const double share = td_ratio(row->values[verdict->work], measure->totals[verdict->work]);

        if (share < WORKER_SHARE)
            break;
        if (verdict->work == node_metric(TD_NODE_RETIRING) &&
            td_row_cell(&rows, row, TD_NODE_RETIRING).thin)
            continue;
        verdict->workers[verdict->worker_count++] = (struct td_verdict_worker){
            .function = row->function, .module = row->module, .share = share};
    }
    td_rows_release(&rows);
}

static void find_work(struct td_verdict *verdict, const struct td_measure *measure,
                      const struct td_tree *tree)
{
    const struct td_tree_node *retiring = td_tree_find(tree, TD_NODE_RETIRING);

    verdict->retiring = retiring ? retiring->share : 0;
    verdict->retiring_error = retiring ? retiring->error : 0;
    verdict->useful = verdict->retiring > USEFUL_SHARE;
    verdict->work = tree->len == 0                            ? td_measure_primary(measure)
                    : measure->totals[TD_METRIC_INSTRUCTIONS] ? TD_METRIC_INSTRUCTIONS
                                                              : node_metric(TD_NODE_RETIRING);
}

void td_verdict_of(struct td_verdict *verdict, const struct td_measure *measure,
                   const struct td_tree *tree, bool no_inline)
{
    *verdict = (struct td_verdict){.function = TD_NONE};
    add_nodes(verdict, measure, tree);
    verdict->spins = td_shared_spins(measure);
    add_places(verdict, measure, losses_of(verdict), no_inline);
    /* Of a short recording the categories of no place are known: then where most was spent. */
    if (verdict->place_count == 0)
        add_places(verdict, measure, (struct losses){.len = 0}, no_inline);
    find_work(verdict, measure, tree);
    if (verdict->useful || tree->len == 0)
        add_workers(verdict, measure, no_inline);
}
