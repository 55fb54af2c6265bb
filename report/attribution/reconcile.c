/* SPDX-License-Identifier: MIT */
#include "report/attribution/reconcile.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MAX    TD_RECONCILE_COLUMNS_MAX
#define ROUNDS 3 /* cutting off negatives leaves something to give again */
#define RIDGE  1e-12

struct matrix {
    double at[MAX][MAX];
};

/* The covariance of a row's parts: of its sum, in which all move together, and of its shares, which
 * add up to 1 whatever they are. */
static void covariance(struct matrix *v, const double *row, size_t columns, const double *error,
                       double row_error)
{
    double sum = 0, all = 0, d[MAX];

    for (size_t c = 0; c < columns; c++)
        sum += row[c];
    for (size_t c = 0; c < columns; c++) {
        d[c] = sum * error[c] * sum * error[c];
        all += d[c];
    }
    for (size_t a = 0; a < columns; a++) {
        for (size_t b = 0; b < columns; b++)
            v->at[a][b] = row_error * row_error * row[a] * row[b] + (a == b ? d[a] : 0) -
                          (all > 0 ? d[a] * d[b] / all : 0);
    }
}

/* Gauss with the diagonal as pivots: the matrix is positive definite. */
static void solve(struct matrix *m, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t r = i + 1; r < n; r++) {
            const double by = m->at[r][i] / m->at[i][i];

            for (size_t c = i; c < n; c++)
                m->at[r][c] -= by * m->at[i][c];
            x[r] -= by * x[i];
        }
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t c = i + 1; c < n; c++)
            x[i] -= m->at[i][c] * x[c];
        x[i] /= m->at[i][i];
    }
}

static void missing(const struct td_estimates *e, double *ret)
{
    memcpy(ret, e->sums, e->columns * sizeof(*ret));
    for (size_t r = 0; r < e->rows; r++) {
        for (size_t c = 0; c < e->columns; c++)
            ret[c] -= e->at[r * e->columns + c];
    }
}

static double row_sum(const struct td_estimates *e, size_t r)
{
    double sum = 0;

    for (size_t c = 0; c < e->columns; c++)
        sum += e->at[r * e->columns + c];
    return sum;
}

static void complete_row(const struct td_estimates *e, size_t r)
{
    double *row = e->at + r * e->columns;
    const double *error = e->error + r * e->columns;
    const double lacks = e->row_sums[r] - row_sum(e, r);
    double all = 0;

    for (size_t c = 0; c < e->columns; c++)
        all += error[c] * error[c];
    for (size_t c = 0; c < e->columns && all > 0; c++)
        row[c] = fmax(row[c] + lacks * error[c] * error[c] / all, 0);
    const double sum = row_sum(e, r);
    for (size_t c = 0; c < e->columns && sum > 0; c++)
        row[c] *= e->row_sums[r] / sum;
}

static void complete_columns(const struct td_estimates *e)
{
    const size_t n = e->columns;
    struct matrix all = {{{0}}}, one;
    double lambda[MAX], total = 0;

    for (size_t r = 0; r < e->rows; r++) {
        covariance(&one, e->at + r * n, n, e->error + r * n, e->row_error[r]);
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b < n; b++)
                all.at[a][b] += one.at[a][b];
        }
    }
    for (size_t c = 0; c < n; c++)
        total += e->sums[c];
    for (size_t c = 0; c < n; c++)
        all.at[c][c] += RIDGE * total * total + 1e-30;
    missing(e, lambda);
    solve(&all, n, lambda);
    for (size_t r = 0; r < e->rows; r++) {
        double *row = e->at + r * n;
        double more[MAX] = {0};

        covariance(&one, row, n, e->error + r * n, e->row_error[r]);
        for (size_t a = 0; a < n; a++) {
            for (size_t b = 0; b < n; b++)
                more[a] += one.at[a][b] * lambda[b];
        }
        for (size_t c = 0; c < n; c++)
            row[c] = fmax(row[c] + more[c], 0);
    }
}

/* What little is left is scaled away. A column that nobody has goes to all rows by their sums. */
static void scale(const struct td_estimates *e)
{
    double left[MAX], total = 0;

    missing(e, left);
    for (size_t r = 0; r < e->rows; r++)
        total += e->row_sums[r];
    for (size_t c = 0; c < e->columns; c++) {
        const double have = e->sums[c] - left[c];

        for (size_t r = 0; r < e->rows; r++) {
            double *part = &e->at[r * e->columns + c];

            *part = have > 0    ? *part * e->sums[c] / have
                    : total > 0 ? e->sums[c] * e->row_sums[r] / total
                                : 0;
        }
    }
}

void td_reconcile(const struct td_estimates *e)
{
    assert(e->columns <= MAX);
    if (e->columns == 0)
        return;
    for (size_t r = 0; r < e->rows; r++)
        complete_row(e, r);
    /* Rows' sums are estimates too: from here on they move with the columns. */
    for (int round = 0; round < ROUNDS; round++)
        complete_columns(e);
    scale(e);
}
