/* SPDX-License-Identifier: MIT */
#include "record/sim/qemu/window.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "record/sim/qemu/guest_memory.h"
#include "record/sim/qemu/image.h"
#include "record/sim/window/jail.h"
#include "record/sim/window/loader/loader.h"

enum {
    /* A window is looked at after so many instructions, at the most and the least. */
    CHUNK_MAX = 1 << 20,
    CHUNK_MIN = 2000,
    /* Words of a batch that must be free before the loader runs in a window. */
    SERVING_WORDS = 4096,
    GUEST_RT_SIGRETURN = 15,
    FUTEX_WAKE = 1,
    FUTEX_WAKE_BITSET = 10,
    FUTEX_COMMANDS = 0x7f,
    MAP_OF_NO_FILE = 0x20,
};

/* A window may be longer than asked for by this. */
#define EXCESS 0.03

bool td_window_parse(struct td_window *window, const char *text)
{
    char *words = td_xstrdup(text), *rest = words;
    uint64_t values[3] = {0};
    size_t count = 0;
    const char *word;

    while ((word = strsep(&rest, ":")) && count < 3 && td_parse_u64(word, &values[count]))
        count++;
    free(words);
    if (word || count != 3 || values[1] == 0 || values[2] == 0)
        return false;
    *window = (struct td_window){
        .wanted = true, .warm = values[0], .fill = values[1], .cycles = values[2]};
    return true;
}

/* The model's clock, when it has caught up. */
static uint64_t cycles_now(struct td_image_thread *thread)
{
    td_queue_drain(thread->queue);
    const uint64_t cycles = td_sim_clock(td_queue_lock(thread->queue));
    td_queue_unlock(thread->queue);
    return cycles;
}

static struct td_sampling_phase phase_of(struct td_window *window, enum td_sim_mode mode,
                                         uint64_t instructions)
{
    if (mode == TD_SIM_EXACT)
        window->ran += instructions;
    return (struct td_sampling_phase){.mode = mode, .instructions = instructions};
}

static struct td_sampling_phase loading(struct td_window *window)
{
    window->stage = TD_WINDOW_LOADING;
    return phase_of(window, TD_SIM_FAST_FORWARD, INT64_MAX);
}

/* As many instructions as are missing, by what they took lately. */
static struct td_sampling_phase next_chunk(struct td_window *window, uint64_t done)
{
    const double left = ((double)window->cycles - (double)done) / window->cpi;

    return phase_of(window, TD_SIM_EXACT,
                    left > CHUNK_MAX   ? CHUNK_MAX
                    : left < CHUNK_MIN ? CHUNK_MIN
                                       : (uint64_t)left);
}

/* What the window says is in the model; how it ended is told to tdrec. */
static void end(struct td_image *process, struct td_image_thread *thread,
                enum td_mailbox_window_end how, int64_t detail)
{
    struct td_window *window = &process->window;
    const bool exact = window->stage == TD_WINDOW_EXACT;
    const uint64_t ran = exact ? window->ran - (uint64_t)(thread->left > 0 ? thread->left : 0) : 0;
    const bool by_call = how == TD_MAILBOX_WINDOW_CUT || how == TD_MAILBOX_WINDOW_EARLY;
    const bool asked_more = by_call && td_replay_is_over(&window->replay);

    td_image_turn(
        process, thread,
        &(struct td_sampling_phase){.mode = TD_SIM_FAST_FORWARD, .instructions = INT64_MAX});
    window->stage = TD_WINDOW_LOADING;
    const uint64_t cycles = exact ? cycles_now(thread) - window->from_cycles : 0;
    if (cycles > 0) {
        const double per_ns = process->desc.mhz / 1e3 * (double)ran / (double)cycles;

        td_image_stand_for(thread, (double)window->stands_ns * per_ns,
                           ran + window->fill + window->warm);
    }
    if (process->mailbox)
        td_mailbox_window(process->mailbox,
                          &(struct td_mailbox_window){.number = window->number,
                                                      .end = how,
                                                      .detail = (int32_t)detail,
                                                      .instructions = ran,
                                                      .cycles = cycles,
                                                      .answered = window->replay.answered,
                                                      .asked_more = asked_more});
}

/* The loader's handler takes over; its signal is pending before the program's call is made. */
static void call_loader(void)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), TD_LOADER_SIGNAL);
}

/* Of the window's functional warming. */
static uint64_t near_warming(const struct td_window *window)
{
    return window->warm / 2 < TD_NEAR_WARMING ? window->warm / 2 : TD_NEAR_WARMING;
}

struct td_sampling_phase td_window_next(struct td_image *process, struct td_image_thread *thread)
{
    struct td_window *window = &process->window;
    uint64_t now = 0;

