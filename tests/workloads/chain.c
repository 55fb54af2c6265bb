/* SPDX-License-Identifier: MIT */
/* A call chain with frame pointers: main, alpha, beta, gamma_leaf; alpha also calls other_leaf for
 * a quarter of the time. chain [SECONDS] */
#include <stdio.h>

#include "work.h"

#define UNIT 100000ul

__attribute__((noinline)) static uint64_t gamma_leaf(uint64_t x)
{
    WORK_FRAME();
    return work_chain(x, 3 * UNIT) + 1;
}

__attribute__((noinline)) static uint64_t other_leaf(uint64_t x)
{
    WORK_FRAME();
    return work_chain(x, UNIT) + 1;
}

__attribute__((noinline)) static uint64_t beta(uint64_t x)
{
    return gamma_leaf(x) + 2;
}

__attribute__((noinline)) static uint64_t alpha(uint64_t x)
{
    return other_leaf(beta(x)) + 3;
}

int main(int argc, char **argv)
{
    const double end = work_end_s(argc, argv);
    uint64_t x = 1;

    while (work_cpu_s() < end)
        x = alpha(x);
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
