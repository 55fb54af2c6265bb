/* SPDX-License-Identifier: MIT */
#include "record/live/stop.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/procfs.h"
#include "base/text.h"

#ifndef PTRACE_GET_SYSCALL_INFO
#    define PTRACE_GET_SYSCALL_INFO 0x420e
#endif
#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#    define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

/* The "signal" of a stop at a system call's begin or end, with PTRACE_O_TRACESYSGOOD. */
#define SYSCALL_STOP (SIGTRAP | 0x80)

static enum td_live_outcome refuse(struct td_err *err, enum td_live_outcome outcome)
{
    const bool denied = outcome == TD_LIVE_DENIED;

    td_fail(err, denied ? TD_EPERM : TD_EIO, "%s",
            denied ? td_live_denied_text(NULL) : td_live_outcome_text(outcome));
    return outcome;
}

/* Documentation/admin-guide/LSM/Yama.rst */
const char *td_live_denied_text(const char *root)
{
    int64_t scope = 0;

    if (!td_procfs_number(root, "/proc/sys/kernel/yama/ptrace_scope", &scope))
        scope = 0;
    switch (scope) {
    case 1:
        return "this user may stop only commands that tdrec starts itself (run tdrec as root, or "
               "set kernel.yama.ptrace_scope, which is 1, to 0)";
    case 2:
        return "only root may stop programs here (run tdrec as root, or set "
               "kernel.yama.ptrace_scope, which is 2, to 0 or 1)";
    case 3:
        return "nobody may stop programs here until the next boot (kernel.yama.ptrace_scope is 3)";
    default: return td_live_outcome_text(TD_LIVE_DENIED);
    }
}

static enum td_live_outcome refuse_errno(struct td_err *err, int error, const char *what)
{
    td_fail_errno(err, TD_EIO, error, "%s: %s", td_live_outcome_text(TD_LIVE_FAILED), what);
    return TD_LIVE_FAILED;
}

/* ptrace's last argument is a number or an address. */
static long trace(int request, pid_t thread, unsigned long address, uintptr_t data)
{
    return ptrace((enum __ptrace_request)request, thread, (void *)address, // NOLINT
                  (void *)data);                                           // NOLINT
}

static int get_set(pid_t thread, unsigned note, void *data, size_t *size)
{
    struct iovec part = {.iov_base = data, .iov_len = *size};

    if (trace(PTRACE_GETREGSET, thread, note, (uintptr_t)&part) < 0)
        return -errno;
    *size = part.iov_len;
    return 0;
}

static int get_registers(pid_t thread, struct td_live_registers *registers)
{
    size_t size = sizeof(registers->set);

    return get_set(thread, NT_PRSTATUS, &registers->set, &size);
}

static int set_registers(pid_t thread, const struct td_live_registers *registers)
{
    struct td_live_registers copy = *registers;
    struct iovec part = {.iov_base = &copy.set, .iov_len = sizeof(copy.set)};

    return trace(PTRACE_SETREGSET, thread, NT_PRSTATUS, (uintptr_t)&part) < 0 ? -errno : 0;
}

static int set_mask(pid_t thread, uint64_t mask)
{
    return trace(PTRACE_SETSIGMASK, thread, sizeof(mask), (uintptr_t)&mask) < 0 ? -errno : 0;
}

static bool is_event_stop(int status)
{
    return WIFSTOPPED(status) && (status >> 16) == PTRACE_EVENT_STOP;
}

/* The signal with which a thread that stopped is to go on. */
static int own_signal(int status)
{
    return (status >> 16) != 0 ? 0 : WSTOPSIG(status);
}

static bool is_clone(pid_t id)
{
    struct td_live_registers registers;

    return get_registers(id, &registers) == 0 && td_isa_sp(&registers) == TD_LIVE_NO_STACK;
}

void td_live_stop_meet(struct td_live_stop *stop, pid_t id, int status)
{
    if (!WIFSTOPPED(status))
        return;
    if (!is_event_stop(status) || !is_clone(id)) {
        trace(PTRACE_DETACH, id, 0, (uintptr_t)own_signal(status));
    } else if (stop->cloning && stop->clone == 0) {
        trace(PTRACE_SETOPTIONS, id, 0, PTRACE_O_EXITKILL);
        stop->clone = id;
    } else {
        kill(id, SIGKILL); /* nobody expects it any more */
    }
}

