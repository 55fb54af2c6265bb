/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/syscall.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/sim/qemu/guest_memory.h"
#include "record/sim/share/program.h"
#include "record/sim/qemu/exec.h"
#include "record/sim/qemu/meeting.h"

/* arch/x86/entry/syscalls/syscall_64.tbl */
enum {
    GUEST_MMAP = 9,
    GUEST_MUNMAP = 11,
    GUEST_BRK = 12,
    GUEST_RT_SIGACTION = 13,
    GUEST_RT_SIGPROCMASK = 14,
    GUEST_MREMAP = 25,
    GUEST_CLONE = 56,
    GUEST_FORK = 57,
    GUEST_VFORK = 58,
    GUEST_EXIT = 60,
    GUEST_KILL = 62,
    GUEST_PTRACE = 101,
    GUEST_PIVOT_ROOT = 155,
    GUEST_PRCTL = 157,
    GUEST_SETRLIMIT = 160,
    GUEST_CHROOT = 161,
    GUEST_EXIT_GROUP = 231,
    GUEST_TGKILL = 234,
    GUEST_UNSHARE = 272,
    GUEST_PERF_EVENT_OPEN = 298,
    GUEST_PRLIMIT64 = 302,
    GUEST_SECCOMP = 317,
    GUEST_BPF = 321,
    GUEST_USERFAULTFD = 323,
    GUEST_IO_URING_SETUP = 425,
    GUEST_CLONE3 = 435,
};

static bool begins_seccomp(const uint64_t a[5])
{
    return a[0] == PR_SET_SECCOMP;
}

/* The kernel gives none to a process with several threads, as the emulator is. */
static bool asks_user_namespace(const uint64_t a[5])
{
    return a[0] & CLONE_NEWUSER;
}

/* A real limit of address space, at a guest address. */
static bool limits_space(uint64_t resource, uint64_t address)
{
    struct rlimit limit;

    return resource == RLIMIT_AS && address && td_guest_read(&limit, address, sizeof(limit)) &&
           limit.rlim_cur != RLIM_INFINITY;
}

static bool sets_space(const uint64_t a[5])
{
    return limits_space(a[0], a[1]);
}

static bool sets_space_of(const uint64_t a[5])
{
    return limits_space(a[1], a[2]);
}

static bool reserves_much(const uint64_t a[5])
{
    return td_quirks_is_too_large(a[1]);
}

/* What programs ask of the kernel that the emulator, as of QEMU 7.2, does not have, and that they
 * do not do as well without. */
static const struct td_missing {
    const char *name;
    int64_t number;
    int64_t refusal;                         /* the emulator's answer */
    bool (*applies)(const uint64_t args[5]); /* NULL: to each call of the number */
} missing[] = {
    {"code that is written through another mapping", GUEST_MMAP, -EPERM, td_quirks_cannot_map},
    {"more than 512 GB of addresses at once", GUEST_MMAP, -ENOMEM, reserves_much},
    {"ptrace", GUEST_PTRACE, -ENOSYS, NULL},
    {"seccomp", GUEST_SECCOMP, -ENOSYS, NULL},
    {"seccomp", GUEST_PRCTL, -EINVAL, begins_seccomp},
    {"perf_event_open", GUEST_PERF_EVENT_OPEN, -ENOSYS, NULL},
    {"a user namespace", GUEST_UNSHARE, -EINVAL, asks_user_namespace},
    {"bpf", GUEST_BPF, -ENOSYS, NULL},
    {"userfaultfd", GUEST_USERFAULTFD, -ENOSYS, NULL},
    {"io_uring", GUEST_IO_URING_SETUP, -ENOSYS, NULL},
    /* Limits of memory would be the emulator's, too: it says yes and keeps none of them. */
    {"a limit of address space", GUEST_SETRLIMIT, 0, sets_space},
    {"a limit of address space", GUEST_PRLIMIT64, 0, sets_space_of},
};
_Static_assert(TD_ARRAY_SIZE(missing) < 32, "a process notes in a mask what it missed");

/* What runs natively from here on is not in the profile: say so. */
static void note_native(struct td_image *process, struct td_image_thread *thread, const char *path,
                        const char *why)
{
    td_image_finish(process, thread);
    char *text = td_xasprintf("not modelled, it ran natively: '%s', %s", path, why);

    td_mailbox_note(process->mailbox, text);
    free(text);
}

static void execute(struct td_image *process, struct td_image_thread *thread,
                    const struct td_exec_call *call)
{
    sigset_t before;

    if (!td_signals_hold(&thread->signals, &before))
        return;
    td_image_learn_thread(thread);
    td_image_finish(process, thread);
    char *plugin = td_xasprintf("%s,after=%u,blocked=%" PRIx64, process->exec.plugin,
                                process->place, td_signals_of_mask(&before));
    const struct td_launch launch = {
        .qemu = process->exec.qemu, .guest = process->exec.guest, .plugin = plugin};
    td_exec_follow(&launch, call);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(plugin);
}

/* The emulator executes itself with the program, unless that cannot be emulated. */
static void follow_exec(struct td_image *process, struct td_image_thread *thread,
                        const struct td_exec_call *call)
{
    struct td_program program;

    td_program_look(&program, call->path);
    const bool can = program.kind == TD_PROGRAM_EMULATED && program.guest == process->exec.guest;
    if (can && td_mailbox_reachable(process->mailbox_name)) {
        execute(process, thread, call);
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

static const struct td_missing *find_missing(int64_t number, const uint64_t arguments[5])
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(missing); i++) {
        if (missing[i].number == number && (!missing[i].applies || missing[i].applies(arguments)))
            return &missing[i];
    }
    return NULL;
}

