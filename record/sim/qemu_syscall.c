/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu_syscall.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/sim/program.h"
#include "record/sim/qemu_exec.h"

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
    GUEST_CLONE = 56,
    GUEST_FORK = 57,
    GUEST_VFORK = 58,
    GUEST_EXIT = 60,
    GUEST_KILL = 62,
    GUEST_PIVOT_ROOT = 155,
    GUEST_CHROOT = 161,
    GUEST_EXIT_GROUP = 231,
    GUEST_TGKILL = 234,
    GUEST_CLONE3 = 435,
};

/* What runs natively from here on is not in the profile: say so. */
static void note_native(struct td_process *process, struct td_process_thread *thread,
                        const char *path, const char *why)
{
    td_process_finish(process, thread);
    char *text = td_xasprintf("not modelled, it ran natively: '%s', %s", path, why);

    td_spool_note(process->spool, text);
    free(text);
}

/* The emulator executes itself with the program, unless that cannot be emulated. */
static void follow_exec(struct td_process *process, struct td_process_thread *thread,
                        const struct td_exec_call *call)
{
    struct td_program program;

    td_program_look(&program, call->path);
    const bool can = program.kind == TD_PROGRAM_EMULATED && program.guest == process->exec.guest;
    if (can && td_spool_reachable(process->spool_name)) {
        td_process_learn_thread(thread);
        td_process_finish(process, thread);
        char *plugin = td_xasprintf("%s,after=%u", process->exec.plugin, process->place);
        const struct td_launch launch = {
            .qemu = process->exec.qemu, .guest = process->exec.guest, .plugin = plugin};
        td_exec_follow(&launch, call);
        free(plugin);
    } else if (can) {
        note_native(process, thread, call->path, "executed as another user, or with another root");
    } else if (program.kind == TD_PROGRAM_EMULATED) {
        note_native(process, thread, call->path,
                    "for another processor than the program that executed it");
    } else if (program.kind != TD_PROGRAM_MISSING && program.kind != TD_PROGRAM_OTHER) {
        note_native(process, thread, call->path, td_program_about(program.kind));
    }
    td_program_release(&program);
}

static bool kills_itself(int64_t number, const uint64_t a[5])
{
    const int64_t pid = (int32_t)a[0];

    return (number == GUEST_KILL && a[1] == SIGKILL && (pid <= 0 || pid == getpid())) ||
           (number == GUEST_TGKILL && a[2] == SIGKILL && pid == getpid());
}

/* Waiting for time, for children, for other threads or for what comes from outside. */
static bool may_wait(int64_t number)
{
    static const int16_t calls[] = {
        7,   /* poll */
        23,  /* select */
        34,  /* pause */
        35,  /* nanosleep */
        61,  /* wait4 */
        130, /* rt_sigsuspend */
        202, /* futex */
        230, /* clock_nanosleep */
        232, /* epoll_wait */
        247, /* waitid */
        270, /* pselect6 */
        271, /* ppoll */
        281, /* epoll_pwait */
    };

    for (size_t i = 0; i < TD_ARRAY_SIZE(calls); i++) {
        if (calls[i] == number)
            return true;
    }
    return false;
}

/* After these it must be known which thread this is. */
static bool needs_thread(int64_t number)
{
    return number == GUEST_EXIT || number == GUEST_EXIT_GROUP || number == GUEST_CLONE ||
           number == GUEST_FORK || number == GUEST_VFORK || number == GUEST_CLONE3;
}

void td_process_syscall(struct td_process *process, struct td_process_thread *thread,
                        int64_t number, const uint64_t arguments[5])
{
    struct td_exec_call call;

    number = td_guest_call(process->exec.guest, number);
    if (needs_thread(number))
        td_process_learn_thread(thread);
    if (process->abandoned)
        return;
    if (number == GUEST_CHROOT || number == GUEST_PIVOT_ROOT)
        td_process_read_maps(process);
    if (kills_itself(number, arguments))
        td_process_finish(process, thread);
    else if (may_wait(number))
        td_process_before_wait(process, thread);
    if (!td_exec_read(&call, number, arguments))
        return;
    follow_exec(process, thread, &call);
    free(call.path);
}
