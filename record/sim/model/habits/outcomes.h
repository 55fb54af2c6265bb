/* SPDX-License-Identifier: MIT */
/*
 * How the branches of one thread go: how often, which way, how regularly. A table of fixed size, in
 * which those that run often stay. Of a conditional branch that is mispredicted, stretches of its
 * outcomes are searched for a period, and other branches are tried, one after the other: whether it
 * goes as that one went last, or always the other way.
 */
#ifndef TD_RECORD_SIM_MODEL_HABITS_OUTCOMES_H
#define TD_RECORD_SIM_MODEL_HABITS_OUTCOMES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/habits.h"

enum {
    TD_OUTCOME_ENTRIES = 256,
    TD_OUTCOME_WAYS = 4,       /* entries that one branch may have */
    TD_OUTCOME_STRETCH = 1024, /* outcomes that are searched together */
    TD_OUTCOME_PERIOD_MAX = TD_OUTCOME_STRETCH / 2,
    TD_OUTCOME_PERIODS = 4,
};

struct td_outcome {
    uint64_t place; /* of the branch (trace.h): blocks that overlap end in the same */
    bool conditional, taken, wrong;
    uint64_t target; /* where it went */
};

struct td_outcome_period {
    uint32_t period; /* 0: none */
    uint64_t count;
};

/* The other branch that is tried, and the one that was found. */
struct td_outcome_other {
    uint32_t index;       /* of its entry */
    uint64_t place, runs; /* plus 1, 0: none is tried; its executions when it was last looked at */
    uint32_t tried, same, taken;
    uint64_t found, count; /* place plus 1; executions that it told of */
};

struct td_outcome_entry {
    uint64_t place; /* plus 1; 0: empty */
    uint32_t filled;
    uint32_t wrong; /* in this stretch */
    uint32_t stretches;
    uint64_t hold, last;
    bool taken; /* the last time */
    struct td_outcome_other other;
    uint64_t figures[TD_HABIT_FIGURE_COUNT - TD_HABIT_BRANCHES];
    struct td_outcome_period periods[TD_OUTCOME_PERIODS];
    uint64_t bits[TD_OUTCOME_STRETCH / 64];
};

struct td_outcomes {
    struct td_outcome_entry entries[TD_OUTCOME_ENTRIES];
    uint32_t turn; /* who ages next when a branch finds no entry */
};

struct td_outcomes *td_outcomes_new(void);
void td_outcomes_free(struct td_outcomes *outcomes); /* NULL is allowed */
/* What comes next does not follow on what came last. */
void td_outcomes_restart(struct td_outcomes *outcomes);
void td_outcomes_note(struct td_outcomes *outcomes, const struct td_outcome *outcome);

/* Those that are known to have run often, by their place. */
typedef void td_outcomes_fn(void *ctx, const struct td_habit *habit);
void td_outcomes_each(const struct td_outcomes *outcomes, td_outcomes_fn *fn, void *ctx);

#endif
