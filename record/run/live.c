/* SPDX-License-Identifier: MIT */
/*
 * The `live` source: the program runs natively, sampled by the clock; now and then an image of it
 * is taken, and a window of each is run on the modelled core, beside the program and for a few
 * seconds after its end. One profile holds both, and a report joins them by place in the code.
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "record/live/imager.h"
#include "record/run/beside.h"
#include "record/run/live_windows.h"
#include "record/run/recording.h"
#include "record/run/sources.h"
#include "record/run/target.h"
#include "record/status.h"
#include "record/tasks/profile_head.h"

enum {
    PROCESSES_MAX = 64, /* to choose from at a time */
    WINDOWS_USUAL = 1000,
    DENIED_MAX = 5,
};

/* Images are first taken this far apart in CPU time, then this share of the time so far. */
#define GAP_FIRST_NS 5e6
#define GAP_SHARE    0.0125
/* What images may cost before the budget holds: else a program of 50 ms has one or two. */
#define FREE_NS 10e6
/* A thread that was in a call is asked for again after so much. */
#define AGAIN_NS UINT64_C(20000000)
/* Until writing into memory that the clone shares costs no more: a page of 4 KB is copied. */
#define COPY_NS_PER_PAGE 1500
/* Images that wait for their windows. */
#define WAITING_BYTES (UINT64_C(1) << 30)
#define ASKED_NS      (TD_NS_PER_S / 500) /* how often it is looked for an answer */
#define LOOK_NS       (TD_NS_PER_S / 50)
#define LOOK_FIRST_NS (TD_NS_PER_S / 200) /* for the first CPU time, so much: */
#define FIRST_CPU_NS  (TD_NS_PER_S / 4)
#define AFTER_NS      (8 * TD_NS_PER_S) /* after the program's end */

struct live {
    const struct td_request *request;
    const struct td_plan *plan;
    struct td_status status;
    struct td_recording *recording;
    struct td_imager *imager;
    struct td_live_windows *windows;
    int fd; /* of the image that was asked for; -1: none was */
    char name[TD_COMM_BYTES];
    uint64_t number; /* of the next image */
    uint64_t next_cpu_ns, next_line_ns;
    uint64_t asked_cpu_ns, taken_cpu_ns; /* CPU time when it was asked for, and of the last taken */
    uint64_t taken, refused[TD_LIVE_OUTCOME_COUNT];
    uint64_t pause_ns, pause_max_ns, queue_ns, watch_ns;
    double cost_ns;      /* of all images */
    double gap_least_ns; /* for the budget */
    bool later;          /* FIRST_CPU_NS are over */
    bool failed;         /* no images can be taken any more; it was said, or is at the end: */
    char failure[512];
};

/* The processes to choose from, and the name of the first. */
struct choice {
    pid_t pids[PROCESSES_MAX];
    size_t count;
    char name[TD_COMM_BYTES];
};

static void add_process(void *ctx, const struct td_process *process)
{
    struct choice *choice = ctx;

    if (process->before_exec || process->is_clone || choice->count == PROCESSES_MAX)
        return;
    if (choice->count == 0)
        memcpy(choice->name, process->comm, sizeof(choice->name));
    choice->pids[choice->count++] = (pid_t)process->pid;
}

static void fail(struct live *l, const char *why)
{
    char *text = td_xasprintf("no images are taken any more: %s", why);

    l->failed = true;
    td_recording_warn(l->recording, &l->status, text);
    free(text);
}

static void ask(struct live *l, const struct td_beside_now *now)
{
    struct choice choice = {.count = 0};
    struct td_err err = TD_ERR_INIT;

    td_tasks_each_running(now->tasks, add_process, &choice);
    if (choice.count == 0)
        return;
    l->fd = memfd_create("tdprof-image", MFD_CLOEXEC);
    if (l->fd < 0)
        return;
    memcpy(l->name, choice.name, sizeof(l->name));
    l->asked_cpu_ns = now->sampled_ns;
    const struct td_imager_order order = {.processes = choice.pids,
                                          .count = choice.count,
                                          .number = l->number,
                                          .calls = td_live_windows_calls(l->windows)};
    if (td_imager_ask(l->imager, &order, l->fd, &err) < 0) {
        close(l->fd);
        l->fd = -1;
        fail(l, err.text);
    }
}

/* The next comes after a random part of the gap, so that images keep no step with the program. */
static void plan_next(struct live *l, uint64_t cpu_ns)
{
    double gap = (double)cpu_ns * GAP_SHARE;

    gap = gap < GAP_FIRST_NS ? GAP_FIRST_NS : gap;
    gap = gap < l->gap_least_ns ? l->gap_least_ns : gap;
    const double part = 0.5 + (double)(td_hash_u64(l->number + 1) >> 11) * 0x1p-53;
    l->next_cpu_ns = cpu_ns + (uint64_t)(gap * part);
}

/* What an image costs the program: its pause, but for the part in which others had the CPU, stops
 * at its system calls, and copies of what it writes afterwards. */
