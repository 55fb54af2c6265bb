/* SPDX-License-Identifier: MIT */
/*
 * Whoever takes images of a program is killed at each point at which it has changed something in
 * it: the program keeps its registers, its signal mask, and its children to itself.
 *
 * The points are the calls of ptrace and the writes into its memory, which are counted here.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/procfs.h"
#include "record/live/capture.h"

#if !defined(__x86_64__)
int main(void)
{
    puts("registers are compared on x86-64 only");
    return 77;
}
#else

enum { REGISTERS = 15, TRIES_MAX = 500, POINTS_LEAST = 15 };

struct shared {
    atomic_long rounds;  /* that the program has worked */
    atomic_long wrong;   /* what it has found wrong: a line of this file */
    atomic_long point;   /* at which the taker dies; counted down. Below 0: it does not */
    atomic_long outcome; /* of the image that was taken; -1: the taker died before */
};

static struct shared *shared;
static pid_t victim; /* the program, which the taker may hold: */
static bool holds;

static void maybe_die(void)
{
    if (atomic_fetch_sub(&shared->point, 1) == 0)
        kill(getpid(), SIGKILL);
}

/* Instead of the C library's: after each that is about the program, the taker may die. */
long ptrace(enum __ptrace_request request, ...)
{
    va_list list;

    va_start(list, request);
    const pid_t id = va_arg(list, pid_t);
    void *const address = va_arg(list, void *), *const data = va_arg(list, void *);
    va_end(list);
    const long result = syscall(SYS_ptrace, (long)request, (long)id, address, data);
    const int error = errno;
    if (id == victim) {
        holds = request != PTRACE_DETACH;
        maybe_die();
    }
    errno = error;
    return result;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    const ssize_t result = syscall(SYS_pwrite64, fd, data, size, offset);
    const int error = errno;

    if (holds)
        maybe_die();
    errno = error;
    return result;
}

/* ---- the program ---- */

/* Loads 15 registers, counts down in memory for a while, and tells what is in them then. */
void spin(const uint64_t in[REGISTERS], uint64_t out[REGISTERS], uint64_t rounds);
__asm__(".text\n"
        ".globl spin\n"
        ".type spin, @function\n"
        "spin:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "push %rsi\n push %rdx\n"
        "mov %rdi, %rax\n"
        "mov 8(%rax), %rbx\n mov 16(%rax), %rcx\n mov 24(%rax), %rdx\n mov 32(%rax), %rsi\n"
        "mov 40(%rax), %rdi\n mov 48(%rax), %rbp\n mov 56(%rax), %r8\n mov 64(%rax), %r9\n"
        "mov 72(%rax), %r10\n mov 80(%rax), %r11\n mov 88(%rax), %r12\n mov 96(%rax), %r13\n"
        "mov 104(%rax), %r14\n mov 112(%rax), %r15\n mov (%rax), %rax\n"
        "1: subq $1, (%rsp)\n"
        "jnz 1b\n"
        "xchg %rsi, 8(%rsp)\n"
        "mov %rax, (%rsi)\n mov %rbx, 8(%rsi)\n mov %rcx, 16(%rsi)\n mov %rdx, 24(%rsi)\n"
        "mov 8(%rsp), %rax\n mov %rax, 32(%rsi)\n mov %rdi, 40(%rsi)\n mov %rbp, 48(%rsi)\n"
        "mov %r8, 56(%rsi)\n mov %r9, 64(%rsi)\n mov %r10, 72(%rsi)\n mov %r11, 80(%rsi)\n"
        "mov %r12, 88(%rsi)\n mov %r13, 96(%rsi)\n mov %r14, 104(%rsi)\n mov %r15, 112(%rsi)\n"
        "add $16, %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "ret\n"
        ".size spin, . - spin\n");

static volatile sig_atomic_t ticks;

static void on_tick(int signal)
{
    (void)signal;
    ticks++;
}

static void found(long line)
{
    atomic_store(&shared->wrong, line);
}

static void check_mask(const sigset_t *own)
{
    sigset_t now;

    sigprocmask(SIG_BLOCK, NULL, &now);
    for (int i = 1; i < _NSIG; i++) {
        if (sigismember(own, i) != sigismember(&now, i))
            found(__LINE__);
    }
}