/* Waits for what the thread reports next. */
static enum td_live_outcome wait_for(struct td_live_stop *stop, int *status,
                                     const struct td_live_waiting *waiting, struct td_err *err)
{
    for (;;) {
        pid_t got = waitpid(-1, status, __WALL); /* a timer of the caller's interrupts it */
        const bool interrupted = got < 0 && errno == EINTR;

        /* Where another thread's execve took its number, it is gone without a word. */
        if (interrupted)
            got = waitpid(stop->thread, status, __WALL | WNOHANG);
        if (got == stop->thread && WIFSTOPPED(*status))
            return TD_LIVE_TAKEN;
        if (got == stop->thread || (got < 0 && errno == ECHILD)) {
            stop->held = false;
            return refuse(err, TD_LIVE_GONE);
        }
        if (got > 0)
            td_live_stop_meet(stop, got, *status);
        else if (!interrupted || (waiting && waiting->quit(waiting->ctx)))
            return refuse_errno(err, errno, "waiting for the thread to stop");
    }
}

/* ---- what a thread does ---- */

char td_live_thread_state(pid_t process, pid_t thread)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", process, thread);
    char *text = td_procfs_text(NULL, path);
    const char *end = text ? strrchr(text, ')') : NULL; /* a name may hold brackets and blanks */
    const char state = end && end[1] == ' ' ? end[2] : '\0';
    free(text);
    return state;
}

uint64_t td_live_thread_cpu_ns(pid_t process, pid_t thread)
{
    char path[64];
    int64_t ran_ns = 0;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", process, thread);
    return td_procfs_number(NULL, path, &ran_ns) ? (uint64_t)ran_ns : 0;
}

bool td_live_thread_runs(pid_t process, pid_t thread)
{
    return td_live_thread_state(process, thread) == 'R';
}

static uint64_t hex_field(const char *text, const char *key)
{
    char *value = text ? td_procfs_field(text, key) : NULL;
    const uint64_t number = value ? strtoull(value, NULL, 16) : 0;

    free(value);
    return number;
}

/* Whether a signal that the thread does not block waits for it. */
static bool has_signal(const struct td_live_stop *stop)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", stop->process, stop->thread);
    char *text = td_procfs_text(NULL, path);
    const uint64_t pending = hex_field(text, "SigPnd") | hex_field(text, "ShdPnd");
    const uint64_t blocked = hex_field(text, "SigBlk");
    free(text);
    return (pending & ~blocked) != 0;
}

/* In a restartable sequence the kernel moves a thread that was stopped to the sequence's handler; a
 * call in between would make it forget the sequence (rseq(2)). */
static bool in_sequence(const struct td_live_stop *stop)
{
    struct {
        uint64_t area;
        uint32_t size, signature, flags, pad;
    } config = {0};
    uint64_t at = 0, sequence[4] = {0}; /* version and flags, start, size, handler */
    struct iovec here = {.iov_base = &at, .iov_len = sizeof(at)}, there = {.iov_len = sizeof(at)};

    if (trace(PTRACE_GET_RSEQ_CONFIGURATION, stop->thread, sizeof(config), (uintptr_t)&config) <=
            0 ||
        config.area == 0)
        return false;
    there.iov_base = (void *)(uintptr_t)(config.area + 8); // NOLINT: another process's address
    if (process_vm_readv(stop->process, &here, 1, &there, 1, 0) != sizeof(at) || at == 0)
        return false;
    here = (struct iovec){.iov_base = sequence, .iov_len = sizeof(sequence)};
    there =
        (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = sizeof(sequence)}; // NOLINT
    if (process_vm_readv(stop->process, &here, 1, &there, 1, 0) != sizeof(sequence))
        return true; /* it cannot be told: be careful */
    return td_isa_pc(&stop->registers) - sequence[1] < sequence[2];
}

/* ---- stopping ---- */

/* Why the kernel did not let us. */
static enum td_live_outcome why_denied(pid_t thread, int error)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/status", thread);
    char *text = td_procfs_text(NULL, path);
    char *memory = text ? td_procfs_field(text, "VmRSS") : NULL;
    char *tracer = text ? td_procfs_field(text, "TracerPid") : NULL;
    const bool gone = error == ESRCH || !memory; /* or about to be */
    const bool traced = tracer && strcmp(tracer, "0") != 0;
    free(memory);
    free(tracer);
    free(text);
    return gone ? TD_LIVE_GONE : traced ? TD_LIVE_TRACED : TD_LIVE_DENIED;
}

