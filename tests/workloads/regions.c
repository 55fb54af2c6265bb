/* SPDX-License-Identifier: MIT */
/*
 * Regions whose instructions are known: regions CASE N. A round of spin() is two instructions, so
 * that a region that spins twice as long has so many more and no other.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tdprof/region.h"

#if defined(__aarch64__)
#    define SPIN "1: subs %0, %0, #1\n\tb.ne 1b"
#else
#    define SPIN "1: dec %0\n\tjnz 1b"
#endif

static __attribute__((noinline)) void spin(unsigned long rounds)
{
    __asm__ volatile(SPIN : "+r"(rounds) : : "cc");
}

static void spin_in(const char *name, unsigned long rounds)
{
    tdprof_region_begin(name);
    spin(rounds);
    tdprof_region_end(name);
}

/* Five calls: of N, 2 N, ... 5 N rounds. */
static void nested(unsigned long n)
{
    tdprof_region_begin("outer");
    for (unsigned long i = 1; i <= 5; i++)
        spin_in("inner", i * n);
    spin_in("once", n);
    tdprof_region_end("outer");
    spin_in("inner", n);
}

static void *thread(void *rounds)
{
    for (int i = 0; i < 3; i++)
        spin_in("shared name", *(unsigned long *)rounds);
    return NULL;
}

static void threads(unsigned long n)
{
    unsigned long rounds[4] = {n, 2 * n, 3 * n, 4 * n};
    pthread_t ids[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&ids[i], NULL, thread, &rounds[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
}

/* Begun here and ended there, which is no end. */
static void *ends_foreign(void *unused)
{
    tdprof_region_end("foreign");
    return unused;
}

static void misuse(unsigned long n)
{
    pthread_t id;

    tdprof_region_begin(NULL);
    tdprof_region_end(NULL);
    tdprof_region_end("never begun");
    tdprof_region_begin("around");
    tdprof_region_begin("forgotten");
    spin(n);
    tdprof_region_end("around");
    tdprof_region_end("forgotten");
    tdprof_region_begin("foreign");
    pthread_create(&id, NULL, ends_foreign, NULL);
    pthread_join(id, NULL);
    spin(n);
    tdprof_region_end("foreign");
    tdprof_region_begin("");
    tdprof_region_end("");
    tdprof_region_begin("never ended");
    spin(n);
}

/* N names, and N regions in one another. */
static void many(unsigned long n)
{
    char name[] = "name 0000000";

    for (unsigned long i = 0; i < n; i++) {
        for (char *digit = name + sizeof(name) - 2; ++*digit > '9'; digit--)
            *digit = '0';
        tdprof_region_begin(name);
        tdprof_region_end(name);
    }
    for (unsigned long i = 0; i < 100; i++)
        tdprof_region_begin("deep");
    for (unsigned long i = 0; i < 100; i++)
        tdprof_region_end("deep");
    spin_in("after", 1000);
}

static void forks(unsigned long n)
{
    tdprof_region_begin("across");
    spin(n);
    const pid_t child = fork();
    if (child == 0) {
        spin(3 * n);
        tdprof_region_end("across");
        spin_in("child", n);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tdprof_region_end("across");
}

/* Loads that wait for memory, right up to the end of their region: N times. */
static void waits(unsigned long n)
{
    enum { LINES = 1 << 16 };
    static char *lines[LINES * 8];
    char **at = lines;

    for (unsigned long i = 0; i < LINES; i++)
        lines[i * 8] = (char *)&lines[(i * 40503 + 12345) % LINES * 8];
    for (unsigned long i = 0; i < n; i++) {
        tdprof_region_begin("misses");
        for (int k = 0; k < 4; k++)
            at = (char **)*at;
        tdprof_region_end("misses");
        spin_in("after", at == lines ? 20 : 10);
    }
}

static void killed(unsigned long n)
{
    for (int i = 0; i < 7; i++)
        spin_in("whole", n);
    tdprof_region_begin("cut");
    spin(n);
    raise(SIGKILL);
}

/* What is open at an exec does not end; the new program's regions are of the same thread. */
static void execs(unsigned long n)
{
    char *argv[] = {"regions", "killed", NULL, NULL};
    char rounds[24];

    snprintf(rounds, sizeof(rounds), "%lu", n);
    argv[2] = rounds;
    spin_in("whole", n);
    tdprof_region_begin("replaced");
    execv("/proc/self/exe", argv);
}

static int open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* N threads, one after the other: none leaves a descriptor behind. */
static void churn(unsigned long n)
{
    unsigned long rounds = 100;
    pthread_t id;

    thread(&rounds);
    const int before = open_descriptors();
    for (unsigned long i = 0; i < n; i++) {
        pthread_create(&id, NULL, thread, &rounds);
        pthread_join(id, NULL);
    }
    printf("%d descriptors more\n", open_descriptors() - before);
}

static pthread_barrier_t met;

static void *stay(void *rounds)
{
    thread(rounds);
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&met);
    return NULL;
}

/* N threads at the same time: how many descriptors are left. */
static void crowd(unsigned long n)
{
    unsigned long rounds = 100;
    pthread_t *ids = calloc(n, sizeof(*ids));

    pthread_barrier_init(&met, NULL, (unsigned)n + 1);
    for (unsigned long i = 0; i < n; i++)
        pthread_create(&ids[i], NULL, stay, &rounds);
    pthread_barrier_wait(&met);
    printf("%ld\n", sysconf(_SC_OPEN_MAX) - open_descriptors());
    pthread_barrier_wait(&met);
    for (unsigned long i = 0; i < n; i++)
        pthread_join(ids[i], NULL);
    free(ids);
}

/* The program closes all that it did not open, and goes on with descriptors of its own. */
static void closes(unsigned long n)
{
    spin_in("whole", n);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int fd = 3; fd < 1000; fd++)
        open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 6; i++)
        spin_in("whole", n);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(unsigned long n);
    } cases[] = {{"nested", nested}, {"threads", threads}, {"misuse", misuse}, {"many", many},
                 {"forks", forks},   {"killed", killed},   {"execs", execs},   {"churn", churn},
                 {"closes", closes}, {"crowd", crowd},     {"waits", waits}};
    const unsigned long n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

    for (size_t i = 0; argc > 2 && n > 0 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run(n);
            return 0;
        }
    }
    fprintf(stderr, "usage: regions "
                    "nested|threads|misuse|many|forks|killed|execs|churn|closes|crowd|waits N\n");
    return 2;
}
