/* SPDX-License-Identifier: MIT */
/*
 * What a faked machine runs while it is sampled, from a small text. A line is one of
 *
 *     map START SIZE OFFSET PATH    code that the command has mapped
 *     name NAME                     of the command
 *     thread N NAME                 a thread of the command, N from 1; 0 is its first
 *     period EVENT N                what the kernel makes of a frequency of this event
 *     turn EVENT I K                the group that this event leads has its counters in the I-th
 * (from 0) of each K milliseconds spin [COUNTS]                 what a CPU counts between two
 * PERF_EVENT_IOC_PERIOD wait                          the program under test reads what there is so
 * far throttle CPU EVENT            the kernel stopped the event for a while run CPU IP [ns=N]
 * [task=N|other] [COUNTS] [DETAILS]
 *
 * COUNTS are EVENT=N: so much of the event passes, evenly, while the CPU is at the instruction IP
 * for ns nanoseconds (1,000,000). What is not named does not count. Each event that samples
 * overflows as its period says. EVENT is as in rules.h. DETAILS are what such a sample tells, where
 * it is asked to:
 *
 *     weight=LATENCY:INSTRUCTION:RETIRE[,...]    sources=N[,...]    one after the other, over and
 * over address=N    chain=IP[,IP...]    branches=FROM>TO[!][,...] (!: mispredicted)
 *     raw=WORD32,WORD64[,WORD64...]              AMD's IBS: capabilities, registers
 */
#ifndef TD_TESTS_FAKE_RUN_H
#define TD_TESTS_FAKE_RUN_H

#include "tests/fake/rules.h"

#define FAKE_LIST_MAX  32
#define FAKE_TASKS_MAX 8
#define FAKE_OTHER     (-1) /* a task that is none of the command's */

struct fake_list {
    uint64_t at[FAKE_LIST_MAX];
    size_t len;
};

struct fake_branch {
    uint64_t from, to;
    bool missed;
};

enum fake_line_kind { FAKE_RUN, FAKE_SPIN, FAKE_WAIT, FAKE_THROTTLE };

struct fake_line {
    enum fake_line_kind kind;
    unsigned cpu;
    uint64_t ip, ns, address;
    int task;
    struct fake_count {
        struct fake_event event;
        uint64_t count;
    } counts[FAKE_LIST_MAX];
    size_t count_len;
    struct fake_list weights, sources, chain, raw;
    struct fake_branch branches[FAKE_LIST_MAX];
    size_t branch_len;
};

struct fake_mapping {
    uint64_t start, size, offset;
    char path[256];
};

/* Of an event: a period, or the I-th of K milliseconds. */
struct fake_setting {
    struct fake_event event;
    uint64_t period, turn, turns;
};

struct fake_run {
    struct fake_line *lines; /* in their order; owned */
    size_t len, cap;
    struct fake_line spin;
    struct fake_mapping maps[FAKE_TASKS_MAX];
    size_t map_len;
    char names[FAKE_TASKS_MAX][16]; /* of the command's threads; "": there is none */
    struct fake_setting settings[FAKE_LIST_MAX];
    size_t setting_len;
};

/* 0, or the number of the line that is wrong. Release after either. */
unsigned fake_run_read(struct fake_run *run, FILE *in);
void fake_run_release(struct fake_run *run);
/* The command's CPU time, in the kernel or as a user. */
uint64_t fake_run_cpu_ns(const struct fake_run *run, bool kernel);
bool fake_line_is_kernel(const struct fake_line *line);
/* How much of an event passes in a line. */
uint64_t fake_run_count(const struct fake_line *line, const struct fake_event *event);
/* The period that a frequency gives; 0: not said. */
uint64_t fake_run_period(const struct fake_run *run, const struct fake_event *event);
/* The turn of a leader's group; turns 1: it always counts. */
struct fake_setting fake_run_turn(const struct fake_run *run, const struct fake_event *leader);

#endif