static enum td_live_outcome seize(struct td_live_stop *stop, struct td_err *err)
{
    stop->asked_ns = td_clock_ns();
    if (trace(PTRACE_SEIZE, stop->thread, 0, PTRACE_O_TRACESYSGOOD) < 0)
        return refuse(err, why_denied(stop->thread, errno));
    stop->held = true;
    if (trace(PTRACE_INTERRUPT, stop->thread, 0, 0) < 0 && errno != ESRCH)
        return refuse_errno(err, errno, "PTRACE_INTERRUPT");
    return TD_LIVE_TAKEN;
}

/* Until the thread stands where our interrupt put it; what comes before is its own. */
static enum td_live_outcome
wait_interrupt(struct td_live_stop *stop, const struct td_live_waiting *waiting, struct td_err *err)
{
    for (;;) {
        int status = 0;
        const enum td_live_outcome outcome = wait_for(stop, &status, waiting, err);

        if (outcome != TD_LIVE_TAKEN)
            return outcome;
        if (is_event_stop(status)) {
            if (WSTOPSIG(status) == SIGTRAP)
                return TD_LIVE_TAKEN;
            trace(PTRACE_DETACH, stop->thread, 0, 0); /* the kernel stops it anew */
            stop->held = false;
            return refuse(err, TD_LIVE_STOPPED);
        }
        trace(PTRACE_INTERRUPT, stop->thread, 0, 0); /* any stop takes an interrupt's place */
        trace(PTRACE_CONT, stop->thread, 0, (uintptr_t)own_signal(status));
    }
}

static enum td_live_outcome let_go(struct td_live_stop *stop, enum td_live_outcome outcome)
{
    td_live_stop_release(stop);
    return outcome;
}

enum td_live_outcome td_live_stop_take(struct td_live_stop *stop, pid_t process, pid_t thread,
                                       const struct td_live_waiting *waiting, struct td_err *err)
{
    enum td_live_outcome outcome;

    *stop = (struct td_live_stop){.process = process, .thread = thread};
    outcome = seize(stop, err);
    if (outcome == TD_LIVE_TAKEN)
        outcome = wait_interrupt(stop, waiting, err);
    if (outcome != TD_LIVE_TAKEN)
        return outcome;
    stop->stopped_ns = td_clock_ns();
    if (get_registers(thread, &stop->registers) < 0 ||
        trace(PTRACE_GETSIGMASK, thread, sizeof(stop->signal_mask), (uintptr_t)&stop->signal_mask) <
            0)
        return let_go(stop, refuse_errno(err, errno, "PTRACE_GETREGSET"));
    if (!td_isa_native(&stop->registers))
        return let_go(stop, refuse(err, TD_LIVE_FOREIGN));
    stop->state = td_isa_state(&stop->registers, false);
    if (stop->state == TD_ISA_BROKEN && has_signal(stop))
        stop->state = TD_ISA_CALLED; /* its own EINTR */
    if (in_sequence(stop))
        return let_go(stop, refuse(err, TD_LIVE_SEQUENCE));
    return TD_LIVE_TAKEN;
}

enum td_live_outcome td_live_stop_read(struct td_live_stop *stop, struct td_err *err)
{
    size_t size = sizeof(stop->thread_pointer);

    stop->vector_size = sizeof(stop->vector);
    if (get_set(stop->thread, td_isa_vector_note(), stop->vector, &stop->vector_size) < 0)
        return refuse_errno(err, errno, "its vector registers cannot be read");
    stop->thread_pointer = td_isa_thread_pointer(&stop->registers);
#ifdef NT_ARM_TLS
    if (stop->thread_pointer == 0)
        get_set(stop->thread, NT_ARM_TLS, &stop->thread_pointer, &size);
#endif
    return TD_LIVE_TAKEN;
}

bool td_live_stop_follow(struct td_live_stop *stop, pid_t clone)
{
    stop->vector_size = sizeof(stop->vector);
    return get_registers(clone, &stop->registers) == 0 &&
           get_set(clone, td_isa_vector_note(), stop->vector, &stop->vector_size) == 0;
}

