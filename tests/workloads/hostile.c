/* SPDX-License-Identifier: MIT */
/* Time in a function whose name objcopy makes hostile (escape sequence, newline, semicolon, HTML,
 * invalid UTF-8), in a process and a thread whose names are. hostile [SECONDS] */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "work.h"

uint64_t hostile_symbol(uint64_t x);

__attribute__((noinline)) uint64_t hostile_symbol(uint64_t x)
{
    return work_chain(x, 100000);
}

static double end;

static void *run(void *arg)
{
    uint64_t x = 1;

    prctl(PR_SET_NAME, arg);
    while (work_cpu_s() < end)
        x = hostile_symbol(x);
    return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
    pthread_t thread;

    end = work_end_s(argc, argv);
    prctl(PR_SET_NAME, "\033[31m;m\n\xff\"\\,");
    pthread_create(&thread, NULL, run, "t\033]0;x\a;\n\xc2\x9b");
    run("\033[31m;m\n\xff\"\\,");
    pthread_join(thread, NULL);
    return 0;
}
