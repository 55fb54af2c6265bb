/* SPDX-License-Identifier: MIT */
/* Children that execute another program, and get a signal at any moment of it: none may be lost.
 * signalled COUNT STEP_US: the child number i gets it i steps after its start. Prints how many it
 * did not end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_us(long us)
{
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 20;
    const long step_us = argc > 2 ? atol(argv[2]) : 100;
    int left = 0;

    for (int i = 0; i < count; i++) {
        int status = 0;
        const pid_t child = fork();

        if (child == 0) {
            execlp("sleep", "sleep", "4", (char *)NULL);
            _exit(127);
        }
        sleep_us(i * step_us);
        kill(child, SIGTERM);
        waitpid(child, &status, 0);
        left += !WIFSIGNALED(status);
    }
    printf("%d\n", left);
    return 0;
}
