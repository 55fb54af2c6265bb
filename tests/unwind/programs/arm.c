/* SPDX-License-Identifier: MIT */
/* Frames of many shapes for a debugger to stop in: recursion, alloca, large frames, callbacks of
 * the C library, calls by pointer. */
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile long sink;
static int rounds;

/* Where the debugger stops: a leaf without a frame. */
__attribute__((noinline)) void stop(long x)
{
    __asm__ volatile("" : : "r"(x));
}

__attribute__((noinline)) static long recurse(int depth, long a, long b, double c)
{
    if (depth == 0)
        stop(a);
    else
        a += recurse(depth - 1, b, a * depth, c * 1.5);
    sink = sink + b;
    return a + (long)c;
}

__attribute__((noinline)) static long grow(size_t bytes, int depth)
{
    char *room = alloca(bytes);

    memset(room, depth, bytes);
    stop((long)bytes);
    if (depth > 0)
        sink = sink + grow(bytes + 40, depth - 1);
    return room[bytes / 2];
}

__attribute__((noinline)) static long large(int depth)
{
    volatile char room[5000];

    room[depth] = (char)depth;
    stop(depth);
    return recurse(depth, room[depth], 2, 0.5);
}

static int compare(const void *a, const void *b)
{
    if (++rounds % 7 == 0)
        stop(rounds);
    return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static long sort(int count)
{
    int values[64];
    char text[64];

    for (int i = 0; i < 64; i++)
        values[i] = (i * 37 + count) % 64;
    qsort(values, 64, sizeof(values[0]), compare);
    snprintf(text, sizeof(text), "%d %g", values[1], 0.1 * values[2]);
    return (long)strlen(text);
}

int main(void)
{
    static long (*volatile const calls[])(int) = {large, sort};

    for (int i = 0; i < 1000; i++) {
        sink = sink + recurse(i % 9, i, 1, 0.25);
        sink = sink + grow(48 + 16 * (size_t)(i % 5), i % 6);
        sink = sink + calls[i % 2](i % 12);
    }
    return 0;
}
