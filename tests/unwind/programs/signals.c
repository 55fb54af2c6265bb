/* SPDX-License-Identifier: MIT */
/* Signal handlers over library code (qsort, the vdso) in two threads; with an argument the handlers
 * run on a stack of their own. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static volatile double sink;

__attribute__((noinline)) static double work(int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += i / (sum + 1);
    return sum;
}

static void handler(int number)
{
    (void)number;
    sink += work(20000);
}

static int compare(const void *a, const void *b)
{
    sink += work(20);
    return *(const int *)a - *(const int *)b;
}

static void sorts(void)
{
    int values[1000];

    for (int i = 0; i < 1000; i++)
        values[i] = rand();
    qsort(values, 1000, sizeof(values[0]), compare);
}

static void *thread(void *arg)
{
    struct timespec t;

    for (int i = 0; i < 150; i++) {
        sorts();
        for (int k = 0; k < 10000; k++)
            clock_gettime(CLOCK_MONOTONIC, &t);
    }
    return arg;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    const stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    pthread_t other;

    (void)argv;
    if (argc > 1) {
        sigaltstack(&stack, NULL);
        action.sa_flags |= SA_ONSTACK;
    }
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    pthread_create(&other, NULL, thread, NULL);
    for (int i = 0; i < 150; i++)
        sorts();
    pthread_join(other, NULL);
    printf("%g\n", sink);
    return 0;
}
