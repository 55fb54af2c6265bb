/* SPDX-License-Identifier: MIT */
/*
 * How the instructions of one thread use memory: a table of fixed size, in which those that run
 * often stay. Where two want one place, the one that runs more often keeps it.
 */
#ifndef TD_RECORD_SIM_MODEL_HABITS_USAGE_H
#define TD_RECORD_SIM_MODEL_HABITS_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/habits.h"
#include "record/sim/model/habits/lines.h"

enum {
    TD_USAGE_WAYS = 4, /* entries that one key may have */
    TD_USAGE_STRIDES = 4,
    TD_USAGE_PARTNERS = 2,
    TD_USAGE_BACKS = TD_LINE_BACK_KNOWN + 32,
    /* Of an estimate of how many are different (HyperLogLog), which is off by a twentieth mostly.
     */
    TD_USAGE_REGISTERS = 512,
    TD_USAGE_FIGURES = TD_HABIT_SETS + 1,
};

/* What a load met in the store buffer. */
enum td_met { TD_MET_NOTHING, TD_MET_FORWARDED, TD_MET_BLOCKED, TD_MET_ALIASED };

/* One access. */
struct td_use {
    uint64_t place; /* of the instruction (trace.h): blocks that overlap have the same */
    uint64_t address;
    uint32_t bytes;
    uint32_t slot;             /* of L1; TD_USE_PAST: it went past the caches */
    enum td_habit_figure from; /* FROM_L2 and so on; ACCESSES: L1 */
    enum td_met met;
    uint32_t partner; /* but for NOTHING: row of the store */
    bool store, walked, cleared;
    bool faulted; /* it is the first to its page */
    /* Cycles: when it could have been asked for at the earliest, when its address was known, when
     * its data were there. */
    int64_t first, known, ready;
};
#define TD_USE_PAST UINT32_MAX

struct td_usage_stride {
    int64_t step;
    uint64_t count;
};

struct td_usage_partner {
    uint32_t row;
    uint64_t count;
};

struct td_usage_entry {
    uint64_t last;
    int64_t last_ready;
    uint64_t hold; /* how often others may ask for its place */
    struct td_usage_stride strides[TD_USAGE_STRIDES];
    uint64_t figures[TD_USAGE_FIGURES];
    uint64_t faults;
    uint64_t lowest, highest; /* addresses */
    uint64_t backs[TD_USAGE_BACKS];
    struct td_usage_partner forwarded_by[TD_USAGE_PARTNERS], blocked_by[TD_USAGE_PARTNERS],
        aliased_by[TD_USAGE_PARTNERS];
    uint8_t lines[TD_USAGE_REGISTERS], pages[TD_USAGE_REGISTERS];
};

struct td_usage {
    struct td_lines *lines; /* owned */
    uint32_t set_mask;      /* of L1 */
    int64_t last_ready;     /* of the load before */
    /* Of each entry: place and direction, plus 1; 0: empty. */
    uint64_t keys[TD_LINE_OWNERS];
    /* Where its entry is, plus 1; 0: nowhere yet. Entries lie in the order in which they were first
     * needed, so that what a short thread does not need takes no memory. */
    uint16_t places[TD_LINE_OWNERS];
    uint16_t placed;
    uint32_t turn; /* who ages next when an instruction finds no entry */
    struct td_usage_entry entries[TD_LINE_OWNERS];
};

/* For an L1 of so many lines in sets of so many ways. */
struct td_usage *td_usage_new(uint32_t lines, uint32_t ways);
void td_usage_free(struct td_usage *usage); /* NULL is allowed */
void td_usage_note(struct td_usage *usage, const struct td_use *use);

/* Those that are known to have run often, by their place. Marks of partners have the store's row as
 * their key. */
typedef void td_usage_fn(void *ctx, const struct td_habit *habit);
void td_usage_each(const struct td_usage *usage, td_usage_fn *fn, void *ctx);

#endif
