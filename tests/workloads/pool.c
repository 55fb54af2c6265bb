/* SPDX-License-Identifier: MIT */
/* Eight threads named worker-0 to worker-7; each takes the same share of work from a queue, worker
 * 0 twice as much. pool [SECONDS] */
#include <pthread.h>
#include <stdio.h>

#include "work.h"

#define THREADS 8
#define UNIT    100000ul

struct worker {
    pthread_t thread;
    unsigned id, rounds;
    uint64_t result;
};

__attribute__((noinline)) static uint64_t pool_work(uint64_t x)
{
    return work_chain(x, UNIT);
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    char name[16];

    snprintf(name, sizeof(name), "worker-%u", worker->id);
    pthread_setname_np(pthread_self(), name);
    for (unsigned i = 0; i < worker->rounds; i++)
        worker->result = pool_work(worker->result);
    return NULL;
}

/* How many rounds take a second of CPU here. */
static double rounds_a_second(void)
{
    const double start = work_cpu_s();
    uint64_t x = 1;
    unsigned rounds = 0;

    for (; work_cpu_s() - start < 0.02; rounds++)
        x = pool_work(x);
    return x ? rounds / (work_cpu_s() - start) : 1;
}

int main(int argc, char **argv)
{
    const double rounds = work_seconds(argc, argv) * rounds_a_second() / (THREADS + 1);
    struct worker workers[THREADS] = {0};
    uint64_t sum = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        workers[i].id = i;
        workers[i].rounds = (unsigned)(i ? rounds : 2 * rounds);
        pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        sum += workers[i].result;
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
