/* SPDX-License-Identifier: MIT */
#include "record/run/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/run/signals.h"

#define NS_PER_MS UINT64_C(1000000)
/* How often it is looked whether what was attached to still runs, where it does not tell us. */
#define LOOK_NS (100 * NS_PER_MS)

struct loop {
    struct td_run *run;
    const struct td_run_job *job;
    void *ctx;
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

static void finish(struct loop *l)
{
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
    const uint64_t times[] = {run->enable_ns, run->stop_ns, l->job->due_ns(l->ctx, now),
                              run->request->id_count && run->fd_count == 1 ? now + LOOK_NS : 0};
    uint64_t next = 0;
    for (size_t i = 0; i < TD_ARRAY_SIZE(times); i++)
        next = times[i] && (next == 0 || times[i] < next) ? times[i] : next;
    if (next == 0)
        return -1;
    return next <= now ? 0 : (int)((next - now + NS_PER_MS - 1) / NS_PER_MS);
}

static void on_time(struct loop *l, uint64_t now)
{
    if (td_run_enable_late(l->run, now) && l->job->enabled)
        l->job->enabled(l->ctx, now);
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
        const nfds_t watched = run->running ? run->fd_count + run->own_fd_count : 1;
        if (poll(run->fds, watched, wait_ms(l, td_clock_ns())) < 0 && errno != EINTR)
            break;
        if (run->fds[0].revents)
            take_signals(l);
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
    return status;
}
