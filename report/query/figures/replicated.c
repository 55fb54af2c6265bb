/* SPDX-License-Identifier: MIT */
#include "report/query/figures/replicated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/replicates.h"
#include "report/query/figures/rows.h"
#include "report/attribution/stats.h"

/*
 * What replicates cannot know, since all windows have it in common: after a gap some of the core is
 * not as it would be (which loads take their data from which stores, what predictors and caches
 * hold). Such errors are of the form b sqrt(p (1 - p)) for a share p, times the part of the program
 * that was sampled; b is from rows `sampled` and `errors` of scripts/bench: over their programs
 * each kind of figure then covers that of the whole run in nine of ten cells or more.
 */
#define BIAS_OF_NODES 0.05  /* shares of all slots, by node; */
#define BIAS_OF_ROWS  0.04  /* by row; */
#define BIAS_IN_ROWS  0.06  /* shares of a row's slots */
#define BIAS_LEAST    0.001 /* of shares of all slots by node: of a cause that is rare */

#define BIAS_OF_TOTAL 0.01 /* of the cycles, as a part of them */

/* Of cycles over those of a variant of the core, as a part of them: row `what-if` of
 * scripts/bench. */
#define BIAS_OF_QUOTIENT 0.015

/* A row that few windows met may have met them all alike: of so many standard errors of its own
 * total, a category that one window has and another has not. */
#define SPARSE 0.5

/* The replicates of a place: of each node, with those below it, and of all. */
struct sums {
    double all[TD_REPLICATES];
    double of_node[TD_NODE_COUNT][TD_REPLICATES];
};

static void add_to(double sum[TD_REPLICATES], const struct td_measure_replicates *from)
{
    for (int r = 0; r < TD_REPLICATES; r++)
        sum[r] += (double)(int64_t)from->values[r];
}

static void add(struct sums *sums, const struct td_measure_replicates *from)
{
    add_to(sums->all, from);
    for (enum td_tma_node n = from->leaf; n != TD_NODE_NONE; n = td_tma_info(n)->parent)
        add_to(sums->of_node[n], from);
}

/* ±, 95 %, of part / whole: of a ratio, to the first order. */
static double ratio_error(const double part[TD_REPLICATES], const double whole[TD_REPLICATES],
                          double share, uint64_t slots)
{
    double squares = 0;

    for (int r = 0; r < TD_REPLICATES; r++) {
        const double off = part[r] - share * whole[r];

        squares += off * off;
    }
    return slots == 0 ? 0
                      : fmin(TD_REPLICATES_T * sqrt(squares / TD_REPLICATES) / (double)slots, 1);
}

static double with_bias(double error, double bias, double share, double sampled)
{
    return fmin(hypot(error, bias * sampled * sqrt(fmax(share * (1 - share), 0))), 1);
}

/* The part of the instructions that was not modelled. */
static double sampled_part(const struct td_model *model)
{
    const uint64_t all = td_model_counter(model, TD_COUNTER_INSTRUCTIONS);
    const uint64_t detailed = td_model_counter(model, TD_COUNTER_DETAILED);

    return detailed < all ? (double)(all - detailed) / (double)all : 0;
}

bool td_replicated_is(const struct td_measure *measure)
{
    if (measure->replicate_count > 0)
        return true;
    return measure->attribution == TD_ATTRIBUTION_EXACT && !measure->weighted && !measure->join &&
           measure->values[TD_METRIC_SLOTS] &&
           td_model_counter(measure->model, TD_COUNTER_DETAILED) > 0 &&
           sampled_part(measure->model) > 0;
}

static void sum_all(struct sums *sums, const struct td_measure *measure)
{
    memset(sums, 0, sizeof(*sums));
    for (size_t i = 0; i < measure->replicate_count; i++)
        add(sums, &measure->replicates[i]);
}

double td_replicated_error(const struct td_measure *measure, enum td_tma_node node)
{
    const uint64_t slots = measure->totals[TD_METRIC_SLOTS];
    const double share = td_ratio(measure->totals[TD_METRIC_FIRST_NODE + (int)node], slots);
    const double sampled = sampled_part(measure->model);
    struct sums sums;

    sum_all(&sums, measure);
    return hypot(with_bias(ratio_error(sums.of_node[node], sums.all, share, slots), BIAS_OF_NODES,
                           share, sampled),
                 BIAS_LEAST * sampled);
}

double td_replicated_cycles_error(const struct td_model *model)
{
    const double stated = td_ratio(td_model_counter(model, TD_COUNTER_CYCLES_ERROR),
                                   td_model_counter(model, TD_COUNTER_CYCLES));

    return stated > 0 ? hypot(stated, BIAS_OF_TOTAL * sampled_part(model)) : 0;
}