/* The mask first: until the registers are its own, the thread would set it again by itself. */
static void end_call(struct td_live_stop *stop)
{
    if (!stop->calling)
        return;
    set_mask(stop->thread, stop->signal_mask);
    set_registers(stop->thread, &stop->registers);
    stop->calling = false;
}

/* Its own registers and mask, in a program that is as it was. */
static void put_back(struct td_live_stop *stop)
{
    end_call(stop);
    if (stop->state == TD_ISA_BROKEN) {
        struct td_live_registers registers = stop->registers;

        td_isa_call_again(&registers);
        set_registers(stop->thread, &registers);
    }
    if (stop->detour)
        td_live_detour_erase(stop->detour);
}

static void detach(struct td_live_stop *stop, int signal)
{
    trace(PTRACE_DETACH, stop->thread, 0, (uintptr_t)signal);
    stop->held = false;
}

/* `signal` is one that it was about to get. */
static void restore(struct td_live_stop *stop, int signal)
{
    put_back(stop);
    detach(stop, signal);
}

uint64_t td_live_stop_release(struct td_live_stop *stop)
{
    if (stop->held)
        restore(stop, 0);
    return td_clock_ns() - stop->asked_ns;
}

/* ---- watching ---- */

uint64_t td_live_stop_watch(struct td_live_stop *stop)
{
    put_back(stop);
    td_live_stop_proceed(stop);
    return td_clock_ns() - stop->asked_ns;
}

void td_live_stop_proceed(const struct td_live_stop *stop)
{
    trace(PTRACE_SYSCALL, stop->thread, 0, 0);
}

bool td_live_stop_look(const struct td_live_stop *stop, struct td_live_registers *registers)
{
    return get_registers(stop->thread, registers) == 0;
}

enum td_live_event td_live_stop_await(struct td_live_stop *stop)
{
    int status = 0;
    const pid_t got = waitpid(-1, &status, __WALL);

    if (got < 0 && errno == EINTR)
        return TD_LIVE_ON;
    if (got > 0 && got != stop->thread) {
        td_live_stop_meet(stop, got, status);
        return TD_LIVE_ON;
    }
    if (got < 0 || !WIFSTOPPED(status)) {
        stop->held = false;
        return TD_LIVE_OUT;
    }
    if (WSTOPSIG(status) == SYSCALL_STOP)
        return TD_LIVE_AT_CALL;
    detach(stop, own_signal(status)); /* of job control the kernel stops it anew */
    return TD_LIVE_OUT;
}

/* A filter may kill the program for a call that it does not expect. Looked at while the thread is
 * held: it may have confined itself a moment ago. */
static bool is_confined(const struct td_live_stop *stop)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", stop->process, stop->thread);
    char *text = td_procfs_text(NULL, path);
    char *filters = text ? td_procfs_field(text, "Seccomp") : NULL;
    const bool confined = !text || (filters && strcmp(filters, "0") != 0);
    free(filters);
    free(text);
    return confined;
}

/* Whether it stands at the begin of a call (PTRACE_SYSCALL_INFO_ENTRY, the first byte). */
static bool is_begin(const struct td_live_stop *stop)
{
    uint8_t what = 0;

    return trace(PTRACE_GET_SYSCALL_INFO, stop->thread, sizeof(what), (uintptr_t)&what) > 0 &&
           what == 1;
}

/* Our interrupt has ended a call that the program would not see ended; or the thread stands at the
 * begin of one, which would end at once with EINTR when it is let go there. */
static void mend_call(const struct td_live_stop *stop)
{
    struct td_live_registers registers;

    if (get_registers(stop->thread, &registers) < 0 ||
        (!is_begin(stop) && td_isa_state(&registers, has_signal(stop)) != TD_ISA_BROKEN))
        return;
    td_isa_call_again(&registers);
    set_registers(stop->thread, &registers);
}

