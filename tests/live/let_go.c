/* SPDX-License-Identifier: MIT */
/*
 * A thread that was watched is let go at the begin of a call, or while it waits in one: the program
 * sees none of its calls interrupted, and a filter that kills for unknown calls sees none.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/live/stop.h"

#ifndef PTRACE_GET_SYSCALL_INFO
#    define PTRACE_GET_SYSCALL_INFO 0x420e
#endif

enum { ROUNDS = 20, WAIT_MS = 2, STANDS_MAX = 200 };

struct shared {
    atomic_long rounds, interrupted;
};

/* Everything is allowed but a call that there is not. */
static void confine(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)-1, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = TD_ARRAY_SIZE(code), .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(77);
}

static _Noreturn void work(struct shared *shared, bool confined)
{
    struct epoll_event event;
    const int events = epoll_create1(0);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (confined)
        confine();
    for (;;) {
        if (epoll_wait(events, &event, 1, WAIT_MS) < 0)
            atomic_fetch_add(&shared->interrupted, 1);
        atomic_fetch_add(&shared->rounds, 1);
    }
}

static bool is_begin(pid_t thread)
{
    unsigned char what = 0;

    return ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof(what), &what) > 0 && what == 1;
}

/* Watches the program until it stands at the begin of a call, or for no call; then lets it go. */
static bool watch_once(struct td_live_stop *stop, pid_t program, bool to_begin)
{
    *stop = (struct td_live_stop){.held = false};
    if (td_live_stop_take(stop, program, program, NULL, NULL) != TD_LIVE_TAKEN)
        return false;
    td_live_stop_watch(stop);
    for (int i = 0; to_begin && i < STANDS_MAX; i++) {
        if (td_live_stop_await(stop) != TD_LIVE_AT_CALL)
            return false;
        if (is_begin(program))
            break;
        td_live_stop_proceed(stop);
    }
    td_live_stop_leave(stop, to_begin);
    return !stop->held;
}

/* Whether it works on: it has been let go. */
static bool goes_on(struct shared *shared)
{
    const long before = atomic_load(&shared->rounds);

    for (int i = 0; i < 10000 && atomic_load(&shared->rounds) < before + 3; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return atomic_load(&shared->rounds) >= before + 3;
}

static int check(struct shared *shared, bool confined)
{
    static struct td_live_stop stop;
    const pid_t program = fork();
    int status = 0, failed = 0;

    if (program == 0)
        work(shared, confined);
    failed += !goes_on(shared);
    for (int i = 0; i < ROUNDS && !failed; i++) {
        failed += !watch_once(&stop, program, i % 2 == 0);
        failed += !goes_on(shared);
    }
    kill(program, SIGKILL);
    waitpid(program, &status, 0);
    printf("%s: %ld calls, %ld of them interrupted, %s\n", confined ? "confined" : "as it is",
           atomic_load(&shared->rounds), atomic_load(&shared->interrupted),
           failed ? "and it did not go on" : "and it went on");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return 77;
    return failed || (!confined && atomic_load(&shared->interrupted) > 0);
}

int main(void)
{
    struct shared *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct td_err err = TD_ERR_INIT;
    static struct td_live_stop stop;
    const pid_t child = fork();

    if (child == 0)
        work(shared, false);
    const bool allowed = td_live_stop_take(&stop, child, child, NULL, &err) == TD_LIVE_TAKEN;
    if (allowed)
        td_live_stop_release(&stop);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    if (!allowed) {
        printf("a thread may not be stopped here: %s\n", err.text);
        return 77;
    }
    atomic_store(&shared->interrupted, 0);
    const int plain = check(shared, false);
    return plain ? plain : check(shared, true);
}
