/* SPDX-License-Identifier: MIT */
/*
 * loops ROUNDS THREADS: loops of which each has one known bound and a known number of iterations, a
 * function each. tests/e2e/loops.py knows them.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL __attribute__((noinline, noclone))

#ifdef __x86_64__
#    define ADD4(a, b) \
        __asm__ volatile("add %1,%0\n\tadd %1,%0\n\tadd %1,%0\n\tadd %1,%0" : "+r"(a) : "r"(b))
#    define MULTIPLY(a, b) __asm__ volatile("imul %1,%0" : "+r"(a) : "r"(b))
#    define LOAD6(p)                                                                 \
        __asm__ volatile("mov (%0),%%rax\n\tmov 8(%0),%%rcx\n\tmov 16(%0),%%rdx\n\t" \
                         "mov 24(%0),%%rsi\n\tmov 32(%0),%%r8\n\tmov 40(%0),%%r9"    \
                         :                                                           \
                         : "r"(p)                                                    \
                         : "rax", "rcx", "rdx", "rsi", "r8", "r9")
#    define STORE4(p, v)                                                                 \
        __asm__ volatile("mov %1,(%0)\n\tmov %1,8(%0)\n\tmov %1,16(%0)\n\tmov %1,24(%0)" \
                         :                                                               \
                         : "r"(p), "r"(v)                                                \
                         : "memory")
#else
#    define ADD4(a, b)                                                                  \
        __asm__ volatile("add %0,%0,%1\n\tadd %0,%0,%1\n\tadd %0,%0,%1\n\tadd %0,%0,%1" \
                         : "+r"(a)                                                      \
                         : "r"(b))
#    define MULTIPLY(a, b) __asm__ volatile("mul %0,%0,%1" : "+r"(a) : "r"(b))
#    define LOAD6(p)                                                          \
        __asm__ volatile("ldr x1,[%0]\n\tldr x2,[%0,8]\n\tldr x3,[%0,16]\n\t" \
                         "ldr x4,[%0,24]\n\tldr x5,[%0,32]\n\tldr x6,[%0,40]" \
                         :                                                    \
                         : "r"(p)                                             \
                         : "x1", "x2", "x3", "x4", "x5", "x6")
#    define STORE4(p, v)                                                                    \
        __asm__ volatile("str %1,[%0]\n\tstr %1,[%0,8]\n\tstr %1,[%0,16]\n\tstr %1,[%0,24]" \
                         :                                                                  \
                         : "r"(p), "r"(v)                                                   \
                         : "memory")
#endif
#define TEN(x) x x x x x x x x x x

static uint64_t line[8] __attribute__((aligned(64)));
enum { LINES = 1 << 17 };
static struct line {
    struct line *next;
    uint64_t rest[7];
} * lines;

KERNEL uint64_t add_chain(uint64_t rounds)
{
    uint64_t a = 0;

    for (uint64_t i = 0; i < rounds; i++)
        ADD4(a, i);
    return a;
}

KERNEL uint64_t multiply_chain(uint64_t rounds)
{
    uint64_t a = 3;

    for (uint64_t i = 0; i < rounds; i++)
        MULTIPLY(a, i);
    return a;
}

KERNEL uint64_t divides(uint64_t rounds)
{
    uint64_t sum = 0;

    for (uint64_t i = 1; i <= rounds; i++)
        sum += (UINT64_C(0x123456789abcdef) + i) / (i | 1);
    return sum;
}

KERNEL uint64_t loads(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        LOAD6(line);
    return 0;
}

KERNEL uint64_t stores(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        STORE4(line, i);
    return 0;
}

KERNEL uint64_t wide(uint64_t rounds)
{
    for (uint64_t i = 0; i < rounds; i++)
        __asm__ volatile(TEN("nop\n\t") TEN("nop\n\t") TEN("nop\n\t") TEN("nop\n\t") "");
    return 0;
}

KERNEL uint64_t chase(uint64_t rounds)
{
    struct line *at = lines;

    for (uint64_t i = 0; i < rounds; i++)
        at = at->next;
    return (uint64_t)(uintptr_t)at;
}

KERNEL uint64_t chase_near(uint64_t rounds)
{
    struct line here, *at = &here;

    here.next = &here;
    __asm__ volatile("" : "+r"(at) : : "memory");
    for (uint64_t i = 0; i < rounds; i++)
        at = at->next;
    return (uint64_t)(uintptr_t)at;
}

KERNEL uint64_t guesses(uint64_t rounds)
{
    uint64_t x = 88172645463325252U, sum = 0;

    for (uint64_t i = 0; i < rounds; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        if (x & 1)
            __asm__ volatile("nop" : "+r"(sum));
    }
    return sum + x;
}

KERNEL uint64_t in_memory(uint64_t rounds)
{
    volatile uint64_t sum = 0;

    for (uint64_t i = 0; i < rounds; i++)
        sum += i;
    return sum;
}

KERNEL uint64_t nested(uint64_t outer, uint64_t middle, uint64_t inner)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < outer; i++) {
        __asm__ volatile("" : "+r"(sum));
        for (uint64_t j = 0; j < middle; j++) {
            __asm__ volatile("" : "+r"(sum));
            for (uint64_t k = 0; k < inner; k++)
                MULTIPLY(sum, k);
        }
    }
    return sum;
}

KERNEL uint64_t callee(uint64_t a)
{
    MULTIPLY(a, a);
    MULTIPLY(a, a);
    MULTIPLY(a, a);
    MULTIPLY(a, a);
    return a;
}

KERNEL uint64_t caller(uint64_t rounds)
{
    uint64_t a = 1;

    for (uint64_t i = 0; i < rounds; i++)
        a = callee(a);
    return a;
}

KERNEL uint64_t recursive(unsigned depth)
{
    uint64_t sum = 1;

    for (unsigned i = 0; depth > 0 && i < 3; i++)
        sum += recursive(depth - 1);
    return sum;
}

static void *in_thread(void *rounds)
{
    static uint64_t sums[64];

    sums[0] += add_chain(*(uint64_t *)rounds);
    return NULL;
}

static void link_lines(void)
{
    lines = aligned_alloc(64, LINES * sizeof(*lines));
    for (uint64_t i = 0; i < LINES; i++)
        lines[i * 40503 % LINES].next = &lines[(i + 1) * 40503 % LINES];
}

int main(int argc, char **argv)
{
    uint64_t rounds = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000;
    const unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 0;
    pthread_t ids[64];
    uint64_t sum = 0;

    link_lines();
    for (unsigned t = 0; t < threads && t < 64; t++)
        pthread_create(&ids[t], NULL, in_thread, &rounds);
    for (unsigned t = 0; t < threads && t < 64; t++)
        pthread_join(ids[t], NULL);
    sum += add_chain(rounds) + multiply_chain(rounds) + divides(rounds) + loads(rounds);
    sum += stores(rounds) + wide(rounds) + chase(rounds) + chase_near(rounds) + guesses(rounds) +
           in_memory(rounds);
    sum += nested(20, 30, 40) + caller(rounds) + recursive(7);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
