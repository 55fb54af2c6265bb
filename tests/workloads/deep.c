/* SPDX-License-Identifier: MIT */
/* Recursion: descend() calls itself DEPTH times and works at the bottom. deep [SECONDS [DEPTH]] */
#include <stdio.h>

#include "work.h"

__attribute__((noinline)) static uint64_t bottom(uint64_t x)
{
    WORK_FRAME();
    return work_chain(x, 100000);
}

/* The address of a local keeps the compiler from making a loop of it. */
__attribute__((noinline)) static uint64_t descend(unsigned depth, uint64_t x)
{
    volatile uint64_t kept = x;

    if (depth == 0)
        return bottom(x);
    return descend(depth - 1, x + 1) ^ kept;
}

int main(int argc, char **argv)
{
    const double end = work_end_s(argc, argv);
    const unsigned depth = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 50;
    uint64_t x = 1;

    while (work_cpu_s() < end)
        x = descend(depth, x);
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
