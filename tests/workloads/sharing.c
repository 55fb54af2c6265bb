/* SPDX-License-Identifier: MIT */
/*
 * Threads that share lines of the cache in known ways. Each goes on until all have done their part,
 * so that they meet whatever the machine does. Lines that a test looks for are marked.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sharing_library.h"

enum { THREADS = 2, LINES = 256, WORDS = 8, ROUNDS = 40 };

struct apart {
    volatile long value;
    char rest[120];
};

static _Alignas(64) volatile long counters[8];
static _Alignas(128) struct apart padded[THREADS];
static _Alignas(64) atomic_long total;
static _Alignas(64) struct {
    atomic_int taken;
    volatile long guarded;
} spinlock;
static _Alignas(64) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(64) volatile long under_mutex;
static _Alignas(64) long table[LINES * WORDS];
static _Alignas(64) long buffer[LINES * WORDS];
static _Alignas(64) atomic_int done;
static _Alignas(64) long rounds;
static pthread_barrier_t begin, turn;
static int pipes[2][2];
static _Alignas(64) atomic_int whose;
/* In one line behind another object, which nobody uses. */
__asm__(".pushsection .bss.ball, \"aw\", %nobits\n"
        ".balign 64\n"
        ".type tag, %object\n"
        ".size tag, 1\n"
        "tag: .zero 8\n"
        ".type ball, %object\n"
        ".size ball, 8\n"
        "ball: .zero 56\n"
        ".popsection\n");
extern volatile long ball __attribute__((visibility("hidden")));
static _Alignas(64) long before[LINES * WORDS], after[LINES * WORDS];

static void add_false(int thread)
{
    library_add(&counters[thread]); /* MARK false */
}

static void add_padded(int thread)
{
    ++padded[thread].value;
}

static void add_atomic(int thread)
{
    (void)thread;
    atomic_fetch_add(&total, 1); /* MARK atomic */
}

static void add_locked(int thread)
{
    (void)thread;
    while (atomic_exchange(&spinlock.taken, 1)) /* MARK lock */
        ;
    ++spinlock.guarded;
    atomic_store_explicit(&spinlock.taken, 0, memory_order_release);
}

static void add_mutex(int thread)
{
    (void)thread;
    library_lock(&mutex);
    ++under_mutex;
    pthread_mutex_unlock(&mutex);
}

static void read_table(int thread)
{
    static _Thread_local long sum;

    for (int i = thread; i < LINES * WORDS; i += WORDS)
        sum += table[i];
    if (sum == 42)
        puts("42");
}

static void produce(void)
{
    for (int i = 0; i < LINES * WORDS; i++)
        buffer[i] = i; /* MARK produce */
}

static long consume(void)
{
    long sum = 0;

    for (int i = 0; i < LINES * WORDS; i += WORDS)
        sum += buffer[i]; /* MARK consume */
    return sum;
}

static const struct {
    const char *name;
    void (*step)(int thread);
} kernels[] = {
    {"false", add_false}, {"padded", add_padded}, {"atomic", add_atomic},
    {"lock", add_locked}, {"mutex", add_mutex},   {"readers", read_table},
};

struct job {
    void (*step)(int thread);
    int thread;
};

static void *work(void *ctx)
{
    const struct job *job = ctx;

    pthread_barrier_wait(&begin);
    for (long i = 0; i < rounds; i++)
        job->step(job->thread);
    atomic_fetch_add(&done, 1);
    while (atomic_load_explicit(&done, memory_order_relaxed) < THREADS) {
        for (int i = 0; i < 64; i++)
            job->step(job->thread);
    }
    return NULL;
}

static void *hand_over(void *ctx)
{
    const struct job *job = ctx;
    long sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        if (job->thread == 0)
            produce();
        pthread_barrier_wait(&turn);
        if (job->thread == 1)
            sum += consume();
        pthread_barrier_wait(&turn);
    }
    if (sum == 42)
        puts("42");
    return NULL;
}

static inline __attribute__((always_inline)) void hit(void)
{
    ++ball; /* MARK ball */
}

/* The ball goes to and fro by way of a pipe each. */
static void *pass_by_pipe(void *ctx)
{
    const struct job *job = ctx;
    char byte = 0;

    for (long i = 0; i < rounds; i++) {
        if (read(pipes[job->thread][0], &byte, 1) != 1)
            return NULL;
        hit();
        if (write(pipes[1 - job->thread][1], &byte, 1) != 1)
            return NULL;
    }
    return NULL;
}

/* The same; who waits looks again whenever it has let others go first. */
static void *pass_by_yield(void *ctx)
{
    const struct job *job = ctx;

    for (long i = 0; i < rounds; i++) {
        while (atomic_load_explicit(&whose, memory_order_acquire) != job->thread)
            sched_yield();
        hit();
        atomic_store_explicit(&whose, 1 - job->thread, memory_order_release);
    }
    return NULL;
}

/* What main has written before there was a thread. */
static void *copy_once(void *ctx)
{
    const struct job *job = ctx;

    for (int i = 0; i < LINES * WORDS && job->thread == 0; i += WORDS)
        after[i] = before[i] + 1; /* MARK copy */
    return NULL;
}

static int run(void *(*begin_thread)(void *), void (*step)(int thread))
{
    pthread_t threads[THREADS];
    struct job jobs[THREADS];

    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){.step = step, .thread = i};
        if (pthread_create(&threads[i], NULL, begin_thread, &jobs[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int pass(void *(*begin_thread)(void *))
{
    const char byte = 0;

    if (pipe(pipes[0]) != 0 || pipe(pipes[1]) != 0 || write(pipes[0][1], &byte, 1) != 1)
        return 1;
    return run(begin_thread, NULL);
}

static int hand_over_once(void)
{
    long sum = 0;

    for (int i = 0; i < LINES * WORDS; i += WORDS)
        before[i] = i;
    if (run(copy_once, NULL) != 0)
        return 1;
    for (int i = 0; i < LINES * WORDS; i += WORDS)
        sum += after[i]; /* MARK sum */
    return sum == 42;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 100000;
    pthread_barrier_init(&begin, NULL, THREADS);
    pthread_barrier_init(&turn, NULL, THREADS);
    if (strcmp(name, "handover") == 0)
        return run(hand_over, NULL);
    if (strcmp(name, "pipe") == 0)
        return pass(pass_by_pipe);
    if (strcmp(name, "yield") == 0)
        return pass(pass_by_yield);
    if (strcmp(name, "once") == 0)
        return hand_over_once();
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        if (strcmp(name, kernels[i].name) == 0)
            return run(work, kernels[i].step);
    }
    fputs("usage: sharing false|padded|atomic|lock|mutex|readers|handover|pipe|yield|once "
          "[ROUNDS]\n",
          stderr);
    return 2;
}
