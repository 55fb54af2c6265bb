/* SPDX-License-Identifier: MIT */
/* A few rows times a large matrix, computed in four ways: the same arithmetic, whose slots are lost
 * to different things. matmul naive|blocked|rows|copied prints a checksum, the same for each. */
#include <stdio.h>
#include <string.h>

enum { ROWS = 16, N = 1024, BLOCK = 32 };

struct matrices {
    double *a, *b, *c; /* ROWS x N, N x N (more than a second cache holds), ROWS x N */
};

/* The inner loop walks down a column of b: a new cache line at every step. */
static void multiply_naive(const struct matrices *m)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < N; j++) {
            double sum = 0;

            for (int k = 0; k < N; k++)
                sum += m->a[i * N + k] * m->b[k * N + j];
            m->c[i * N + j] = sum;
        }
    }
}

/* The same, with a square of b that stays in the first cache for all rows. */
static void multiply_block(const struct matrices *m, int j0, int k0)
{
    for (int i = 0; i < ROWS; i++) {
        for (int j = j0; j < j0 + BLOCK; j++) {
            double sum = m->c[i * N + j];

            for (int k = k0; k < k0 + BLOCK; k++)
                sum += m->a[i * N + k] * m->b[k * N + j];
            m->c[i * N + j] = sum;
        }
    }
}

static void multiply_blocked(const struct matrices *m)
{
    for (int j = 0; j < N; j += BLOCK) {
        for (int k = 0; k < N; k += BLOCK)
            multiply_block(m, j, k);
    }
}

/* The inner loop walks along rows of b and c. The compiler must expect that they overlap. */
static void multiply_rows(const struct matrices *m)
{
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < N; k++) {
            for (int j = 0; j < N; j++)
                m->c[i * N + j] += m->a[i * N + k] * m->b[k * N + j];
        }
    }
}

static void saxpy(int n, double factor, const double *restrict x, double *restrict y)
{
    for (int j = 0; j < n; j++)
        y[j] += factor * x[j];
}

/* Along rows again, each row of c in a copy that nothing overlaps: vectors without a check. */
static void multiply_copied(const struct matrices *m)
{
    double row[N];

    for (int i = 0; i < ROWS; i++) {
        memset(row, 0, sizeof(row));
        for (int k = 0; k < N; k++)
            saxpy(N, m->a[i * N + k], m->b + (size_t)k * N, row);
        memcpy(m->c + (size_t)i * N, row, sizeof(row));
    }
}

static const struct {
    const char *name;
    void (*multiply)(const struct matrices *m);
} variants[] = {{"naive", multiply_naive},
                {"blocked", multiply_blocked},
                {"rows", multiply_rows},
                {"copied", multiply_copied}};

static void fill(double *cells, int count, int below)
{
    for (int i = 0; i < count; i++)
        cells[i] = i % below;
}

int main(int argc, char **argv)
{
    static double a[ROWS * N], b[N * N], c[ROWS * N];
    const struct matrices m = {.a = a, .b = b, .c = c};
    double sum = 0;

    fill(a, ROWS * N, 7);
    fill(b, N * N, 5);
    for (size_t v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
        if (argc > 1 && strcmp(argv[1], variants[v].name) == 0)
            variants[v].multiply(&m);
    }
    for (int i = 0; i < ROWS * N; i++)
        sum += c[i];
    printf("%.0f\n", sum);
    return 0;
}
