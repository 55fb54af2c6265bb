/* SPDX-License-Identifier: MIT */
/*
 * How much the predictors still learn while they are warmed before windows. What they have not
 * learnt by then makes the windows slower than the program is, so it is an error that more windows
 * do not lessen.
 */
#ifndef TD_RECORD_SIM_MODEL_SAMPLING_LEARNING_H
#define TD_RECORD_SIM_MODEL_SAMPLING_LEARNING_H

#include <stdbool.h>
#include <stdint.h>

/* Instructions of each of a warming's first two parts, which are compared. */
#define TD_LEARNING_PART 80000

struct td_learning {
    uint64_t ran; /* instructions of this warming; enough when nothing was left out before it */
    struct {
        uint64_t instructions, mispredicts;
    } parts[2]; /* of all warmings before which instructions were left out */
};

/* A warming begins, before which instructions were left out or were not. */
static inline void td_learning_begin(struct td_learning *learning, bool left_out)
{
    learning->ran = left_out ? 0 : 2 * TD_LEARNING_PART;
}

/* A block of `instructions` was warmed, after a branch that was predicted wrongly or not. */
static inline void td_learning_add(struct td_learning *learning, uint32_t instructions, bool wrong)
{
    if (learning->ran >= 2 * TD_LEARNING_PART)
        return;
    const bool second = learning->ran >= TD_LEARNING_PART;

    learning->ran += instructions;
    learning->parts[second].instructions += instructions;
    learning->parts[second].mispredicts += wrong;
}

/* By how much mispredicts fell from the first to the second part, an instruction; 0: they did not,
 * or there were no warmings. */
double td_learning_fall(const struct td_learning *learning);

#endif
