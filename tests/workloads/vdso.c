/* SPDX-License-Identifier: MIT */
/* Asks the vdso for the time, over and over. vdso [SECONDS] */
#include <stdio.h>

#include "work.h"

int main(int argc, char **argv)
{
    const double end = work_end_s(argc, argv);
    struct timespec t = {0};

    while (work_cpu_s() < end) {
        for (int i = 0; i < 100000; i++)
            clock_gettime(CLOCK_MONOTONIC, &t);
    }
    printf("%ld\n", (long)t.tv_nsec);
    return 0;
}
