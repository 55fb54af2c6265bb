/* SPDX-License-Identifier: MIT */
/* beside read|update|write|chase MB ROUNDS: so many times through so much memory, a line after the
 * other; or in an odd order, each line after the one that names it (MB is a power of two then).
 * ROUNDS 0: until nobody reads its output any more, where it writes a line for each round. The
 * first stores are beside_first's; the rest is of beside_read, beside_update, beside_write,
 * beside_chase. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WORDS = 8 };

static uint64_t *memory;
static size_t words;

__attribute__((noinline)) static void beside_first(void)
{
    const uint64_t lines = words / LINE_WORDS;

    /* Of a power of two each is named once. */
    for (uint64_t i = 0; i < lines; i++)
        memory[i * LINE_WORDS] = (i * 2891336453 + 12345) % lines * LINE_WORDS;
}

__attribute__((noinline)) static uint64_t beside_read(void)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < words; i += LINE_WORDS)
        sum += memory[i];
    return sum;
}

__attribute__((noinline)) static uint64_t beside_update(void)
{
    for (size_t i = 0; i < words; i += LINE_WORDS)
        memory[i]++;
    return memory[words / 2];
}

__attribute__((noinline)) static uint64_t beside_write(void)
{
    for (size_t i = 0; i < words; i += LINE_WORDS)
        memory[i] = words - i;
    return memory[words / 2];
}

__attribute__((noinline)) static uint64_t beside_chase(void)
{
    uint64_t at = 0;

    for (size_t i = 0; i < words; i += LINE_WORDS)
        at = memory[at];
    return at;
}

static uint64_t once(const char *kind)
{
    if (strcmp(kind, "update") == 0)
        return beside_update();
    if (strcmp(kind, "chase") == 0)
        return beside_chase();
    return strcmp(kind, "read") == 0 ? beside_read() : beside_write();
}

int main(int argc, char **argv)
{
    const unsigned long rounds = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    uint64_t sum = 0;

    if (argc != 4)
        return 2;
    words = strtoul(argv[2], NULL, 10) << 17;
    memory = malloc(words * sizeof(*memory));
    if (!memory)
        return 1;
    beside_first();
    for (unsigned long i = 0; i < rounds; i++)
        sum += once(argv[1]);
    while (rounds == 0 && puts("round") >= 0 && fflush(stdout) == 0)
        sum += once(argv[1]);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
