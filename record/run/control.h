/* SPDX-License-Identifier: MIT */
/*
 * --control: commands from outside, in perf's words (man perf-record), through a FIFO or through
 * descriptors that tdrec inherited. Each command is answered where an answer was asked for: "ack\n"
 * and a 0 byte, as perf does, or "nack\n" when it was not done.
 */
#ifndef TD_RECORD_RUN_CONTROL_H
#define TD_RECORD_RUN_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* X(symbol, word); what perf has besides is told apart from nonsense (td_control_perf_only). */
#define TD_CONTROL_COMMANDS(X) \
    X(ENABLE, "enable")        \
    X(DISABLE, "disable")      \
    X(SNAPSHOT, "snapshot")    \
    X(STOP, "stop")            \
    X(PING, "ping")            \
    X(EVLIST, "evlist")

enum td_control_command {
    TD_CONTROL_NONE, /* nothing more has come */
#define X(symbol, word) TD_CONTROL_##symbol,
    TD_CONTROL_COMMANDS(X)
#undef X
        TD_CONTROL_UNKNOWN
};

struct td_control;

/* Whether the words are right: fifo:PATH[,ACK] or fd:N[,ACK]. TD_EUSAGE. */
int td_control_check(const char *words, struct td_err *err);
/* TD_EUSAGE, TD_EIO: there is no such FIFO or descriptor. The caller frees *ret. */
int td_control_open(struct td_control **ret, const char *words, struct td_err *err);
void td_control_close(struct td_control *control); /* NULL is allowed */

/* To be polled; -1: nothing comes any more. */
int td_control_fd(const struct td_control *control);
/* Reads what has come; it does not wait once the descriptor was polled. False: all writers are
 * gone, and nothing comes any more. */
bool td_control_read(struct td_control *control);
/* The next command of what was read. `text` is the whole line, without what would move a terminal,
 * until the next call. */
enum td_control_command td_control_next(struct td_control *control, const char **text);
/* Answers the last command. False, once: nobody takes the answers any more. */
bool td_control_answer(struct td_control *control, bool done);

#endif
