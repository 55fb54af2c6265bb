/* SPDX-License-Identifier: MIT */
/*
 * native_cycles [-r] COMMAND [ARGUMENT...]: runs the command once and prints one line of JSON: its
 * user and system seconds, the clock and the width that probes beside it found. There is no counter
 * of cycles in most virtual machines: a chain of multiplications of known latency is the clock, and
 * instructions that wait for nothing show whether another thread has a part of the core (no
 * vectors: Zen 5's additions take one cycle or two). The run begins as soon as short probes find
 * the core free of one, at the latest after WAIT_SECONDS. A probe of some ten microseconds
 * interrupts it each millisecond: the mean cycles of a round in these tell how much of the core
 * others had. The command's input is empty. -r: as a realtime process, alone on its CPU (needs
 * privilege).
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
enum { MULTIPLY_CYCLES = 3, PROBE_INSTRUCTIONS = 7, PRIORITY = 50 };
/* A part of a probe takes some 0.1 ms: a neighbour comes and goes in tens of milliseconds. */
enum { ROUNDS = 10000, FREE_ROUNDS = 12 * ROUNDS, PARTS = 10 };
enum { WAIT_SECONDS = 5, PAUSE_NANOSECONDS = 300000, FREE_IN_A_ROW = 3 };
enum { WATCH_NANOSECONDS = 1000000, WATCH_ROUNDS = 4 * ROUNDS, WATCH_CHAIN = ROUNDS / 4 };
#define IPC_FREE  5.6 /* with another thread half as many */
#define ROUND_MAX 3.0 /* cycles: more is not another thread but an interrupt */
#define CLOCK_MIN 0.7 /* of the clock before: less is not the clock but an interrupt */

struct probe {
    double hertz;
    double ipc; /* 6 or 7 at full speed */
};

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Both loops begin a line: one that goes over the end of a line takes two cycles a round. */
static double multiply_seconds(uint64_t count)
{
    uint64_t rounds = count, x = 3;
    const double start = cpu_seconds();

    __asm__ volatile(
        ".p2align 6\n1: imul %1,%1\n imul %1,%1\n imul %1,%1\n imul %1,%1\n dec %0\n jnz 1b"
        : "+r"(rounds), "+r"(x));
    return cpu_seconds() - start;
}

static double clock_of(uint64_t rounds)
{
    return (double)rounds * 4 * MULTIPLY_CYCLES / multiply_seconds(rounds);
}

static double free_seconds(uint64_t count)
{
    uint64_t rounds = count;
    const double start = cpu_seconds();

    __asm__ volatile(".p2align 6\n1: nop\n nop\n nop\n nop\n add $1,%%rax\n dec %0\n jnz 1b"
                     : "+r"(rounds)
                     :
                     : "rax");
    return cpu_seconds() - start;
}

/* The clock is that of the fastest part, the instructions per cycle are those of all parts. */
static struct probe measure(int parts)
{
    double hertz = 0, all = 0;

    for (int i = 0; i < parts; i++) {
        const double clock = clock_of(ROUNDS);
        all += free_seconds(FREE_ROUNDS);
        hertz = clock > hertz ? clock : hertz;
    }
    return (struct probe){
        .hertz = hertz,
        .ipc = parts * (double)FREE_ROUNDS * PROBE_INSTRUCTIONS / (all * hertz),
    };
}

/* Until no other thread has a part of the core, or WAIT_SECONDS. */
static void wait_until_free(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    const time_t end = time(NULL) + WAIT_SECONDS;

    for (int found = 0; found < FREE_IN_A_ROW && time(NULL) < end;) {
        if (measure(1).ipc > IPC_FREE) {
            found++;
        } else {
            found = 0;
            nanosleep(&pause, NULL);
        }
    }
}

static void run_child(char **command)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (null < 0 || dup2(null, 0) < 0)
        _exit(127);
    execvp(command[0], command);
    _exit(127);
}

/* Means of the probes beside the child; 0: none was undisturbed. */
struct beside {
    double cycles; /* of a round */
    double hertz;
};

/* Waits for the child. */
static struct beside watch(pid_t child, double hertz, int *status, struct rusage *usage)
{
    const struct timespec period = {.tv_nsec = WATCH_NANOSECONDS};
    struct beside sum = {0, 0};
    int count = 0;

    while (wait4(child, status, WNOHANG, usage) == 0) {
        const double clock = clock_of(WATCH_CHAIN);
        const double cycles = free_seconds(WATCH_ROUNDS) * clock / WATCH_ROUNDS;
        if (cycles <= ROUND_MAX && clock > CLOCK_MIN * hertz) {
            sum.cycles += cycles;
            sum.hertz += clock;
            count++;
        }
        nanosleep(&period, NULL);
    }
    return count ? (struct beside){sum.cycles / count, sum.hertz / count} : sum;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    const int first = argc > 1 && strcmp(argv[1], "-r") == 0 ? 2 : 1;
    const struct sched_param priority = {.sched_priority = PRIORITY}, above = {PRIORITY + 1};
    struct rusage usage;
    int status;

    if (first >= argc) {
        fprintf(stderr, "usage: native_cycles [-r] COMMAND [ARGUMENT...]\n");
        return 2;
    }
    if (first == 2 && sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
        fprintf(stderr, "native_cycles: no realtime: %s\n", strerror(errno));
    wait_until_free();
    const struct probe before = measure(PARTS);
    const pid_t child = fork();
    if (child == 0)
        run_child(argv + first);
    if (child < 0)
        return 1;
    if (first == 2)
        sched_setscheduler(0, SCHED_FIFO, &above);
    const struct beside beside = watch(child, before.hertz, &status, &usage);
    fprintf(stderr,
            "{\"status\": %d, \"user\": %.6f, \"system\": %.6f, \"hertz\": %.0f, "
            "\"beside\": %.4f}\n",
            status, seconds(usage.ru_utime), seconds(usage.ru_stime), beside.hertz, beside.cycles);
    return 0;
}
