/* SPDX-License-Identifier: MIT */
/*
 * Kernels with one planted cause each: `why_kernels NAME ...` runs those named, all without a name.
 * The line that must be blamed has a comment that begins with "WHY" and names the cause (why.py
 * reads them). Those called held_* were written afterwards, and nothing was chosen on them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__
#    define KERNEL __attribute__((noinline)) static
#else
#    define KERNEL __attribute__((noinline, noclone)) static
#endif
#define KEEP(x)     __asm__ volatile("" : "+r"(x))
#define KEEP_MEMORY __asm__ volatile("" ::: "memory")
#define PAGE        4096
#define MB          ((size_t)1 << 20)

enum { MEMORY_MB = 24 };
typedef uint64_t vector __attribute__((vector_size(16)));
static char *memory; /* so many, on a page */
static uint64_t state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Row-major, read by columns: 512 rows of 8 KB. */
KERNEL uint64_t stride_columns(void)
{
    const uint64_t(*m)[1032] = (const void *)memory;
    uint64_t sum = 0;

    for (int column = 0; column < 100; column++)
        for (int row = 0; row < 1000; row++)
            sum += m[row][column]; /* WHY stride */
    return sum;
}

/* One member of large structures. */
KERNEL uint64_t stride_members(void)
{
    struct record {
        uint64_t key, other[23];
    };
    const struct record *records = (const void *)memory;
    uint64_t sum = 0;

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 60000; i++)
            sum += records[i].key; /* WHY stride */
    return sum;
}

KERNEL uint64_t random_table(void)
{
    const uint64_t *table = (const void *)memory;
    uint64_t sum = 0, x = 1;

    for (int i = 0; i < 100000; i++) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        sum += table[x >> 45]; /* WHY random_access */
    }
    return sum;
}

struct node {
    struct node *next;
    uint64_t other[7];
};

static struct node *make_list(size_t count)
{
    struct node *nodes = (void *)memory;
    uint32_t *order = malloc(count * sizeof(*order));

    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) {
        const size_t k = next_random() % i;
        const uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < count; i++)
        nodes[order[i]].next = &nodes[order[(i + 1) % count]];
    free(order);
    return nodes;
}

KERNEL uint64_t chase_list(void)
{
    struct node *node = make_list(40000);

    for (int i = 0; i < 80000; i++)
        node = node->next; /* WHY pointer_chase */
    return (uintptr_t)node;
}

/* 3 MB (L2 has 1 or 2) in order, again and again. */
KERNEL uint64_t footprint_l2(void)
{
    const vector *data = (const void *)memory;
    vector a = {0}, b = a, c = a, d = a;

    for (int round = 0; round < 4; round++)
        for (size_t i = 0; i < 3 * MB / sizeof(*data); i += 4) {
            a += data[i]; /* WHY footprint */
            b += data[i + 1];
            c += data[i + 2];
            d += data[i + 3];
        }
    a = a + b + c + d;
    return a[0] + a[1];
}

/* Lines 4 KB apart are in one set: 24 of them in 8 ways. */
KERNEL uint64_t conflict_power_of_two(void)
{
    const volatile uint64_t *data = (const void *)memory;
    uint64_t sum = 0;

    for (int round = 0; round < 4000; round++)
        for (int i = 0; i < 24; i++)
            sum += data[(size_t)i * PAGE / 8 + (sum & 1)]; /* WHY conflict */
    return sum;
}

/* A page each, at another line of it: L2 holds the lines, the TLBs not the pages. */
KERNEL uint64_t tlb_pages(void)
{
    const char *at = memory;
    uint64_t sum = 0;

    for (int round = 0; round < 12; round++)
        for (size_t page = 0; page < 5000; page++) {
            const size_t i = page * 3571 % 5000;
            const char *line = at + i * PAGE + i * 64 % PAGE;
            sum += *(const uint64_t *)(const void *)line; /* WHY tlb_reach */
        }
    return sum;
}

/* 8 bytes of which 4 are in the next line. */
KERNEL uint64_t alignment_split(void)
{
    const char *at = memory + 60;
    uint64_t sum = 0;

    for (int i = 0; i < 100000; i++) {
        sum += *(const volatile uint64_t *)(const void *)(at + (i & 255) * 64); /* WHY alignment */
    }
    return sum;
}

/* Two halves are written, then all is read. */
KERNEL uint64_t blocked_halves(void)
{
    volatile uint32_t *half = (volatile void *)memory;
    uint64_t sum = 0;

    for (int i = 0; i < 40000; i++) {
        half[0] = (uint32_t)sum;
        half[1] = (uint32_t)i;
        sum += *(volatile uint64_t *)(volatile void *)half; /* WHY store_forwarding */
    }
    return sum;
}

/* Loads 4 KB after what was stored just before. */
KERNEL uint64_t alias_4k(void)
{
    char *at = memory;
    uint64_t sum = 0;

    for (int i = 0; i < 60000; i++) {
        *(volatile uint64_t *)(void *)(at + (i & 7) * 64) = sum;
        sum += *(volatile uint64_t *)(void *)(at + PAGE + (i & 7) * 64); /* WHY 4k_alias */
    }
    return sum;
}

KERNEL uint64_t chain_multiply(void)
{
    uint64_t x = 3;

    for (int i = 0; i < 100000; i++) {
        x *= 0x9e3779b97f4a7c15ULL; /* WHY dependency_chain */
        KEEP(x);
    }
    return x;
}

KERNEL double chain_sum(void)
{
    double sum = 0, term = 1.5;

    for (int i = 0; i < 100000; i++) {
        __asm__ volatile("addsd %1,%0" : "+x"(sum) : "x"(term)); /* WHY dependency_chain */
    }
    return sum;
}

