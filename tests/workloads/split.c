/* SPDX-License-Identifier: MIT */
/* Splits its time 3:1 between heavy() and light(). split [SECONDS] */
#include <stdio.h>

#include "work.h"

#define UNIT 200000ul

__attribute__((noinline)) static uint64_t heavy(uint64_t x)
{
    return work_chain(x, 3 * UNIT);
}

__attribute__((noinline)) static uint64_t light(uint64_t x)
{
    return work_chain(x, UNIT);
}

int main(int argc, char **argv)
{
    const double end = work_end_s(argc, argv);
    uint64_t x = 1;

    while (work_cpu_s() < end)
        x = light(heavy(x));
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