void td_live_stop_leave(struct td_live_stop *stop, bool stands)
{
    int status = 0, signal = 0;
    bool ours = true; /* the stop, in place of a signal of its own or of job control */

    /* A filter would see the call that is not made, by the number -1: there it is made,
     * interrupted. */
    while (stop->held && (!stands || (is_begin(stop) && is_confined(stop)))) {
        trace(PTRACE_INTERRUPT, stop->thread, 0, 0);
        if (stands)
            td_live_stop_proceed(stop);
        /* Any stop takes the interrupt's place, also one at a call. */
        if (wait_for(stop, &status, NULL, NULL) != TD_LIVE_TAKEN)
            return;
        stands = WSTOPSIG(status) == SYSCALL_STOP;
        if (stands)
            continue;
        signal = own_signal(status);
        ours = is_event_stop(status) && WSTOPSIG(status) == SIGTRAP;
        break;
    }
    if (!stop->held)
        return;
    if (ours)
        mend_call(stop);
    detach(stop, signal);
}

/* ---- a system call in its name ---- */

/* What the call must not meet: all signals but those of faults, which the kernel would force on the
 * thread, changing what the program set for them. */
static uint64_t held_back(uint64_t own)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    uint64_t mask = UINT64_MAX;

    for (size_t i = 0; i < TD_ARRAY_SIZE(faults); i++)
        mask &= ~(UINT64_C(1) << (faults[i] - 1));
    return mask | own;
}

/* To the beginning or the end of the call. Of a signal that comes instead, what the call itself
 * raised (a fault, a call that prctl(PR_SET_SYSCALL_USER_DISPATCH) reports) is not the program's.
 */
static enum td_live_outcome step_call(struct td_live_stop *stop, struct td_err *err)
{
    for (;;) {
        int status = 0;

        trace(PTRACE_SYSCALL, stop->thread, 0, 0);
        const enum td_live_outcome outcome = wait_for(stop, &status, NULL, err);
        if (outcome != TD_LIVE_TAKEN || WSTOPSIG(status) == SYSCALL_STOP)
            return outcome;
        if (is_event_stop(status))
            continue; /* job control begins: it takes effect when the thread is let go */
        siginfo_t info = {0};
        const bool told = trace(PTRACE_GETSIGINFO, stop->thread, 0, (uintptr_t)&info) == 0;
        restore(stop,
                told && info.si_code > 0 && info.si_code != SI_KERNEL ? 0 : own_signal(status));
        return refuse(err, TD_LIVE_SIGNAL);
    }
}

/* The registers first: from then on the thread would set the mask by itself at the end. */
static bool begin_call(struct td_live_stop *stop, struct td_live_detour *detour, long number,
                       const uint64_t arguments[5])
{
    struct td_live_registers registers = stop->registers;
    struct td_buf code = {0};

    td_isa_detour(&code, &stop->registers, stop->signal_mask, number == SYS_clone);
    const uint64_t at = td_live_detour_write(detour, &code);
    td_buf_release(&code);
    stop->detour = detour;
    if (at == 0)
        return false; /* it may be another program since the place was found */
    td_isa_set_call(&registers, at, number, arguments);
    stop->calling = true;
    return set_registers(stop->thread, &registers) == 0 &&
           set_mask(stop->thread, held_back(stop->signal_mask)) == 0;
}

/* The registers are not the program's meanwhile, so nothing makes this give up; the calls that are
 * made do not wait for anything. */
enum td_live_outcome td_live_stop_call(struct td_live_stop *stop, struct td_live_detour *detour,
                                       long number, const uint64_t arguments[5], int64_t *result,
                                       struct td_err *err)
{
    struct td_live_registers registers;
    enum td_live_outcome outcome;

    if (is_confined(stop))
        return let_go(stop, refuse(err, TD_LIVE_CONFINED));
    if (!begin_call(stop, detour, number, arguments))
        return let_go(stop, refuse(err, TD_LIVE_GONE));
    outcome = step_call(stop, err);
    if (outcome == TD_LIVE_TAKEN)
        outcome = step_call(stop, err);
    if (outcome != TD_LIVE_TAKEN)
        return outcome;
    const bool known = get_registers(stop->thread, &registers) == 0;
    end_call(stop);
    *result = known ? td_isa_result(&registers) : 0;
    if (!known)
        return let_go(stop, refuse(err, TD_LIVE_GONE));
    if (td_isa_restarts(*result)) /* clone(2) does so while a signal waits */
        return let_go(stop, refuse(err, TD_LIVE_SIGNAL));
    return TD_LIVE_TAKEN;
}
