/* SPDX-License-Identifier: MIT */
#include "record/count/count.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/count/cpu_type.h"
#include "record/count/print.h"
#include "record/count/threads.h"
#include "record/count/counts.h"
#include "record/output.h"
#include "record/run/loop.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  1e9
/* How often for new threads, where the kernel does not wake us for them. */
#define BLIND_NS (5 * NS_PER_MS)
/* Intel's perf metrics are parts of 255 of the slots since they were last read: the longer, the
 * coarser (Linux, tools/perf/Documentation/topdown.txt: "every few seconds"). */
#define FRESH_NS  (1000 * NS_PER_MS)
#define METRICS_0 0x8000 /* the first of their codes, */
#define METRICS_7 0x8700 /* and the last */

struct counting {
    const struct td_request *request;
    const struct td_plan *plan;
    struct td_run run;
    struct td_count_cpu_type *parts;
    size_t part_count;
    /* What the runs before counted; with this one up to now; the same at the last interval. */
    struct td_counts before, now, last, part;
    uint64_t from_ns, last_ns;          /* when this run's counting began; when the interval did */
    uint64_t next_ns;                   /* of intervals; 0: never */
    uint64_t fresh_ns;                  /* when metrics are read again; 0: never */
    double elapsed_s, user_s, system_s; /* of all runs */
    double whole_s;                     /* with the time in which nothing was counted */
    unsigned pieces;                    /* of the time that was counted */
    bool partial;                       /* it is not all of it */
    struct td_count_threads *threads;   /* --per-thread; NULL: not asked for */
    struct td_count_machine machine;    /* --report stalls */
    FILE *out;
    bool counted, headed; /* a run has begun; the heading of the intervals is printed */
};

static bool counts_metrics(const struct td_plan *plan)
{
    for (size_t g = 0; g < plan->group_count; g++) {
        for (size_t e = 0; e < plan->groups[g].event_count; e++) {
            const struct td_plan_event *event = &plan->groups[g].events[e];

            if (event->type >= PERF_TYPE_RAW && event->config[0] >= METRICS_0 &&
                event->config[0] <= METRICS_7 && (event->config[0] & 0xff) == 0)
                return true;
        }
    }
    return false;
}

/* Events count from now on. */
static void begin_part(struct counting *c, uint64_t now)
{
    c->from_ns = c->from_ns ? c->from_ns : now;
    c->last_ns = now;
    if (c->request->interval_ms)
        c->next_ns = now + c->request->interval_ms * NS_PER_MS;
    if (counts_metrics(c->plan))
        c->fresh_ns = now + FRESH_NS;
}

static int open_run(void *ctx, struct td_err *err)
{
    struct counting *c = ctx;
    const bool each = c->request->per_thread;
    int rc = td_run_open(&c->run, each ? TD_EVENTS_TRACKER : TD_EVENTS_COUNTERS, err);

    if (rc == TD_OK && each)
        rc = td_count_threads_new(&c->threads, &c->run, err);
    if (rc < 0)
        return rc;
    td_run_begin(&c->run);
    /* Executing the command is counted, so it takes part of the time. */
    c->next_ns = 0;
    c->fresh_ns = 0;
    c->from_ns = 0;
    if (each && c->run.on_ns)
        td_count_threads_enable(c->threads);
    if (c->run.on_ns)
        begin_part(c, td_clock_ns());
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
                                 .machine = c->request->stalls ? &c->machine : NULL,
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

/* While nothing is counted there are no intervals. */
static void switched(void *ctx, bool on, uint64_t now)
{
    struct counting *c = ctx;

    if (c->threads)
        td_count_threads_switch(c->threads, on);
    if (on) {
        begin_part(c, now);
        return;
    }
    if (c->next_ns) {
        read_now(c);
        print_interval(c, now);
    }
    c->next_ns = 0;
    c->fresh_ns = 0;
}

/* Ends this run's counting: its time and its counts are added to those of the runs before. */
static void finish(void *ctx)
{
    struct counting *c = ctx;

    if (c->threads) {
        td_count_threads_take(c->threads, NULL, 0);
        td_count_threads_disable(c->threads);
    }
    td_events_disable(&c->run.events);
    const uint64_t now = td_clock_ns();
    read_now(c);
    if (c->next_ns)
        print_interval(c, now);
    c->elapsed_s += (double)td_run_recorded_ns(&c->run, now) / NS_PER_S;
    c->whole_s += (double)(now - c->run.start_ns) / NS_PER_S;
    c->pieces = c->run.pieces;
    c->partial = c->partial || td_run_is_partial(&c->run);
    td_counts_copy(&c->before, &c->now);
}

static void watch(void *ctx)
{
    struct counting *c = ctx;

    if (c->threads)
        c->run.own_fd_count =
            td_count_threads_poll(c->threads, c->run.own_fds, c->run.events.ring_count);
}

/* Of two times, 0 for never. */
static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a && (!b || a < b) ? a : b;
}

static uint64_t due_ns(void *ctx, uint64_t now)
{
    const struct counting *c = ctx;
    const uint64_t due = sooner(c->next_ns, c->fresh_ns);

    if (!c->threads || !td_count_threads_blind(c->threads))
        return due;
    return sooner(due, now + BLIND_NS);
}

static void on_time(void *ctx, uint64_t now)
{
    struct counting *c = ctx;

    if (c->threads)
        td_count_threads_take(c->threads, c->run.own_fds, c->run.own_fd_count);
    if (c->fresh_ns && now >= c->fresh_ns) {
        read_now(c);
        c->fresh_ns = now + FRESH_NS;
    }
    if (!c->next_ns || now < c->next_ns)
        return;
    read_now(c);
    print_interval(c, now);
    while (c->next_ns <= now)
        c->next_ns += c->request->interval_ms * NS_PER_MS;
}

static void close_run(void *ctx)
{
    struct counting *c = ctx;

    c->counted = c->counted || c->run.began;
    c->user_s += (double)c->run.target.user_ns / NS_PER_S;
    c->system_s += (double)c->run.target.system_ns / NS_PER_S;
}

static void print_all(struct counting *c)
{
    struct td_count_view view = view_of(c, &c->before);

    view.to_s = c->elapsed_s;
    if (c->partial) {
        view.whole_s = c->whole_s;
        view.pieces = c->pieces;
    } else if (td_run_launches(&c->run)) {
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
    static const struct td_run_job job = {.open = open_run,
                                          .watch = watch,
                                          .due_ns = due_ns,
                                          .switched = switched,
                                          .on_time = on_time,
                                          .finish = finish,
                                          .close = close_run};
    struct td_err err = TD_ERR_INIT;

    if (open_out(c, &err) < 0) {
        td_status_error(&c->run.status, err.text);
        return TD_EXIT_FAILED;
    }
    const int status = td_loop_run(&c->run, &job, c);
    if (c->counted)
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

    td_run_init(&c.run, request, caps, plan, NULL);
    struct td_counts *const sums[] = {&c.before, &c.now, &c.last, &c.part};
    for (size_t i = 0; i < TD_ARRAY_SIZE(sums); i++)
        td_counts_init(sums[i], plan);
    c.parts = td_count_cpu_types_new(caps, plan, &c.part_count);
    if (request->stalls)
        td_count_machine_read(&c.machine, caps);
    int status = run(&c);
    if (close_out(&c) < 0 && status == 0) {
        fputs("tdrec: the counts could not be written\n", stderr);
        status = TD_EXIT_FAILED;
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(sums); i++)
        td_counts_release(sums[i]);
    td_count_threads_free(c.threads);
    td_count_cpu_types_free(c.parts, c.part_count);
    return status;
}
