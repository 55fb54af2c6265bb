/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "report/attribution/slots_priv.h"

#define WHOLE  0.999 /* rounding aside */
#define UNSEEN 3.0

void td_slots_filter(struct td_measure *measure, const bool *keep)
{
    struct td_slots *slots = measure->slots;
    uint32_t *row_now = td_xcalloc(measure->row_count + 1, sizeof(*row_now));
    size_t kept = 0;

    for (size_t r = 0; r < measure->row_count; r++)
        row_now[r] = keep[r] ? (uint32_t)kept++ : TD_NONE;
    for (size_t r = 0; r < measure->row_count; r++) {
        if (row_now[r] == TD_NONE)
            continue;
        measure->rows[row_now[r]] = measure->rows[r];
        slots->part_of[row_now[r]] = slots->part_of[r];
        for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
            if (measure->values[m])
                measure->values[m][row_now[r]] = measure->values[m][r];
        }
        for (size_t p = 0; p < slots->len; p++) {
            for (int n = 0; n < TD_NODE_COUNT; n++) {
                const struct td_locator *locator = &slots->parts[p].locators[n];

                if (!locator->weight)
                    continue;
                locator->weight[row_now[r]] = locator->weight[r];
                locator->count[row_now[r]] = locator->count[r];
            }
            for (int n = 0; n < TD_NODE_COUNT; n++) {
                float *unsure = slots->parts[p].later[n].unsure;

                if (unsure)
                    unsure[row_now[r]] = unsure[r];
            }
        }
    }
    for (size_t p = 0; p < slots->len; p++) {
        struct td_intervals *in = &slots->parts[p].intervals;

        for (size_t i = 0; i < in->len; i++)
            in->at[i].row = in->at[i].row == TD_NONE ? TD_NONE : row_now[in->at[i].row];
    }
    measure->row_count = kept;
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        measure->totals[m] = 0;
        for (size_t r = 0; measure->values[m] && r < kept; r++)
            measure->totals[m] += measure->values[m][r];
    }
    free(row_now);
}

/* What the rows of a key show, and what their locators say of it. */
struct shown {
    double slots;
    double node[TD_NODE_COUNT], weight[TD_NODE_COUNT];
};

static void sum_shown(struct shown *shown, const struct td_measure *measure, size_t p,
                      const uint32_t *key)
{
    const struct td_slots_part *part = &measure->slots->parts[p];

    for (size_t r = 0; r < measure->row_count; r++) {
        struct shown *to = &shown[key[r]];

        if (measure->slots->part_of[r] != p)
            continue;
        to->slots += (double)measure->values[TD_METRIC_SLOTS][r];
        for (int n = 0; n < TD_NODE_COUNT; n++) {
            if (measure->values[TD_METRIC_FIRST_NODE + n])
                to->node[n] += (double)measure->values[TD_METRIC_FIRST_NODE + n][r];
            if (part->locators[n].samples > 0)
                to->weight[n] += part->locators[n].weight[r];
        }
    }
}

static double value_of(const struct shown *shown, int node)
{
    return shown->slots > 0 ? shown->node[node] / shown->slots : 0;
}

/* What is shown of a leaf came by its locator, or by the function's intervals: then it is as wrong
 * as those can be, and as far as what is shown is from what this key's own intervals say. */
static enum td_mix_kind judge_leaf(struct td_mix *mix, const struct td_slots_part *part,
                                   const struct shown *shown, int n)
{
    const struct td_locator *locator = &part->locators[n];
    const double leaf_slots = part->intervals.tree.share[n] * (double)part->slots;
    const double value = value_of(shown, n);
    const double located = td_locator_error(locator, shown->weight[n], leaf_slots, shown->slots);

    if (part->used[n]) {
        /* Its slots are the locator's, what they are a share of is the intervals'. */
        const double row =
            shown->slots > 0 ? value * mix->slots_error * (double)part->slots / shown->slots : 0;

        mix->error[n] = fmin(hypot(located, row), 1);
        return locator->kind;
    }
    mix->error[n] = isnan(mix->error[n]) ? 1 : fmin(1, mix->error[n] + fabs(mix->share[n] - value));
    /* What the locator says was not shown: that is as wrong as it is far from it. */
    if (locator->samples > 0 && locator->total > 0 && shown->slots > 0) {
        const double by_locator = shown->weight[n] / locator->total * leaf_slots / shown->slots;

        mix->error[n] = fmin(mix->error[n], located + fabs(by_locator - value));
    }
    return mix->kind;
}

/* The error of a node above leaves: what its leaves can be wrong together. */
static double sum_error(const struct td_mix *mix, const struct td_slots_part *part, int node)
{
    double sum = 0;

    if (part->leaf[node])
        return mix->error[node];
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == (enum td_tma_node)node &&
            !isnan(part->intervals.tree.share[n]))
            sum = hypot(sum, sum_error(mix, part, n));
    }
    return fmin(1, sum);
}

/* What precise events place is there; a leaf without one can be wrong by no more than they leave.
 */
