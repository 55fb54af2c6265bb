/* SPDX-License-Identifier: MIT */
#include "record/count.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/count_part.h"
#include "record/count_print.h"
#include "record/counts.h"
#include "record/events.h"
#include "record/output.h"
#include "record/session.h"
#include "record/signals.h"
#include "record/target.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  1e9
/* How often it is looked whether what was attached to still runs. */
#define LOOK_NS (100 * NS_PER_MS)

struct counting {
    const struct td_request *request;
    const struct td_caps *caps;
    const struct td_plan *plan;
    struct td_target target;
    struct td_events events;
    struct td_count_part *parts;
    size_t part_count;
    /* What the runs before counted; with this one up to now; the same at the last interval. */
    struct td_counts before, now, last, part;
    uint32_t *tids;
    size_t tid_count;
    int cgroup_fd, signal_fd;
    unsigned pass;
    uint64_t from_ns, last_ns; /* when this run's counting began; when the interval did */
    uint64_t enable_ns, stop_ns, next_ns; /* 0: never, or done */
    double elapsed_s, user_s, system_s;   /* of all runs */
    FILE *out;
    bool running, leave, headed;
    int exit_status; /* when there is no command that has one */
};

static bool launches(const struct counting *c)
{
    return c->plan->scope == TD_SCOPE_COMMAND;
}

static int open_command(struct counting *c, struct td_err *err)
{
    char *path = NULL;
    int rc = td_target_require_program(c->request->command[0], &path, err);

    if (rc == TD_OK && launches(c) && td_target_check_program(path, err) < 0)
        rc = TD_EUNSUPPORTED;
    free(path);
    return rc == TD_OK ? td_target_fork(&c->target, c->request->command, err) : rc;
}

static int open_target(struct counting *c, struct td_err *err)
{
    const struct td_request *request = c->request;
    int rc = request->command ? open_command(c, err) : TD_OK;

    if (rc == TD_OK && request->cgroup)
        rc = td_target_open_cgroup(request->cgroup, &c->cgroup_fd, err);
    if (rc < 0)
        return rc;
    if (request->scope == TD_SCOPE_PROCESS)
        return td_target_threads(request->ids, request->id_count, &c->tids, &c->tid_count, err);
    c->tids = td_xcalloc(request->id_count + 1, sizeof(*c->tids));
    c->tid_count = request->id_count;
    for (size_t i = 0; i < request->id_count; i++)
        c->tids[i] = request->ids[i];
    if (launches(c))
        c->tids[c->tid_count++] = (uint32_t)c->target.pid;
    return TD_OK;
}

/* A command is run again for the whole time; what runs already gets a part of it. */
static double slice_s(const struct counting *c)
{
    return launches(c) ? c->request->duration_s : c->request->duration_s / c->plan->passes;
}

static int start(struct counting *c, struct td_err *err)
{
    int rc = open_target(c, err);

    if (rc == TD_OK)
        rc = td_signals_open(launches(c), &c->signal_fd, err);
    const struct td_events_target target = {
        .tids = c->tids,
        .tid_count = c->tid_count,
        .cgroup_fd = c->cgroup_fd,
        .pass = c->pass,
        .no_rings = true,
    };
    if (rc == TD_OK)
        rc = td_events_open(&c->events, c->plan, c->caps, &target, err);
    if (rc < 0)
        return rc;
    c->from_ns = td_clock_ns();
    if (c->request->delay_ms)
        c->enable_ns = c->from_ns + c->request->delay_ms * NS_PER_MS;
    else
        td_events_enable(&c->events);
    if (c->request->command)
        rc = td_target_start(&c->target, c->request->command[0], err);
    if (rc < 0)
        return rc;
    if (!c->enable_ns)
        c->from_ns = td_clock_ns();
    if (slice_s(c) > 0)
        c->stop_ns = c->from_ns + c->request->delay_ms * NS_PER_MS + (uint64_t)(slice_s(c) * 1e9);
    if (c->request->interval_ms && !c->enable_ns)
        c->next_ns = c->from_ns + c->request->interval_ms * NS_PER_MS;
    c->last_ns = c->from_ns;
    c->running = true;
    return TD_OK;
}

static void read_now(struct counting *c)
{
    td_counts_copy(&c->now, &c->before);
    td_events_each_value(&c->events, td_counts_take, &c->now);
}

static struct td_count_view view_of(const struct counting *c, const struct td_counts *counts)
{
    return (struct td_count_view){.counts = counts,
                                  .parts = c->parts,
                                  .part_count = c->part_count,
                                  .command = c->request->command,
                                  .level = c->request->topdown_level,
                                  .user_s = -1,
                                  .system_s = -1};
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
}

/* Ends this run's counting: its time and its counts are added to those of the runs before. */
static void stop(struct counting *c)
{
    if (!c->running)
        return;
    c->running = false;
    td_events_disable(&c->events);
    const uint64_t now = td_clock_ns();
    read_now(c);
    if (c->next_ns)
        print_interval(c, now);
    if (!c->enable_ns)
        c->elapsed_s += (double)(now - c->from_ns) / NS_PER_S;
    td_counts_copy(&c->before, &c->now);
}

