/* SPDX-License-Identifier: MIT */
/* How far a join's shares can be wrong: attribution.md, section 9. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/replicates.h"
#include "report/query/figures/replicated.h"
#include "report/attribution/stats.h"
#include "report/query/figures/weights.h"
#include "report/query/figures/weights_priv.h"

#define Z_95 1.959964
/* Of the native clock, which is not measured: a core's boost above the nominal clock of its kind.
 */
#define CLOCK_ERROR 0.2
/* By so much, as a part of sqrt(p (1 - p)), shares of windows that were warmed with a million
 * instructions were off beside the exact model: five programs, 26 to 48 windows each. */
#define WARMING       0.1
#define WARMING_LEAST 0.005
/* Two standard deviations hold 95 %. */
#define DEVIATIONS 2.0
/* Where one window outweighs all others it counts as two: how they differ is not known. */
#define WINDOWS_MIN 2.0

/* What a row's slots are, measured and modelled, while rows are summed. */
struct summed {
    double slots, modelled;
    double ns, sampled_ns; /* measured time, by the model's places and by the samples' */
    double scatter;        /* slots over the root of their unit's samples */
    double node[TD_NODE_COUNT], modelled_node[TD_NODE_COUNT];
    double unknown[TD_NODE_COUNT]; /* slots that may be, or not be, of the node */
    /* Of windows of the run itself: replicates of its modelled slots. */
    double off[TD_REPLICATES], off_node[TD_NODE_COUNT][TD_REPLICATES];
    bool borrowed; /* slots of another version of the function */
};

static double value_of(const struct td_measure *m, int metric, size_t row)
{
    return m->values[metric] ? (double)m->values[metric][row] : 0;
}

/* How sure it is that the slots by which a unit differs from its model are lost as its modelled
 * ones are. If all of them have one cause, which is each with the probability that the model's
 * losses give it, then the model's shares are the mean, and this is twice the deviation; never more
 * than the farther of all and nothing. */
static double spread_of(double lost_to_node, double lost)
{
    const double p = lost > 0 ? fmin(lost_to_node / lost, 1) : 0.5;

    return fmin(DEVIATIONS * sqrt(p * (1 - p)), fmax(p, 1 - p));
}

/* By unit and node: the slots that may be of the node or not, for each modelled one that is. */
static double *unknown_parts(const struct td_measure *measure)
{
    const struct td_join *join = measure->join;
    double *parts = td_xcalloc(join->unit_count * TD_NODE_COUNT + 1, sizeof(*parts));

    for (size_t u = 0; u < join->unit_count; u++) {
        const struct td_join_unit *unit = &join->units[u];
        const double lost = unit->modelled - unit->useful;
        const double differ = fabs(unit->slots - fmax(unit->modelled, unit->useful));

        for (int n = 0; n < TD_NODE_COUNT; n++) {
            const size_t at = u * TD_NODE_COUNT + (size_t)n;

            if (join->nodes[at] > 0 && !td_tma_retires((enum td_tma_node)n))
                parts[at] = differ * spread_of(join->nodes[at], lost) / join->nodes[at];
        }
    }
    return parts;
}

/* What part of a borrowed unit a native row has. */
static double part_of_unit(const struct td_measure *measure, size_t i)
{
    const struct td_join_unit *unit = &measure->join->units[measure->join->rows[i].unit];

    return value_of(measure, TD_METRIC_TIME_NS, i) / unit->ns;
}

static void add_borrowed(struct summed *sum, const struct td_measure *measure, size_t i)
{
    const size_t index = measure->join->rows[i].unit;
    const struct td_join_unit *unit = &measure->join->units[index];
    const double slots = value_of(measure, TD_METRIC_SLOTS, i), part = part_of_unit(measure, i);

    sum->borrowed = true;
    sum->slots += slots;
    sum->scatter += slots / sqrt(unit->samples);
    sum->modelled += unit->modelled * part;
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        sum->node[n] += value_of(measure, TD_METRIC_FIRST_NODE + n, i);
        sum->modelled_node[n] += measure->join->nodes[index * TD_NODE_COUNT + (size_t)n] * part;
    }
}

