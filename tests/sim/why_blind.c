/* SPDX-License-Identifier: MIT */
/*
 * Kernels with one planted cause each, as why_kernels.c has them. They were written before the
 * report was asked about any of them.
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
#define AVX2        __attribute__((target("avx2,fma")))
#define KEEP(x)     __asm__ volatile("" : "+r"(x))
#define KEEP_MEMORY __asm__ volatile("" ::: "memory")
#define MB          ((size_t)1 << 20)
typedef uint64_t vector __attribute__((vector_size(32)));

enum { MEMORY_MB = 64 };
static char *memory; /* so many, on a page */
static uint64_t state = 0x9e3779b97f4a7c15ULL;

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1dULL >> 20;
}

/* Two pages on each: Skylake's TLBs have not so many. */
KERNEL double column_of_doubles(void)
{
    const double(*grid)[1000] = (const void *)memory;
    double sum = 0;

    for (int column = 0; column < 40; column++)
        for (int row = 0; row < 2500; row++)
            sum += grid[row][column]; /* WHY stride tlb_reach */
    return sum;
}

/* 72 bytes, of which 4 are used. */
KERNEL uint64_t records_of_72(void)
{
    const struct {
        uint32_t age;
        char rest[68];
    } *people = (const void *)memory;
    uint64_t sum = 0;

    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 60000; i++)
            sum += people[i].age; /* WHY stride */
    return sum;
}

/* 20 lines, 4096 bytes apart. */
KERNEL uint64_t same_set(void)
{
    const volatile uint64_t *lines = (const volatile void *)memory;
    uint64_t sum = 0;

    for (int round = 0; round < 5000; round++)
        for (size_t i = 0; i < 20; i++)
            sum += lines[i * 4096 / 8 + (sum & 7)]; /* WHY conflict */
    return sum;
}

KERNEL uint64_t random_4mb(void)
{
    const uint32_t *table = (const void *)memory;
    uint64_t x = 7, sum = 0;

    for (int i = 0; i < 100000; i++) {
        x = x * 0x5851f42d4c957f2dULL + 3;
        sum += table[x >> 44]; /* WHY random_access */
    }
    return sum;
}

KERNEL uint64_t random_64mb(void)
{
    const uint32_t *table = (const void *)memory;
    uint64_t x = 7, sum = 0;

    for (int i = 0; i < 100000; i++) {
        x = x * 0x5851f42d4c957f2dULL + 3;
        sum += table[x >> 40]; /* WHY random_access tlb_reach */
    }
    return sum;
}

struct item {
    struct item *next;
    uint64_t value[5];
};

static struct item *make_items(size_t count)
{
    struct item *items = (void *)memory;
    uint32_t *order = malloc(count * sizeof(*order));

    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    for (size_t i = count - 1; i > 0; i--) {
        const size_t k = chance() % i;
        const uint32_t swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < count; i++)
        items[order[i]].next = &items[order[(i + 1) % count]];
    free(order);
    return items;
}

KERNEL uint64_t sum_list(void)
{
    const struct item *at = make_items(60000);
    uint64_t sum = 0;

    for (int i = 0; i < 100000; i++)
        sum += at->value[0], at = at->next; /* WHY pointer_chase */
    return sum;
}

static int32_t *make_places(size_t count, size_t below)
{
    int32_t *places = malloc(count * sizeof(*places));

    for (size_t i = 0; i < count; i++)
        places[i] = (int32_t)(chance() % below);
    return places;
}

#define GATHER \
    "vpcmpeqd %%ymm1,%%ymm1,%%ymm1\nvmovdqu (%0),%%ymm2\nvpgatherdd %%ymm1,(%1,%%ymm2,4),%%ymm0"
/* Eight at a time by the processor's own gather. */
AVX2 KERNEL void gather_vectors(const int32_t *places)
{
    for (int i = 0; i < 160000; i += 8)
        __asm__ volatile(GATHER /* WHY random_access */
                         :
                         : "r"(places + i), "r"(memory)
                         : "xmm0", "xmm1", "xmm2", "memory");
}

