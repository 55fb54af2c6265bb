/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer: every file of the folders given, then mutations of them,
 * the same ones each time (TD_FUZZ_RUNS of them, 4000 by default, at most TD_FUZZ_SECONDS, 20). An
 * input that takes over ten seconds of CPU time, which a busy machine does not change much, is a
 * failure: its bytes are left in fuzz-slow.bin.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/mem.h"

#define SLOW_S     10.0
#define SEED_LIMIT (16u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seeds {
    struct td_buf *items;
    size_t len, cap;
};

static double now_s(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64: the same numbers on every machine. */
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void load_folder(struct seeds *seeds, const char *folder)
{
    struct dirent **names = NULL;
    const int count = scandir(folder, &names, NULL, alphasort);

    for (int i = 0; i < count; i++) {
        char *path = td_xasprintf("%s/%s", folder, names[i]->d_name);
        struct td_buf buf = {0};

        if (names[i]->d_name[0] != '.' && td_file_read(path, SEED_LIMIT, &buf, NULL) == TD_OK) {
            seeds->items =
                td_grow(seeds->items, &seeds->cap, seeds->len + 1, sizeof(*seeds->items));
            seeds->items[seeds->len++] = buf;
        } else {
            td_buf_release(&buf);
        }
        free(path);
        free(names[i]);
    }
    free(names);
}

/* Exact-sized heap memory, so that a read past the end is seen by ASan. */
static int run_one(const uint8_t *data, size_t size)
{
    uint8_t *copy = td_xalloc(size ? size : 1);
    const double start = now_s(CLOCK_PROCESS_CPUTIME_ID);

    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    const double took = now_s(CLOCK_PROCESS_CPUTIME_ID) - start;
    if (took <= SLOW_S)
        return 0;
    fprintf(stderr, "an input of %zu bytes took %.1f s of CPU time (fuzz-slow.bin)\n", size, took);
    FILE *out = fopen("fuzz-slow.bin", "wb");
    if (out) {
        fwrite(data, 1, size, out);
        fclose(out);
    }
    return 1;
}

static void flip(uint8_t *data, size_t size, uint64_t *state)
{
    static const uint8_t odd[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe};
    const size_t at = next_random(state) % size;

    switch (next_random(state) % 4) {
    case 0: data[at] ^= (uint8_t)(1u << (next_random(state) % 8)); break;
    case 1: data[at] = odd[next_random(state) % sizeof(odd)]; break;
    case 2: data[at] = (uint8_t)next_random(state); break;
    default:
        for (size_t i = at; i < size && i < at + 8; i++)
            data[i] = 0xff;
    }
}

static int run_mutation(const struct td_buf *seed, uint64_t *state)
{
    size_t size = seed->len;
    uint8_t *data = td_xalloc(size ? size : 1);
    const unsigned changes = 1 + (unsigned)(next_random(state) % 4);

    memcpy(data, seed->data, size);
    if (size && next_random(state) % 8 == 0)
        size = next_random(state) % size;
    for (unsigned i = 0; size && i < changes; i++)
        flip(data, size, state);
    const int slow = run_one(data, size);
    free(data);
    return slow;
}

static unsigned long number_of(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const unsigned long runs = number_of("TD_FUZZ_RUNS", 4000);
    const double end = now_s(CLOCK_MONOTONIC) + (double)number_of("TD_FUZZ_SECONDS", 20);
    struct seeds seeds = {0};
    uint64_t state = 1;
    unsigned long done = 0;
    int slow = 0;

    for (int i = 1; i < argc; i++)
        load_folder(&seeds, argv[i]);
    run_one((const uint8_t *)"", 0);
    for (size_t i = 0; i < seeds.len; i++)
        slow += run_one(seeds.items[i].data, seeds.items[i].len);
    for (; seeds.len && done < runs && now_s(CLOCK_MONOTONIC) < end && !slow; done++)
        slow += run_mutation(&seeds.items[done % seeds.len], &state);
    printf("%zu seeds, %lu mutations\n", seeds.len, done);
    for (size_t i = 0; i < seeds.len; i++)
        td_buf_release(&seeds.items[i]);
    free(seeds.items);
    if (!seeds.len)
        fprintf(stderr, "no seeds in the folders given\n");
    return slow || !seeds.len;
}