    switch (window->stage) {
    case TD_WINDOW_LOADING: break;
    case TD_WINDOW_WARMING:
        window->stage = TD_WINDOW_NEAR;
        return phase_of(window, TD_SIM_NEAR_WARMING, near_warming(window));
    case TD_WINDOW_NEAR:
        window->stage = TD_WINDOW_FILLING;
        window->filled_cycles = cycles_now(thread);
        return phase_of(window, TD_SIM_DETAILED_WARMING, window->fill);
    case TD_WINDOW_FILLING:
        window->stage = TD_WINDOW_EXACT;
        window->ran = 0;
        window->from_cycles = cycles_now(thread);
        window->cpi =
            (double)(window->from_cycles - window->filled_cycles + 1) / (double)window->fill;
        return next_chunk(window, 0);
    case TD_WINDOW_EXACT:
        now = cycles_now(thread) - window->from_cycles;
        if ((double)now < (1 - EXCESS) * (double)window->cycles) {
            window->cpi = (double)(now + 1) / (double)(window->ran + 1);
            return next_chunk(window, now);
        }
        end(process, thread, TD_MAILBOX_WINDOW_WHOLE, 0);
        call_loader();
        break;
    }
    return loading(window);
}

static void begin(struct td_image *process, struct td_image_thread *thread,
                  const struct td_live_image_head *head)
{
    struct td_window *window = &process->window;

    if (!window->jailed) {
        td_queue_start(thread->queue); /* the jail lets nobody make threads */
        if (!td_jail_enter())
            _exit(TD_JAIL_REFUSED);
        window->jailed = true;
    }
    window->number = (uint32_t)head->number;
    window->stands_ns = head->stands_ns;
    td_replay_begin(&window->replay, head, TD_LOADER_LAST);
    /* What the loader did until now is nobody's. */
    td_image_turn(process, thread,
                  &(struct td_sampling_phase){.mode = TD_SIM_FUNCTIONAL_WARMING,
                                              .instructions = window->warm - near_warming(window)});
    window->stage = TD_WINDOW_WARMING;
    td_image_add_word(thread, td_trace_mark(TD_TRACE_THREAD));
}

static bool is_regular(uint64_t descriptor)
{
    struct stat st;

    return fstat((int)descriptor, &st) == 0 && S_ISREG(st.st_mode);
}

/* The loader leads what is written to /dev/null. */
static bool is_sink(uint64_t descriptor)
{
    struct stat st, null;

    return fstat((int)descriptor, &st) == 0 && S_ISCHR(st.st_mode) &&
           fstat(TD_LOADER_NULL, &null) == 0 && st.st_rdev == null.st_rdev;
}

/* Whether a signal mask leaves the loader's signal be. */
static bool lets_loader_in(const uint64_t a[5])
{
    uint64_t set = 0;

    return a[1] == 0 || a[0] == SIG_UNBLOCK ||
           (td_guest_read(&set, a[1], sizeof(set)) && !(set >> (TD_LOADER_SIGNAL - 1) & 1));
}

static bool wakes(const uint64_t a[5])
{
    const uint64_t command = a[1] & FUTEX_COMMANDS;

    return command == FUTEX_WAKE || command == FUTEX_WAKE_BITSET;
}

static bool handles_another(const uint64_t a[5])
{
    return a[0] != TD_LOADER_SIGNAL;
}

static bool reads_file(const uint64_t a[5])
{
    return is_regular(a[0]);
}

static bool writes_nowhere(const uint64_t a[5])
{
    return is_sink(a[0]);
}

static bool maps_no_file(const uint64_t a[5])
{
    return (a[3] & MAP_OF_NO_FILE) != 0;
}

/* Calls that a window makes as the program would: they change nothing outside, and the answer is
 * the one that the program would get. arch/x86/entry/syscalls/syscall_64.tbl */
