/* SPDX-License-Identifier: MIT */
/*
 * Habits: how one instruction of a modelled program used memory, or how one branch went. Figures
 * are sums over its executions, marks what came again and again in them: strides, distances,
 * periods, partners.
 */
#ifndef TD_FORMATS_HABITS_H
#define TD_FORMATS_HABITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* How figures of two recordings, or of two threads, become one. */
enum td_habit_rule {
    TD_HABIT_ADD,
    TD_HABIT_MOST, /* the larger one */
    TD_HABIT_BITS, /* what is set in either */
};

/* In the order of the file: new ones at the end. X(symbol, name, rule, what it counts) */
#define TD_HABIT_FIGURES(X)                                                                    \
    X(ACCESSES, accesses, ADD, "loads or stores")                                              \
    X(STORES, stores, ADD, "stores among them")                                                \
    X(BYTES, bytes, ADD, "bytes loaded or stored")                                             \
    X(NEW_LINES, new_lines, ADD, "to another cache line than the one before")                  \
    X(NEW_PAGES, new_pages, ADD, "to another page than the one before")                        \
    X(UNALIGNED, unaligned, ADD, "whose address is no multiple of their size")                 \
    X(SPLIT_LINES, split_lines, ADD, "over the end of a cache line")                           \
    X(SPLIT_PAGES, split_pages, ADD, "over the end of a page")                                 \
    X(FROM_L2, from_l2, ADD, "that L2 served")                                                 \
    X(FROM_L3, from_l3, ADD, "that L3 served")                                                 \
    X(FROM_MEMORY, from_memory, ADD, "that memory served")                                     \
    X(WALKS, walks, ADD, "whose page was in no TLB")                                           \
    X(FORWARDED, forwarded, ADD, "that got their data from a store that was not in L1 yet")    \
    X(BLOCKED, blocked, ADD, "that waited until a store of a part of their bytes was in L1")   \
    X(ALIASED, aliased, ADD, "that a store 4096 bytes away was in the way of")                 \
    X(CLEARED, cleared, ADD, "that ran before an older store to their address")                \
    X(SERIAL, serial, ADD, "whose address waited for what the same instruction loaded before") \
    X(LINES, lines, ADD, "cache lines that it brought into L1")                                \
    X(CONFLICTS, conflicts, ADD,                                                               \
      "of them such as had left L1 although fewer were brought in meanwhile than 3/4 of L1")   \
    X(LINES_GONE, lines_gone, ADD, "of them such as have left L1")                             \
    X(BYTES_USED, bytes_used, ADD, "bytes of those that were used by then")                    \
    X(FOOTPRINT_LINES, footprint_lines, MOST, "different cache lines, estimated")              \
    X(FOOTPRINT_PAGES, footprint_pages, MOST, "different pages, estimated")                    \
    X(SETS, sets, BITS, "which sets of L1 its lines are in, modulo 64")                        \
    X(BRANCHES, branches, ADD, "executions of a branch")                                       \
    X(TAKEN, taken, ADD, "that were taken")                                                    \
    X(WRONG, wrong, ADD, "that were mispredicted")                                             \
    X(TURNS, turns, ADD, "that went another way than the one before")                          \
    X(STRETCHES, stretches, ADD, "stretches of executions that were searched for a period")    \
    X(FAULTS, faults, ADD, "first accesses to a page, for which the core enters the kernel")   \
    X(HIGHEST, highest, MOST, "highest address, of accesses to another line")

enum td_habit_figure {
#define X(symbol, name, rule, meaning) TD_HABIT_##symbol,
    TD_HABIT_FIGURES(X)
#undef X
        TD_HABIT_FIGURE_COUNT
};

/* X(symbol, name, what its key is) */
#define TD_HABIT_MARKS(X)                                                                    \
    X(STRIDE, stride, "bytes from one access to the next")                                   \
    X(REUSE, reuse, "log2 of the lines that L1 got since it got this one before; -1: first") \
    X(PERIOD, period, "executions after which a branch does the same again; 0: none")        \
    X(BLOCKED_BY, blocked_by, "offset of the store")                                         \
    X(ALIASED_BY, aliased_by, "offset of the store")                                         \
    X(FOLLOWS, follows, "offset of an earlier branch that tells how this one goes")          \
    X(FORWARDED_BY, forwarded_by, "offset of the store that had the data")

enum td_habit_mark_kind {
#define X(symbol, name, meaning) TD_HABIT_##symbol,
    TD_HABIT_MARKS(X)
#undef X
        TD_HABIT_MARK_COUNT
};

/* Of a habit so many marks are kept, those of the largest counts. */
enum { TD_HABIT_MARKS_MAX = 48 };
/* Of so many places a profile has habits; they take some 200 MB. */
#define TD_HABITS_MAX (1U << 17)

struct td_habit_mark {
    uint32_t kind;   /* enum td_habit_mark_kind */
    uint32_t module; /* of the partner; UINT32_MAX: there is none, or it is not known */
    int64_t key;
    uint64_t count;
};

struct td_habit {
    uint32_t module;
    uint64_t offset;
    uint64_t figures[TD_HABIT_FIGURE_COUNT];
    uint32_t mark_count;
    struct td_habit_mark marks[TD_HABIT_MARKS_MAX];
};

struct td_habit_info {
    const char *name;
    enum td_habit_rule rule;
};
struct td_habit_info td_habit_info(enum td_habit_figure figure);
const char *td_habit_mark_name(unsigned kind); /* "?" for one that is not known */

/* Whether its figures can be: it may come from a file. */
bool td_habit_is_right(const struct td_habit *habit);
/* Adds one more mark; one of the same kind, key and module grows. */
void td_habit_mark(struct td_habit *habit, const struct td_habit_mark *mark);
/* Adds the figures and marks of another habit of the same place. What would be more than a
 * profile can hold is left out. */
void td_habit_add(struct td_habit *sum, const struct td_habit *habit);
/* The mark of the kind with the largest count; NULL: there is none. */
const struct td_habit_mark *td_habit_most(const struct td_habit *habit,
                                          enum td_habit_mark_kind kind);

/* Those of a profile, each place once. A zeroed struct is of none. */
struct td_habits {
    struct td_habit *at;
    size_t len, cap;
    struct td_map by_place;
};

void td_habits_release(struct td_habits *habits);
/* Adds it to what is known of its place. False, and nothing was done, when there are too many. */
bool td_habits_put(struct td_habits *habits, const struct td_habit *habit);
/* NULL: nothing is known of the place. */
const struct td_habit *td_habits_find(const struct td_habits *habits, uint32_t module,
                                      uint64_t offset);

#endif
