/* SPDX-License-Identifier: MIT */
/* Recursion as deep as the argument says (300), with frames of 64 bytes. */
#include <stdio.h>
#include <stdlib.h>

static volatile long sink;

__attribute__((noinline)) static long down(long n)
{
    volatile long pad[3] = {n, n, n};
    long below = 0;

    if (n == 0) {
        for (int i = 0; i < 20000; i++)
            sink += i;
        return 0;
    }
    below = down(n - 1) + pad[1];
    sink += below;
    return below;
}

int main(int argc, char **argv)
{
    const int depth = argc > 1 ? atoi(argv[1]) : 300;

    for (int i = 0; i < 6000; i++)
        sink += down(depth);
    printf("%ld\n", sink);
    return 0;
}
