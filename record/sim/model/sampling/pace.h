/* SPDX-License-Identifier: MIT */
/*
 * The time that passes in what is not modelled: as many cycles an instruction as the windows before
 * it took. A program's beginning is unlike the rest, so it counts until the first window alone.
 */
#ifndef TD_RECORD_SIM_MODEL_SAMPLING_PACE_H
#define TD_RECORD_SIM_MODEL_SAMPLING_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* A zeroed struct: nothing was modelled yet, no time passes. */
struct td_pace {
    double rate; /* cycles an instruction */
    unsigned windows;
    uint64_t instructions; /* not modelled, up to now, */
    double cycles;         /* and the time they took */
};

/* A window has ended, or the first part: `first`. */
void td_pace_note(struct td_pace *pace, int64_t cycles, uint64_t instructions, bool first);
/* The cycles of all that was not modelled: so many instructions up to now. */
int64_t td_pace_passed(struct td_pace *pace, uint64_t instructions);

#endif
