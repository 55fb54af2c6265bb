/* SPDX-License-Identifier: MIT */
/* Unwinds the stacks that imports bring along (formats/load.h), by the files on this machine. */
#ifndef TD_SYMBOLIZE_STACK_COPIES_H
#define TD_SYMBOLIZE_STACK_COPIES_H

#include "formats/loading.h"

struct td_replay;

struct td_replay *td_replay_new(void);
void td_replay_free(struct td_replay *replay); /* NULL is allowed */
/* For td_load_opts; valid until the free. One load at a time: it remembers modules by number. */
struct td_load_unwinder td_replay_unwinder(struct td_replay *replay);

#endif