static void add_row(struct summed *sum, const struct td_measure *measure, const double *parts,
                    size_t i)
{
    const struct td_join_row *row = &measure->join->rows[i];
    const struct td_measure *m = measure->join->modelled;

    sum->ns += value_of(measure, TD_METRIC_TIME_NS, i);
    sum->sampled_ns += value_of(measure, TD_METRIC_SAMPLED_NS, i);
    if (td_weights_is_borrowed(measure, i))
        add_borrowed(sum, measure, i);
    if (row->modelled == TD_NONE)
        return;
    sum->modelled += value_of(m, TD_METRIC_SLOTS, row->modelled);
    for (int n = 0; n < TD_NODE_COUNT; n++)
        sum->modelled_node[n] += value_of(m, TD_METRIC_FIRST_NODE + n, row->modelled);
    if (row->unit == TD_NONE)
        return;
    const double slots = value_of(measure, TD_METRIC_SLOTS, i);
    sum->slots += slots;
    sum->scatter += slots / sqrt(measure->join->units[row->unit].samples);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        sum->node[n] += value_of(measure, TD_METRIC_FIRST_NODE + n, i);
        sum->unknown[n] += value_of(m, TD_METRIC_FIRST_NODE + n, row->modelled) *
                           parts[(size_t)row->unit * TD_NODE_COUNT + (size_t)n];
    }
}

/* The deviation of part - share * whole, by their replicates. */
static double deviation(const double part[TD_REPLICATES], double share,
                        const double whole[TD_REPLICATES])
{
    double squares = 0;

    for (int r = 0; r < TD_REPLICATES; r++) {
        const double off = part[r] - share * whole[r];

        squares += off * off;
    }
    return sqrt(squares / TD_REPLICATES);
}

/* Student's t, 95 %, of so many windows of equal weight, whose mean is taken from themselves. */
static double widening(double windows)
{
    const double freedom = fmax(windows, WINDOWS_MIN) - 1;

    /* Within 1.3 % from 3 degrees of freedom on, within 3 % of fewer. */
    return Z_95 * (1 + 1.21 / freedom + 4.27 / pow(freedom, 2.7)) * sqrt(1 + 1 / freedom);
}

/* Windows differ, and of a place that few of them met they may have met what is not usual; and the
 * model begins each with caches and predictors that are not quite the program's. */
static double error_of_windows(const struct summed *sum, int node, const struct summed *all)
{
    static const double none[TD_REPLICATES];
    const double share = fmin(sum->node[node] / sum->slots, 1);
    const double of_all = deviation(all->off, 0, none) / all->modelled;
    const double met = deviation(sum->off, sum->modelled / all->modelled, all->off);
    const double sampled = widening(1 / (of_all * of_all)) *
                           deviation(sum->off_node[node], share, sum->off) / sum->modelled;
    const double sparse = td_replicated_sparse(share, met / sum->modelled);
    const double warming = hypot(WARMING * sqrt(share * (1 - share)), WARMING_LEAST);

    return fmin(hypot(hypot(sampled, sparse), warming), 1);
}

/* Of a node's share of the row's slots: ±, 95 %. `windows`: all of them; NULL: it is no model of
 * windows. */
static double error_of(const struct summed *sum, int node, const struct summed *windows)
{
    if (windows)
        return error_of_windows(sum, node, windows);
    const double share = sum->node[node] / sum->slots;
    const double useful = sum->node[TD_NODE_RETIRING] / sum->slots;
    const double from_model = sum->modelled > 0 ? sum->modelled_node[node] / sum->modelled : share;
    /* Measured cycles, by samples and clock, move what is useful, and with it what is left. */
    const double cycles = hypot(fmin(Z_95 * sum->scatter / sum->slots, 1), CLOCK_ERROR);
    const double of_losses = useful < 1 ? share / (1 - useful) * useful : 1;
    const double moved = (td_tma_retires((enum td_tma_node)node) ? share : of_losses) * cycles;
    const double unknown = sum->unknown[node] / sum->slots;

    return fmin(
        sqrt(moved * moved + unknown * unknown + (share - from_model) * (share - from_model)), 1);
}

/* What the model says of the rows that a filter left, in a metric of its own. */
static double modelled_total(const struct td_measure *measure, enum td_metric metric)
{
    double total = 0;

    for (size_t i = 0; i < measure->row_count; i++) {
        if (measure->join->rows[i].modelled != TD_NONE)
            total +=
                value_of(measure->join->modelled, (int)metric, measure->join->rows[i].modelled);
    }
    return total;
}

