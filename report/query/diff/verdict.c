/* SPDX-License-Identifier: MIT */
/* What a diff says in two sentences: how much faster, and by what. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/query/diff/diff.h"

/* A leaf is named beside the function when it explains so much of its change. */
#define EXPLAINS 0.5
/* A reason is worth a word from this part of the whole change on. */
#define WORTH_SAYING 0.05

struct leaf {
    enum td_tma_node node;
    double delta;
};

static int by_size(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;

    if (fabs(x->delta) != fabs(y->delta))
        return fabs(x->delta) > fabs(y->delta) ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

size_t td_diff_causes(const struct td_diff *diff, const struct td_diff_row *row, size_t column,
                      enum td_tma_node *ret, size_t max)
{
    const struct td_diff_cell *whole =
        td_diff_cell_of(diff, row, column, TD_DIFF_WHOLE, TD_DIFF_COST);
    struct leaf leaves[TD_NODE_COUNT];
    size_t len = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_diff_cell *cell =
            td_diff_cell_of(diff, row, column, TD_DIFF_NODE(n), TD_DIFF_COST);

        if (!(diff->leaves >> n & 1) || !cell || !cell->change.significant ||
            (cell->change.delta < 0) != (whole->change.delta < 0))
            continue;
        leaves[len++] = (struct leaf){.node = (enum td_tma_node)n, .delta = cell->change.delta};
    }
    if (len > 1)
        qsort(leaves, len, sizeof(*leaves), by_size);
    len = len < max ? len : max;
    for (size_t i = 0; i < len; i++)
        ret[i] = leaves[i].node;
    return len;
}

/* Both are NULL of code without a name. */
static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The line of the reason's function that has most of it. */
static const struct td_diff_row *line_of(const struct td_diff *diff,
                                         const struct td_diff_reason *reason, size_t column)
{
    const unsigned what = reason->node == TD_NODE_NONE ? TD_DIFF_WHOLE : TD_DIFF_NODE(reason->node);
    const struct td_diff_place *place = td_diff_place_of(diff, reason->row, column);

    for (size_t i = 0; i < diff->lines.len; i++) {
        const struct td_diff_row *line = &diff->lines.at[i];
        const struct td_diff_place *at = td_diff_place_of(diff, line, column);
        const struct td_change *change =
            &td_diff_cell_of(diff, line, column, what, TD_DIFF_COST)->change;

        if (at->line && is_same(at->function, place->function) &&
            is_same(at->module, place->module) && change->significant &&
            change->delta / reason->delta >= EXPLAINS)
            return line;
    }
    return NULL;
}

static void add_reason(struct td_diff_verdict *verdict, const struct td_diff_reason *reason)
{
    size_t at = verdict->reason_count;

    while (at > 0 && fabs(verdict->reasons[at - 1].delta) < fabs(reason->delta))
        at--;
    if (at >= TD_DIFF_REASONS)
        return;
    if (verdict->reason_count < TD_DIFF_REASONS)
        verdict->reason_count++;
    for (size_t i = verdict->reason_count - 1; i > at; i--)
        verdict->reasons[i] = verdict->reasons[i - 1];
    verdict->reasons[at] = *reason;
}

/* A function, by its leaves where they explain it, else as a whole. */
static void add_function(struct td_diff_verdict *verdict, const struct td_diff *diff,
                         const struct td_diff_row *row, size_t column)
{
    const struct td_change *whole =
        &td_diff_cell_of(diff, row, column, TD_DIFF_WHOLE, TD_DIFF_COST)->change;
    enum td_tma_node nodes[TD_NODE_COUNT];
    const size_t len = td_diff_causes(diff, row, column, nodes, TD_NODE_COUNT);
    double explained = 0;

    if (!whole->significant || (whole->delta < 0) != (verdict->delta < 0) ||
        !(fabs(whole->delta) >= WORTH_SAYING * fabs(verdict->delta)))
        return;
    for (size_t i = 0; i < len && explained < EXPLAINS; i++) {
        const struct td_change *change =
            &td_diff_cell_of(diff, row, column, TD_DIFF_NODE(nodes[i]), TD_DIFF_COST)->change;

        explained += change->delta / whole->delta;
    }
    if (explained < EXPLAINS) {
        add_reason(verdict, &(struct td_diff_reason){.row = row,
                                                     .node = TD_NODE_NONE,
                                                     .delta = whole->delta,
                                                     .error = whole->error});
        return;
    }
    for (size_t i = 0; i < len; i++) {
        const struct td_change *change =
            &td_diff_cell_of(diff, row, column, TD_DIFF_NODE(nodes[i]), TD_DIFF_COST)->change;

        if (fabs(change->delta) >= WORTH_SAYING * fabs(verdict->delta))
            add_reason(verdict, &(struct td_diff_reason){.row = row,
                                                         .node = nodes[i],
                                                         .delta = change->delta,
                                                         .error = change->error});
    }
}

struct td_diff_verdict td_diff_verdict_of(const struct td_diff *diff, size_t column)
{
    const struct td_diff_cell *old =
        td_diff_cell_of(diff, &diff->total, 0, TD_DIFF_WHOLE, TD_DIFF_COST);
    const struct td_diff_cell *now =
        td_diff_cell_of(diff, &diff->total, column, TD_DIFF_WHOLE, TD_DIFF_COST);
    struct td_diff_verdict verdict = {.significant = now->change.significant,
                                      .delta = now->change.delta,
                                      .error = now->change.error};
    /* Of a ratio errors are parts: a run that is 10 % off is so whatever it is compared with. */
    const double off = old->value > 0 && now->value > 0
                           ? hypot(now->error / now->value, old->error / old->value)
                           : NAN;

    verdict.change = old->value > 0 ? verdict.delta / old->value : NAN;
    verdict.change_error = old->value > 0 ? verdict.error / old->value : NAN;
    verdict.speed = now->value > 0 ? old->value / now->value : NAN;
    verdict.speed_high = verdict.speed * (1 + off);
    verdict.speed_low = verdict.speed / (1 + off);
    for (size_t i = 0; i < diff->functions.len && verdict.significant; i++)
        add_function(&verdict, diff, &diff->functions.at[i], column);
    for (size_t i = 0; i < verdict.reason_count; i++)
        verdict.reasons[i].line = line_of(diff, &verdict.reasons[i], column);
    return verdict;
}
