/* SPDX-License-Identifier: MIT */
/* The processes that run already, from /proc, and what the recorder knows of their modules. */
#ifndef TD_RECORD_TASKS_SCAN_H
#define TD_RECORD_TASKS_SCAN_H

#include "formats/kernel/tasks.h"
#include "record/tasks/modules.h"

/* Executable mappings become modules of `modules` (borrowed). */
struct td_tasks_hooks td_scan_hooks(struct td_modules *modules);

/* Adds what runs now: the process, its threads and mappings from /proc. False when it is gone. */
bool td_tasks_scan_process(struct td_tasks *tasks, uint32_t pid, uint64_t time_ns);
/* All that run. */
void td_tasks_scan_all(struct td_tasks *tasks, uint64_t time_ns);

#endif
