/* SPDX-License-Identifier: MIT */
#include "record/tasks/still_running.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"

void td_still_running_add(struct td_still_running *running, uint32_t pid)
{
    if (running->count < TD_STILL_RUNNING_NAMED)
        running->pids[running->count] = pid;
    running->count++;
}

char *td_still_running_text(const struct td_still_running *running, const char *done)
{
    char pids[TD_STILL_RUNNING_NAMED * 12] = "";
    size_t used = 0;

    for (size_t i = 0; i < running->count && i < TD_STILL_RUNNING_NAMED; i++)
        used += (size_t)snprintf(pids + used, sizeof(pids) - used, "%s%u", i ? "," : "",
                                 running->pids[i]);
    const bool one = running->count == 1;
    return td_xasprintf("the command ended; %llu process%s that it started still run%s (%s%s) and "
                        "%s not %s any more (tdrec -p records processes that run; a command that "
                        "waits for them, as sh -c '...; wait', is recorded with them)",
                        (unsigned long long)running->count, one ? "" : "es", one ? "s" : "", pids,
                        running->count > TD_STILL_RUNNING_NAMED ? ",..." : "", one ? "is" : "are",
                        done);
}
