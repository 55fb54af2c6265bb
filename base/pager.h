/* SPDX-License-Identifier: MIT */
/* A pager in front of stdout, as git does it: $TDPROF_PAGER, $PAGER, less. */
#ifndef TD_BASE_PAGER_H
#define TD_BASE_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

/* The terminal obeys no control characters: $TERM is dumb, or nothing. */
bool td_terminal_is_plain(void);
/* Makes stdout a pipe to the pager, and SIGPIPE an error of writing (EPIPE). False, with nothing
 * changed, when none is wanted (empty or "cat") or none can be started. */
bool td_pager_start(pid_t *ret);
/* Closes stdout and waits until the user leaves the pager. */
void td_pager_finish(pid_t pager);

#endif
