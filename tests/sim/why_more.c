/* SPDX-License-Identifier: MIT */
/* As why_kernels.c, of a third hand: written without a look at what finds the causes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#    define KERNEL __attribute__((noinline)) static
#else
#    define KERNEL __attribute__((noinline, noclone)) static
#endif
#define KEEP(x)     __asm__ volatile("" : "+r"(x))
#define KEEP_MEMORY __asm__ volatile("" ::: "memory")

static uint64_t seed = 88172645463325252ULL;

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* A column of a matrix whose rows are 4,096 bytes: 64 rows in few sets of L1. */
static uint64_t square[64][512] __attribute__((aligned(4096)));

KERNEL uint64_t conflict_column(void)
{
    uint64_t sum = 0;

    for (int round = 0; round < 2500; round++) {
        for (int row = 0; row < 64; row++)
            sum += square[row][5]; /* WHY conflict */
        KEEP_MEMORY;
    }
    return sum;
}

/* The same with numbers whose sum takes as long as L2 does, or little longer: the chain is what
 * holds it up, or both do. */
static double grid[64][512] __attribute__((aligned(4096)));

KERNEL double conflict_beside(void)
{
    double sum = 0;

    for (int round = 0; round < 2500; round++) {
        for (int row = 0; row < 64; row++)
            sum += grid[row][3]; /* WHY dependency_chain conflict SAYS conflict */
        KEEP_MEMORY;
    }
    return sum;
}

/* Numbers of which a half is on the next page. */
typedef uint64_t unaligned __attribute__((aligned(1)));
static char packed[1 << 16] __attribute__((aligned(4096)));

KERNEL uint64_t pages_split(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 120000; i++) {
        sum += *(const volatile unaligned *)(packed + 4092 + (i & 7) * 4096); /* WHY alignment */
    }
    return sum;
}

/* A float is written, the double that it is a half of is read. */
KERNEL double narrow_then_wide(void)
{
    volatile union {
        float half[2];
        double whole;
    } both = {.whole = 0};
    double sum = 0;

    for (int i = 0; i < 30000; i++) {
        both.half[1] = (float)sum + 1.5F;
        sum += both.whole; /* WHY store_forwarding */
    }
    return sum;
}

/* The same 64 outcomes in turn, while another branch goes by chance. */
KERNEL uint64_t pattern_of_64(void)
{
    const uint64_t pattern = 0x9c3a5f07d21be846ULL;
    uint64_t sum = 0;

    for (unsigned i = 0; i < 100000; i++) {
        if (chance() & 8) {
            sum += i;
            KEEP_MEMORY;
        }
        if (chance() & 64) {
            sum ^= i << 3;
            KEEP_MEMORY;
        }
        if (pattern >> (i & 63) & 1) { /* WHY branch_periodic */
            sum += sum >> 5;
            KEEP_MEMORY;
        }
        KEEP(sum);
    }
    return sum;
}

/* Two independent quotients a turn: the divider is what they share. */
KERNEL double quotients(void)
{
    volatile double by = 1.0000001;
    double a = 0, b = 0;

    for (int i = 0; i < 60000; i++) {
        const double x = by;
        a += (i + 1.0) / x; /* WHY divider */
        b += (i + 2.0) / x; /* WHY divider */
    }
    return a + b;
}

/* A ring of 2 MB in an order by chance. */
struct link {
    struct link *next;
    char rest[120];
};

KERNEL uintptr_t ring(void)
{
    enum { LINKS = (2 << 20) / sizeof(struct link) };
    struct link *links = aligned_alloc(4096, LINKS * sizeof(*links));
    static uint32_t order[LINKS];

    for (uint32_t i = 0; i < LINKS; i++)
        order[i] = i;
    for (uint32_t i = LINKS - 1; i > 0; i--) {
        const uint32_t other = (uint32_t)(chance() % i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (uint32_t i = 0; i < LINKS; i++)
        links[order[i]].next = &links[order[(i + 1) % LINKS]];
    const struct link *at = links;
    for (int i = 0; i < 100000; i++) {
        at = at->next; /* WHY pointer_chase */
        KEEP(at);
    }
    return (uintptr_t)at;
}

/* One comparison, of sorted numbers and of numbers by chance: only the second is hard to predict.
 */
__attribute__((noinline)) static uint64_t larger(uint64_t a, uint64_t b)
{
    if (a > b) { /* WHY branch_random branch_biased SAYS the_calls_that_pay */
        KEEP_MEMORY;
        return a * 3;
    }
    return b;
}

KERNEL uint64_t of_sorted(void)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < 60000; i++) {
        sum += larger(i, i + 7);
        KEEP(sum);
    }
    return sum;
}

KERNEL uint64_t of_any(void)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < 60000; i++) {
        sum += larger(chance(), chance()); /* the calls that pay */
        KEEP(sum);
    }
    return sum;
}

int main(void)
{
    memset(square, 1, sizeof(square));
    memset(grid, 1, sizeof(grid));
    memset(packed, 1, sizeof(packed));
    double sum = conflict_beside() + narrow_then_wide() + quotients();
    uint64_t bits =
        conflict_column() + pages_split() + pattern_of_64() + ring() + of_sorted() + of_any();

    printf("%g %d\n", sum, (int)(bits & 1));
    return 0;
}
