/* SPDX-License-Identifier: MIT */
#include "record/sim/model/pmu_signal.h"

#include <string.h>

static const char *const names[TD_SIGNAL_COUNT] = {
#define X(symbol, name) [TD_SIGNAL_##symbol] = (name),
    TD_SIGNALS(X)
#undef X
};

enum td_signal td_signal_by_name(const char *name, size_t len)
{
    int signal = 0;

    while (signal < TD_SIGNAL_COUNT &&
           (strncmp(names[signal], name, len) != 0 || names[signal][len] != '\0'))
        signal++;
    return (enum td_signal)signal;
}

bool td_signal_is_metric(enum td_signal signal)
{
    return signal >= TD_SIGNAL_RETIRING && signal <= TD_SIGNAL_MEM_BOUND;
}