static void note_missing(struct td_image *process, const struct td_missing *asked)
{
    const uint32_t bit = UINT32_C(1) << (asked - missing);

    if (process->missed & bit)
        return;
    process->missed |= bit;
    char *text = td_xasprintf("'%s' asked for %s, which the emulator does not have: it may run "
                              "otherwise than natively (--source clock runs it natively)",
                              process->name, asked->name);
    td_mailbox_note(process->mailbox, text);
    free(text);
}

/* False when it does nothing to mappings. An address is only a hint where nothing is to be covered:
 * then nothing is mapped there. */
static bool changes_maps(struct td_image_change *change, int64_t number, const uint64_t a[5])
{
    *change = (struct td_image_change){.more = false};
    switch (number) {
    case GUEST_MMAP:
        change->more = !(a[3] & MAP_ANONYMOUS);
        change->file = change->more && (!(a[2] & PROT_WRITE) || (a[3] & MAP_SHARED));
        change->covered[0].start = a[0];
        change->covered[0].end = a[0] + a[1];
        return change->more || (a[3] & MAP_FIXED);
    case GUEST_MUNMAP:
        change->covered[0].start = a[0];
        change->covered[0].end = a[0] + a[1];
        return true;
    case GUEST_MREMAP:
        change->more = true;
        change->covered[0].start = a[0];
        change->covered[0].end = a[0] + a[1];
        if (a[3] & MREMAP_FIXED) {
            change->covered[1].start = a[4];
            change->covered[1].end = a[4] + a[2];
        }
        return true;
    default: return false;
    }
}

/* What the models are told of it when it is done. */
static void map_files(struct td_image *process, struct td_image_thread *thread, int64_t number,
                      int64_t result)
{
    const struct td_image_change *change = &thread->change;
    const uint64_t bytes = change->covered[0].end - change->covered[0].start;

    if (result < 0)
        return;
    if (number == GUEST_MMAP) {
        td_files_map(process, thread, (uint64_t)result, (uint64_t)result + bytes, change->file);
        return;
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(change->covered); i++)
        td_files_map(process, thread, change->covered[i].start, change->covered[i].end, false);
}

void td_image_syscall_done(struct td_image *process, struct td_image_thread *thread, int64_t number,
                           int64_t result)
{
    td_image_rest(process, thread, false);
    if (process->window.wanted)
        td_window_called(process, number, result);
    number = td_guest_call(process->exec.guest, number);
    if (number == GUEST_MMAP || number == GUEST_MUNMAP || number == GUEST_MREMAP) {
        td_image_map(process, &thread->change);
        map_files(process, thread, number, result);
    }
    if (number == GUEST_BRK && result > 0)
        td_image_set_break(process, (uint64_t)result);
    td_quirks_after_action(&process->quirks, &thread->action, result);
    td_quirks_after_map(&process->quirks);
    if (thread->asked && thread->asked->refusal == result && !process->abandoned)
        note_missing(process, thread->asked);
    thread->asked = NULL;
}

/* Loader and windows change mappings; of theirs QEMU does all that they ask for. */
static void follow_maps(struct td_image *process, struct td_image_thread *thread, int64_t number,
                        const uint64_t arguments[5])
{
    number = td_guest_call(process->exec.guest, number);
    if (changes_maps(&thread->change, number, arguments))
        td_image_map(process, &thread->change);
}

void td_image_syscall(struct td_image *process, struct td_image_thread *thread, int64_t number,
                      const uint64_t arguments[TD_LIVE_ARGUMENTS])
{
    struct td_exec_call call;

    if (process->window.wanted) {
        follow_maps(process, thread, number, arguments);
        td_window_call(process, thread, number, arguments);
        return;
    }
    td_image_rest(process, thread, true);
    number = td_guest_call(process->exec.guest, number);
    if (number == GUEST_RT_SIGACTION)
        td_quirks_before_action(&process->quirks, &thread->action, arguments);
    else if (number == GUEST_RT_SIGPROCMASK)
        td_signals_before_mask(&thread->signals, arguments);
    else if (number == GUEST_MMAP)
        td_quirks_before_map(&process->quirks, arguments);
    if (changes_maps(&thread->change, number, arguments))
        td_image_map(process, &thread->change);
    thread->asked = find_missing(number, arguments);
    /* The first call is soon: the profile then has all it did under its number. */
    if (!thread->tid || needs_thread(number))
        td_image_learn_thread(thread);
    if (process->abandoned)
        return;
    if (number == GUEST_CHROOT || number == GUEST_PIVOT_ROOT)
        td_image_read_maps(process);
    if (td_image_has_threads(process) ? td_meeting_is(number, arguments)
                                      : td_meeting_begins_thread(number, arguments))
        td_image_before_meeting(process, thread);
    if (kills_itself(number, arguments))
        td_image_finish(process, thread);
    else if (may_wait(number))
        td_image_before_wait(process, thread);
    if (!td_exec_read(&call, number, arguments, process->program))
        return;
    follow_exec(process, thread, &call);
    free(call.path);
}
