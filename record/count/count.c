/* SPDX-License-Identifier: MIT */
#include "record/count/count.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/count/cpu_type.h"
#include "record/count/print.h"
#include "record/count/threads.h"
#include "record/count/counts.h"
#include "record/output.h"
#include "record/run/run.h"
#include "record/run/signals.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  1e9
/* How often it is looked whether what was attached to still runs. */
#define LOOK_NS (100 * NS_PER_MS)
/* How often for new threads, where the kernel does not wake us for them. */
#define BLIND_NS (5 * NS_PER_MS)

struct counting {
    const struct td_request *request;
    const struct td_plan *plan;
    struct td_run run;
    struct td_count_part *parts;
    size_t part_count;
    /* What the runs before counted; with this one up to now; the same at the last interval. */
    struct td_counts before, now, last, part;
    uint64_t from_ns, last_ns;          /* when this run's counting began; when the interval did */
    uint64_t next_ns;                   /* of intervals; 0: never */
    double elapsed_s, user_s, system_s; /* of all runs */
    struct td_count_threads *threads;   /* --per-thread; NULL: not asked for */
    struct pollfd *fds;                 /* signals, then what tells of threads */
    size_t fd_max;
    FILE *out;
    bool running, headed;
};

static int start(struct counting *c, struct td_err *err)
{
    const bool each = c->request->per_thread;
    int rc = td_run_open(&c->run, each ? TD_EVENTS_TRACKER : TD_EVENTS_COUNTERS, err);

    if (rc == TD_OK && each)
        rc = td_count_threads_new(&c->threads, &c->run, err);
    if (rc == TD_OK) {
        c->fd_max = 1 + c->run.events.ring_count;
        c->fds = td_xcalloc(c->fd_max, sizeof(*c->fds));
        td_run_begin(&c->run);
        if (c->threads && !c->run.enable_ns)
            td_count_threads_enable(c->threads);
        /* Executing the command is counted, so it takes part of the time. */
        c->from_ns = c->last_ns = td_clock_ns();
        rc = td_run_execute(&c->run, err);
    }
    if (rc < 0)
        return rc;
    if (c->request->interval_ms && !c->run.enable_ns)
        c->next_ns = c->from_ns + c->request->interval_ms * NS_PER_MS;
    c->running = true;
    return TD_OK;
}

static void read_now(struct counting *c)
{
    td_counts_copy(&c->now, &c->before);
    if (c->threads)
        td_count_threads_read(c->threads, &c->now);
    else
        td_events_each_value(&c->run.events, td_counts_take, &c->now);
}

static struct td_count_view view_of(const struct counting *c, const struct td_counts *counts)
{
    struct td_count_view view = {.counts = counts,
                                 .parts = c->parts,
                                 .part_count = c->part_count,
                                 .command = c->request->command,
                                 .level = c->request->topdown_level,
                                 .per_thread = c->threads != NULL,
                                 .user_s = -1,
                                 .system_s = -1};

    if (c->threads) {
        view.threads = td_count_threads_all(c->threads, &view.thread_count);
        view.misses = td_count_threads_misses(c->threads);
    }
    return view;
}

static void print_interval(struct counting *c, uint64_t now)
{
    td_counts_difference(&c->part, &c->now, &c->last);
    struct td_count_view view = view_of(c, &c->part);

    view.from_s = c->elapsed_s + (double)(c->last_ns - c->from_ns) / NS_PER_S;
    view.to_s = c->elapsed_s + (double)(now - c->from_ns) / NS_PER_S;
    c->last_ns = now;
    if (c->request->json)
        td_count_print_json(&view, true, c->out);
    else
        td_count_print_interval(&view, !c->headed, c->out);
    c->headed = true;
    fflush(c->out);
    td_counts_copy(&c->last, &c->now);
    if (c->threads)
        td_count_threads_mark(c->threads);
}

/* Ends this run's counting: its time and its counts are added to those of the runs before. */
static void stop(struct counting *c)
{
    if (!c->running)
        return;
    c->running = false;
    if (c->threads) {
        td_count_threads_take(c->threads, NULL, 0);
        td_count_threads_disable(c->threads);
    }
    td_events_disable(&c->run.events);
    const uint64_t now = td_clock_ns();
    read_now(c);
    if (c->next_ns)
        print_interval(c, now);
    if (!c->run.enable_ns)
        c->elapsed_s += (double)(now - c->from_ns) / NS_PER_S;
    td_counts_copy(&c->before, &c->now);
}

static void take_signal(struct counting *c, int number)
{
    if (number == SIGINT) /* of a command, it is the command's */
        c->run.leave = c->run.leave || !td_run_launches(&c->run);
    else
        td_run_take_signal(&c->run, number);
}

static bool is_over(const struct counting *c)
{
    if (c->run.leave)
        return true;
    if (c->request->command)
        return c->run.target.ended;
    return !c->running || !td_run_attached(&c->run);
}

