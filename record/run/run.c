/* SPDX-License-Identifier: MIT */
#include "record/run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "record/run/beside.h"
#include "record/events/pair_offset.h"
#include "record/run/signals.h"

#define NS_PER_MS UINT64_C(1000000)

void td_run_init(struct td_run *run, const struct td_request *request, const struct td_caps *caps,
                 const struct td_plan *plan, struct td_recording *recording)
{
    *run = (struct td_run){
        .request = request,
        .caps = caps,
        .plan = plan,
        .recording = recording,
        .status = td_status_init(stderr, request->quiet),
        .target = {.go_fd = -1, .error_fd = -1},
        .cgroup_fd = -1,
        .signal_fd = -1,
    };
}

bool td_run_launches(const struct td_run *run)
{
    return run->plan->scope == TD_SCOPE_COMMAND;
}

int td_run_prepare(struct td_run *run, const struct td_target_program *program, struct td_err *err)
{
    int rc = TD_OK;

    if (program && run->pass > 1)
        td_inherited_rewind(program->inherited);
    if (program)
        rc = td_target_fork(&run->target, program, err);
    return rc == TD_OK ? td_signals_open(td_run_launches(run), &run->signal_fd, err) : rc;
}

static int check_command(const struct td_run *run, struct td_err *err)
{
    char *path = NULL;
    int rc = td_target_require_program(run->request->command[0], &path, err);

    if (rc == TD_OK && td_run_launches(run) && td_target_check_program(path, err) < 0)
        rc = TD_EUNSUPPORTED;
    free(path);
    return rc;
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
    const struct td_beside *beside = run->recording ? run->recording->beside : NULL;
    const struct td_target_program program = {.argv = request->command,
                                              .env = run->env,
                                              .inherited = request->inherited,
                                              .tracer = beside ? beside->tracer : 0};
    int rc = request->command ? check_command(run, err) : TD_OK;

    if (rc == TD_OK)
        rc = td_run_prepare(run, request->command ? &program : NULL, err);
    if (rc == TD_OK && request->cgroup)
        rc = td_target_open_cgroup(request->cgroup, &run->cgroup_fd, err);
    if (rc == TD_OK)
        rc = find_tids(run, err);
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

static void note_on(struct td_run *run, uint64_t now_ns)
{
    run->on_ns = now_ns;
    run->pieces++;
}

static void enable(struct td_run *run, uint64_t now_ns)
{
    td_events_enable(&run->events);
    td_pair_offset_set(&run->events, TD_NONE);
    note_on(run, now_ns);
}

void td_run_begin(struct td_run *run)
{
    const uint64_t delay_ns = run->request->delay_ms * NS_PER_MS;

    run->start_ns = td_clock_ns();
    if (delay_ns)
        run->enable_ns = run->start_ns + delay_ns;
    else if (!run->request->start_off)
        enable(run, run->start_ns);
    if (run->request->duration_s > 0)
        run->stop_ns = run->start_ns + delay_ns + (uint64_t)(slice_s(run) * 1e9);
}

bool td_run_enable_late(struct td_run *run, uint64_t now_ns)
{
    if (run->enable_ns == 0 || now_ns < run->enable_ns)
        return false;
    run->enable_ns = 0;
    enable(run, now_ns);
    return true;
}

bool td_run_switch(struct td_run *run, bool on, uint64_t now_ns)
{
    run->enable_ns = 0;
    if (on == (run->on_ns != 0))
        return false;
    if (on) {
        td_events_resume(&run->events);
        td_pair_offset_set(&run->events, TD_NONE);
        note_on(run, now_ns);
    } else {
        td_events_pause(&run->events);
        run->recorded_ns += now_ns - run->on_ns;
        run->on_ns = 0;
    }
    return true;
}

uint64_t td_run_recorded_ns(const struct td_run *run, uint64_t now_ns)
{
    return run->recorded_ns + (run->on_ns ? now_ns - run->on_ns : 0);
}

bool td_run_is_partial(const struct td_run *run)
{
    const struct td_request *request = run->request;

    return request->delay_ms || request->start_off || run->pieces != 1 || run->on_ns == 0;
}

static void forget_processes(struct td_run *run)
{
    while (run->fd_count > TD_RUN_FD_PROCESSES)
        close(run->fds[--run->fd_count].fd);
}

/* Processes tell of their end where the kernel has descriptors for that; else one has to look. */
void td_run_watch(struct td_run *run)
{
    const struct td_request *request = run->request;
    const size_t ids = request->scope == TD_SCOPE_PROCESS ? request->id_count : 0;

    run->fds = td_xcalloc(TD_RUN_FD_PROCESSES + ids + run->events.ring_count, sizeof(*run->fds));
    run->fds[TD_RUN_FD_SIGNALS] = (struct pollfd){.fd = run->signal_fd, .events = POLLIN};
    run->fds[TD_RUN_FD_CONTROL] = (struct pollfd){.fd = -1, .events = POLLIN};
    run->fd_count = TD_RUN_FD_PROCESSES;
    for (size_t i = 0; i < ids; i++) {
        const int fd = (int)syscall(SYS_pidfd_open, (pid_t)request->ids[i], 0);

        if (fd < 0 && errno != ESRCH) {
            forget_processes(run);
            break;
        }
        run->fds[run->fd_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    run->own_fds = run->fds + run->fd_count;
}

void td_run_take_ended(struct td_run *run)
{
    for (size_t i = TD_RUN_FD_PROCESSES; i < run->fd_count; i++) {
        if (run->fds[i].revents && run->fds[i].fd >= 0) {
            close(run->fds[i].fd);
            run->fds[i].fd = -1;
        }
    }
}

int td_run_execute(struct td_run *run, struct td_err *err)
{
    const int rc = run->request->command
                       ? td_target_start(&run->target, run->request->command[0], err)
                       : TD_OK;

    if (rc == TD_OK && run->request->started)
        run->request->started(run->request->started_ctx);
    return rc;
}

void td_run_close(struct td_run *run)
{
    struct td_run next;

    td_target_release(&run->target);
    td_events_close(&run->events);
    if (run->cgroup_fd >= 0)
        close(run->cgroup_fd);
    if (run->signal_fd >= 0)
        close(run->signal_fd);
    forget_processes(run);
    free(run->fds);
    free(run->tids);
    td_run_init(&next, run->request, run->caps, run->plan, run->recording);
    next.status = run->status;
    next.pass = run->pass;
    next.exit_status = run->exit_status;
    *run = next;
}

void td_run_warn(struct td_run *run, const char *text)
{
    td_recording_warn(run->recording, &run->status, text);
}

void td_run_cut(struct td_run *run, const char *text)
{
    td_recording_cut(run->recording, &run->status, text);
}

void td_run_tell_left(struct td_run *run, const struct td_still_running *left, const char *done)
{
    char *text = left->count ? td_still_running_text(left, done) : NULL;

    if (text)
        td_run_warn(run, text);
    free(text);
}

void td_run_give_up(struct td_run *run, struct td_err *err)
{
    run->running = false;
    run->failed = true;
    td_recording_prefix(run->recording, err);
    td_status_error(&run->status, err->text);
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
    for (size_t i = TD_RUN_FD_PROCESSES; i < run->fd_count; i++) {
        if (run->fds[i].fd >= 0)
            return true;
    }
    if (run->fd_count > TD_RUN_FD_PROCESSES)
        return false;
    for (size_t i = 0; i < run->request->id_count; i++) {
        if (kill((pid_t)run->request->ids[i], 0) == 0 || errno == EPERM)
            return true;
    }
    return run->request->id_count == 0;
}

bool td_run_goes_on(const struct td_run *run)
{
    const bool killed = run->target.ended && WIFSIGNALED(run->target.status);

    return run->pass < run->plan->passes && !run->leave && !run->failed && run->interrupts == 0 &&
           !killed && run->exit_status == 0;
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
