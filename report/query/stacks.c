/* SPDX-License-Identifier: MIT */
#include "report/query/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "formats/frames.h"
#include "report/attribution/stats.h"

struct builder {
    struct td_stacks *stacks;
    const struct td_model *model;
    bool no_inline;
    size_t frame_cap;
    struct td_map frame_ids; /* (kind, key) -> index of the frame */
    struct td_call_tree tree;
};

static uint32_t frame_index(struct builder *b, struct td_stack_frame frame, uint64_t key)
{
    struct td_stacks *s = b->stacks;
    bool added = false;
    const uint32_t index =
        *td_map_put(&b->frame_ids, (uint64_t)frame.kind, key, (uint32_t)s->frame_count, &added);

    if (added) {
        s->frames = td_grow(s->frames, &b->frame_cap, s->frame_count + 1, sizeof(*s->frames));
        s->frames[s->frame_count++] = frame;
    }
    return index;
}

static uint32_t function_index(void *ctx, const struct td_frame *frame)
{
    struct builder *b = ctx;
    const bool named = frame->function != TD_NONE;

    return frame_index(b,
                       (struct td_stack_frame){.kind = named ? TD_STACK_FUNCTION : TD_STACK_UNNAMED,
                                               .function = frame->function,
                                               .module = frame->module},
                       named ? frame->function : frame->module);
}

static uint32_t process_index(struct builder *b, uint32_t thread)
{
    const uint32_t process = td_model_thread(b->model, thread)->process;

    return frame_index(
        b,
        (struct td_stack_frame){
            .kind = TD_STACK_PROCESS, .function = TD_NONE, .module = TD_NONE, .process = process},
        process);
}

static bool has_value(const struct td_measure *measure, size_t row)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (measure->values[m] && measure->values[m][row] > 0)
            return true;
    }
    return false;
}

/* The node of each row; TD_NONE for rows without any value. */
static uint32_t *add_rows(struct builder *b)
{
    const struct td_measure *measure = b->stacks->measure;
    const bool with_process = td_measure_has_processes(measure);
    const struct td_frame nowhere = td_frame_leaf(b->model, TD_NONE, false);
    uint32_t *stack_by_row = td_xcalloc(measure->row_count + 1, sizeof(*stack_by_row));
    struct td_call_paths paths;

    td_call_tree_put(&b->tree, 0, TD_STACK_ROOT);
    td_call_paths_init(&paths, &b->tree, b->model, b->no_inline, function_index, b);

    for (size_t row = 0; row < measure->row_count; row++) {
        const struct td_measure_row *r = &measure->rows[row];

        stack_by_row[row] = TD_NONE;
        if (!has_value(measure, row))
            continue;
        const uint32_t base =
            with_process ? td_call_tree_put(&b->tree, 0, process_index(b, r->thread)) : 0;
        stack_by_row[row] = r->node == 0
                                ? td_call_tree_put(&b->tree, base, function_index(b, &nowhere))
                                : td_call_paths_of(&paths, base, r->node);
    }
    td_call_paths_release(&paths);
    return stack_by_row;
}

static void add_values(struct td_stacks *s, const uint32_t *stack_by_row)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (!s->measure->values[m])
            continue;
        s->values[m] = td_xcalloc(s->len, sizeof(uint64_t));
        for (size_t row = 0; row < s->measure->row_count; row++) {
            if (stack_by_row[row] != TD_NONE)
                s->values[m][stack_by_row[row]] += s->measure->values[m][row];
        }
    }
}

void td_stacks_init(struct td_stacks *stacks, const struct td_measure *measure, bool no_inline)
{
    struct builder b = {.stacks = stacks, .model = measure->model, .no_inline = no_inline};

    *stacks = (struct td_stacks){.measure = measure};
    uint32_t *stack_by_row = add_rows(&b);
    stacks->at = b.tree.at; /* taken over */
    stacks->len = b.tree.len;
    add_values(stacks, stack_by_row);
    free(stack_by_row);
    td_map_release(&b.frame_ids);
    td_map_release(&b.tree.ids);
}

/* What makes a node worth keeping: the greatest share, of time, of slots or of a cause of the first
 * level, with all below it. A node has never less than one below it. */