static void count_cost(struct live *l, const struct td_live_result *result)
{
    const double copies = (double)result->resident_bytes / 4096 * COPY_NS_PER_PAGE;

    l->pause_ns += result->pause_ns;
    l->queue_ns += result->queue_ns;
    if (result->pause_ns > l->pause_max_ns)
        l->pause_max_ns = result->pause_ns;
    l->watch_ns += result->watch_ns;
    const double held = (double)(result->pause_ns - result->queue_ns + result->watch_ns);
    l->cost_ns += held + copies;
    l->gap_least_ns = l->cost_ns < FREE_NS ? 0 : (held + copies) / l->request->overhead;
}

static void take_answer(struct live *l, const struct td_beside_now *now)
{
    struct td_live_result result;

    if (l->fd < 0 || !td_imager_answer(l->imager, &result))
        return;
    if (result.outcome == TD_LIVE_TAKEN) {
        count_cost(l, &result);
        td_live_windows_add(l->windows, l->fd, l->number++, l->name,
                            l->asked_cpu_ns - l->taken_cpu_ns);
        l->taken_cpu_ns = l->asked_cpu_ns;
        l->taken++;
    } else {
        close(l->fd);
        l->refused[result.outcome]++;
        /* Of a command's children the kernel may allow less than of itself. */
        if (result.outcome == TD_LIVE_DENIED && l->taken == 0 &&
            l->refused[TD_LIVE_DENIED] == DENIED_MAX)
            fail(l, result.text);
    }
    l->fd = -1;
    plan_next(l, now->sampled_ns);
    if (result.outcome == TD_LIVE_IN_CALL && l->next_cpu_ns > now->sampled_ns + AGAIN_NS)
        l->next_cpu_ns = now->sampled_ns + AGAIN_NS;
}

static bool wants_image(const struct live *l, const struct td_beside_now *now)
{
    const uint64_t most = l->request->windows ? l->request->windows : WINDOWS_USUAL;

    return l->fd < 0 && !l->failed && l->taken < most && now->sampled_ns >= l->next_cpu_ns &&
           td_live_windows_bytes(l->windows) < WAITING_BYTES;
}

static void show(struct live *l, const struct td_beside_now *now)
{
    const struct td_live_counts counts = td_live_windows_counts(l->windows);

    if (now->now_ns < l->next_line_ns)
        return;
    l->next_line_ns = now->now_ns + TD_NS_PER_S;
    td_status_live(&l->status, "tdrec %.0f s, %llu windows (of %llu)",
                   (double)(now->now_ns - now->start_ns) / 1e9,
                   (unsigned long long)td_live_counts_useful(&counts),
                   (unsigned long long)l->taken);
}

static void check_windows(struct live *l)
{
    const char *why = td_live_windows_failure(l->windows);

    if (why && !l->failed)
        fail(l, why);
}

static void on_time(void *ctx, const struct td_beside_now *now)
{
    struct live *l = ctx;

    l->later = now->sampled_ns > FIRST_CPU_NS;
    take_answer(l, now);
    td_live_windows_turn(l->windows);
    check_windows(l);
    if (wants_image(l, now))
        ask(l, now);
    show(l, now);
}

static uint64_t due_ns(void *ctx, uint64_t now)
{
    const struct live *l = ctx;

    return now + (l->fd >= 0 ? ASKED_NS : l->later ? LOOK_NS : LOOK_FIRST_NS);
}

/* After the program's end: what waits, for a while, or until an interrupt. */
static void run_rest(struct live *l)
{
    const uint64_t until_ns = td_clock_ns() + AFTER_NS;
    struct td_live_counts counts = td_live_windows_counts(l->windows);
    sigset_t ends, before;

    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, &before);
    const int fd = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    struct pollfd signals = {.fd = fd, .events = POLLIN};
    while (counts.waiting > 0 && td_clock_ns() < until_ns && poll(&signals, 1, 10) == 0) {
        td_live_windows_turn(l->windows);
        counts = td_live_windows_counts(l->windows);
        td_status_live(&l->status, "tdrec: %llu windows, %llu to come (Ctrl-C: without them)",
                       (unsigned long long)td_live_counts_useful(&counts),
                       (unsigned long long)counts.waiting);
    }
    if (fd >= 0)
        close(fd);
    while (sigtimedwait(&ends, NULL, &(struct timespec){0}) > 0)
        continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void tell_windows(struct live *l, const struct td_live_counts *counts)
{
    const uint64_t useful = td_live_counts_useful(counts);
    const unsigned long long useless =
        counts->early + counts->fault + counts->lost + counts->waiting;
    char text[320], queue[64] = "";

    snprintf(text, sizeof(text), "windows=%llu", (unsigned long long)useful);
    td_profile_env(l->recording->writer, td_env_key_name(TD_ENV_PARAMETER), text);
    if (l->queue_ns * 10 > l->pause_ns)
        snprintf(queue, sizeof(queue), " (%.1f ms of it without a free CPU)",
                 (double)l->queue_ns / 1e6);
    td_status_note(
        &l->status,
        "%llu images, %llu windows (%llu whole); longest pause %.1f ms, %.1f ms in all%s",
        (unsigned long long)l->taken, (unsigned long long)useful, (unsigned long long)counts->whole,
        (double)l->pause_max_ns / 1e6, (double)l->pause_ns / 1e6, queue);
    if (counts->answered > 0)
        td_status_note(&l->status,
                       "%llu system calls in windows have the program's own answers; noting them "
                       "took %.1f ms of its time",
                       (unsigned long long)counts->answered, (double)l->watch_ns / 1e6);
    if (useless > 0) {
        snprintf(text, sizeof(text),
                 "of %llu images %llu say nothing: %llu came to a system call at once, %llu to "
                 "code that fails in the emulator, %llu were lost, %llu were not run in time",
                 (unsigned long long)l->taken, useless, (unsigned long long)counts->early,
                 (unsigned long long)counts->fault, (unsigned long long)counts->lost,
                 (unsigned long long)counts->waiting);
        if (useless > l->taken / 4)
            td_recording_warn(l->recording, &l->status, text);
        else
            td_status_note(&l->status, "%s", text);
    }
}

