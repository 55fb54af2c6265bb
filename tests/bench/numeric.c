/* SPDX-License-Identifier: MIT */
/*
 * numeric NAME ROUNDS: textbook programs for row sim-accuracy, as a user would write them. Prints a
 * checksum. They are held out: the modelled core was not made with them.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252ULL;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double uniform(void)
{
    return (double)(next() >> 11) / 9007199254740992.0;
}

static void *take(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory)
        exit(2);
    return memory;
}

enum { BODIES = 32 };

static double spot[BODIES][3], speed[BODIES][3], mass[BODIES];

static void attract(int i, int j)
{
    double d[3], square = 0.01;

    for (int k = 0; k < 3; k++) {
        d[k] = spot[i][k] - spot[j][k];
        square += d[k] * d[k];
    }
    const double force = 0.001 / (square * sqrt(square));
    for (int k = 0; k < 3; k++) {
        speed[i][k] -= d[k] * mass[j] * force;
        speed[j][k] += d[k] * mass[i] * force;
    }
}

static double bodies(int rounds)
{
    double sum = 0;

    for (int i = 0; i < BODIES; i++) {
        mass[i] = uniform();
        for (int k = 0; k < 3; k++)
            spot[i][k] = uniform() * 10;
    }
    for (int r = 0; r < rounds * 60; r++) {
        for (int i = 0; i < BODIES; i++) {
            for (int j = i + 1; j < BODIES; j++)
                attract(i, j);
        }
        for (int i = 0; i < BODIES; i++) {
            for (int k = 0; k < 3; k++)
                spot[i][k] += 0.001 * speed[i][k];
        }
    }
    for (int i = 0; i < BODIES; i++)
        sum += spot[i][0];
    return sum;
}

static void transform(double *re, double *im, int n)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j |= bit;
        if (i < j) {
            const double a = re[i], b = im[i];
            re[i] = re[j];
            im[i] = im[j];
            re[j] = a;
            im[j] = b;
        }
    }
    for (int length = 2; length <= n; length *= 2) {
        const double wr = cos(6.283185307179586 / length), wi = sin(6.283185307179586 / length);
        for (int i = 0; i < n; i += length) {
            double cr = 1, ci = 0;
            for (int j = i; j < i + length / 2; j++) {
                const int k = j + length / 2;
                const double vr = re[k] * cr - im[k] * ci, vi = re[k] * ci + im[k] * cr;
                re[k] = re[j] - vr;
                im[k] = im[j] - vi;
                re[j] += vr;
                im[j] += vi;
                const double t = cr * wr - ci * wi;
                ci = cr * wi + ci * wr;
                cr = t;
            }
        }
    }
}

static double fourier(int rounds)
{
    enum { N = 1 << 14 };
    double *re = take(N, sizeof(*re)), *im = take(N, sizeof(*im)), sum;

    for (int i = 0; i < N; i++)
        re[i] = uniform();
    for (int r = 0; r < rounds; r++) {
        transform(re, im, N);
        for (int i = 0; i < N; i++) {
            re[i] /= 128;
            im[i] /= 128;
        }
    }
    sum = re[5] + im[7];
    free(re);
    free(im);
    return sum;
}

/* Rows of 8 entries, half of them near the diagonal. */
static double sparse(int rounds)
{
    enum { N = 60000, ENTRIES = 8 };
    int *column = take((size_t)N * ENTRIES, sizeof(*column));
    double *value = take((size_t)N * ENTRIES, sizeof(*value)), *x = take(N, sizeof(*x));
    double *y = take(N, sizeof(*y)), sum;

    for (int i = 0; i < N; i++) {
        x[i] = uniform();
        for (int k = 0; k < ENTRIES; k++) {
            column[i * ENTRIES + k] = k % 2 ? (int)(next() % N) : (i + k) % N;
            value[i * ENTRIES + k] = uniform();
        }
    }
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < N; i++) {
            double row = 0;
            for (int k = 0; k < ENTRIES; k++)
                row += value[i * ENTRIES + k] * x[column[i * ENTRIES + k]];
            y[i] = row / 4;
        }
        double *t = x;
        x = y;
        y = t;
    }
    sum = x[0] + x[N / 2];
    free(column);
    free(value);
    free(x);
    free(y);
    return sum;
}