static void take_signal(struct counting *c, int number)
{
    switch (number) {
    case SIGINT: c->leave = c->leave || !launches(c); break; /* else it is the command's */
    case SIGTERM:
        if (c->target.pid > 0 && !c->target.ended)
            kill(c->target.pid, SIGTERM);
        else
            c->leave = true;
        break;
    case SIGHUP:
        c->leave = true;
        c->exit_status = 128 + SIGHUP;
        break;
    case SIGCHLD: td_target_poll(&c->target); break;
    default: break;
    }
}

/* Whether anything that was attached to still runs. */
static bool attached_run(const struct counting *c)
{
    for (size_t i = 0; i < c->request->id_count; i++) {
        if (kill((pid_t)c->request->ids[i], 0) == 0 || errno == EPERM)
            return true;
    }
    return c->request->id_count == 0;
}

static bool is_over(const struct counting *c)
{
    if (c->leave)
        return true;
    if (c->request->command)
        return c->target.ended;
    return !c->running || !attached_run(c);
}

static int wait_ms(const struct counting *c, uint64_t now)
{
    const uint64_t times[] = {c->enable_ns, c->running ? c->stop_ns : 0,
                              c->running ? c->next_ns : 0,
                              c->request->id_count ? now + LOOK_NS : 0};
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

    if (c->enable_ns && now >= c->enable_ns) {
        c->enable_ns = 0;
        td_events_enable(&c->events);
        c->from_ns = c->last_ns = now;
        c->next_ns = interval_ns ? now + interval_ns : 0;
    }
    if (c->running && c->stop_ns && now >= c->stop_ns)
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
    struct pollfd fd = {.fd = c->signal_fd, .events = POLLIN};

    while (!is_over(c)) {
        if (poll(&fd, 1, wait_ms(c, td_clock_ns())) < 0 && errno != EINTR)
            break;
        for (int number; fd.revents && (number = td_signals_next(c->signal_fd));)
            take_signal(c, number);
        on_time(c, td_clock_ns());
    }
    stop(c);
    c->user_s += (double)c->target.user_ns / NS_PER_S;
    c->system_s += (double)c->target.system_ns / NS_PER_S;
}

static void release_run(struct counting *c)
{
    td_target_release(&c->target);
    td_events_close(&c->events);
    if (c->cgroup_fd >= 0)
        close(c->cgroup_fd);
    if (c->signal_fd >= 0)
        close(c->signal_fd);
    free(c->tids);
    c->target = (struct td_target){.go_fd = -1, .error_fd = -1};
    c->events = (struct td_events){0};
    c->cgroup_fd = c->signal_fd = -1;
    c->tids = NULL;
    c->tid_count = 0;
    c->enable_ns = c->stop_ns = c->next_ns = 0;
}

static void print_all(struct counting *c)
{
    struct td_count_view view = view_of(c, &c->before);

    view.to_s = c->elapsed_s;
    if (launches(c)) {
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
    int rc = td_output_expand(&path, c->request->output, c->caps->host, (uint32_t)getpid(),
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

static int failure_status(const struct counting *c, int rc)
{
    if (!c->request->command || (c->target.pid && c->target.go_fd >= 0))
        return TD_EXIT_FAILED;
    if (rc == TD_ENOENT)
        return TD_EXIT_NOT_FOUND;
    return rc == TD_EPERM ? TD_EXIT_CANNOT_EXECUTE : TD_EXIT_FAILED;
}

/* All runs; the exit status. */
static int run(struct counting *c)
{
    struct td_err err = TD_ERR_INIT;
    int rc = open_out(c, &err), status = TD_EXIT_FAILED;
    bool again = rc == TD_OK;

    while (again) {
        c->pass++;
        rc = start(c, &err);
        if (rc < 0) {
            status = failure_status(c, rc);
            release_run(c);
            break;
        }
        loop(c);
        const bool killed = c->target.ended && WIFSIGNALED(c->target.status);
        status = c->target.ended ? td_target_exit_status(&c->target) : c->exit_status;
        again = c->pass < c->plan->passes && !c->leave && !killed;
        release_run(c);
    }
    if (rc < 0)
        fprintf(stderr, "tdrec: %s\n", err.text);
    if (rc == TD_OK || c->pass > 1)
        print_all(c);
    return status;
}

int td_count_run(const struct td_request *request, const struct td_caps *caps,
                 const struct td_plan *plan)
{
    struct counting c = {
        .request = request,
        .caps = caps,
        .plan = plan,
        .target = {.go_fd = -1, .error_fd = -1},
        .cgroup_fd = -1,
        .signal_fd = -1,
    };

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
    td_count_parts_free(c.parts, c.part_count);
    return status;
}
