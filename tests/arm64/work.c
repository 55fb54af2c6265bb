/* SPDX-License-Identifier: MIT */
/* Known amounts of work for the counters: threads and forked children that each run a loop of
 * LOOP_INSNS instructions so many times, with a system call each STEP of them if that is given.
 * work THREADS CHILDREN ROUNDS [STEP] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS_MAX 16
#define LOOP_INSNS  4 /* of the assembly below, each round */

struct amount {
    unsigned long rounds, step;
};

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

static void work(const struct amount *amount)
{
    for (unsigned long done = 0; done < amount->rounds; done += amount->step) {
        spin(amount->step);
        if (amount->step < amount->rounds)
            getppid();
    }
}

static void *thread_main(void *arg)
{
    work(arg);
    return NULL;
}

int main(int argc, char **argv)
{
    const unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2;
    const unsigned children = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2;
    struct amount amount = {.rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 1000000};
    pthread_t ids[THREADS_MAX];

    amount.step = argc > 4 ? strtoul(argv[4], NULL, 10) : amount.rounds;
    if (threads > THREADS_MAX || amount.step == 0)
        return 2;
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, thread_main, &amount);
    for (unsigned i = 0; i < children; i++) {
        if (fork() == 0) {
            work(&amount);
            _exit(0);
        }
    }
    work(&amount);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    while (wait(NULL) > 0)
        continue;
    printf("%lu\n", amount.rounds * LOOP_INSNS * (1 + threads + children));
    return 0;
}
