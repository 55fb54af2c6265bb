/* SPDX-License-Identifier: MIT */
/* The head of a profile: which machine, which command, what was asked for and how it was done. */
#ifndef TD_RECORD_TASKS_PROFILE_HEAD_H
#define TD_RECORD_TASKS_PROFILE_HEAD_H

#include "formats/profile/write.h"
#include "record/machine/caps.h"
#include "record/plan/plan.h"
#include "record/request.h"

/* Writes all that is known when recording begins. */
void td_env_write(struct td_profile_writer *writer, const struct td_caps *caps,
                  const struct td_request *request, const struct td_plan *plan);
/* How a command ended, by its wait status: "exit 0", "signal 11". */
void td_env_exit_text(char *text, size_t size, int status);
void td_env_write_exit(struct td_profile_writer *writer, int status);

#endif