double td_replicated_total_error(const struct td_measure *measure)
{
    static const double none[TD_REPLICATES];
    const double stated = td_replicated_cycles_error(measure->model);
    struct sums sums;

    sum_all(&sums, measure);
    /* What a filter left is less sure than the whole, whose error the recording states. */
    return fmax(ratio_error(sums.all, none, 0, measure->totals[TD_METRIC_SLOTS]), stated);
}

/* The share is moved as Wilson's interval does, so that of few windows one that none had is not
 * ruled out. */
double td_replicated_sparse(double share, double spread)
{
    const double windows = 1 / fmax(spread * spread, 1e-9);
    const double moved = (share + 2 / windows) / (1 + 4 / windows);

    return SPARSE * TD_REPLICATES_T * spread * sqrt(fmax(moved * (1 - moved), 0));
}

void td_replicated_all(double ret[TD_REPLICATES], const struct td_measure *measure)
{
    memset(ret, 0, TD_REPLICATES * sizeof(*ret));
    for (size_t i = 0; i < measure->replicate_count; i++)
        add_to(ret, &measure->replicates[i]);
}

/* The standard error of slots, as a part of them. */
static double spread_of(const struct td_replicated_slots *of)
{
    static const double none[TD_REPLICATES];

    return ratio_error(of->replicates, none, 0, of->slots) / TD_REPLICATES_T;
}

double td_replicated_quotient_error(const struct td_replicated_slots *above,
                                    const struct td_replicated_slots *below,
                                    const struct td_model *model, bool few)
{
    const double quotient = td_ratio(above->slots, below->slots);

    if (above->slots == 0 || below->slots == 0)
        return 1;
    const double windows =
        ratio_error(above->replicates, below->replicates, quotient, above->slots);
    /* Of the slots of one what the other has is a share. */
    const double share = quotient < 1 ? quotient : 1 / quotient;
    const double more = few ? td_replicated_sparse(share, spread_of(above)) : 0;

    return hypot(hypot(windows, more / (share + more)), BIAS_OF_QUOTIENT * sampled_part(model));
}

static struct td_replicated_row row_of(const struct td_rows *rows, const struct td_row *row,
                                       const struct sums *sums, const struct sums *all)
{
    static const double none[TD_REPLICATES];
    const uint64_t slots = row->values[TD_METRIC_SLOTS];
    const uint64_t total = rows->measure->totals[TD_METRIC_SLOTS];
    const double share = td_row_share_of(rows, row, TD_METRIC_SLOTS);
    const double sampled = sampled_part(rows->measure->model);
    const double spread = ratio_error(sums->all, none, 0, slots) / TD_REPLICATES_T;
    struct td_replicated_row ret = {.error =
                                        with_bias(ratio_error(sums->all, all->all, share, total),
                                                  BIAS_OF_ROWS, share, sampled)};

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const double p = td_row_node_share(row, (enum td_tma_node)n);

        const double error = hypot(ratio_error(sums->of_node[n], sums->all, p, slots),
                                   td_replicated_sparse(p, spread));
        ret.of_node[n] = with_bias(error, BIAS_IN_ROWS, p, sampled);
    }
    memcpy(ret.all, sums->all, sizeof(ret.all));
    return ret;
}

void td_replicated_rows(struct td_replicated_row *ret, const struct td_rows *rows,
                        const uint32_t *keys)
{
    const struct td_measure *measure = rows->measure;
    const size_t count = measure->replicate_count;
    size_t *starts = td_xcalloc(rows->len + 3, sizeof(*starts));
    size_t *order = td_xcalloc(count + 1, sizeof(*order));
    struct sums all, sums;

    sum_all(&all, measure);
    /* Row by row: starts[row + 1] begins as the row's start and ends as its end. */
    for (size_t i = 0; i < count; i++) {
        if (keys[i] < rows->len)
            starts[keys[i] + 2]++;
    }
    for (size_t row = 2; row < rows->len + 2; row++)
        starts[row] += starts[row - 1];
    for (size_t i = 0; i < count; i++) {
        if (keys[i] < rows->len)
            order[starts[keys[i] + 1]++] = i;
    }
    for (size_t row = 0; row < rows->len; row++) {
        memset(&sums, 0, sizeof(sums));
        for (size_t i = starts[row]; i < starts[row + 1]; i++)
            add(&sums, &measure->replicates[order[i]]);
        ret[row] = row_of(rows, &rows->at[row], &sums, &all);
    }
    free(order);
    free(starts);
}
