/* SPDX-License-Identifier: MIT */
/*
 * What was modelled exactly, in parts: all up to the first instruction that was not, then windows.
 * The first part stands for itself; the windows stand for all the rest.
 */
#ifndef TD_RECORD_SIM_WINDOWS_H
#define TD_RECORD_SIM_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

struct td_windows {
    bool sampled;                           /* the first part has ended */
    bool open;                              /* an exact part is going on */
    uint64_t from_slots, from_instructions; /* where it began */
    uint64_t first_slots, first_instructions;
    uint64_t slots, instructions, count; /* of the windows that have ended */
    double slots2, cross, instructions2; /* sums of the windows' products */
};

/* How what was seen in windows is scaled up to what it stands for. */
struct td_scale {
    uint64_t seen, whole; /* instructions */
    bool all;             /* there was no window: the first part stands for the rest, too */
};

void td_windows_open(struct td_windows *windows, uint64_t slots, uint64_t instructions);
/* Ends the part that is open, if any. */
void td_windows_close(struct td_windows *windows, uint64_t slots, uint64_t instructions);
/* Two standard errors of the slots that the windows predict for `whole` instructions; 0 when there
 * are too few to tell. Neighbouring windows are alike more often than not, so it is an upper bound
 * as a rule (systematic sampling). */
double td_windows_error(const struct td_windows *windows, uint64_t whole);

/* Scales one after another so that the results add up to the scaled sum: `*sum` is what was scaled
 * so far. */
static inline uint64_t td_scale_add(const struct td_scale *scale, uint64_t *sum, uint64_t value)
{
    if (scale->seen == scale->whole || scale->seen == 0) {
        *sum += value;
        return value;
    }
    const uint64_t before = (uint64_t)((unsigned __int128)*sum * scale->whole / scale->seen);
    *sum += value;
    return (uint64_t)((unsigned __int128)*sum * scale->whole / scale->seen) - before;
}

#endif
