/* SPDX-License-Identifier: MIT */
#include "report/query/cpi.h"

#include <math.h>
#include <stdlib.h>

#include "report/attribution/slots.h"
#include "report/attribution/stats.h"
#include "report/query/figures/machine.h"

static bool counts(const struct td_model *model, uint32_t group, enum td_unit unit)
{
    const struct td_group *g = td_model_group(model, group);
    bool any = false;

    for (uint32_t c = 0; c < g->column_count; c++)
        any = any || (g->columns[c].event != TD_NONE &&
                      td_model_event(model, g->columns[c].event)->unit == unit);
    return any;
}

/* Where one of several kinds of cores did not count them, sums are of the others only. */
static bool all_parts_count(const struct td_measure *measure)
{
    const size_t parts = measure->slots ? measure->slots->len : 0;
    bool all = true;

    for (size_t p = 0; parts > 1 && p < parts; p++) {
        const uint32_t group = measure->slots->parts[p].counted.group;

        all = all && counts(measure->model, group, TD_UNIT_INSTRUCTIONS) &&
              counts(measure->model, group, TD_UNIT_CYCLES);
    }
    return all;
}

struct td_cpi_basis td_cpi_basis_of(const struct td_measure *measure)
{
    struct td_cpi_basis basis = {.measure = measure};

    if (!measure->values[TD_METRIC_SLOTS])
        return basis;
    basis.slots = true;
    basis.joined = measure->weighted;
    basis.width = td_machine_of(measure).width;
    basis.complete = !basis.joined && measure->totals[TD_METRIC_INSTRUCTIONS] > 0 &&
                     all_parts_count(measure) &&
                     (measure->values[TD_METRIC_CYCLES] || basis.width > 0);
    return basis;
}

struct making {
    const struct td_measure *measure;
    const uint64_t *values;
    td_tma_set thin;
    int levels;
    struct td_cpi *stack;
};

static void add(struct making *m, enum td_cpi_kind kind, enum td_tma_node node, uint64_t slots)
{
    if (slots == 0)
        return;
    m->stack->at[m->stack->len++] =
        (struct td_cpi_part){.kind = kind, .node = node, .count = 1, .slots = slots};
    m->stack->slots += slots;
}

static uint64_t slots_of(const struct making *m, enum td_tma_node node)
{
    const enum td_metric metric = td_metric_of_node(node);
    const bool known = m->measure->values[metric] && !(m->thin & td_tma_bit(node));

    return known ? m->values[metric] : 0;
}

/* Of what a node is divided into; NONE: of level 1. */
static uint64_t sum_children(const struct making *m, enum td_tma_node node)
{
    uint64_t sum = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == node)
            sum += slots_of(m, (enum td_tma_node)n);
    }
    return sum;
}

static void divide(struct making *m, enum td_tma_node node)
{
    const uint64_t slots = slots_of(m, node), known = sum_children(m, node);
    const bool is_last = td_tma_info(node)->level >= m->levels || known == 0 || known > slots;

    if (node == TD_NODE_RETIRING || is_last) {
        add(m, node == TD_NODE_RETIRING ? TD_CPI_BASE : TD_CPI_NODE, node, slots);
        return;
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == node)
            divide(m, (enum td_tma_node)n);
    }
    add(m, TD_CPI_REST, node, slots - known);
}

static int by_slots(const void *a, const void *b)
{
    const struct td_cpi_part *x = a, *y = b;

    if ((x->kind == TD_CPI_BASE) != (y->kind == TD_CPI_BASE))
        return x->kind == TD_CPI_BASE ? -1 : 1;
    if (x->slots != y->slots)
        return x->slots < y->slots ? 1 : -1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void weigh(struct td_cpi *stack)
{
    for (size_t i = 0; i < stack->len; i++) {
        stack->at[i].share = td_ratio(stack->at[i].slots, stack->slots);
        stack->at[i].cpi = stack->cpi * stack->at[i].share;
    }
}

struct td_cpi td_cpi_of(const struct td_cpi_basis *basis, const uint64_t *values, td_tma_set thin,
                        int levels)
{
    struct td_cpi stack = {.cpi = NAN, .cycles = NAN};
    struct making m = {basis->measure, values, thin, levels, &stack};
    const uint64_t slots = values[TD_METRIC_SLOTS], known = sum_children(&m, TD_NODE_NONE);

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level == 1)
            divide(&m, (enum td_tma_node)n);
    }
    add(&m, TD_CPI_UNKNOWN, TD_NODE_NONE, slots > known ? slots - known : 0);
    qsort(stack.at, stack.len, sizeof(stack.at[0]), by_slots);
    if (basis->measure->values[TD_METRIC_CYCLES])
        stack.cycles = (double)values[TD_METRIC_CYCLES];
    else if (basis->width > 0)
        stack.cycles = (double)slots / basis->width;
    stack.instructions = values[TD_METRIC_INSTRUCTIONS];
    if (stack.instructions > 0)
        stack.cpi = stack.cycles / (double)stack.instructions;
    weigh(&stack);
    return stack;
}

struct td_cpi td_cpi_of_loop(const struct td_cpi_basis *basis, const struct td_loop *loop,
                             int levels)
{
    uint64_t values[TD_METRIC_COUNT] = {0};

    for (int n = 0; n < TD_NODE_COUNT; n++)
        values[td_metric_of_node((enum td_tma_node)n)] = td_rounded(loop->nodes[n]);
    values[TD_METRIC_SLOTS] = td_rounded(loop->slots);
    values[TD_METRIC_INSTRUCTIONS] = td_rounded(loop->instructions);
    values[TD_METRIC_CYCLES] = td_rounded(loop->slots / basis->width);
    return td_cpi_of(basis, values, 0, levels);
}

void td_cpi_set_errors(struct td_cpi *stack, const double of_node[TD_NODE_COUNT], double of_cpi)
{
    for (size_t i = 0; i < stack->len; i++) {
        struct td_cpi_part *part = &stack->at[i];

        if (part->node != TD_NODE_NONE && !isnan(stack->cpi))
            part->error = hypot(of_node[part->node] * stack->cpi, of_cpi * part->cpi);
    }
}

void td_cpi_cut(struct td_cpi *stack, double percent)
{
    struct td_cpi_part other = {.kind = TD_CPI_OTHER, .node = TD_NODE_NONE};
    size_t small = 0, kept = 0;

    for (size_t i = 0; i < stack->len; i++)
        small += stack->at[i].kind != TD_CPI_BASE && 100 * stack->at[i].share < percent;
    if (small < 2)
        return;
    for (size_t i = 0; i < stack->len; i++) {
        const struct td_cpi_part part = stack->at[i];

        if (part.kind == TD_CPI_BASE || 100 * part.share >= percent) {
            stack->at[kept++] = part;
            continue;
        }
        other.count++;
        other.slots += part.slots;
        other.error = hypot(other.error, part.error);
    }
    stack->at[kept++] = other;
    stack->len = kept;
    weigh(stack);
}
