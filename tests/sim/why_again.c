/* SPDX-License-Identifier: MIT */
/*
 * As why_kernels.c, of a fourth hand: programs that were given another cause than the planted one,
 * or none, when the report was first asked about them.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __clang__
#    define KERNEL __attribute__((noinline)) static
#else
#    define KERNEL __attribute__((noinline, noclone)) static
#endif
#define KEEP_FOUR(a, b, c, d) __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d))
#define KEEP_MEMORY           __asm__ volatile("" ::: "memory")

static uint64_t state = 0x2545f4914f6cdd1dULL;

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Four chains of three cycles share one multiplier: it is always taken, though each product waits
 * longer for the one before than for its port. */
KERNEL uint64_t four_products(void)
{
    uint64_t a = 3, b = 5, c = 7, d = 11;

    for (int i = 0; i < 100000; i++) {
        a *= 7919, b *= 7907, c *= 7901, d *= 7883; /* WHY port */
        KEEP_FOUR(a, b, c, d);
    }
    return a + b + c + d;
}

/* 256 KB in an order by chance: the sum waits for what L2 gives, and is no chain that counts. */
static uint32_t table[1 << 16], order[1 << 16];

KERNEL uint64_t table_in_l2(void)
{
    uint64_t sum = 0;

    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 1 << 16; i++)
            sum += table[order[i]]; /* WHY random_access */
    return sum;
}

/* Sums of floats down a column: the core runs far enough ahead for the chain to be what counts, or
 * does not. Either way the column is named. */
static float grid[1500][1500];

KERNEL float column_of_floats(void)
{
    float sum = 0;

    for (int column = 0; column < 200; column++)
        for (int row = 0; row < 1500; row++)
            sum += grid[row][column]; /* WHY dependency_chain stride tlb_reach SAYS column */
    return sum;
}

/* A loop of 18 bytes that begins eight bytes before the end of a line of code. */
KERNEL uint64_t over_two_lines(void)
{
    uint64_t sum = 0, rounds = 200000;

    __asm__(".p2align 6\n\t.fill 56, 1, 0x90\n" /* WHY frontend dependency_chain SAYS align */
            "1:\tadd $7, %[sum]\n\tlea 3(%[rounds]), %%rax\n\tlea 5(%[rounds]), %%rdx\n\t"
            "sub $1, %[rounds]\n\tjne 1b"
            : [sum] "+r"(sum), [rounds] "+r"(rounds)
            :
            : "rax", "rdx", "cc");
    return sum;
}

int main(void)
{
    for (int i = 0; i < 1 << 16; i++)
        table[i] = (uint32_t)i, order[i] = (uint32_t)chance() & 0xffff;
    for (int i = 0; i < 1500; i++)
        grid[i][i] = (float)i;
    const double sum = column_of_floats();
    const uint64_t bits = four_products() + table_in_l2() + over_two_lines();

    printf("%g %d\n", sum, (int)(bits & 1));
    return 0;
}
