/* SPDX-License-Identifier: MIT */
/* Signals as readable descriptors; those that were ignored when we started stay ignored. */
#ifndef TD_RECORD_RUN_SIGNALS_H
#define TD_RECORD_RUN_SIGNALS_H

#include <stdbool.h>

#include "base/err.h"

/* Call after the command was forked, which keeps what it inherited. `launched`: signals that the
 * terminal sends to the whole group are the command's. *ret is a signalfd. */
int td_signals_open(bool launched, int *ret, struct td_err *err);
/* The next signal that came, or 0. */
int td_signals_next(int fd);

#endif
