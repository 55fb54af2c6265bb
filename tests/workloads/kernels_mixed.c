/* SPDX-License-Identifier: MIT */
/* Kernels whose samples do not lie where their time is lost: an interpreter's unpredictable jumps,
 * the loads of a hash join, short rows of a sparse matrix. kernels_mixed NAME ROUNDS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

__attribute__((noinline)) static uint64_t interpret(const uint8_t *code, long rounds)
{
    uint64_t a = 1, r[4] = {1, 2, 3, 4};

    for (long i = 0; i < rounds; i++) {
        const uint8_t op = code[(uint64_t)(i * 7 + (long)(a & 3)) & 65535];

        switch (op & 15) {
        case 0: a += r[op >> 6]; break;
        case 1: a ^= r[op >> 4 & 3]; break;
        case 2: r[op >> 6] = a; break;
        case 3: a = a & 1 ? a + 3 : a ^ 5; break;
        case 4: a = a * 3 + 1; break;
        case 5: r[0]++; break;
        case 6: r[1] += r[0]; break;
        case 7: r[2] = r[2] > a ? r[2] - 7 : r[2] + 11; break;
        case 8: a -= r[3]; break;
        case 9: a = a << 1 | a >> 63; break;
        case 10: r[3] ^= a; break;
        case 11: a += (uint64_t)i; break;
        default: a = op & 64 ? a + 17 : a - r[0]; break;
        }
    }
    return a + r[0] + r[1] + r[2] + r[3];
}

static uint64_t interpreter(long rounds)
{
    static uint8_t code[65536];

    for (size_t i = 0; i < sizeof(code); i++)
        code[i] = (uint8_t)(next_random() >> 32);
    return interpret(code, rounds);
}

struct entry {
    uint32_t key, next;
    uint64_t value;
};

enum { ENTRIES = 1 << 16, BUCKETS = 1 << 15 };

__attribute__((noinline)) static uint64_t probe(const struct entry *entries, const uint32_t *heads,
                                                long rounds)
{
    uint64_t sum = 0;

    for (long p = 0; p < rounds; p++) {
        const uint32_t key = (uint32_t)next_random() & (2 * ENTRIES - 1);

        for (uint32_t i = heads[key * 2654435761u >> 17]; i; i = entries[i].next) {
            if (entries[i].key == key) {
                sum += entries[i].value;
                break;
            }
        }
    }
    return sum;
}

static uint64_t hash_join(long rounds)
{
    static struct entry entries[ENTRIES + 1];
    static uint32_t heads[BUCKETS];

    for (uint32_t i = 1; i <= ENTRIES; i++) {
        const uint32_t key = (uint32_t)next_random() & (2 * ENTRIES - 1);
        uint32_t *head = &heads[key * 2654435761u >> 17];

        entries[i] = (struct entry){.key = key, .next = *head, .value = i};
        *head = i;
    }
    return probe(entries, heads, rounds);
}

enum { ROWS = 1 << 15 };

__attribute__((noinline)) static void multiply(const uint32_t *first, const uint32_t *column,
                                               const double *a, const double *x, double *y)
{
    for (uint32_t r = 0; r < ROWS; r++) {
        double sum = 0;

        for (uint32_t i = first[r]; i < first[r + 1]; i++)
            sum += a[i] * x[column[i]];
        y[r] = sum;
    }
}

static uint64_t sparse(long rounds)
{
    static uint32_t first[ROWS + 1], column[16 * ROWS];
    static double a[16 * ROWS], x[ROWS], y[ROWS];

    for (uint32_t r = 0; r < ROWS; r++) {
        first[r + 1] = first[r] + (uint32_t)(next_random() & 15);
        for (uint32_t i = first[r]; i < first[r + 1]; i++) {
            column[i] = (uint32_t)next_random() & (ROWS - 1);
            a[i] = 1.0 / (i + 1);
        }
        x[r] = r;
    }
    for (long t = 0; t < rounds; t++)
        multiply(first, column, a, x, y);
    return (uint64_t)y[ROWS - 1];
}

int main(int argc, char **argv)
{
    const long rounds = argc == 3 ? atol(argv[2]) : 0;

    if (argc == 3 && strcmp(argv[1], "interpreter") == 0)
        printf("%llu\n", (unsigned long long)interpreter(rounds));
    else if (argc == 3 && strcmp(argv[1], "hash-join") == 0)
        printf("%llu\n", (unsigned long long)hash_join(rounds));
    else if (argc == 3 && strcmp(argv[1], "sparse") == 0)
        printf("%llu\n", (unsigned long long)sparse(rounds));
    else
        return 2;
    return 0;
}
