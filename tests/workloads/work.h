/* SPDX-License-Identifier: MIT */
/* What the known-answer programs share: a unit of work that nothing can remove, and a CPU clock. */
#ifndef TD_TESTS_WORK_H
#define TD_TESTS_WORK_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* A dependent chain: `rounds` multiplications, a few cycles each, no memory. */
static inline __attribute__((always_inline)) uint64_t work_chain(uint64_t x, unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return x;
}

/* Makes the function that uses it keep a frame pointer, although it calls nothing. */
#define WORK_FRAME() __asm__ volatile("" : : "r"(__builtin_frame_address(0)))

static inline double work_cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The program's first argument as CPU seconds. */
static inline double work_seconds(int argc, char **argv)
{
    return argc > 1 ? strtod(argv[1], NULL) : 1.0;
}

/* Until when a program works that was asked for so many CPU seconds of work, from now on: on a slow
 * machine, or under an emulator, its start alone may take a second. */
static inline double work_end_s(int argc, char **argv)
{
    return work_cpu_s() + work_seconds(argc, argv);
}

#endif
