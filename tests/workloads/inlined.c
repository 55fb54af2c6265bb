/* SPDX-License-Identifier: MIT */
/* All time is on one line of hot_inner(), inlined into hot_middle(), inlined into outer(). inlined
 * [SECONDS] */
#include <stdio.h>

#include "work.h"

/* Eight steps a round: a clock's samples fall on the end of a loop of one (Zen 3: 82 of 100). */
#define STEP(x)       (((x) ^ 1442695040888963407u) * UINT64_C(6364136223846793005))
#define TWO_STEPS(x)  STEP(STEP(x))
#define FOUR_STEPS(x) TWO_STEPS(TWO_STEPS(x))

static inline __attribute__((always_inline)) uint64_t hot_inner(uint64_t x)
{
    for (int i = 0; i < 12500; i++)
        x = FOUR_STEPS(FOUR_STEPS(x)); /* the hot line */
    return x;
}

static inline __attribute__((always_inline)) uint64_t hot_middle(uint64_t x)
{
    return hot_inner(x + 1) ^ 5;
}

__attribute__((noinline)) static uint64_t outer(uint64_t x)
{
    return hot_middle(x) + 3;
}

int main(int argc, char **argv)
{
    const double end = work_end_s(argc, argv);
    uint64_t x = 1;

    while (work_cpu_s() < end)
        x = outer(x);
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
