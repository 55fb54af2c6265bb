/* SPDX-License-Identifier: MIT */
/*
 * native_cycles [-r] COMMAND [ARGUMENT...]: runs the command once and prints one line of JSON: its
 * user and system seconds, and the clock and the width that two probes found right before and
 * after. There is no counter of cycles in most virtual machines: a chain of multiplications of
 * known latency is the clock, and independent instructions show whether another thread has a part
 * of the core. The command's output goes to /dev/null. -r: as a realtime process, alone on its CPU
 * (needs privilege).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* imul r64, r64 takes 3 cycles on every core since Nehalem and Zen (uops.info). */
enum { MULTIPLY_CYCLES = 3, PROBE_INSTRUCTIONS = 7, ROUNDS = 4000000, PRIORITY = 50 };

struct probe {
    double hertz;
    double ipc; /* of independent adds: 6 or 7 at full speed */
};

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct probe measure(void)
{
    uint64_t rounds = ROUNDS, x = 3;
    const double start = cpu_seconds();

    __asm__ volatile("1: imul %1,%1\n imul %1,%1\n imul %1,%1\n imul %1,%1\n dec %0\n jnz 1b"
                     : "+r"(rounds), "+r"(x));
    const double middle = cpu_seconds();
    rounds = ROUNDS;
    __asm__ volatile("1: add $1,%%rax\n add $1,%%rsi\n add $1,%%r8\n paddd %%xmm0,%%xmm1\n"
                     " paddd %%xmm0,%%xmm2\n dec %0\n jnz 1b"
                     : "+r"(rounds)
                     :
                     : "rax", "rsi", "r8", "xmm1", "xmm2");
    const double end = cpu_seconds();
    const double hertz = ROUNDS * 4.0 * MULTIPLY_CYCLES / (middle - start);
    return (struct probe){.hertz = hertz,
                          .ipc = ROUNDS * (double)PROBE_INSTRUCTIONS / ((end - middle) * hertz)};
}

static void run_child(char **command)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (null < 0 || dup2(null, 0) < 0)
        _exit(127);
    execvp(command[0], command);
    _exit(127);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    const int first = argc > 1 && strcmp(argv[1], "-r") == 0 ? 2 : 1;
    const struct sched_param priority = {.sched_priority = PRIORITY};
    struct rusage usage;
    int status;

    if (first >= argc) {
        fprintf(stderr, "usage: native_cycles [-r] COMMAND [ARGUMENT...]\n");
        return 2;
    }
    if (first == 2 && sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        fprintf(stderr, "native_cycles: no realtime: %s\n", strerror(errno));
    measure();
    const struct probe before = measure();
    const pid_t child = fork();
    if (child == 0)
        run_child(argv + first);
    if (child < 0 || wait4(child, &status, 0, &usage) < 0)
        return 1;
    const struct probe after = measure();
    fprintf(stderr,
            "{\"status\": %d, \"user\": %.6f, \"system\": %.6f, \"hertz\": [%.0f, %.0f], "
            "\"ipc\": [%.3f, %.3f]}\n",
            status, seconds(usage.ru_utime), seconds(usage.ru_stime), before.hertz, after.hertz,
            before.ipc, after.ipc);
    return 0;
}
