/* SPDX-License-Identifier: MIT */
/* storm [CHILDREN [MICROSECONDS]]: children one after the other, each exec'ed anew under the name
 * "leaf", each burning so much CPU in leaf_work(); the parent burns as much in parent_work(). */
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "work.h"

extern char **environ;

__attribute__((noinline)) static uint64_t leaf_work(uint64_t x)
{
    return work_chain(x, 20000);
}

__attribute__((noinline)) static uint64_t parent_work(uint64_t x)
{
    return work_chain(x, 20000) + 1; /* not the same code as leaf_work's: they would be merged */
}

static double cpu_us(void)
{
    return work_cpu_s() * 1e6;
}

static int leaf_main(double burn_us)
{
    const double start = cpu_us();
    uint64_t x = 1;

    while (cpu_us() - start < burn_us)
        x = leaf_work(x);
    return x == 0;
}

int main(int argc, char **argv)
{
    const unsigned children = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 200;
    const double burn_us = argc > 2 ? strtod(argv[2], NULL) : 1000;
    uint64_t x = 1;

    if (strcmp(argv[0], "leaf") == 0)
        return leaf_main(burn_us);
    for (unsigned i = 0; i < children; i++) {
        char *words[] = {"leaf", "0", argc > 2 ? argv[2] : "1000", NULL};
        const double start = cpu_us();
        pid_t pid = 0;
        int status = 0;

        if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, words, environ) != 0)
            return 1;
        while (cpu_us() - start < burn_us)
            x = parent_work(x);
        waitpid(pid, &status, 0);
        if (status != 0)
            return 1;
    }
    printf("%llu\n", (unsigned long long)x);
    return 0;
}