static double rest_error(const struct td_mix *mix, const struct td_slots_part *part,
                         const struct shown *shown, int leaf)
{
    double rest = 1, unsure = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!part->leaf[n] || !part->used[n])
            continue;
        rest -= value_of(shown, n);
        unsure = hypot(unsure, mix->error[n]);
    }
    rest = fmax(rest, 0) + unsure;
    return fmin(fmax(value_of(shown, leaf), rest - value_of(shown, leaf)), 1);
}

static void judge_leaves(struct td_mix *mix, const struct td_slots_part *part,
                         const struct shown *shown)
{
    enum td_mix_kind kind = mix->kind;
    double most = -1;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!part->leaf[n])
            continue;
        const enum td_mix_kind leaf_kind = judge_leaf(mix, part, shown, n);
        if (shown->node[n] > most && part->used[n]) {
            most = shown->node[n];
            kind = leaf_kind;
        }
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (part->leaf[n] && !part->used[n])
            mix->error[n] = fmin(mix->error[n], rest_error(mix, part, shown, n));
    }
    mix->kind = most > shown->slots / 2 ? kind : mix->kind;
}

/* How wrong a row can be by what is located in it alone, in slots: intervals may hide functions
 * that are called for short, and all of them hide the same. */
static double wrong_slots(const struct td_mix *mix, const struct td_slots_part *part,
                          const struct shown *shown, int leaf)
{
    const double error =
        part->used[leaf] ? fmin(mix->error[leaf], 1) : rest_error(mix, part, shown, leaf);

    return error * shown->slots + value_of(shown, leaf) * mix->slots_error * (double)part->slots;
}

/* A leaf's slots over all rows are known: what a row can be wrong, all others must be together. */
static void hold_to_the_total(struct td_mix *mixes, const struct td_slots_part *part,
                              const struct shown *shown, size_t keys, int leaf)
{
    /* Of n samples none fell where fewer than 3 / n of the slots were (at 95 %). */
    double all = UNSEEN / fmax((double)part->intervals.len, UNSEEN) * (double)part->slots;

    for (size_t k = 0; k <= keys; k++) {
        if (shown[k].slots > 0)
            all += wrong_slots(&mixes[k], part, &shown[k], leaf);
    }
    for (size_t k = 0; k <= keys; k++) {
        if (shown[k].slots <= 0)
            continue;
        const double others = all - wrong_slots(&mixes[k], part, &shown[k], leaf);
        mixes[k].error[leaf] = fmin(mixes[k].error[leaf], others / shown[k].slots);
    }
}

static void judge_parents(struct td_mix *mix, const struct td_slots_part *part,
                          const struct shown *shown)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (part->leaf[n] || isnan(part->intervals.tree.share[n]))
            continue;
        const double below = sum_error(mix, part, n);
        const double direct =
            isnan(mix->error[n]) ? 1 : mix->error[n] + fabs(mix->share[n] - value_of(shown, n));

        mix->error[n] = fmin(below, direct);
    }
}

/* Slots that are not where the intervals ended but where events sampled are as sure as those. */
static void judge_slots(struct td_mix *mix, const struct td_slots_part *part,
                        const struct shown *shown)
{
    const double all = fmax((double)part->slots, 1);
    const double moved = fabs(shown->slots - mix->slots) / all;
    double spread = 0, error = 0;

    if (moved <= mix->slots_error)
        return;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const double leaf = part->intervals.tree.share[n];

        if (!part->leaf[n] || shown->weight[n] <= 0)
            continue;
        spread = hypot(spread, leaf * td_locator_spread(&part->locators[n], shown->weight[n]));
        error =
            hypot(error, td_locator_error(&part->locators[n], shown->weight[n], leaf * all, all));
    }
    mix->slots_error = fmin(hypot(mix->slots_error, fmin(spread, moved)), 1);
    mix->slots_bound = fmin(hypot(mix->slots_bound, fmin(error, moved)), 1);
}

static void judge(struct td_mix *mixes, const struct td_slots_part *part, const struct shown *shown,
                  size_t keys)
{
    double all = 0;

    for (size_t k = 0; k <= keys; k++) {
        judge_leaves(&mixes[k], part, &shown[k]);
        judge_slots(&mixes[k], part, &shown[k]);
        all += shown[k].slots;
    }
    /* Of what a filter left, the others are not here to be held to. */
    const bool whole = all >= WHOLE * (double)part->slots;
    for (int n = 0; n < TD_NODE_COUNT && whole; n++) {
        if (part->leaf[n])
            hold_to_the_total(mixes, part, shown, keys, n);
    }
    for (size_t k = 0; k <= keys; k++)
        judge_parents(&mixes[k], part, &shown[k]);
}

/* A node that a later run divided off is as sure as its parent and as the division: of rows of one
 * function both are wrong together. */
