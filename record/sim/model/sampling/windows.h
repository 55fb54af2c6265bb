/* SPDX-License-Identifier: MIT */
/*
 * What was modelled exactly, in parts: all up to the first instruction that was not, then windows.
 * The first part stands for itself; the windows stand for the rest. Now and then the rest up to
 * there is closed: what its windows stand for is settled, and those that come stand for what comes,
 * so that they may be closer together or farther apart.
 */
#ifndef TD_RECORD_SIM_MODEL_SAMPLING_WINDOWS_H
#define TD_RECORD_SIM_MODEL_SAMPLING_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/likely.h"

struct td_windows {
    bool sampled;                             /* the first part has ended */
    bool open;                                /* an exact part is going on */
    uint64_t from_slots, from_instructions;   /* where it began */
    uint64_t first_slots, first_instructions; /* and of what is settled */
    uint64_t settled_count;                   /* windows in it */
    double settled_error2;                    /* square of td_windows_error */
    uint64_t slots, instructions, count;      /* of the windows that have ended since */
    double slots2, cross, instructions2;      /* sums of those windows' products */
};

/* How what was seen in windows is scaled up to what it stands for. */
struct td_scale {
    uint64_t seen, whole; /* instructions */
    bool all;             /* there was no window: the first part stands for the rest, too */
    bool weighed; /* of one window that has a weight of its own: how many there are is not asked */
};

/* `sum` scaled; products beyond 64 bits are rare, and dividing them is slow. */
static inline uint64_t td_scaled(const struct td_scale *scale, uint64_t sum)
{
    uint64_t product;

    if (TD_LIKELY(!__builtin_mul_overflow(sum, scale->whole, &product)))
        return product / scale->seen;
    return (uint64_t)((unsigned __int128)sum * scale->whole / scale->seen);
}

/* Scales one after another so that the results add up to the scaled sum: `*sum` is what was scaled
 * so far. */
static inline uint64_t td_scale_add(const struct td_scale *scale, uint64_t *sum, uint64_t value)
{
    if (scale->seen == scale->whole || scale->seen == 0) {
        *sum += value;
        return value;
    }
    if (value == 0)
        return 0;
    const uint64_t before = td_scaled(scale, *sum);
    *sum += value;
    return td_scaled(scale, *sum) - before;
}

void td_windows_open(struct td_windows *windows, uint64_t slots, uint64_t instructions);
/* Ends the part that is open, if any. */
void td_windows_close(struct td_windows *windows, uint64_t slots, uint64_t instructions);
/* By how much the slots of all parts may differ, 95 %, when those since the last settlement are of
 * `whole` instructions. Where there is one window it may be by all that was not seen. Neighbouring
 * windows are alike more often than not, so it is an upper bound as a rule (systematic sampling).
 */
double td_windows_error(const struct td_windows *windows, uint64_t whole);
/* By how many standard errors, known from so many windows, the mean of what they are taken from may
 * differ, 95 % (Student's t; at least 2). Of one window none is known: its own value counts as one.
 */
double td_windows_widening(uint64_t windows);
/* The standard deviation of the windows' slots an instruction, over their mean, since the last
 * settlement; 0: too few windows. */
double td_windows_spread(const struct td_windows *windows);
/* `whole` instructions since the last settlement are over; with them, the first part and what was
 * settled before, there were so many slots and instructions. */
void td_windows_settle(struct td_windows *windows, uint64_t whole, uint64_t slots,
                       uint64_t instructions);

#endif