/* Elimination with pivots, as a textbook has it. */
static double eliminate(int rounds)
{
    enum { N = 120 };
    static double a[N][N];
    double sum = 0;

    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++)
                a[i][j] = uniform();
        }
        for (int c = 0; c < N; c++) {
            int pivot = c;
            for (int i = c + 1; i < N; i++) {
                if (fabs(a[i][c]) > fabs(a[pivot][c]))
                    pivot = i;
            }
            for (int j = 0; j < N; j++) {
                const double t = a[c][j];
                a[c][j] = a[pivot][j];
                a[pivot][j] = t;
            }
            for (int i = c + 1; i < N; i++) {
                const double factor = a[i][c] / a[c][c];
                for (int j = c; j < N; j++)
                    a[i][j] -= factor * a[c][j];
            }
        }
        sum += a[N - 1][N - 1];
    }
    return sum;
}

/* The game of life on bytes. */
static double life(int rounds)
{
    enum { N = 256 };
    static uint8_t grids[2][N + 2][N + 2];
    uint64_t alive = 0;

    for (int i = 1; i <= N; i++) {
        for (int j = 1; j <= N; j++)
            grids[0][i][j] = next() % 4 == 0;
    }
    for (int r = 0; r < rounds; r++) {
        uint8_t(*from)[N + 2] = grids[r & 1], (*to)[N + 2] = grids[~r & 1];
        for (int i = 1; i <= N; i++) {
            for (int j = 1; j <= N; j++) {
                const int around = from[i - 1][j - 1] + from[i - 1][j] + from[i - 1][j + 1] +
                                   from[i][j - 1] + from[i][j + 1] + from[i + 1][j - 1] +
                                   from[i + 1][j] + from[i + 1][j + 1];
                if (around == 3)
                    to[i][j] = 1;
                else if (around != 2)
                    to[i][j] = 0;
                else
                    to[i][j] = from[i][j];
            }
        }
    }
    for (int i = 1; i <= N; i++) {
        for (int j = 1; j <= N; j++)
            alive += grids[rounds & 1][i][j];
    }
    return (double)alive;
}

static int place_queens(int n, uint32_t columns, uint32_t left, uint32_t right)
{
    const uint32_t all = (1U << n) - 1;
    int count = 0;

    if (columns == all)
        return 1;
    for (uint32_t free_places = all & ~(columns | left | right); free_places;
         free_places &= free_places - 1) {
        const uint32_t place = free_places & -free_places;
        count += place_queens(n, columns | place, (left | place) << 1, (right | place) >> 1);
    }
    return count;
}

static double queens(int rounds)
{
    double sum = 0;

    for (int r = 0; r < rounds; r++)
        sum += place_queens(9, 0, 0, 0);
    return sum;
}

/* Edit distance of two random words over four letters. */
static double distance(int rounds)
{
    enum { N = 1000 };
    static char a[N], b[N];
    static int row[N + 1];
    double sum = 0;

    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < N; i++) {
            a[i] = (char)(next() % 4);
            b[i] = (char)(next() % 4);
            row[i + 1] = i + 1;
        }
        for (int i = 0; i < N; i++) {
            int diagonal = row[0];
            row[0] = i + 1;
            for (int j = 0; j < N; j++) {
                int best = diagonal + (a[i] != b[j]);
                if (row[j] + 1 < best)
                    best = row[j] + 1;
                if (row[j + 1] + 1 < best)
                    best = row[j + 1] + 1;
                diagonal = row[j + 1];
                row[j + 1] = best;
            }
        }
        sum += row[N];
    }
    return sum;
}

struct leaf {
    uint64_t key;
    struct leaf *left, *right;
};

/* A binary tree of random keys: filled, searched, freed. */
static double tree(int rounds)
{
    enum { N = 20000 };
    uint64_t found = 0;

    for (int r = 0; r < rounds; r++) {
        struct leaf *all = take(N, sizeof(*all)), *root = NULL;
        for (int i = 0; i < N; i++) {
            struct leaf **place = &root;
            all[i].key = next() >> 40;
            while (*place)
                place = all[i].key < (*place)->key ? &(*place)->left : &(*place)->right;
            *place = &all[i];
        }
        for (int i = 0; i < N; i++) {
            const uint64_t key = next() >> 40;
            const struct leaf *at = root;
            while (at && at->key != key)
                at = key < at->key ? at->left : at->right;
            found += at != NULL;
        }
        free(all);
    }
    return (double)found;
}

static const struct {
    const char *name;
    double (*run)(int rounds);
} programs[] = {
    {"bodies", bodies}, {"fourier", fourier}, {"sparse", sparse},     {"eliminate", eliminate},
    {"life", life},     {"queens", queens},   {"distance", distance}, {"tree", tree},
};

int main(int argc, char **argv)
{
    const int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;

    for (size_t i = 0; argc > 1 && i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            printf("%g\n", programs[i].run(rounds));
            return 0;
        }
    }
    fprintf(stderr, "usage: numeric NAME ROUNDS\n");
    return 2;
}