#define SPLIT "vmovdqu (%1,%0),%%ymm0\nvmovq %%xmm0,%0"
/* Vectors of 32 bytes, each over the end of a line; the next waits for it. */
AVX2 KERNEL uint64_t misaligned_vectors(void)
{
    uint64_t at = 0;

    for (int i = 0; i < 60000; i++) {
        __asm__ volatile(SPLIT /* WHY alignment */

                         : "+r"(at)
                         : "r"(memory + 48 + (i & 63) * 64)
                         : "xmm0", "memory");
    }
    return at;
}

#define EACH_EIGHTH "mov (%1,%0),%0"
/* Numbers of 8 bytes that begin 4 bytes late: each eighth lies over two lines, and a chain goes
 * through all. */
KERNEL uint64_t packed_numbers(void)
{
    uint64_t at = 0;

    for (int i = 0; i < 100000; i++) {
        __asm__ volatile(EACH_EIGHTH /* WHY alignment pointer_chase dependency_chain */
                         : "+r"(at)
                         : "r"(memory + 4 + (i & 511) * 8)
                         : "memory");
    }
    return at;
}

/* Always the same number of the histogram. Where rename passes data through memory, that
 * costs nothing, and what is left is how fast jumps are fetched. */
KERNEL void count_one(void)
{
    static const uint8_t kinds[64] = {0};
    volatile uint32_t *counts = (volatile void *)memory;

    for (unsigned i = 0; i < 60000; i++)
        counts[kinds[i & 63]]++; /* WHY through_memory none frontend */
}

#define ADDS "add %1,%0\nadd %1,%0\nadd %1,%0\nadd %1,%0\nadd %1,%0\nadd %1,%0"
KERNEL uint64_t chain_of_adds(void)
{
    uint64_t a = 1, b = 2;

    for (int i = 0; i < 60000; i++) {
        __asm__ volatile(ADDS /* WHY dependency_chain */
                         : "+r"(a)
                         : "r"(b));
    }
    return a;
}

AVX2 KERNEL double polynomial(void)
{
    double x = 0.5, sum = 0;

    for (int i = 0; i < 60000; i++)
        sum = __builtin_fma(sum, x, 1.25); /* WHY dependency_chain */
    return sum;
}

KERNEL double chain_of_quotients(void)
{
    double x = 1e30, y = 1.0001;

    for (int i = 0; i < 30000; i++)
        x = x / y; /* WHY divider dependency_chain */
    return x;
}

/* A list of few items: all in L1. */
KERNEL uint64_t short_list(void)
{
    const struct item *at = make_items(100);

    for (int i = 0; i < 100000; i++)
        at = at->next; /* WHY pointer_chase */
    return (uintptr_t)at;
}

#define LESS "mov %2,%%ecx\ncmp %0,%%rcx\ncmovb %%rcx,%0\nadd $1,%0\nadd $1,%1"
/* A choice without a jump, of what was chosen before. */
KERNEL uint64_t smallest(void)
{
    const uint32_t *numbers = (const void *)memory;
    uint64_t least = ~0ULL, at = 0;

    for (int i = 0; i < 100000; i++) {
        __asm__ volatile(LESS /* WHY dependency_chain */
                         : "+r"(least), "+r"(at)
                         : "m"(numbers[i & 1023])
                         : "rcx", "cc");
    }
    return least + at;
}

#define EIGHT(op, r)                                                                          \
    op "%%" r "0\n" op "%%" r "1\n" op "%%" r "2\n" op "%%" r "3\n" op "%%" r "4\n" op "%%" r \
       "5\n" op "%%" r "6\n" op "%%" r "7\n"
#define VECTORS "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"

KERNEL void port_of_lanes(void)
{
    for (int i = 0; i < 50000; i++)
        __asm__ volatile(EIGHT("vpermd %%ymm8,%%ymm9,", "ymm")::: VECTORS); /* WHY port */
}

#define PRODUCTS \
    "imul $7,%%rbx,%%rax\nimul $7,%%rbx,%%rcx\nimul $7,%%rbx,%%rdx\nimul $7,%%rbx,%%rsi"
KERNEL void port_of_products(void)
{
    for (int i = 0; i < 50000; i++)
        __asm__ volatile(PRODUCTS /* WHY port */
                         ::
                             : "rax", "rcx", "rdx", "rsi");
}

