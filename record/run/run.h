/* SPDX-License-Identifier: MIT */
/*
 * One run of a plan: whom it is about, and its events, opened and started. What a recording
 * (session) and a count have in common.
 */
#ifndef TD_RECORD_RUN_RUN_H
#define TD_RECORD_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/machine/caps.h"
#include "record/events/events.h"
#include "record/plan/plan.h"
#include "record/request.h"
#include "record/run/target.h"

struct td_run {
    const struct td_request *request; /* these three borrowed */
    const struct td_caps *caps;
    const struct td_plan *plan;
    unsigned pass;           /* of the plan's runs, from 1; 0 before the first */
    struct td_target target; /* the command */
    struct td_events events;
    uint32_t *tids; /* METHOD_TASK: to open events for */
    size_t tid_count;
    int cgroup_fd, signal_fd;              /* -1: none */
    uint64_t start_ns, enable_ns, stop_ns; /* 0: not yet; never, or done */
    bool leave;                            /* end, whether or not the command did */
    int exit_status;                       /* when there is no command that has one */
};

void td_run_init(struct td_run *run, const struct td_request *request, const struct td_caps *caps,
                 const struct td_plan *plan);
/* The next run: forks the command, which waits, finds the threads, and opens the events. Fails with
 * one sentence; td_run_close after a failure too. */
int td_run_open(struct td_run *run, enum td_events_part part, struct td_err *err);
/* Events count from now on, or from the end of the delay on (td_run_enable_late). */
void td_run_begin(struct td_run *run);
/* Starts them when the delay has just passed; true then. */
bool td_run_enable_late(struct td_run *run, uint64_t now_ns);
/* Lets the command execute, if there is one. */
int td_run_execute(struct td_run *run, struct td_err *err);
/* Closes what belongs to this run; the next can be opened. */
void td_run_close(struct td_run *run);

/* The plan is about a command, not about something that runs beside it. */
bool td_run_launches(const struct td_run *run);
/* SIGTERM goes to the command; it and SIGHUP end what has none. SIGCHLD takes the command's end.
 * Of SIGINT the caller knows what it means. */
void td_run_take_signal(struct td_run *run, int number);
/* Whether any that was attached to by number still runs; true when nothing was. */
bool td_run_attached(const struct td_run *run);
/* Whether another run of the plan follows: not after a signal ended this one. */
bool td_run_goes_on(const struct td_run *run);
/* The command's exit status, or that of a run without one. */
int td_run_status(const struct td_run *run);
/* That of a run which could not be opened or begun, for the code it failed with. */
int td_run_failure_status(const struct td_run *run, int rc);

#endif