static double *weights_of(const struct td_stacks *s)
{
    double *weights = td_xcalloc(s->len, sizeof(*weights));
    double *sums = td_xcalloc(s->len, sizeof(*sums));

    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        const bool node = m >= TD_METRIC_FIRST_NODE;
        const uint64_t total = s->measure->totals[node ? (unsigned)TD_METRIC_SLOTS : m];

        if (!s->values[m] || total == 0 ||
            (node && td_tma_info((enum td_tma_node)(m - TD_METRIC_FIRST_NODE))->level > 1))
            continue;
        memset(sums, 0, s->len * sizeof(*sums));
        for (size_t i = s->len; i-- > 0;) {
            sums[i] += (double)s->values[m][i] / (double)total;
            if (i > 0)
                sums[s->at[i].outer] += sums[i];
            weights[i] = sums[i] > weights[i] ? sums[i] : weights[i];
        }
    }
    free(sums);
    return weights;
}

struct candidate {
    double weight;
    uint32_t index;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->weight > y->weight || x->weight < y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* By node: whether it is among the `max` heaviest. With a node its parent always is: that weighs as
 * much at least, and stands before it. */
static bool *choose(const struct td_stacks *s, size_t max)
{
    bool *keep = td_xcalloc(s->len, sizeof(*keep));
    struct candidate *order = td_xcalloc(s->len, sizeof(*order));
    double *weights = weights_of(s);

    for (uint32_t i = 0; i < s->len; i++)
        order[i] = (struct candidate){.weight = weights[i], .index = i};
    qsort(order, s->len, sizeof(*order), compare_candidates);
    keep[0] = true;
    for (size_t i = 0; i < s->len && i < max; i++)
        keep[order[i].index] = true;
    /* Sums of fractions are rounded: what stays hangs on what stays. */
    for (size_t i = 1; i < s->len; i++)
        keep[i] = keep[i] && keep[s->at[i].outer];
    free(weights);
    free(order);
    return keep;
}

struct cutting {
    const struct td_stacks *old;
    struct td_stacks *now;
    uint32_t *place; /* by old node: the new one that has its values */
    uint32_t *rest;  /* by new node: what was cut below it; 0: nothing */
};

/* The new node for an old one that is cut. */
static uint32_t rest_below(struct cutting *c, uint32_t parent)
{
    struct td_stacks *s = c->now;

    if (s->at[parent].frame == TD_STACK_REST)
        return parent;
    if (c->rest[parent] == 0) {
        c->rest[parent] = (uint32_t)s->len;
        s->at[s->len++] = (struct td_call){.outer = parent, .frame = TD_STACK_REST};
    }
    return c->rest[parent];
}

static void place_nodes(struct cutting *c, const bool *keep)
{
    const struct td_stacks *old = c->old;
    struct td_stacks *s = c->now;

    for (size_t i = 0; i < old->len; i++) {
        const uint32_t parent = c->place[old->at[i].outer];

        if (!keep[i] || old->at[i].frame == TD_STACK_REST) {
            c->place[i] = rest_below(c, parent);
            continue;
        }
        c->place[i] = (uint32_t)s->len;
        s->at[s->len++] = (struct td_call){.outer = parent, .frame = old->at[i].frame};
    }
}

static void move_values(struct cutting *c)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (!c->old->values[m])
            continue;
        c->now->values[m] = td_xcalloc(c->now->len, sizeof(uint64_t));
        for (size_t i = 0; i < c->old->len; i++)
            c->now->values[m][c->place[i]] += c->old->values[m][i];
        free(c->old->values[m]);
    }
}

static double left_out_share(const struct td_stacks *s)
{
    const enum td_metric primary = td_measure_primary(s->measure);
    uint64_t sum = 0;

    for (size_t i = 0; i < s->len; i++)
        sum += s->at[i].frame == TD_STACK_REST ? s->values[primary][i] : 0;
    return td_ratio(sum, s->measure->totals[primary]);
}

void td_stacks_cut(struct td_stacks *stacks, size_t max)
{
    if (stacks->len <= max)
        return;
    const struct td_stacks old = *stacks;
    bool *keep = choose(&old, max);
    struct cutting c = {.old = &old, .now = stacks};

    stacks->at = td_xcalloc(old.len, sizeof(*stacks->at));
    stacks->len = 0;
    c.place = td_xcalloc(old.len, sizeof(*c.place));
    c.rest = td_xcalloc(old.len, sizeof(*c.rest));
    place_nodes(&c, keep);
    for (size_t i = 0; i < old.len; i++)
        stacks->left_out += !keep[i] && old.at[i].frame != TD_STACK_REST;
    move_values(&c);
    stacks->left_out_share = left_out_share(stacks);
    free(old.at);
    free(keep);
    free(c.place);
    free(c.rest);
}

void td_stacks_release(struct td_stacks *stacks)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++)
        free(stacks->values[m]);
    free(stacks->frames);
    free(stacks->at);
    *stacks = (struct td_stacks){0};
}
