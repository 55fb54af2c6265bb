/* SPDX-License-Identifier: MIT */
/* Processes that a command started and that outlive it: a recording ends with the command. */
#ifndef TD_RECORD_TASKS_STILL_RUNNING_H
#define TD_RECORD_TASKS_STILL_RUNNING_H

#include <stdint.h>

#define TD_STILL_RUNNING_NAMED 8

struct td_still_running {
    uint64_t count;
    uint32_t pids[TD_STILL_RUNNING_NAMED]; /* of the first of them */
};

void td_still_running_add(struct td_still_running *running, uint32_t pid);
/* One sentence: how many, which, what is no longer `done` with them ("recorded"), and how to have
 * it; newly allocated. */
char *td_still_running_text(const struct td_still_running *running, const char *done);

#endif
