/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose bottleneck is known: `kernels NAME` runs one. Each is one function of its name, so
 * that a profile must blame that function; what it runs before is kept short.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL __attribute__((noinline)) static

/* Independent additions, and a loop's end. */
#ifdef __aarch64__
#    define FLOATS(x)  "+w"(x)
#    define ADD(n)     "add x" #    n ",x" #    n ",#1\n"
#    define COUNT_DOWN "sub %0,%0,#1\n cbnz %0,1b"
#    define ADDED      "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"
#else
#    define FLOATS(x)  "+x"(x)
#    define ADD(n)     "add $1,%%" REGISTER_##n "\n"
#    define REGISTER_0 "rax"
#    define REGISTER_1 "rcx"
#    define REGISTER_2 "rsi"
#    define REGISTER_3 "rdi"
#    define REGISTER_4 "r8"
#    define REGISTER_5 "r9"
#    define REGISTER_6 "r10"
#    define REGISTER_7 "r11"
#    define COUNT_DOWN "dec %0\n jnz 1b"
#    define ADDED      "rax", "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11"
#endif
#define EIGHT_ADDS ADD(0) ADD(1) ADD(2) ADD(3) ADD(4) ADD(5) ADD(6) ADD(7)

static volatile uint64_t sink;
static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A random cycle through every line of `bytes`. */
static void **make_chain(size_t bytes)
{
    const size_t lines = bytes / 64;
    char *memory = aligned_alloc(4096, bytes);
    uint32_t *order = malloc(lines * sizeof(*order));

    for (size_t i = 0; i < lines; i++)
        order[i] = (uint32_t)i;
    for (size_t i = lines - 1; i > 0; i--) {
        const size_t k = next_random() % i;
        const uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < lines; i++)
        *(void **)(void *)(memory + 64 * i) = memory + 64 * (size_t)order[i];
    free(order);
    return (void **)(void *)memory;
}

KERNEL void chase(void **at, int steps)
{
    for (int i = 0; i < steps; i++)
        at = *at;
    sink = (uint64_t)(uintptr_t)at;
}

KERNEL void branches(const uint8_t *bytes, size_t count)
{
    uint64_t a = 0, b = 1;

    for (size_t i = 0; i < count; i++) {
        if (bytes[i] & 1) {
            a += b;
            __asm__ volatile("");
        } else {
            b ^= a;
            __asm__ volatile("");
        }
    }
    sink = a + b;
}

KERNEL void divides(uint64_t count)
{
    uint64_t x = 0xffffffffffffULL;

    for (uint64_t i = 1; i < count; i++)
        x = x / (i | 1) + 0xffffffffffffULL;
    sink = x;
}

KERNEL void float_chain(int count)
{
    double x = 1.0, y = 1.0000001, z = 1e-9;

    __asm__ volatile("" : FLOATS(y), FLOATS(z));
    for (int i = 0; i < count; i++)
        x = x * y + z;
    sink = (uint64_t)x;
}

KERNEL void adds(uint64_t count)
{
    __asm__ volatile("1:\n" EIGHT_ADDS ADD(0) ADD(1) ADD(2) COUNT_DOWN : "+r"(count) : : ADDED);
}

KERNEL void stream(double *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = from[i] * 3.0;
}

KERNEL void forward(int count)
{
    static volatile uint64_t place;

    for (int i = 0; i < count; i++)
        place += (uint64_t)i;
    sink = place;
}

/* Nearly 1 MB of code in a line: 240000 instructions of 4 bytes. */
KERNEL void straight(int rounds)
{
    for (int i = 0; i < rounds; i++)
        __asm__ volatile(".rept 30000\n" EIGHT_ADDS ".endr" : : : ADDED);
}

static void run_chase(size_t bytes, int steps)
{
    chase(make_chain(bytes), steps);
}

static void run_branches(void)
{
    uint8_t *bytes = malloc(1 << 18);

    for (size_t i = 0; i < 1 << 18; i++)
        bytes[i] = (uint8_t)(next_random() >> 33);
    for (int i = 0; i < 8; i++)
        branches(bytes, 1 << 18);
    free(bytes);
}

static void run_stream(void)
{
    const size_t count = 6 << 20;
    double *to = malloc(count * sizeof(*to)), *from = calloc(count, sizeof(*from));

    stream(to, from, count);
    sink = (uint64_t)to[5];
    free(to);
    free(from);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "chase-l1") == 0)
        run_chase(16 << 10, 3000000);
    else if (strcmp(name, "chase-l2") == 0)
        run_chase(512 << 10, 8000000);
    else if (strcmp(name, "chase-l3") == 0)
        run_chase(6 << 20, 2000000);
    else if (strcmp(name, "chase-dram") == 0)
        run_chase(64 << 20, 400000);
    else if (strcmp(name, "branches") == 0)
        run_branches();
    else if (strcmp(name, "divides") == 0)
        divides(500000);
    else if (strcmp(name, "float_chain") == 0)
        float_chain(2000000);
    else if (strcmp(name, "adds") == 0)
        adds(1000000);
    else if (strcmp(name, "stream") == 0)
        run_stream();
    else if (strcmp(name, "forward") == 0)
        forward(2000000);
    else if (strcmp(name, "straight") == 0)
        straight(10);
    else
        return 2;
    return 0;
}