#define ROTATIONS                                                                            \
    "rol $3,%%rax\nrol $3,%%rcx\nrol $3,%%rdx\nrol $3,%%rsi\nrol $3,%%r8\nrol $3,%%r9\nrol " \
    "$3,%%r10\nrol $3,%%r11"
KERNEL void port_of_rotations(void)
{
    for (int i = 0; i < 50000; i++)
        __asm__ volatile(ROTATIONS /* WHY port */
                         ::
                             : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
}

#define STORES                                                                                   \
    "mov %%eax,(%0)\nmov %%eax,4(%0)\nmov %%eax,8(%0)\nmov %%eax,12(%0)\nmov %%eax,16(%0)\nmov " \
    "%%eax,20(%0)"
KERNEL void port_of_stores(void)
{
    for (int i = 0; i < 50000; i++)
        __asm__ volatile(STORES /* WHY port */
                         :
                         : "r"(memory)
                         : "memory");
}

#define WHOLE "movdqa (%1),%%xmm0\nmovq %%xmm0,%0"
/* Halves are put together in memory and read as one. */
KERNEL uint64_t vector_of_scalars(void)
{
    volatile uint64_t *parts = (volatile void *)memory;
    uint64_t x = 1;

    for (int i = 0; i < 40000; i++) {
        parts[0] = x;
        parts[1] = x;
        __asm__ volatile(WHOLE /* WHY store_forwarding */
                         : "=r"(x)
                         : "r"(memory)
                         : "xmm0", "memory");
    }
    return x;
}

/* 5 MB in order, again and again (L2 holds 2 at most). */
AVX2 KERNEL uint64_t sweep(void)
{
    const vector *data = (const void *)memory;
    vector a = {0}, b = a;

    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < 5 * MB / sizeof(*data); i += 2)
            a ^= data[i], b ^= data[i + 1]; /* WHY footprint */
    a ^= b;
    return a[0];
}

KERNEL uint64_t branch_by_chance(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 60000; i++) {
        if (chance() & 1) { /* WHY branch_random */
            sum += (unsigned)i;
            KEEP(sum);
        }
    }
    return sum;
}

/* Each third time: every predictor has it. What is left is how fast jumps are fetched. */
KERNEL uint64_t branch_every_third(void)
{
    uint64_t sum = 0;
    unsigned at = 0;

    for (int i = 0; i < 60000; i++) {
        if (at == 0) { /* WHY none frontend port */
            sum += (unsigned)i;
            KEEP_MEMORY;
        }
        sum ^= (unsigned)i;
        KEEP(sum);
        at = at == 2 ? 0 : at + 1;
        KEEP(at);
    }
    return sum;
}

/* 17 ways by a constant, with chance between them. */
KERNEL uint64_t branch_of_17(void)
{
    uint64_t sum = 0;
    unsigned at = 0;

    for (int i = 0; i < 60000; i++) {
        if (0x1a6d3U >> at & 1) { /* WHY branch_periodic */
            sum += (unsigned)i;
            KEEP_MEMORY;
        }
        for (int k = 0; k < 6; k++) {
            if (chance() & 1) {
                sum ^= 5;
                KEEP_MEMORY;
            }
        }
        KEEP(sum);
        at = at == 16 ? 0 : at + 1;
    }
    return sum;
}

/* 301 outcomes by chance, again and again, with chance between them. */
KERNEL uint64_t branch_of_301(void)
{
    static uint8_t ways[301];
    uint64_t sum = 0;
    size_t at = 0;

    for (size_t i = 0; i < sizeof(ways); i++)
        ways[i] = (uint8_t)(chance() & 1);
    for (int i = 0; i < 60000; i++) {
        if (ways[at]) { /* WHY branch_periodic */
            sum += (unsigned)i;
            KEEP_MEMORY;
        }
        if (chance() & 1) {
            sum ^= 5;
            KEEP_MEMORY;
        }
        KEEP(sum);
        at = at + 1 == sizeof(ways) ? 0 : at + 1;
    }
    return sum;
}

