/* SPDX-License-Identifier: MIT */
/* crowd THREADS ROUNDS: so many threads at a time, each with the same little work; the last one
 * forks, and its child works as much again. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work.h"

static pthread_barrier_t all;
static unsigned long count, rounds;

__attribute__((noinline)) static uint64_t crowd_work(uint64_t x)
{
    return work_chain(x, rounds);
}

static void *member(void *arg)
{
    const unsigned long number = *(unsigned long *)arg;
    uint64_t *result = arg;
    int status = 0;

    *result = crowd_work(number);
    pthread_barrier_wait(&all);
    if (number + 1 < count)
        return NULL;
    const pid_t child = fork();
    if (child == 0)
        _exit(crowd_work(*result) == 0);
    if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
        exit(1);
    return NULL;
}

int main(int argc, char **argv)
{
    count = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
    rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 500;
    pthread_t *threads = calloc(count, sizeof(*threads));
    uint64_t *results = calloc(count, sizeof(*results));
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 1 << 16);
    pthread_barrier_init(&all, NULL, (unsigned)count + 1);
    for (unsigned long i = 0; i < count; i++) {
        results[i] = i;
        if (!threads || pthread_create(&threads[i], &attr, member, &results[i]) != 0) {
            perror("crowd");
            return 1;
        }
    }
    pthread_barrier_wait(&all);
    for (unsigned long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    printf("crowd_work %lu times\n", count + 1);
    free(threads);
    free(results);
    return 0;
}
