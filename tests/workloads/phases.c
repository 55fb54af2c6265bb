/* SPDX-License-Identifier: MIT */
/* phases PHASE_CYCLES TOTAL_CYCLES: four functions of opposite bottlenecks by turns, each for about
 * so many cycles of a core at a time: phase_memory() waits for DRAM, phase_branches() mispredicts,
 * phase_adds() retires, phase_divides() waits for the divider. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES (1u << 20)
/* Cycles a round, about, on a server core: what matters is that phases are long or short. */
#define MEMORY_CYCLES   150
#define BRANCHES_CYCLES 12
#define ADDS_CYCLES     2
#define DIVIDES_CYCLES  15

struct place {
    uint32_t next;
    uint32_t padding[15]; /* a cache line each */
};

static struct place places[PLACES];
static uint64_t state = 88172645463325252u;

static uint64_t random_bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* One cycle through all places (Sattolo 1986). */
static void shuffle(void)
{
    for (uint32_t i = 0; i < PLACES; i++)
        places[i].next = i;
    for (uint32_t i = PLACES - 1; i > 0; i--) {
        const uint32_t j = (uint32_t)(random_bits() % i), next = places[i].next;

        places[i].next = places[j].next;
        places[j].next = next;
    }
}

__attribute__((noinline)) static uint32_t phase_memory(uint32_t x, unsigned long rounds)
{
    while (rounds--)
        x = places[x].next;
    return x;
}

__attribute__((noinline)) static uint64_t phase_branches(uint64_t x, unsigned long rounds)
{
    uint64_t sum = 0;

    while (rounds--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (x & 1)
            __asm__ volatile("add $1, %0" : "+r"(sum));
    }
    return x + sum;
}

__attribute__((noinline)) static uint64_t phase_adds(uint64_t x, unsigned long rounds)
{
    uint64_t a = x, b = 1, c = 2, d = 3, e = 4, f = 5;

    while (rounds--)
        __asm__ volatile(
            "add $1, %0\n add $2, %1\n add $3, %2\n add $4, %3\n add $5, %4\n add $6, %5\n"
            "add $1, %0\n add $2, %1\n add $3, %2\n add $4, %3\n"
            : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    return a + b + c + d + e + f;
}

__attribute__((noinline)) static uint64_t phase_divides(uint64_t x, unsigned long rounds)
{
    x |= UINT64_C(1) << 63;
    while (rounds--)
        x = UINT64_MAX / (x | 1) + x;
    return x;
}

int main(int argc, char **argv)
{
    const unsigned long phase = argc > 1 ? strtoul(argv[1], NULL, 10) : 300000;
    const unsigned long total = argc > 2 ? strtoul(argv[2], NULL, 10) : 300000000;
    uint64_t x = 1;
    uint32_t at = 0;

    shuffle();
    for (unsigned long done = 0; done < total; done += 4 * phase) {
        at = phase_memory(at, phase / MEMORY_CYCLES + 1);
        x = phase_branches(x + at + 1, phase / BRANCHES_CYCLES + 1);
        x = phase_adds(x, phase / ADDS_CYCLES + 1);
        x = phase_divides(x, phase / DIVIDES_CYCLES + 1);
    }
    printf("%u %llu\n", at, (unsigned long long)x);
    return 0;
}