static void judge_later(struct td_mix *mixes, const struct td_measure *measure, size_t p,
                        const uint32_t *key, const struct shown *shown)
{
    const struct td_slots_part *part = &measure->slots->parts[p];

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const int parent = td_tma_info((enum td_tma_node)n)->parent;

        if (part->later[n].run == 0)
            continue;
        const uint64_t *slots = measure->values[TD_METRIC_FIRST_NODE + parent];
        double *unsure = td_xcalloc(measure->row_count + 1, sizeof(*unsure));
        for (size_t r = 0; r < measure->row_count; r++) {
            if (measure->slots->part_of[r] == p && shown[key[r]].slots > 0)
                unsure[key[r]] +=
                    (double)part->later[n].unsure[r] * (double)slots[r] / shown[key[r]].slots;
        }
        for (size_t r = 0; r < measure->row_count; r++) {
            const uint32_t k = key[r];
            const double of_parent =
                shown[k].node[parent] > 0 ? shown[k].node[n] / shown[k].node[parent] : 0;

            if (measure->slots->part_of[r] == p)
                mixes[k].error[n] = fmin(1, hypot(unsure[k], mixes[k].error[parent] * of_parent));
        }
        free(unsure);
    }
}

/* Of kinds of cores together, by their slots. */
static void join(struct td_mix *to, const struct td_mix *mix, double slots)
{
    const double all = to->slots + slots;
    const double old = all > 0 ? to->slots / all : 0, new = all > 0 ? slots / all : 0;

    if (slots <= 0 && mix->intervals == 0)
        return;
    if (to->slots <= 0) {
        *to = *mix;
        to->slots = slots;
        return;
    }
    to->intervals += mix->intervals;
    to->same_share = old * to->same_share + new * mix->same_share;
    to->slots_error = old * to->slots_error + new * mix->slots_error;
    to->slots_bound = old * to->slots_bound + new * mix->slots_bound;
    to->kind = new > old ? mix->kind : to->kind;
    for (int n = 0; n < TD_NODE_COUNT; n++)
        to->error[n] = isnan(to->error[n])    ? mix->error[n]
                       : isnan(mix->error[n]) ? to->error[n]
                                              : old * to->error[n] + new * mix->error[n];
    to->slots = all;
}

void td_slots_evidence(struct td_mix *mixes, const struct td_measure *measure, const uint32_t *key,
                       size_t keys)
{
    struct td_mix *one = td_xcalloc(keys + 1, sizeof(*one));

    for (size_t k = 0; k <= keys; k++)
        mixes[k] = (struct td_mix){.same_share = NAN, .slots_error = 1, .slots_bound = 1};
    for (size_t p = 0; p < measure->slots->len; p++) {
        const struct td_slots_part *part = &measure->slots->parts[p];
        const struct td_intervals *in = &part->intervals;
        struct shown *shown = td_xcalloc(keys + 1, sizeof(*shown));
        uint32_t *end = td_xcalloc(in->len + 1, sizeof(*end));

        for (size_t i = 0; i < in->len; i++)
            end[i] = in->at[i].row == TD_NONE ? (uint32_t)keys : key[in->at[i].row];
        td_mix_of(one, in, end, keys + 1);
        sum_shown(shown, measure, p, key);
        judge(one, part, shown, keys);
        judge_later(one, measure, p, key, shown);
        for (size_t k = 0; k < keys; k++)
            join(&mixes[k], &one[k], shown[k].slots);
        free(end);
        free(shown);
    }
    free(one);
}

td_tma_set td_slots_not_placed(const struct td_measure *measure)
{
    td_tma_set nodes = 0;

    for (size_t p = 0; measure->slots && p < measure->slots->len; p++) {
        const struct td_slots_part *part = &measure->slots->parts[p];

        for (int leaf = 0; leaf < TD_NODE_COUNT; leaf++) {
            if (part->later[leaf].run)
                nodes |= td_tma_bit(leaf);
            if (!part->leaf[leaf] || part->locators[leaf].samples > 0)
                continue;
            for (int n = leaf; n != TD_NODE_NONE; n = td_tma_info((enum td_tma_node)n)->parent)
                nodes |= td_tma_bit(n);
        }
    }
    return nodes;
}

/* Of all that was counted. */
static double counted_error(const struct td_slots *slots, enum td_tma_node node)
{
    double error = 0, all = 0;

    for (size_t p = 0; p < slots->len; p++) {
        const double mine = (double)slots->parts[p].slots;

        const struct td_later *later = &slots->parts[p].later[node];

        if (isnan(slots->parts[p].intervals.tree.share[node]) && later->run == 0)
            continue;
        error = hypot(error, mine * (later->run ? later->error : slots->parts[p].error[node]));
        all += mine;
    }
    return all > 0 ? error / all : 1;
}

double td_slots_error(const struct td_measure *measure, enum td_tma_node node)
{
    uint64_t all = 0;
    struct td_mix mixes[2];

    for (size_t p = 0; p < measure->slots->len; p++)
        all += measure->slots->parts[p].slots;
    if (measure->totals[TD_METRIC_SLOTS] + all / 1000 >= all)
        return counted_error(measure->slots, node);
    /* What a filter left is known as a row of it all would be. */
    uint32_t *key = td_xcalloc(measure->row_count + 1, sizeof(*key));
    td_slots_evidence(mixes, measure, key, 1);
    free(key);
    return mixes[0].error[node];
}
