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
#define SHORT_LOOP  ".p2align 5; 1: add %2, %0; dec %1; jnz 1b"
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

        a += x * 3 * x, b ^= (x * 5) * (x + 1), c ^= x * 7 * x, d ^= x * x * 11; /* WHY port none */
    }
    return a + b + c + d;
}

/* 16 KB in one set of L1. */
KERNEL uint64_t one_set(const char *pages)
{
    uint64_t sum = 0;

    for (int round = 0; round < 400; round++)
        for (int i = 0; i < 256; i++)
            sum += (uint64_t)pages[i * 4096]; /* WHY conflict SAYS into_1_of_64_sets */
    return sum;
}

/* Four instructions, each of which goes on by 256 bytes: records of 64 bytes. */
KERNEL uint64_t unrolled(const uint64_t *words, size_t count)
{
    uint64_t sum = 0;

    for (const uint64_t *at = words; at + 31 < words + count; at += 32)
        sum += at[0] + at[8] + at[16] + at[24]; /* WHY stride SAYS 64_bytes_on */
    return sum;
}

/* Steps of 104 and 24 bytes by turns. */
KERNEL uint64_t by_turns(const char *at, const char *end)
{
    uint64_t sum = 0;

    for (int i = 0; at < end; i++) {
        sum += (uint64_t)*at; /* WHY stride tlb_reach SAYS 64_on_the_mean */
        at += i & 1 ? 104 : 24;
    }
    return sum;
}

/* A cycle an iteration: what comes late comes in time for the chain. */
KERNEL uint64_t short_loop(uint64_t count)
{
    uint64_t sum = 0;

    __asm__ volatile(SHORT_LOOP /* WHY dependency_chain port none */
                     : "+r"(sum), "+r"(count)
                     : "r"(UINT64_C(3)));
    return sum;
}

/* Some cores pass on what the store had. */
KERNEL void one_bin(volatile uint32_t *bins, const unsigned char *data)
{
    for (int i = 0; i < 200000; i++)
        bins[data[i & 4095]]++; /* WHY through_memory frontend SAYS A_register_would_do */
}

/* Taken as often as not, but mostly as the time before. */
KERNEL void sort(int *at, int count)
{
    for (int last = count - 1; last > 0; last--)
        for (int i = 0; i < last; i++)
            if (at[i] > at[i + 1]) { /* WHY branch_mispredicts SAYS the_predictor_follows */
                const int swap = at[i];

                at[i] = at[i + 1];
                at[i + 1] = swap;
                KEEP_MEMORY;
            }
}

/* What it gives is computed before it is an address again: no list is followed. */
KERNEL uint32_t check_sum(const uint32_t *table, const unsigned char *data)
{
    uint32_t sum = 1;

    for (int i = 0; i < 100000; i++)
        sum = table[(sum ^ data[i & 4095]) & 255] ^ sum >> 8; /* WHY dependency_chain */
    return sum;
}

KERNEL int length(const char *text)
{
    int i = 0;

    while (text[i])
        i++;
    return i;
}

/* The time is the callee's. */
KERNEL int each_time(const char *text)
{
    int sum = 0;

    for (int i = 0; i < 3000; i++)
        sum += length(text + (i & 7)); /* WHY none SAYS what_it_calls */
    return sum;
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
    static int numbers[1024];
    static uint32_t bins[256], table[256];
    static unsigned char data[4096];
    char text[200] = {0};

    for (int i = 0; i < 256; i++)
        table[i] = (uint32_t)i * 2654435761U;
    for (int i = 0; i < 1024; i++)
        numbers[i] = (int)((uint32_t)i * 2654435761U >> 8 & 0xffff);
    for (int i = 0; i < 150; i++)
        text[i] = 'a';
    one_bin(bins, data);
    sort(numbers, 1024);
    const uint64_t more = one_set(pages) + unrolled((uint64_t *)pages, BYTES / 8) +
                          by_turns(pages, pages + BYTES) + short_loop(200000) +
                          check_sum(table, data) + (uint64_t)each_time(text);
    const uint64_t sum = more + by_chance((uint64_t *)pages, BYTES / 8 - 1) + column((int *)pages) +
                         products((uint64_t *)pages);

    printf("%d %ld\n", (int)(sum & 1), pair.left + pair.right + counter);
    return 0;
}
