/* SPDX-License-Identifier: MIT */
#include "record/run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/events/phase.h"
#include "record/run/signals.h"

#define NS_PER_MS UINT64_C(1000000)

void td_run_init(struct td_run *run, const struct td_request *request, const struct td_caps *caps,
                 const struct td_plan *plan)
{
    *run = (struct td_run){
        .request = request,
        .caps = caps,
        .plan = plan,
        .target = {.go_fd = -1, .error_fd = -1},
        .cgroup_fd = -1,
        .signal_fd = -1,
    };
}

bool td_run_launches(const struct td_run *run)
{
    return run->plan->scope == TD_SCOPE_COMMAND;
}

static int open_command(struct td_run *run, struct td_err *err)
{
    char *path = NULL;
    int rc = td_target_require_program(run->request->command[0], &path, err);

    if (rc == TD_OK && td_run_launches(run) && td_target_check_program(path, err) < 0)
        rc = TD_EUNSUPPORTED;
    free(path);
    const struct td_target_program program = {.argv = run->request->command,
                                              .origin = run->request->origin};
    if (run->pass > 1)
        td_origin_rewind(program.origin);
    return rc == TD_OK ? td_target_fork(&run->target, &program, err) : rc;
}

/* What events are opened for: threads that run, or the command. */
static int find_tids(struct td_run *run, struct td_err *err)
{
    const struct td_request *request = run->request;

    if (request->scope == TD_SCOPE_PROCESS)
        return td_target_threads(request->ids, request->id_count, &run->tids, &run->tid_count, err);
    run->tids = td_xcalloc(request->id_count + 1, sizeof(*run->tids));
    run->tid_count = request->id_count;
    for (size_t i = 0; i < request->id_count; i++)
        run->tids[i] = request->ids[i];
    if (td_run_launches(run))
        run->tids[run->tid_count++] = (uint32_t)run->target.pid;
    return TD_OK;
}

int td_run_open(struct td_run *run, enum td_events_part part, struct td_err *err)
{
    const struct td_request *request = run->request;

    run->pass++;
    int rc = request->command ? open_command(run, err) : TD_OK;
    if (rc == TD_OK && request->cgroup)
        rc = td_target_open_cgroup(request->cgroup, &run->cgroup_fd, err);
    if (rc == TD_OK)
        rc = find_tids(run, err);
    if (rc == TD_OK)
        rc = td_signals_open(td_run_launches(run), &run->signal_fd, err);
    const struct td_events_target target = {
        .tids = run->tids,
        .tid_count = run->tid_count,
        .cgroup_fd = run->cgroup_fd,
        .pass = run->pass,
        .ring_pages = request->ring_pages,
        .part = part,
    };
    return rc == TD_OK ? td_events_open(&run->events, run->plan, run->caps, &target, err) : rc;
}

/* A command is run again for the whole time; what runs already gets a part of it. */
static double slice_s(const struct td_run *run)
{
    return td_run_launches(run) ? run->request->duration_s
                                : run->request->duration_s / run->plan->passes;
}

static void enable(const struct td_run *run)
{
    td_events_enable(&run->events);
    td_phase_set(&run->events, TD_NONE);
}

void td_run_begin(struct td_run *run)
{
    const uint64_t delay_ns = run->request->delay_ms * NS_PER_MS;

    run->start_ns = td_clock_ns();
    if (delay_ns)
        run->enable_ns = run->start_ns + delay_ns;
    else
        enable(run);
    if (run->request->duration_s > 0)
        run->stop_ns = run->start_ns + delay_ns + (uint64_t)(slice_s(run) * 1e9);
}

bool td_run_enable_late(struct td_run *run, uint64_t now_ns)
{
    if (run->enable_ns == 0 || now_ns < run->enable_ns)
        return false;
    run->enable_ns = 0;
    enable(run);
    return true;
}

int td_run_execute(struct td_run *run, struct td_err *err)
{
    return run->request->command ? td_target_start(&run->target, run->request->command[0], err)
                                 : TD_OK;
}

void td_run_close(struct td_run *run)
{
    const unsigned pass = run->pass;
    const int exit_status = run->exit_status;

    td_target_release(&run->target);
    td_events_close(&run->events);
    if (run->cgroup_fd >= 0)
        close(run->cgroup_fd);
    if (run->signal_fd >= 0)
        close(run->signal_fd);
    free(run->tids);
    td_run_init(run, run->request, run->caps, run->plan);
    run->pass = pass;
    run->exit_status = exit_status;
}

void td_run_take_signal(struct td_run *run, int number)
{
    switch (number) {
    case SIGTERM:
        if (run->target.pid > 0 && !run->target.ended)
            kill(run->target.pid, SIGTERM);
        else
            run->leave = true;
        break;
    case SIGHUP:
        run->leave = true;
        run->exit_status = 128 + SIGHUP;
        break;
    case SIGCHLD: td_target_poll(&run->target); break;
    default: break;
    }
}

bool td_run_attached(const struct td_run *run)
{
    for (size_t i = 0; i < run->request->id_count; i++) {
        if (kill((pid_t)run->request->ids[i], 0) == 0 || errno == EPERM)
            return true;
    }
    return run->request->id_count == 0;
}

bool td_run_goes_on(const struct td_run *run)
{
    const bool killed = run->target.ended && WIFSIGNALED(run->target.status);

    return run->pass < run->plan->passes && !run->leave && !killed && run->exit_status == 0;
}

int td_run_status(const struct td_run *run)
{
    return run->target.ended ? td_target_exit_status(&run->target) : run->exit_status;
}

int td_run_failure_status(const struct td_run *run, int rc)
{
    if (!run->request->command || (run->target.pid && run->target.go_fd >= 0))
        return TD_EXIT_FAILED;
    return td_target_failure_status(rc);
}
