/* SPDX-License-Identifier: MIT */
/* Known amounts of work for the counters: threads and forked children that each run a loop of
 * LOOP_INSNS instructions so many times. work THREADS CHILDREN ROUNDS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 16
#define LOOP_INSNS  4 /* of the assembly below, each round */

__attribute__((noinline)) static void spin(unsigned long rounds)
{
    __asm__ volatile("1: add x9, x9, #1\n"
                     "   eor x10, x9, x10\n"
                     "   subs %0, %0, #1\n"
                     "   b.ne 1b\n"
                     : "+r"(rounds)
                     :
                     : "x9", "x10", "cc");
}

static void *thread_main(void *arg)
{
    spin(*(const unsigned long *)arg);
    return NULL;
}

int main(int argc, char **argv)
{
    const unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2;
    const unsigned children = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2;
    unsigned long rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000;
    pthread_t ids[THREADS_MAX];

    if (threads > THREADS_MAX)
        return 2;
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, thread_main, &rounds);
    for (unsigned i = 0; i < children; i++) {
        if (fork() == 0) {
            spin(rounds);
            _exit(0);
        }
    }
    spin(rounds);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    while (wait(NULL) > 0)
        continue;
    printf("%lu\n", rounds * LOOP_INSNS * (1 + threads + children));
    return 0;
}