/* The shared memory is written by this process alone: a clone that ran would be seen by it. */
static _Noreturn void work(void)
{
    const struct itimerval timer = {.it_interval.tv_usec = 500, .it_value.tv_usec = 500};
    const struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    uint64_t in[REGISTERS], out[REGISTERS];
    const pid_t self = getpid();
    sigset_t own;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigemptyset(&own);
    sigaddset(&own, SIGUSR2);
    sigprocmask(SIG_SETMASK, &own, NULL);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (uint64_t round = 0;; round++) {
        for (size_t i = 0; i < REGISTERS; i++)
            in[i] = (round + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        memset(out, 0, sizeof(out));
        spin(in, out, 20000);
        if (memcmp(in, out, sizeof(in)) != 0)
            found(__LINE__);
        if (getpid() != self)
            found(__LINE__);
        check_mask(&own);
        atomic_fetch_add(&shared->rounds, 1);
        if ((uint64_t)atomic_load(&shared->rounds) != round + 1)
            found(__LINE__);
    }
}

/* ---- the taker ---- */

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

static void on_alarm(int number)
{
    (void)number; /* interrupts waitpid */
}

static _Noreturn void take(pid_t program, long point)
{
    const struct sigaction alarm = {.sa_handler = on_alarm};
    const struct itimerval often = {.it_interval.tv_usec = 1000, .it_value.tv_usec = 1000};
    const struct td_capture_order order = {.process = program, .thread = program, .calls = 20};
    const struct td_live_waiting waiting = {.quit = never};
    struct td_capture *capture = td_capture_new(&waiting);
    struct td_live_result result;
    const int fd = memfd_create("image", MFD_CLOEXEC);

    victim = program;
    sigaction(SIGALRM, &alarm, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    atomic_store(&shared->point, point);
    td_capture_take(capture, &order, fd, &result);
    atomic_store(&shared->outcome, result.outcome);
    td_capture_free(capture);
    _exit(0);
}

/* Whether the taker died at this point; else the image was taken, or not: shared->outcome. */
static bool try_point(pid_t program, long point)
{
    int status = 0;

    atomic_store(&shared->outcome, -1);
    const pid_t taker = fork();
    if (taker == 0)
        take(program, point);
    if (taker < 0 || waitpid(taker, &status, 0) != taker)
        exit(77);
    return WIFSIGNALED(status);
}

/* The program works on, and says nothing is wrong. */
static bool is_sound(pid_t program, long point)
{
    const long before = atomic_load(&shared->rounds);
    int status = 0;

    for (int i = 0; i < 5000; i++) {
        if (waitpid(program, &status, WNOHANG) != 0) {
            printf("killed at %ld: the program ended with status %x\n", point, status);
            return false;
        }
        if (atomic_load(&shared->wrong) != 0) {
            printf("killed at %ld: line %ld\n", point, atomic_load(&shared->wrong));
            return false;
        }
        if (atomic_load(&shared->rounds) > before + 2)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    printf("killed at %ld: the program does not go on\n", point);
    return false;
}

/* A process below it that is no zombie. */
static bool has_running_child(pid_t program)
{
    char path[64];
    bool runs = false;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", program, program);
    char *text = td_procfs_text(NULL, path), *rest = text;
    for (char *word; text && (word = strsep(&rest, " "));) {
        const pid_t id = (pid_t)strtol(word, NULL, 10);
        const char state = id > 0 ? td_live_thread_state(id, id) : '\0';

        runs = runs || (state != '\0' && state != 'Z' && state != 'X');
    }
    free(text);
    return runs;
}

static bool is_alone(pid_t program, long point)
{
    for (int i = 0; i < 2000; i++) {
        if (!has_running_child(program))
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    printf("killed at %ld: a clone is left\n", point);
    return false;
}

static pid_t start(void)
{
    atomic_store(&shared->rounds, 0);
    const pid_t program = fork();

    if (program == 0)
        work();
    if (program < 0)
        exit(77);
    while (atomic_load(&shared->rounds) == 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return program;
}

int main(void)
{
    bool sound = true, taken = false;
    long point = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 77;
    atomic_store(&shared->point, -1);
    for (int tries = 0; sound && !taken && tries < TRIES_MAX; tries++) {
        const pid_t program = start(); /* each leaves some bytes there */
        const bool died = try_point(program, point);
        const long outcome = atomic_load(&shared->outcome);

        if (outcome == TD_LIVE_DENIED) {
            puts("ptrace is not allowed here");
            return 77;
        }
        sound = is_sound(program, point) && is_alone(program, point);
        point += died;
        taken = !died && outcome == TD_LIVE_TAKEN; /* there is no such point */
        kill(program, SIGKILL);
        waitpid(program, NULL, 0);
    }
    printf("%ld points, %s\n", point, taken ? "all" : "and more");
    return sound && taken && point >= POINTS_LEAST ? 0 : 1;
}

#endif