static int wait_ms(const struct counting *c, uint64_t now)
{
    const uint64_t times[] = {c->run.enable_ns, c->running ? c->run.stop_ns : 0,
                              c->running ? c->next_ns : 0, c->request->id_count ? now + LOOK_NS : 0,
                              c->threads && td_count_threads_blind(c->threads) ? now + BLIND_NS
                                                                               : 0};
    uint64_t next = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(times); i++)
        next = times[i] && (next == 0 || times[i] < next) ? times[i] : next;
    if (next == 0)
        return -1;
    return next <= now ? 0 : (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void on_time(struct counting *c, uint64_t now)
{
    const uint64_t interval_ns = c->request->interval_ms * NS_PER_MS;

    if (td_run_enable_late(&c->run, now)) {
        if (c->threads)
            td_count_threads_enable(c->threads);
        c->from_ns = c->last_ns = now;
        c->next_ns = interval_ns ? now + interval_ns : 0;
    }
    if (c->running && c->run.stop_ns && now >= c->run.stop_ns)
        stop(c);
    if (c->running && c->next_ns && now >= c->next_ns) {
        read_now(c);
        print_interval(c, now);
        while (c->next_ns <= now)
            c->next_ns += interval_ns;
    }
}

static void loop(struct counting *c)
{
    c->fds[0] = (struct pollfd){.fd = c->run.signal_fd, .events = POLLIN};
    while (!is_over(c)) {
        const size_t told =
            c->threads ? td_count_threads_poll(c->threads, c->fds + 1, c->fd_max - 1) : 0;

        if (poll(c->fds, 1 + told, wait_ms(c, td_clock_ns())) < 0 && errno != EINTR)
            break;
        if (c->threads)
            td_count_threads_take(c->threads, c->fds + 1, told);
        for (int number; c->fds[0].revents && (number = td_signals_next(c->run.signal_fd));)
            take_signal(c, number);
        on_time(c, td_clock_ns());
    }
    stop(c);
    c->user_s += (double)c->run.target.user_ns / NS_PER_S;
    c->system_s += (double)c->run.target.system_ns / NS_PER_S;
}

static void print_all(struct counting *c)
{
    struct td_count_view view = view_of(c, &c->before);

    view.to_s = c->elapsed_s;
    if (td_run_launches(&c->run)) {
        view.user_s = c->user_s;
        view.system_s = c->system_s;
    }
    if (c->request->json) {
        td_count_print_json(&view, false, c->out);
        return;
    }
    if (c->headed)
        fputc('\n', c->out);
    td_count_print_text(&view, c->out);
}

/* stdout, or the file that was asked for. */
static int open_out(struct counting *c, struct td_err *err)
{
    char *path = NULL;

    c->out = stdout;
    if (!c->request->output)
        return TD_OK;
    int rc = td_output_expand(&path, c->request->output, c->run.caps->host, (uint32_t)getpid(),
                              td_output_rank(), err);
    if (rc == TD_OK)
        c->out = fopen(path, "we");
    if (rc == TD_OK && !c->out)
        rc = td_fail_errno(err, TD_EIO, errno, "cannot write '%s'", path);
    free(path);
    return rc;
}

static int close_out(const struct counting *c)
{
    const bool bad = !c->out || fflush(c->out) != 0 || ferror(c->out);

    if (c->out && c->out != stdout && fclose(c->out) != 0)
        return -1;
    return bad ? -1 : 0;
}

/* All runs; the exit status. */
static int run(struct counting *c)
{
    struct td_err err = TD_ERR_INIT;
    int rc = open_out(c, &err), status = TD_EXIT_FAILED;
    bool again = rc == TD_OK;

    while (again) {
        rc = start(c, &err);
        if (rc == TD_OK)
            loop(c);
        status = rc == TD_OK ? td_run_status(&c->run) : td_run_failure_status(&c->run, rc);
        again = rc == TD_OK && td_run_goes_on(&c->run);
        td_run_close(&c->run);
        free(c->fds);
        c->fds = NULL;
        c->next_ns = 0;
    }
    if (rc < 0)
        fprintf(stderr, "tdrec: %s\n", err.text);
    if (rc == TD_OK || c->run.pass > 1)
        print_all(c);
    return status;
}

int td_count_run(const struct td_request *request, const struct td_caps *caps,
                 const struct td_plan *plan)
{
    struct counting c = {
        .request = request,
        .plan = plan,
    };

    td_run_init(&c.run, request, caps, plan);
    struct td_counts *const sums[] = {&c.before, &c.now, &c.last, &c.part};
    for (size_t i = 0; i < TD_ARRAY_SIZE(sums); i++)
        td_counts_init(sums[i], plan);
    c.parts = td_count_parts_new(caps, plan, &c.part_count);
    int status = run(&c);
    if (close_out(&c) < 0 && status == 0) {
        fputs("tdrec: the counts could not be written\n", stderr);
        status = TD_EXIT_FAILED;
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(sums); i++)
        td_counts_release(sums[i]);
    td_count_threads_free(c.threads);
    td_count_parts_free(c.parts, c.part_count);
    return status;
}
