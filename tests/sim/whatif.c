/* SPDX-License-Identifier: MIT */
/* Kernels that are each bound by another part of a core: whatif all; whatif long: so often
 * that most of it is sampled; whatif threads: in two threads; whatif processes: in a child, and in
 * a program that it executes. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20000, PLACES = 1 << 17, STEPS = 6000, LONG = 20 };

static uint64_t places[PLACES];

/* Branches that nothing foretells. */
__attribute__((noinline)) static uint64_t guess(void)
{
    uint64_t random = 88172645463325252U, sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (random >> 40 & 1)
            __asm__ volatile("add $3, %0" : "+r"(sum));
        else
            __asm__ volatile("xor $5, %0" : "+r"(sum));
    }
    return sum;
}

__attribute__((noinline)) static uint64_t divide(void)
{
    uint64_t sum = 1;

    for (uint64_t i = 1; i < ROUNDS; i++)
        sum = UINT64_MAX / (sum | i);
    return sum;
}

__attribute__((noinline)) static void fill(void)
{
    for (uint64_t i = 0; i < PLACES; i++)
        places[i] = (i * 2654435761U + 12345) % PLACES;
}

/* A chain of loads, of places that no prefetcher foresees. */
__attribute__((noinline)) static uint64_t walk(void)
{
    uint64_t at = 0;

    for (int i = 0; i < STEPS; i++)
        at = places[at];
    return at;
}

/* One port on many cores, many at a time. */
__attribute__((noinline)) static uint64_t multiply(uint64_t start)
{
    uint64_t a = start, b = start + 1, c = start + 2, d = start + 3;

    for (int i = 0; i < ROUNDS; i++)
        __asm__ volatile("imul $3, %0, %0\n imul $3, %1, %1\n imul $3, %2, %2\n imul $3, %3, %3"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    return a + b + c + d;
}

/* More code than the instruction cache holds, run a few times. */
__attribute__((noinline)) static uint64_t straight(void)
{
    uint64_t sum = 0;

    for (int i = 0; i < 4; i++)
        __asm__ volatile(".rept 4096\n lea 1(%0), %0\n .byte 0x0f,0x1f,0x84,0,0,2,0,0\n .endr"
                         : "+r"(sum));
    return sum;
}

/* As wide as the core: nothing waits for anything. */
__attribute__((noinline)) static uint64_t wide(void)
{
    for (int i = 0; i < ROUNDS; i++)
        __asm__ volatile(".rept 12\n nop\n .endr" ::: "memory");
    return 0;
}

static uint64_t all(void)
{
    fill();
    return guess() + divide() + walk() + multiply(1) + straight() + wide();
}

static void *run_thread(void *ctx)
{
    (void)ctx;
    return (void *)(uintptr_t)(divide() + guess());
}

static int run_threads(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run_thread, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int run_processes(char **argv)
{
    int status = 0;

    if (fork() == 0) {
        divide();
        execl("/proc/self/exe", argv[0], "one", (char *)NULL);
        _exit(1);
    }
    wait(&status);
    return status != 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";

    if (strcmp(what, "threads") == 0)
        return run_threads();
    if (strcmp(what, "processes") == 0)
        return run_processes(argv);
    uint64_t sum = 0;
    for (int i = strcmp(what, "long") == 0 ? LONG : 1; i > 0; i--)
        sum += strcmp(what, "one") == 0 ? divide() : all();
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