/* Of one share, measured: by samples, and by what the model says of the same. */
static double share_bound(double share, double from_model, uint64_t samples)
{
    return fmin(hypot(td_share_error(share, samples), share - from_model), 1);
}

static void add_replicate(struct summed *sum, const struct td_measure_replicates *from)
{
    for (int r = 0; r < TD_REPLICATES; r++) {
        const double value = (double)(int64_t)from->values[r];

        sum->off[r] += value;
        for (int n = (int)from->leaf; n != TD_NODE_NONE;
             n = (int)td_tma_info((enum td_tma_node)n)->parent)
            sum->off_node[n][r] += value;
    }
}

static void add_part(struct summed *sum, const struct summed *of, double part)
{
    for (int r = 0; r < TD_REPLICATES; r++) {
        sum->off[r] += part * of->off[r];
        for (int n = 0; n < TD_NODE_COUNT; n++)
            sum->off_node[n][r] += part * of->off_node[n][r];
    }
}

/* Where the windows that a row had are known by their places: whose row a place is. */
static void add_replicates(struct summed *sums, const struct td_measure *measure,
                           const uint32_t *key, size_t keys)
{
    const struct td_measure *m = measure->join->modelled;
    const struct td_model *model = measure->model;
    uint32_t *key_of = td_xcalloc((size_t)td_model_location_count(model) + 1, sizeof(*key_of));
    struct summed *borrowed =
        td_xcalloc((size_t)measure->join->borrowed_count + 1, sizeof(*borrowed));

    for (size_t i = 0; i < measure->row_count; i++) {
        const uint32_t location = td_model_node(model, measure->rows[i].node)->location;

        if (measure->join->rows[i].unit != TD_NONE && location != TD_NONE)
            key_of[location] = (key && key[i] < keys ? key[i] : (uint32_t)keys) + 1;
    }
    for (size_t i = 0; i < m->replicate_count; i++) {
        const struct td_measure_replicates *from = &m->replicates[i];
        const uint32_t location = td_model_node(model, from->node)->location;

        if (location == TD_NONE)
            continue;
        const uint32_t number = measure->join->units[measure->join->unit_of[location]].borrowed;
        if (number > 0)
            add_replicate(&borrowed[number], from);
        else if (key_of[location] > 0)
            add_replicate(&sums[key_of[location] - 1], from);
    }
    for (size_t i = 0; i < measure->row_count; i++) {
        const struct td_join_row *row = &measure->join->rows[i];

        if (td_weights_is_borrowed(measure, i))
            add_part(&sums[key && key[i] < keys ? key[i] : keys],
                     &borrowed[measure->join->units[row->unit].borrowed], part_of_unit(measure, i));
    }
    free(borrowed);
    free(key_of);
}

/* What the windows saw, wherever it was; NULL: the model is of no windows. */
static const struct summed *all_windows(struct summed *all, const struct td_measure *measure)
{
    const struct td_measure *m = measure->join->modelled;

    if (!measure->join->windows)
        return NULL;
    *all = (struct summed){.modelled = (double)m->totals[TD_METRIC_SLOTS]};
    for (size_t i = 0; i < m->replicate_count; i++)
        add_replicate(all, &m->replicates[i]);
    return all;
}

/* Of a row's shares: the row's `slots_bound` is of its slots, its `slots_error` of slots and time,
 * whichever is less sure. Of code that was not modelled the samples alone speak. */
static void bound_row(struct td_mix *mix, const struct summed *sum,
                      const struct td_measure *measure, double modelled)
{
    const uint64_t samples = measure->totals[TD_METRIC_SAMPLES];
    const double slots = (double)measure->totals[TD_METRIC_SLOTS];
    const double ns = fmax((double)measure->totals[TD_METRIC_TIME_NS], 1);
    const double of_slots = slots > 0 ? sum->slots / slots : 0;
    const double from_model = modelled > 0 ? sum->modelled / modelled : 0;
    const bool is_modelled = sum->modelled > 0 && !measure->join->windows;
    const double moved = sum->slots > 0 ? (sum->ns - sum->sampled_ns) / ns : 0;

    mix->slots_bound =
        share_bound(of_slots, measure->join->windows ? of_slots : from_model, samples);
    mix->slots_error = share_bound(sum->ns / ns, is_modelled ? from_model : sum->ns / ns, samples);
    if (is_modelled)
        mix->slots_error = fmin(hypot(fmax(mix->slots_error, mix->slots_bound), moved), 1);
}

