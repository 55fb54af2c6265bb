/* SPDX-License-Identifier: MIT */
/*
 * As why_kernels.c, of a fifth hand: kernels of which the report told another story than theirs,
 * though it had the figures.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#ifdef __clang__
#    define KERNEL __attribute__((noinline)) static
#else
#    define KERNEL __attribute__((noinline, noclone)) static
#endif
#define KEEP_MEMORY __asm__ volatile("" ::: "memory")
#define ADD_ONE(to) __atomic_add_fetch(to, 1, __ATOMIC_RELAXED)
#define STORE(k)    words[i + (k)] = (uint64_t)round

/* Each page is touched for the first time: no fence is there. Cores that do not charge page faults
 * see lines that come from memory. */
KERNEL void touch(char *pages, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64)
        pages[i] = 1; /* WHY page_faults stride SAYS kernel */
}

/* 4 KB, brought into L1 once. */
KERNEL void store_again(uint64_t *words)
{
    for (int round = 0; round < 3000; round++)
        for (int i = 0; i < 512; i += 4) {
            STORE(0), STORE(1), STORE(2), STORE(3); /* WHY store_buffer port frontend SAYS in_L1 */
            KEEP_MEMORY;
        }
}

/* Addresses are computed one from another, with no load among them. */
KERNEL uint64_t by_chance(const uint64_t *words, uint64_t mask)
{
    uint64_t x = 1, sum = 0;

    for (int i = 0; i < 300000; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += words[x >> 33 & mask]; /* WHY random_access */
    }
    return sum;
}

/* 512 rows of 16 KB: 128 KB in all, in few sets of L2. */
KERNEL uint64_t column(const int *rows)
{
    uint64_t sum = 0;

    for (int round = 0; round < 40; round++)
        for (int c = 0; c < 64; c += 16)
            for (int r = 0; r < 512; r++)
                sum += (uint64_t)rows[r * 4096 + c]; /* WHY conflict tlb_reach SAYS sets_of_L2 */
    return sum;
}

KERNEL void copy_little(char *to, const char *from)
{
    for (int i = 0; i < 50000; i++) {
        char *d = to;
        const char *s = from;
        size_t count = 24;

        __asm__ volatile("rep movsb" /* WHY serializing SAYS repeated_string_instruction */
                         : "+D"(d), "+S"(s), "+c"(count)::"memory");
    }
}

KERNEL void fence(void)
{
    for (int i = 0; i < 50000; i++)
        __asm__ volatile("mfence" ::: "memory"); /* WHY serializing SAYS lets_nothing_pass */
}

/* The chain is a counter's: what binds are the products. */
KERNEL uint64_t products(const uint64_t *words)
{
    uint64_t a = 0, b = 0, c = 0, d = 0;

    for (int i = 0; i < 100000; i++) {
        const uint64_t x = words[i & 255];

        a += x * 3 * x, b ^= (x * 5) * (x + 1), c += x * 7 * x, d ^= x * x * 11; /* WHY port none */
    }
    return a + b + c + d;
}

/* How often two threads meet depends on how fast the emulator runs each. */
static struct {
    volatile long left, right;
} pair __attribute__((aligned(64)));
static long counter __attribute__((aligned(64)));

static void *add_left(void *arg)
{
    for (int i = 0; i < 200000; i++)
        pair.left++; /* WHY sharing through_memory store_buffer SAYS false_sharing */
    return arg;
}

static void *add_right(void *arg)
{
    for (int i = 0; i < 200000; i++)
        pair.right++; /* WHY sharing through_memory store_buffer SAYS different_bytes */
    return arg;
}

static void *count(void *arg)
{
    for (int i = 0; i < 100000; i++)
        ADD_ONE(&counter); /* WHY sharing atomic SAYS true_sharing */
    return arg;
}

static void both(void *(*one)(void *), void *(*other)(void *))
{
    pthread_t threads[2];

    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, other, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

int main(void)
{
    enum { BYTES = 16 << 20 };
    char *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return 1;
    touch(pages, BYTES);
    store_again((uint64_t *)pages);
    copy_little(pages, pages + 4096);
    fence();
    both(add_left, add_right);
    both(count, count);
    const uint64_t sum = by_chance((uint64_t *)pages, BYTES / 8 - 1) + column((int *)pages) +
                         products((uint64_t *)pages);

    printf("%d %ld\n", (int)(sum & 1), pair.left + pair.right + counter);
    return 0;
}
