/* SPDX-License-Identifier: MIT */
#include "record/run/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/opt.h"
#include "record/run/control.h"
#include "record/run/signals.h"

#define NS_PER_MS UINT64_C(1000000)
/* How often it is looked whether what was attached to still runs, where it does not tell us. */
#define LOOK_NS (100 * NS_PER_MS)

struct loop {
    struct td_run *run;
    const struct td_run_job *job;
    void *ctx;
    struct td_control *control; /* NULL: nobody commands */
};

static int start(struct loop *l, struct td_err *err)
{
    struct td_run *run = l->run;

    run->pass++;
    int rc = l->job->open(l->ctx, err);
    if (rc == TD_OK) {
        td_run_watch(run);
        rc = td_run_execute(run, err);
    }
    run->began = run->running = rc == TD_OK;
    if (rc == TD_OK && l->job->executed)
        l->job->executed(l->ctx);
    return rc;
}

/* For the profile and for the user; --count has no profile. */
static void warn(struct td_run *run, const char *text)
{
    if (run->recording)
        td_run_warn(run, text);
    else
        td_status_note(&run->status, "%s", text);
}

static void finish(struct loop *l)
{
    if (l->run->running && l->control && l->run->pieces == 0)
        warn(l->run, "nothing was recorded: no 'enable' came through --control");
    if (l->run->running)
        l->job->finish(l->ctx);
    l->run->running = false;
}

/* Of a command, the first interrupt is its alone. */
static void take_interrupt(struct loop *l)
{
    if (!td_run_launches(l->run))
        l->run->leave = true;
    else if (l->job->second_ends && ++l->run->interrupts == 2)
        finish(l);
}

static void take_signals(struct loop *l)
{
    for (int number; (number = td_signals_next(l->run->signal_fd));) {
        if (number == SIGINT)
            take_interrupt(l);
        else
            td_run_take_signal(l->run, number);
    }
}

/* Commands from outside. */

static void tell_events(struct td_run *run)
{
    for (size_t g = 0; g < run->plan->group_count; g++) {
        const struct td_plan_group *group = &run->plan->groups[g];

        for (size_t e = 0; e < group->event_count && !td_plan_is_tracker(group); e++)
            td_status_note(&run->status, "event %s", group->events[e].name);
    }
}

static bool switch_events(struct loop *l, bool on)
{
    struct td_run *run = l->run;
    const uint64_t now = td_clock_ns();

    if (!run->running) {
        td_status_note(&run->status, "--control: recording has ended");
        return false;
    }
    if (td_run_switch(run, on, now)) {
        if (l->job->switched)
            l->job->switched(l->ctx, on, now);
        td_status_note(&run->status, "recording is %s", on ? "on" : "off");
    }
    return true;
}

static bool take_snapshot(struct loop *l)
{
    if (l->run->running && l->job->snapshot) {
        l->job->snapshot(l->ctx);
        return true;
    }
    td_status_note(&l->run->status, "--control: 'snapshot': %s",
                   l->run->running ? "there is no profile that could be written"
                                   : "recording has ended");
    return false;
}

/* perf's commands that are of one event have its name behind them. */
static void tell_unknown(struct td_run *run, const char *text)
{
    static const char *const words[] = {
#define X(symbol, word) word,
        TD_CONTROL_COMMANDS(X)
#undef X
            NULL};
    static const char all[] =
#define X(symbol, word) " " word
        TD_CONTROL_COMMANDS(X);
#undef X
    const char *near = td_nearest(text, words);

    if (strncmp(text, "enable ", 7) == 0 || strncmp(text, "disable ", 8) == 0)
        td_status_note(&run->status,
                       "--control: '%s': single events cannot be switched, only all of them", text);
    else if (near)
        td_status_note(&run->status, "--control: '%s' is no command (did you mean %s?)", text,
                       near);
    else
        td_status_note(&run->status, "--control: '%s' is no command; there are:%s", text, all);
}

static void stop(struct loop *l)
{
    if (l->run->running && td_run_launches(l->run))
        warn(l->run, "recording was stopped through --control; the command went on");
    finish(l);
}

