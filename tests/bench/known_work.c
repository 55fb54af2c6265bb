/* SPDX-License-Identifier: MIT */
/*
 * known_work chain|mixed|bare COUNT: so many pieces of work, of some microseconds each, and prints
 * by how much all of them together took longer than the quarter of the quickest would: what the
 * machine's interrupts, its host's and other threads on the core take. `chain` is multiplications
 * of which each waits for the one before; `mixed` is what programs do: print, sort, hash, copy, in
 * some 300 KB. `bare` is the chain alone, without a clock and what it prints: native_cycles tells
 * its cycles. What `mixed` loses more than `chain`, programs lose as well
 * (scripts/benchmarks/sim_accuracy.py).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

enum { CHAIN_ROUNDS = 1000, PIECES_MAX = 1 << 20 }; /* a round takes 12 cycles */
enum { WORDS = 1 << 16, NUMBERS = 64, LINES = 24 };

static uint32_t counts[WORDS];

static uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525U + 1013904223U;
}

static void chain(uint32_t seed)
{
    uint64_t rounds = CHAIN_ROUNDS, x = seed | 1;

    __asm__ volatile(
        ".p2align 6\n1: imul %1,%1\n imul %1,%1\n imul %1,%1\n imul %1,%1\n dec %0\n jnz 1b"
        : "+r"(rounds), "+r"(x));
}

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The same numbers in every piece, so that every piece takes as long. */
static void mixed(uint32_t seed)
{
    char text[LINES * 16], copy[sizeof(text)];
    uint32_t state = 7, numbers[NUMBERS];
    size_t size = 0;

    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = next_random(&state);
    qsort(numbers, NUMBERS, sizeof(*numbers), compare);
    for (int i = 0; i < LINES; i++)
        size += (size_t)snprintf(text + size, sizeof(text) - size, " %08x", numbers[i]);
    memcpy(copy, text, size);
    for (size_t i = 0; i + 4 <= size; i++) {
        uint32_t word;
        memcpy(&word, copy + i, sizeof(word));
        counts[word * 2654435761U >> 16] += seed;
    }
}

static int compare_ticks(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    const size_t pieces = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
    void (*const work)(uint32_t) = argc == 3 && strcmp(argv[1], "chain") == 0 ? chain : mixed;
    uint64_t all = 0;

    if (!pieces || pieces > PIECES_MAX) {
        fprintf(stderr, "usage: known_work chain|mixed|bare COUNT\n");
        return 2;
    }
    if (strcmp(argv[1], "bare") == 0) {
        for (size_t i = 0; i < pieces; i++)
            chain((uint32_t)i);
        return 0;
    }
    uint64_t *ticks = calloc(pieces, sizeof(*ticks));
    if (!ticks)
        return 1;
    for (size_t i = 0; i < pieces; i++) {
        const uint64_t start = __rdtsc();
        work((uint32_t)i);
        ticks[i] = __rdtsc() - start;
        all += ticks[i];
    }
    qsort(ticks, pieces, sizeof(*ticks), compare_ticks);
    const uint64_t quarter = ticks[pieces / 4];
    printf("%.4f\n", (double)all / ((double)quarter * (double)pieces));
    free(ticks);
    return 0;
}
