/* SPDX-License-Identifier: MIT */
#include "report/query/diff/change.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

void td_run_add(struct td_run_sums *sums, const struct td_run_figure *figure)
{
    const double off = figure->value - sums->mean;

    sums->count++;
    sums->mean += off / (double)sums->count;
    sums->squares += off * (figure->value - sums->mean);
    sums->random += figure->random * figure->random;
    sums->bias = fmax(sums->bias, figure->bias);
}

/* The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;

    for (int m = 1; m < 300; m++) {
        const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        for (int i = 0; i < 2; i++) {
            const double term = i == 0 ? even : odd;

            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            h *= c * d;
        }
        if (fabs(c * d - 1) < 1e-13)
            break;
    }
    return h;
}

static double incomplete_beta(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));

    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                     : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double td_t_chance(double t, double freedom)
{
    if (freedom <= 0)
        return erfc(fabs(t) / sqrt(2));
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double td_t_95(double freedom)
{
    double low = 1.9, high = 100;

    if (freedom <= 0)
        return 1.959964;
    for (int i = 0; i < 60; i++) {
        const double middle = (low + high) / 2;

        if (td_t_chance(middle, freedom) > 0.05)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

/* Of one run: what is assumed. */
static double assumed_variance(const struct td_run_sums *sums, const struct td_run_spread *spread,
                               double total)
{
    const double part = spread->part * sums->mean;
    const double of_total = spread->of_total * total;

    return sums->random / (double)sums->count + part * part + of_total * of_total;
}

/* The variance of one run by what is assumed and what the runs of `a` and `b` (may be NULL) show:
 * the mean of both by their degrees of freedom. `total` is of the side whose figure is larger. */
static double variance_of(const struct td_run_sums *a, const struct td_run_sums *b,
                          const struct td_run_spread *spread, double total, double *freedom)
{
    const size_t runs = a->count + (b ? b->count : 0);
    const double shown = a->squares + (b ? b->squares : 0);
    const double degrees = (double)runs - 1 - (b != NULL);
    double assumed = assumed_variance(a, spread, total);

    if (b)
        assumed = fmax(assumed, assumed_variance(b, spread, total));
    *freedom = 0;
    if (degrees <= 0 || spread->freedom <= 0)
        return assumed;
    *freedom = spread->freedom + degrees;
    return (spread->freedom * assumed + shown) / *freedom;
}

double td_run_error(const struct td_run_sums *sums, const struct td_run_spread *spread,
                    double total)
{
    double freedom = 0;

    if (sums->count == 0)
        return NAN;
    const double variance = variance_of(sums, NULL, spread, total, &freedom) / (double)sums->count;
    return td_t_95(freedom) * sqrt(variance + sums->bias * sums->bias);
}

struct td_change td_change_of(const struct td_run_sums *old, const struct td_run_sums *now,
                              const struct td_run_spread *spread, double total)
{
    struct td_change change = {.delta = NAN, .error = NAN, .chance = 1};
    double freedom = 0;

    if (old->count == 0 || now->count == 0)
        return change;
    change.delta = now->mean - old->mean;
    double variance = old->bias * old->bias + now->bias * now->bias;
    const size_t degrees = old->count + now->count - 2;
    if (degrees > 0 && spread->freedom > 0) {
        variance += variance_of(old, now, spread, total, &freedom) *
                    (1 / (double)old->count + 1 / (double)now->count);
    } else {
        variance += assumed_variance(old, spread, total) / (double)old->count +
                    assumed_variance(now, spread, total) / (double)now->count;
    }
    change.error = td_t_95(freedom) * sqrt(variance);
    if (variance > 0)
        change.chance = td_t_chance(change.delta / sqrt(variance), freedom);
    else
        change.chance = change.delta == 0 ? 1 : 0;
    return change;
}

static int by_chance(const void *a, const void *b)
{
    const struct td_change *const *x = a, *const *y = b;

    return ((*x)->chance > (*y)->chance) - ((*x)->chance < (*y)->chance);
}

void td_changes_judge(struct td_change *const *changes, size_t count)
{
    struct td_change **order = td_xcalloc(count + 1, sizeof(struct td_change *));
    size_t known = 0, least = 0;

    for (size_t i = 0; i < count; i++) {
        changes[i]->significant = false;
        if (!isnan(changes[i]->delta))
            order[known++] = changes[i];
    }
    if (known > 1)
        qsort(order, known, sizeof(struct td_change *), by_chance);
    for (size_t i = 0; i < known; i++) {
        if (order[i]->chance <= TD_CHANGE_FALSE * (double)(i + 1) / (double)known)
            least = i + 1;
    }
    for (size_t i = 0; i < least; i++)
        order[i]->significant = order[i]->delta != 0;
    free(order);
}
