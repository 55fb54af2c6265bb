/* SPDX-License-Identifier: MIT */
/* Loops whose loads, stores, branches and misses are known: `events KIND ROUNDS`. What two runs of
 * different ROUNDS differ by is the loop's alone. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE  64
#define LINES 4096 /* 256 kB: beyond L1, within L2 */
#define PAGE  4096
#define PAGES 8192 /* beyond the second-level TLB's 2048 and 3072 */

/* Three loads, two stores and one branch a round, all in one line. */
__attribute__((noinline)) static void accesses(char *at, uint64_t rounds)
{
    __asm__ volatile("1: mov (%0),%%rax\n"
                     "mov 8(%0),%%rcx\n"
                     "add 16(%0),%%rax\n"
                     "mov %%rax,24(%0)\n"
                     "mov %%rcx,32(%0)\n"
                     "dec %1\n"
                     "jnz 1b\n"
                     : "+r"(at), "+r"(rounds)
                     :
                     : "rax", "rcx", "memory", "cc");
}

/* A chain through `count` places that are `step` bytes apart, in an order that no prefetcher sees:
 * one load and one branch a round. */
static void **make_chain(size_t count, size_t step)
{
    char *memory = aligned_alloc(PAGE, count * step + PAGE);
    size_t at = 0;

    memset(memory, 0, count * step + PAGE);
    /* A full period for a power of two: multiplier 4k + 1, odd increment. Another line in each page
     * leaves the caches' sets alone. */
    for (size_t i = 0; i < count; i++) {
        const size_t next = (at * 1664525 + 1013904223) % count;
        const size_t shift = step == PAGE ? LINE : 0;

        *(void **)(void *)(memory + at * step + shift * (at % (PAGE / LINE))) =
            memory + next * step + shift * (next % (PAGE / LINE));
        at = next;
    }
    return (void **)(void *)memory;
}

__attribute__((noinline)) static void chase(void **at, uint64_t rounds)
{
    __asm__ volatile("1: mov (%0),%0\n"
                     "dec %1\n"
                     "jnz 1b\n"
                     : "+r"(at), "+r"(rounds)
                     :
                     : "memory", "cc");
}

int main(int argc, char **argv)
{
    const uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    char line[LINE] __attribute__((aligned(LINE))) = {0};

    if (rounds == 0)
        return 2;
    if (strcmp(argv[1], "accesses") == 0)
        accesses(line, rounds);
    else if (strcmp(argv[1], "lines") == 0)
        chase(make_chain(LINES, LINE), rounds);
    else if (strcmp(argv[1], "pages") == 0)
        chase(make_chain(PAGES, PAGE), rounds);
    else
        return 2;
    return 0;
}
