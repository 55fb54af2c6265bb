/* SPDX-License-Identifier: MIT */
#include "record/sim/model/sampling/pace.h"

/* Windows that the rate is of, about: a phase of the program is over after as many. */
#define WINDOWS 16

void td_pace_note(struct td_pace *pace, int64_t cycles, uint64_t instructions, bool first)
{
    if (instructions == 0)
        return;
    const double rate = (double)cycles / (double)instructions;

    if (!first && pace->windows < WINDOWS)
        pace->windows++;
    pace->rate += (rate - pace->rate) / (first ? 1 : pace->windows);
}

int64_t td_pace_passed(struct td_pace *pace, uint64_t instructions)
{
    pace->cycles += (double)(instructions - pace->instructions) * pace->rate;
    pace->instructions = instructions;
    return (int64_t)pace->cycles;
}