/* Five independent products a turn, and one multiplier. */
#define TRIPLE(n) "imul $3,%" #n ",%" #n "\n"
KERNEL uint64_t port_multiply(void)
{
    uint64_t a = 3, b = 5, c = 7, d = 9, e = 11;

    for (int i = 0; i < 80000; i++) {
        __asm__ volatile(TRIPLE(0) TRIPLE(1) TRIPLE(2) TRIPLE(3) TRIPLE(4) /* WHY port */
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
    }
    return a + b + c + d + e;
}

KERNEL uint64_t divider_each(void)
{
    uint64_t sum = 0;
    volatile uint64_t by = 0x123456789;

    for (int i = 0; i < 40000; i++) {
        sum += (0xfedcba9876543210ULL + (unsigned)i) / by; /* WHY divider */
    }
    return sum;
}

KERNEL uint64_t branch_random(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 50000; i++) {
        const uint64_t r = next_random();
        if (r & 1) { /* WHY branch_random */
            sum += r ^ sum >> 3;
            KEEP_MEMORY;
        }
        KEEP(sum);
    }
    return sum;
}

KERNEL uint64_t branch_biased(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 80000; i++) {
        const uint64_t r = next_random();
        if ((r & 15) == 0) { /* WHY branch_biased */
            sum += r ^ sum >> 3;
            KEEP_MEMORY;
        }
        KEEP(sum);
    }
    return sum;
}

/* 400 outcomes by chance, again and again: too long for the predictor's history, where random
 * branches are between. */
KERNEL uint64_t branch_periodic(void)
{
    static uint8_t pattern[400];
    uint64_t sum = 0;
    unsigned at = 0;

    for (size_t i = 0; i < sizeof(pattern); i++)
        pattern[i] = next_random() >> 7 & 1;
    for (int i = 0; i < 60000; i++) {
        if (pattern[at]) { /* WHY branch_periodic */
            sum += (unsigned)i ^ sum >> 3;
            KEEP_MEMORY;
        }
        if (next_random() & 1) {
            sum ^= 5;
            KEEP_MEMORY;
        }
        KEEP(sum);
        at = at + 1 == sizeof(pattern) ? 0 : at + 1;
    }
    return sum;
}

KERNEL uint64_t atomic_count(void)
{
    uint64_t *count = (void *)memory;

    for (int i = 0; i < 20000; i++) {
        __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST); /* WHY atomic */
    }
    return *count;
}

/* A sum that is kept in memory. */
KERNEL double through_memory(void)
{
    volatile double *sums = (volatile void *)memory;

    for (unsigned i = 0; i < 50000; i++) {
        sums[i >> 20] += 1.5; /* WHY through_memory */
    }
    return sums[0];
}

/* A sum that calls leave no register for. What is called stores never, once or twice. */
KERNEL double area_of_none(const double *x)
{
    return *x;
}

KERNEL double area_of_one(const double *x)
{
    *(volatile double *)(memory + 64) = *x;
    return *x;
}

KERNEL double area_of_two(const double *x)
{
    *(volatile double *)(memory + 64) = *x;
    *(volatile double *)(memory + 128) = *x;
    return 2 * *x;
}

KERNEL double kept_across_calls(void)
{
    static double (*const of[])(const double *) = {area_of_none, area_of_one, area_of_two};
    static const double x[] = {1, 2, 3};
    double sum = 0;

    for (unsigned i = 0; i < 30000; i++)
        sum += of[i % 3](&x[i % 3]); /* WHY through_memory SAYS inlined */
    return sum;
}

/* 16 MB once, in order, a line a turn. */
KERNEL uint64_t stream_once(void)
{
    const vector *data = (const void *)(memory + 6 * MB);
    vector a = {0}, b = a, c = a, d = a;

    for (size_t i = 0; i < MB; i += 4) {
        a += data[i]; /* WHY streaming */
        b += data[i + 1];
        c += data[i + 2];
        d += data[i + 3];
    }
    a = a + b + c + d;
    return a[0] + a[1];
}

KERNEL uint64_t indirect_targets(void)
{
    static void *const targets[] = {&&one, &&two, &&three, &&four};
    uint64_t sum = 0;

    for (int i = 0; i < 40000; i++) {
        goto *targets[next_random() >> 9 & 3]; /* WHY branch_indirect */
    one:
        sum += 1;
        continue;
    two:
        sum ^= 77;
        continue;
    three:
        sum *= 3;
        continue;
    four:
        sum -= 5;
    }
    return sum;
}

/* clang-format off */
#define KERNELS(X) \
    X(stride_columns) X(stride_members) X(random_table) X(chase_list) X(footprint_l2) \
    X(conflict_power_of_two) X(tlb_pages) X(alignment_split) X(blocked_halves) X(alias_4k) \
    X(chain_multiply) X(chain_sum) X(port_multiply) X(divider_each) X(branch_random) \
    X(branch_biased) X(branch_periodic) X(atomic_count) X(through_memory) X(indirect_targets) \
    X(stream_once) X(kept_across_calls)
/* clang-format on */

int main(int argc, char **argv)
{
    double sum = 0;

    memory = aligned_alloc(PAGE, MEMORY_MB * MB);
    if (!memory)
        return 1;
#define X(name)                                       \
    for (int i = 1; i < (argc > 1 ? argc : 2); i++)   \
        if (argc == 1 || strcmp(argv[i], #name) == 0) \
            sum += (double)name();
    KERNELS(X)
#undef X
    printf("%g\n", sum);
    return 0;
}