static const struct {
    int16_t number;
    bool (*applies)(const uint64_t args[5]); /* NULL: always */
} harmless[] = {
    {0, reads_file},       /* read */
    {1, writes_nowhere},   /* write */
    {3, NULL},             /* close */
    {5, NULL},             /* fstat */
    {8, NULL},             /* lseek */
    {9, maps_no_file},     /* mmap */
    {10, NULL},            /* mprotect */
    {11, NULL},            /* munmap */
    {12, NULL},            /* brk */
    {13, handles_another}, /* rt_sigaction */
    {14, lets_loader_in},  /* rt_sigprocmask */
    {17, reads_file},      /* pread64 */
    {19, reads_file},      /* readv */
    {20, writes_nowhere},  /* writev */
    {24, NULL},            /* sched_yield */
    {25, NULL},            /* mremap */
    {28, NULL},            /* madvise */
    {39, NULL},            /* getpid */
    {63, NULL},            /* uname */
    {79, NULL},            /* getcwd */
    {96, NULL},            /* gettimeofday */
    {98, NULL},            /* getrusage */
    {102, NULL},           /* getuid */
    {104, NULL},           /* getgid */
    {107, NULL},           /* geteuid */
    {108, NULL},           /* getegid */
    {110, NULL},           /* getppid */
    {186, NULL},           /* gettid */
    {201, NULL},           /* time */
    {202, wakes},          /* futex */
    {204, NULL},           /* sched_getaffinity */
    {228, NULL},           /* clock_gettime */
    {229, NULL},           /* clock_getres */
    {309, NULL},           /* getcpu */
    {318, NULL},           /* getrandom */
};

static bool is_harmless(int64_t number, const uint64_t arguments[5])
{
    for (size_t i = 0; i < TD_ARRAY_SIZE(harmless); i++) {
        if (harmless[i].number == number)
            return !harmless[i].applies || harmless[i].applies(arguments);
    }
    return false;
}

/* The loader's handler runs now; what it does is not the window's. */
static void serve(struct td_image *process, struct td_image_thread *thread)
{
    struct td_window *window = &process->window;

    if (thread->full - thread->next < SERVING_WORDS)
        td_image_flush(process, thread, 0);
    window->serving = true;
    window->served_next = thread->next;
    window->served_left = thread->left;
    thread->left = INT64_MAX;
    call_loader();
}

static void go_on(struct td_window *window, struct td_image_thread *thread)
{
    window->serving = false;
    thread->next = window->served_next;
    thread->left = window->served_left;
}

/* A call came that cannot be made nor answered. */
static void end_by_call(struct td_image *process, struct td_image_thread *thread, int64_t number)
{
    end(process, thread,
        process->window.stage == TD_WINDOW_EXACT ? TD_MAILBOX_WINDOW_CUT : TD_MAILBOX_WINDOW_EARLY,
        number);
}

/* The loader's handler of its signal asks what to do: it reads `answer`. */
static void tell_answer(struct td_image *process, struct td_image_thread *thread, uint64_t address)
{
    struct td_window *window = &process->window;
    struct td_loader_answer answer = {.valid = 0};

    if (!window->serving)
        return; /* the window is over */
    if (td_replay_answer(&window->replay, &answer) &&
        td_guest_write(address, &answer, sizeof(answer)))
        return;
    go_on(window, thread);
    end_by_call(process, thread, window->replay.call.number);
}

/* The loader's signal comes by itself after a fault: it is in its handler already. */
static void take_loaders(struct td_image *process, struct td_image_thread *thread,
                         const uint64_t arguments[5])
{
    const bool loads = process->window.stage == TD_WINDOW_LOADING;
    struct td_live_image_head head;

    switch (arguments[0]) {
    case TD_LOADER_BEGIN:
        if (loads && td_guest_read(&head, arguments[1], sizeof(head)))
            begin(process, thread, &head);
        break;
    case TD_LOADER_ASK: tell_answer(process, thread, arguments[1]); break;
    case TD_LOADER_FAULT:
        if (!loads)
            end(process, thread, TD_MAILBOX_WINDOW_FAULT, (int64_t)arguments[1]);
        break;
    case TD_LOADER_LOST:
        if (!loads)
            break;
        process->window.number = (uint32_t)arguments[2];
        end(process, thread, TD_MAILBOX_WINDOW_LOST, (int64_t)arguments[1]);
        break;
    default: break;
    }
}

void td_window_call(struct td_image *process, struct td_image_thread *thread, int64_t number,
                    const uint64_t arguments[TD_LIVE_ARGUMENTS])
{
    struct td_window *window = &process->window;

    if (number == TD_LOADER_CALL) {
        take_loaders(process, thread, arguments);
        return;
    }
    number = td_guest_call(process->exec.guest, number);
    if (window->serving && number == GUEST_RT_SIGRETURN)
        go_on(window, thread); /* the window does, behind its call */
    else if (window->stage == TD_WINDOW_LOADING || window->serving)
        return; /* the loader's */
    else if (td_replay_take(&window->replay, number, arguments))
        serve(process, thread);
    else if (is_harmless(number, arguments))
        td_replay_let(&window->replay, number, arguments);
    else {
        end_by_call(process, thread, number);
        call_loader();
    }
}

void td_window_called(struct td_image *process, int64_t number, int64_t result)
{
    if (process->window.stage != TD_WINDOW_LOADING && number != TD_LOADER_CALL)
        td_replay_returned(&process->window.replay, result);
}
