/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a begin and an end that read EVENTS counters without a system call, counted
 * one by one: region_cost EVENTS. The kernel's pages are made up, and a counter is read by an
 * instruction that every machine has, in as many instructions as an rdpmc. tdrec records it.
 */
#if defined(__x86_64__)
static inline unsigned long ticks(unsigned counter)
{
    unsigned low, high;

    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : "c"(counter));
    return (unsigned long)high << 32 | low;
}
#else
static inline unsigned long ticks(unsigned counter)
{
    unsigned long value;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value) : "r"(counter));
    return value;
}
#endif
#define TDPROF_RDPMC(counter) ticks(counter)
#define TDPROF_TICKS()        ticks(0)
#include "tdprof/region.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 100 };

/* As if this thread had opened so many events. */
static void make_up(uint32_t events)
{
    static struct tdprof1_page pages[TDPROF_EVENTS_MAX];
    struct tdprof1_thread *t = tdprof1_self;

    if (tdprof1_state != TDPROF_ON) {
        fprintf(stderr, "region_cost: tdrec does not record it\n");
        exit(2);
    }
    for (uint32_t e = 0; e < events; e++) {
        pages[e] = (struct tdprof1_page){.index = e + 1, .pmc_width = 48, .lock = 2};
        t->pages[e] = &pages[e];
    }
    t->kind = TDPROF_KIND_USER;
    t->event_count = events;
    t->timed = 1;
    t->time_mult = 1;
    t->width_shift = 16;
}

static void pairs(int count)
{
    for (int i = 0; i < count; i++) {
        tdprof_region_begin("assemble");
        tdprof_region_end("assemble");
    }
}

static void run_child(uint32_t events)
{
    tdprof_region_begin("assemble");
    make_up(events);
    tdprof_region_end("assemble");
    pairs(2);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(3);
    raise(SIGSTOP);
    pairs(PAIRS);
    raise(SIGSTOP);
    _exit(0);
}

/* From one stop to the other. */
static long count_steps(pid_t child)
{
    int status = 0;
    long steps = 0;

    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return -1;
    do {
        if (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) < 0 || waitpid(child, &status, 0) != child)
            return -1;
        steps++;
    } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return steps;
}

int main(int argc, char **argv)
{
    const uint32_t events = argc > 1 ? (uint32_t)atoi(argv[1]) : 0;
    const pid_t child = fork();

    if (child == 0)
        run_child(events);
    const long steps = count_steps(child);
    if (steps < 0)
        printf("ptrace is not allowed here\n");
    else
        printf("%.1f instructions\n", (double)steps / PAIRS);
    return 0;
}