double td_weights_total_error(const struct td_measure *measure, enum td_metric metric)
{
    const double value = (double)measure->totals[metric];
    const double of_model = modelled_total(measure, metric);
    const double slots = (double)measure->totals[TD_METRIC_SLOTS];
    const double modelled_slots = modelled_total(measure, TD_METRIC_SLOTS);
    /* Cycles are the model's: the measured ones are as many as its slots take. */
    const double measured = metric == TD_METRIC_CYCLES && modelled_slots > 0
                                ? of_model * slots / modelled_slots
                                : value;
    const double samples = fmax((double)measure->totals[TD_METRIC_SAMPLES], 1);
    const double clock = metric == TD_METRIC_TIME_NS ? 0 : CLOCK_ERROR;

    if (measure->join->windows)
        return value * Z_95 / sqrt(samples);
    return hypot(measured * hypot(Z_95 / sqrt(samples), clock), measured - of_model);
}

static void fill_mix(struct td_mix *mix, const struct summed *sum, const struct td_measure *measure,
                     double modelled, const struct summed *windows, bool lines)
{
    const bool elsewhere = lines && sum->borrowed; /* other code has other lines */

    *mix = (struct td_mix){.slots = sum->slots, .kind = TD_MIX_JOINED, .same_share = NAN};
    bound_row(mix, sum, measure, modelled);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const bool known = sum->slots > 0 && measure->values[TD_METRIC_FIRST_NODE + n];

        mix->share[n] = known ? sum->node[n] / sum->slots : NAN;
        mix->error[n] = known ? error_of(sum, n, windows) : NAN;
        if (known && elsewhere)
            mix->error[n] = 1;
    }
    if (sum->scatter > 0)
        mix->intervals = td_rounded(sum->slots * sum->slots / (sum->scatter * sum->scatter));
}

void td_weights_evidence(struct td_mix *mixes, const struct td_measure *measure,
                         const uint32_t *key, size_t keys, bool lines)
{
    struct summed *sums = td_xcalloc(keys + 1, sizeof(*sums)), all;
    const struct summed *windows = all_windows(&all, measure);
    double *parts = unknown_parts(measure);
    const double modelled = modelled_total(measure, TD_METRIC_SLOTS);

    for (size_t i = 0; i < measure->row_count; i++)
        add_row(&sums[key[i] < keys ? key[i] : keys], measure, parts, i);
    if (windows)
        add_replicates(sums, measure, key, keys);
    for (size_t k = 0; k < keys; k++)
        fill_mix(&mixes[k], &sums[k], measure, modelled, windows, lines);
    free(parts);
    free(sums);
}

/* Of all: as of a row, with the samples' own, and those of the windows of a sampled model. */
static double whole_error(const struct summed *sum, int node, const struct td_measure *measure,
                          const struct summed *windows)
{
    const struct td_measure *modelled = measure->join->modelled;
    const double of_windows = td_replicated_is(modelled) && !windows
                                  ? td_replicated_error(modelled, (enum td_tma_node)node)
                                  : 0;
    const double of_samples =
        td_share_error(sum->node[node] / sum->slots, measure->totals[TD_METRIC_SAMPLES]);

    return fmin(hypot(error_of(sum, node, windows), hypot(of_samples, of_windows)), 1);
}

void td_weights_errors(double errors[TD_NODE_COUNT], const struct td_measure *measure)
{
    double *parts = unknown_parts(measure);
    struct summed sum = {.slots = 0}, all;
    const struct summed *windows = all_windows(&all, measure);

    for (size_t i = 0; i < measure->row_count; i++)
        add_row(&sum, measure, parts, i);
    if (windows)
        add_replicates(&sum, measure, NULL, 0);
    for (int n = 0; n < TD_NODE_COUNT; n++)
        errors[n] = sum.slots > 0 ? whole_error(&sum, n, measure, windows) : 1;
    free(parts);
}