static bool obey(struct loop *l, enum td_control_command command, const char *text)
{
    switch (command) {
    case TD_CONTROL_PING: return true;
    case TD_CONTROL_ENABLE: return switch_events(l, true);
    case TD_CONTROL_DISABLE: return switch_events(l, false);
    case TD_CONTROL_SNAPSHOT: return take_snapshot(l);
    case TD_CONTROL_EVLIST: tell_events(l->run); return true;
    case TD_CONTROL_STOP: stop(l); return true;
    case TD_CONTROL_NONE:
    case TD_CONTROL_UNKNOWN: break;
    }
    tell_unknown(l->run, text);
    return false;
}

static void take_commands(struct loop *l)
{
    const bool more = td_control_read(l->control);
    enum td_control_command command;
    const char *text = NULL;

    while ((command = td_control_next(l->control, &text)) != TD_CONTROL_NONE) {
        if (!td_control_answer(l->control, obey(l, command, text)))
            td_status_note(&l->run->status,
                           "--control: nobody reads the answers: there are no more of them");
    }
    if (!more)
        td_status_note(&l->run->status,
                       "--control: all who could write commands are gone: recording %s",
                       !l->run->running ? "has ended"
                       : l->run->on_ns  ? "stays on"
                                        : "stays off");
}

static bool is_over(const struct td_run *run)
{
    if (run->leave)
        return true;
    if (run->request->command)
        return run->target.ended;
    return !run->running || !td_run_attached(run);
}

static int wait_ms(const struct loop *l, uint64_t now)
{
    const struct td_run *run = l->run;

    if (!run->running)
        return -1;
    const uint64_t times[] = {
        run->enable_ns, run->stop_ns, l->job->due_ns(l->ctx, now),
        run->request->id_count && run->fd_count == TD_RUN_FD_PROCESSES ? now + LOOK_NS : 0};
    uint64_t next = 0;
    for (size_t i = 0; i < TD_ARRAY_SIZE(times); i++)
        next = times[i] && (next == 0 || times[i] < next) ? times[i] : next;
    if (next == 0)
        return -1;
    return next <= now ? 0 : (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void on_time(struct loop *l, uint64_t now)
{
    if (td_run_enable_late(l->run, now) && l->job->switched)
        l->job->switched(l->ctx, true, now);
    if (l->run->stop_ns && now >= l->run->stop_ns)
        finish(l);
    else
        l->job->on_time(l->ctx, now);
}

static void loop(struct loop *l)
{
    struct td_run *run = l->run;

    td_target_poll(&run->target); /* its end may have come before its signal was watched */
    while (!is_over(run)) {
        if (l->job->watch)
            l->job->watch(l->ctx);
        const nfds_t watched =
            run->running ? run->fd_count + run->own_fd_count : TD_RUN_FD_PROCESSES;
        run->fds[TD_RUN_FD_CONTROL].fd = l->control ? td_control_fd(l->control) : -1;
        if (poll(run->fds, watched, wait_ms(l, td_clock_ns())) < 0 && errno != EINTR)
            break;
        if (run->fds[TD_RUN_FD_SIGNALS].revents)
            take_signals(l);
        if (run->fds[TD_RUN_FD_CONTROL].revents)
            take_commands(l);
        td_run_take_ended(run);
        if (run->running)
            on_time(l, td_clock_ns());
    }
}

int td_loop_run(struct td_run *run, const struct td_run_job *job, void *ctx)
{
    struct loop l = {.run = run, .job = job, .ctx = ctx};
    struct td_err err = TD_ERR_INIT;
    int rc = TD_OK, status = 0;
    bool again = true;

    if (run->request->control && td_control_open(&l.control, run->request->control, &err) < 0) {
        td_status_error(&run->status, err.text);
        return TD_EXIT_FAILED;
    }

    while (again) {
        rc = start(&l, &err);
        if (rc == TD_OK) {
            loop(&l);
            finish(&l);
        } else {
            td_status_error(&run->status, err.text);
        }
        if (job->close)
            job->close(ctx);
        if (rc < 0)
            status = td_run_failure_status(run, rc);
        else
            status = run->failed ? TD_EXIT_FAILED : td_run_status(run);
        again = rc == TD_OK && td_run_goes_on(run);
        td_run_close(run);
    }
    td_control_close(l.control);
    return status;
}
