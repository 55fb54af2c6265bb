/* SPDX-License-Identifier: MIT */
/* As why_kernels.c, written afterwards: nothing was chosen on these. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#    define KERNEL __attribute__((noinline)) static
#else
#    define KERNEL __attribute__((noinline, noclone)) static
#endif
#define KEEP(x) __asm__ volatile("" : "+r"(x))

enum { N = 700, BIG = 1 << 20 };

static float matrix[N][N], turned[N][N];
static uint32_t table[BIG];
static uint64_t seed = 1;

static uint32_t chance(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(seed >> 33);
}

/* Stores that go down the columns. */
KERNEL void transpose(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            turned[j][i] = matrix[i][j]; /* WHY stride */
}

/* Every 20th number. */
KERNEL uint64_t every_twentieth(void)
{
    uint64_t sum = 0;

    for (int round = 0; round < 4; round++)
        for (int i = 0; i < BIG; i += 20)
            sum += table[i]; /* WHY stride */
    return sum;
}

KERNEL void histogram(void)
{
    for (int i = 0; i < 100000; i++)
        table[chance() & (BIG - 1)]++; /* WHY random_access */
}

/* A tree of which each level is somewhere else. */
struct tree {
    struct tree *child[2];
    uint64_t key, more[5];
};

static struct tree *plant(int depth)
{
    struct tree *tree = calloc(1, sizeof(*tree));

    free(malloc(chance() % 300));
    if (depth > 0) {
        tree->child[0] = plant(depth - 1);
        tree->child[1] = plant(depth - 1);
    }
    return tree;
}

KERNEL uint64_t descend(struct tree *root)
{
    uint64_t found = 0;

    for (int i = 0; i < 6000; i++) {
        const struct tree *at = root;
        uint32_t way = chance();
        while (at->child[0]) { /* WHY pointer_chase */
            at = at->child[way & 1];
            way >>= 1;
        }
        found += at->key;
    }
    return found;
}

/* Halves a value while it is even: how often is chance. */
KERNEL uint64_t trailing(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 40000; i++) {
        uint32_t x = chance() | 1U << 20;
        while ((x & 1) == 0) { /* WHY branch_random */
            x >>= 1;
            KEEP(x);
        }
        sum += x;
    }
    return sum;
}

KERNEL double newton(void)
{
    double x = 1;

    for (int i = 0; i < 40000; i++) {
        x = 0.5 * (x + 2 / x); /* WHY divider dependency_chain */
    }
    return x;
}

/* Bytes are gathered, a word is read. */
KERNEL uint64_t gather_bytes(void)
{
    volatile uint8_t bytes[8] = {0};
    uint64_t sum = 0;

    for (int i = 0; i < 20000; i++) {
        bytes[i & 7] = (uint8_t)sum;
        sum += *(volatile uint64_t *)(volatile void *)bytes; /* WHY store_forwarding */
    }
    return sum;
}

KERNEL uint64_t hash_text(void)
{
    uint32_t hash = 2166136261U;

    for (int i = 0; i < 200000; i++) {
        hash = (hash ^ ((const uint8_t *)table)[i & 4095]) * 16777619U; /* WHY dependency_chain */
    }
    return hash;
}

/* Where to look is in an array: each load waits for one of it, and for none of its own. */
static uint32_t order[100000];

KERNEL uint64_t follow_order(void)
{
    uint64_t sum = 0;

    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
            sum += table[order[i]]; /* WHY random_access */
    return sum;
}

/* The place of the place. */
KERNEL uint64_t follow_twice(void)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++) {
        const uint32_t second = order[order[i] % (sizeof(order) / sizeof(*order))];
        sum += table[second]; /* WHY random_access */
    }
    return sum;
}

int main(void)
{
    struct tree *root = plant(14);
    uint64_t sum = 0;

    transpose();
    sum += every_twentieth();
    histogram();
    for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
        order[i] = chance() & (BIG - 1);
    sum += follow_order() + follow_twice();
    sum += descend(root) + trailing() + (uint64_t)newton() + gather_bytes() + hash_text();
    printf("%llu %g\n", (unsigned long long)sum, (double)turned[sum % N][1]);
    return 0;
}