/* What the first branch asked decides again, after a dozen of others by chance. */
KERNEL uint64_t branch_again(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 30000; i++) {
        uint64_t kind = chance() & 1;
        KEEP(kind);
        if (kind) { /* the first of both */
            sum += 3;
            KEEP_MEMORY;
        }
        for (int k = 0; k < 12; k++) {
            if (chance() & 1) {
                sum ^= 9;
                KEEP_MEMORY;
            }
        }
        KEEP(kind);
        if (kind) { /* WHY branch_correlated SAYS the_first_of_both */
            sum += 11;
            KEEP_MEMORY;
        }
        KEEP(sum);
    }
    return sum;
}

/* One to four turns. */
KERNEL uint64_t short_loops(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 30000; i++) {
        uint64_t turns = (chance() & 3) + 1;
        do {
            sum += turns;
            KEEP(sum);
        } while (--turns); /* WHY branch_random */
    }
    return sum;
}

/* Ordered numbers of one caller, any of the other. */
KERNEL uint64_t larger(uint64_t a, uint64_t b)
{
    uint64_t x = b;

    if (a > b) { /* WHY branch_random branch_biased SAYS the_pairs_of_any */
        x = a * 3;
        KEEP_MEMORY;
    }
    return x;
}

KERNEL uint64_t larger_of_known(void)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < 40000; i++)
        sum += larger(i, i + 1);
    return sum;
}

KERNEL uint64_t larger_of_any(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 40000; i++)
        sum += larger(chance() & 255, 127); /* the pairs of any */
    return sum;
}

typedef uint64_t operation(uint64_t x);
static __attribute__((noinline)) uint64_t plus(uint64_t x)
{
    return x + 5;
}
static __attribute__((noinline)) uint64_t twice(uint64_t x)
{
    return x * 2 + 1;
}
static __attribute__((noinline)) uint64_t mixed(uint64_t x)
{
    return x ^ 0x77;
}
static operation *const volatile operations[] = {plus, twice, mixed, plus};

KERNEL uint64_t call_any(void)
{
    uint64_t x = 1;

    for (int i = 0; i < 40000; i++) {
        x = operations[chance() & 3](x); /* WHY branch_indirect */
        KEEP(x);
    }
    return x;
}

KERNEL void lock_one(void)
{
    for (int i = 0; i < 20000; i++)
        __atomic_fetch_or((uint64_t *)(void *)memory, 1, __ATOMIC_SEQ_CST); /* WHY atomic */
}

/* A page each: their lines fit L2, their pages not the TLBs. */
KERNEL uint64_t page_each(void)
{
    const volatile uint64_t *words = (const volatile void *)memory;
    uint64_t sum = 0;

    for (int round = 0; round < 16; round++)
        for (uint64_t i = 0; i < 6000; i++) {
            const uint64_t page = i * 2741 % 6000;
            sum += words[page * 512 + page % 61 * 8]; /* WHY tlb_reach */
        }
    return sum;
}

int main(void)
{
    double sum = 0;

    memory = aligned_alloc(4096, MEMORY_MB * MB);
    if (!memory)
        return 1;
    memset(memory, 0, MEMORY_MB * MB);
    int32_t *places = make_places(160000, 8 * MB / 4);
    /* clang-format off */
    sum += column_of_doubles() + (double)records_of_72() + (double)same_set() + (double)random_4mb() + (double)random_64mb();
    sum += (double)misaligned_vectors() + (double)packed_numbers();
    gather_vectors(places);
    count_one();
    sum += (double)chain_of_adds() + polynomial() + chain_of_quotients() + (double)smallest() + (double)vector_of_scalars();
    port_of_lanes(); port_of_products(); port_of_rotations(); port_of_stores(); lock_one();
    sum += (double)sweep() + (double)branch_by_chance() + (double)branch_every_third() + (double)branch_of_17();
    sum += (double)branch_of_301() + (double)branch_again() + (double)short_loops() + (double)larger_of_known();
    sum += (double)larger_of_any() + (double)call_any() + (double)page_each() + (double)sum_list() + (double)short_list();
    /* clang-format on */
    free(places);
    printf("%g\n", sum);
    return 0;
}
