/* SPDX-License-Identifier: MIT */
/*
 * A run of a plan: whom it is about, its events, opened and started, and what is told of it. The
 * loop (loop.h) goes through it; a plan may have several.
 */
#ifndef TD_RECORD_RUN_RUN_H
#define TD_RECORD_RUN_RUN_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/events/events.h"
#include "record/plan/plan.h"
#include "record/request.h"
#include "record/run/recording.h"
#include "record/tasks/still_running.h"
#include "record/run/target.h"
#include "record/status.h"

/* The places in fds that each run has. */
enum { TD_RUN_FD_SIGNALS, TD_RUN_FD_CONTROL, TD_RUN_FD_PROCESSES };

struct td_run {
    const struct td_request *request; /* these three borrowed */
    const struct td_caps *caps;
    const struct td_plan *plan;
    struct td_recording *recording; /* borrowed; NULL: there is no profile */
    struct td_status status;
    unsigned pass;           /* of the plan's runs, from 1; 0 before the first */
    struct td_target target; /* the command */
    char **env;              /* that it gets; borrowed, NULL: ours */
    struct td_events events;
    uint32_t *tids; /* METHOD_TASK: to open events for */
    size_t tid_count;
    int cgroup_fd, signal_fd; /* -1: none */
    /* Signals, commands from outside, processes that are attached to; behind them own_fds. */
    struct pollfd *fds;
    size_t fd_count;
    struct pollfd *own_fds; /* a job's, as many as it says, up to one per ring */
    size_t own_fd_count;
    uint64_t start_ns, enable_ns, stop_ns; /* 0: not yet; never, or done */
    uint64_t on_ns;                        /* since when events count; 0: they do not */
    uint64_t recorded_ns;                  /* for how long they counted before that */
    unsigned pieces;                       /* how many times they were started */
    unsigned interrupts;                   /* of the command, where they matter (loop.h) */
    bool began;                            /* the command executed, or what runs is watched */
    bool running;                          /* and what it does is recorded */
    bool leave;                            /* end, whether or not the command did */
    bool failed;                           /* of ours: exit status 125 */
    int exit_status;                       /* when there is no command that has one */
};

/* `recording` may be NULL. */
void td_run_init(struct td_run *run, const struct td_request *request, const struct td_caps *caps,
                 const struct td_plan *plan, struct td_recording *recording);
/* The next run: forks the program (NULL: none), which waits, and watches signals. Fails with one
 * sentence; td_run_close after a failure too. */
int td_run_prepare(struct td_run *run, const struct td_target_program *program, struct td_err *err);
/* The same for the request's command; finds the threads, and opens the events. */
int td_run_open(struct td_run *run, enum td_events_part part, struct td_err *err);
/* Events count from now on, or from the end of the delay on (td_run_enable_late), or when they are
 * switched on. */
void td_run_begin(struct td_run *run);
/* Starts them when the delay has just passed; true then. */
bool td_run_enable_late(struct td_run *run, uint64_t now_ns);
/* Starts or stops them, whatever the delay; what tells of mappings goes on. False: they do, or do
 * not, already. */
bool td_run_switch(struct td_run *run, bool on, uint64_t now_ns);
/* For how long events counted up to now; whether that may be a part of the run only. */
uint64_t td_run_recorded_ns(const struct td_run *run, uint64_t now_ns);
bool td_run_is_partial(const struct td_run *run);
/* Makes fds, of what was opened. */
void td_run_watch(struct td_run *run);
/* Takes those out of fds that have ended. */
void td_run_take_ended(struct td_run *run);
/* Lets the command execute, if there is one. */
int td_run_execute(struct td_run *run, struct td_err *err);
/* Closes what belongs to this run; the next can be opened. */
void td_run_close(struct td_run *run);

/* A sentence for the user and the profile. */
void td_run_warn(struct td_run *run, const char *text);
/* The same, of a profile that has less than was asked for. */
void td_run_cut(struct td_run *run, const char *text);
/* Says which processes the command left, and that they are not `done` ("recorded") any more. */
void td_run_tell_left(struct td_run *run, const struct td_still_running *left, const char *done);
/* The file cannot be written any more: the command goes on, it is only waited for. */
void td_run_give_up(struct td_run *run, struct td_err *err);

/* The plan is about a command, not about something that runs beside it. */
bool td_run_launches(const struct td_run *run);
/* SIGTERM goes to the command; it and SIGHUP end what has none. SIGCHLD takes the command's end.
 * Of SIGINT the caller knows what it means. */
void td_run_take_signal(struct td_run *run, int number);
/* Whether any that was attached to by number still runs; true when nothing was. */
bool td_run_attached(const struct td_run *run);
/* Whether another run of the plan follows: not after a signal or a failure ended this one. */
bool td_run_goes_on(const struct td_run *run);
/* The command's exit status, or that of a run without one. */
int td_run_status(const struct td_run *run);
/* That of a run which could not be opened or begun, for the code it failed with. */
int td_run_failure_status(const struct td_run *run, int rc);

#endif