/* Why there are no images or few, by the most frequent reason. */
static void tell_refused(struct live *l)
{
    int most = TD_LIVE_TAKEN;
    uint64_t all = 0;
    char text[320];

    for (int i = 0; i < TD_LIVE_OUTCOME_COUNT; i++) {
        all += l->refused[i];
        most = l->refused[i] > l->refused[most] ? i : most;
    }
    if (all == 0 && l->taken == 0 && !l->failed)
        td_recording_warn(l->recording, &l->status,
                          l->request->scope == TD_SCOPE_COMMAND
                              ? "the recording ended before the first image was due: there are no "
                                "categories (--source sim models all of a short command)"
                              : "the processes used too little CPU time for an image: there are no "
                                "categories (record for longer, or while they work)");
    if (all <= l->taken)
        return;
    snprintf(text, sizeof(text), "%llu times no image could be taken, most often because %s",
             (unsigned long long)all,
             most == TD_LIVE_DENIED ? td_live_denied_text(NULL)
                                    : td_live_outcome_text((enum td_live_outcome)most));
    td_recording_warn(l->recording, &l->status, text);
}

static int finish(struct live *l, int status)
{
    struct td_err err = TD_ERR_INIT;

    if (l->failure[0])
        fail(l, l->failure);
    run_rest(l);
    check_windows(l);
    td_live_windows_write(l->windows, l->recording->writer);
    const struct td_live_counts counts = td_live_windows_counts(l->windows);
    tell_windows(l, &counts);
    tell_refused(l);
    if (td_recording_finish(l->recording, &err) < 0) {
        td_status_error(&l->status, err.text);
        return TD_EXIT_FAILED;
    }
    td_recording_tell(l->recording, &l->status);
    return status;
}

/* Clones are children of the program to the kernel, and run a little when they are repaired. */
static enum td_clone is_clone(void *ctx, uint32_t pid)
{
    struct live *l = ctx;

    if (!l->imager)
        return TD_CLONE_NOT;
    if (td_imager_cloned(l->imager, (pid_t)pid))
        return TD_CLONE_IS;
    return td_imager_asked(l->imager) ? TD_CLONE_UNKNOWN : TD_CLONE_NOT;
}

static int record(struct live *l, const struct td_caps *caps)
{
    const struct td_beside beside = {.ctx = l,
                                     .due_ns = due_ns,
                                     .on_time = on_time,
                                     .clone = is_clone,
                                     .tracer = l->imager ? td_imager_id(l->imager) : 0};

    l->recording->more = true;
    l->recording->beside = &beside;
    const int status = td_source_clock.run(l->request, caps, l->plan, l->recording);
    l->recording->more = false;
    l->recording->beside = NULL;
    if (!l->recording->native.began || status == TD_EXIT_FAILED)
        return status;
    return finish(l, status);
}

static int run_live(const struct td_request *request, const struct td_caps *caps,
                    const struct td_plan *plan, struct td_recording *recording)
{
    struct live l = {.request = request,
                     .plan = plan,
                     .status = td_status_init(stderr, request->quiet),
                     .recording = recording,
                     .fd = -1};
    struct td_err err = TD_ERR_INIT;
    int rc = td_live_windows_new(&l.windows, &plan->core_desc, &err);
    int status = 0;

    /* The program's time is worth something alone. */
    if (rc == TD_OK && td_imager_new(&l.imager, &err) < 0) {
        l.failed = true;
        snprintf(l.failure, sizeof(l.failure), "%s", err.text);
    }
    if (rc == TD_OK) {
        plan_next(&l, 0);
        status = record(&l, caps);
    } else if (rc == TD_EIO) { /* a limit */
        td_status_note(&l.status, "no windows are run, only time is recorded: %s", err.text);
        status = td_source_clock.run(request, caps, plan, recording);
    } else {
        td_status_error(&l.status, err.text);
        status = td_target_failure_status(rc);
    }
    td_imager_free(l.imager);
    td_live_windows_free(l.windows);
    if (l.fd >= 0)
        close(l.fd);
    return status;
}

const struct td_source td_source_live = {
    .id = TD_SOURCE_LIVE, .needs = TD_NEEDS_EVENTS, .plan = td_plan_live, .run = run_live};
