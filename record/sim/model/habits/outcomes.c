/* SPDX-License-Identifier: MIT */
#include "record/sim/model/habits/outcomes.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum {
    LEAST = 32,        /* what ran less often is not told */
    HOLD_MAX = 100000, /* as usage.c */
    /* A stretch is searched when more than one in so many of its outcomes was mispredicted: */
    WRONG_PART = 64,
    ALWAYS = 4, /* the first ones always, */
    SELDOM = 8, /* then one in so many. */
    /* In a period all but one in so many of the outcomes are the same again. */
    MISSED_PART = 100,
    TRIES = 64, /* executions that two branches are compared in, of which one may be odd */
    LOOKS = 8,  /* entries that are looked at for the next one to compare with */
    VARIED = 8, /* each way is one in so many at least */
};

/* Where a figure of branches stands in an entry. */
#define FIGURE(symbol) (TD_HABIT_##symbol - TD_HABIT_BRANCHES)

struct td_outcomes *td_outcomes_new(void)
{
    return td_xcalloc(1, sizeof(struct td_outcomes));
}

void td_outcomes_free(struct td_outcomes *outcomes)
{
    free(outcomes);
}

/* Of the places that it may have, that of one that runs no more gives way in time. They age by
 * turns: were it always the one that is held least, two that run by turns would hold off each other
 * for ever, and what has long ended would stay. */
static struct td_outcome_entry *take_place(struct td_outcomes *outcomes,
                                           struct td_outcome_entry *places, uint64_t place)
{
    struct td_outcome_entry *least = places;

    for (int i = 1; i < TD_OUTCOME_WAYS; i++)
        least = places[i].hold < least->hold ? &places[i] : least;
    if (least->hold > 0) {
        places[outcomes->turn++ % TD_OUTCOME_WAYS].hold--;
        return NULL;
    }
    memset(least, 0, sizeof(*least));
    least->place = place + 1;
    least->hold = 1;
    return least;
}

static struct td_outcome_entry *entry_of(struct td_outcomes *outcomes, uint64_t place)
{
    struct td_outcome_entry *places =
        &outcomes->entries[td_hash_u64(place) % (TD_OUTCOME_ENTRIES / TD_OUTCOME_WAYS) *
                           TD_OUTCOME_WAYS];

    for (int i = 0; i < TD_OUTCOME_WAYS; i++) {
        if (places[i].place != place + 1)
            continue;
        places[i].hold += places[i].hold < HOLD_MAX;
        return &places[i];
    }
    return take_place(outcomes, places, place);
}

/* 64 outcomes from the `from`th on. */
static uint64_t word_at(const uint64_t *bits, uint32_t from)
{
    const uint32_t word = from / 64, shift = from % 64;

    return shift ? bits[word] >> shift | bits[word + 1] << (64 - shift) : bits[word];
}

static bool repeats(const uint64_t *bits, uint32_t period)
{
    const uint32_t words = (TD_OUTCOME_STRETCH - period) / 64;
    uint32_t missed = 0;

    for (uint32_t i = 0; i < words && missed <= words * 64 / MISSED_PART; i++)
        missed += (uint32_t)__builtin_popcountll(bits[i] ^ word_at(bits, i * 64 + period));
    return missed <= words * 64 / MISSED_PART;
}

/* 0: none is short enough. */
static uint32_t find_period(const uint64_t *bits)
{
    for (uint32_t period = 1; period < TD_OUTCOME_PERIOD_MAX; period++) {
        if (repeats(bits, period))
            return period;
    }
    return 0;
}

static void note_period(struct td_outcome_entry *entry, uint32_t period)
{
    for (int i = 0; i < TD_OUTCOME_PERIODS; i++) {
        struct td_outcome_period *known = &entry->periods[i];

        if (known->count == 0 || known->period == period) {
            known->period = period;
            known->count++;
            return;
        }
    }
}

static void begin_stretch(struct td_outcome_entry *entry)
{
    memset(entry->bits, 0, sizeof(entry->bits));
    entry->filled = entry->wrong = 0;
    entry->other.place = 0;
}

static bool is_varied(uint64_t taken, uint64_t all)
{
    return taken * VARIED >= all && (all - taken) * VARIED >= all;
}

/* The next branch that goes both ways. */
static void choose_other(const struct td_outcomes *outcomes, struct td_outcome_entry *entry)
{
    struct td_outcome_other *other = &entry->other;

    other->place = 0;
    other->tried = other->same = other->taken = 0;
    for (int i = 0; i < LOOKS && !other->place; i++) {
        other->index = (other->index + 1) % TD_OUTCOME_ENTRIES;
        const struct td_outcome_entry *next = &outcomes->entries[other->index];
        const uint64_t runs = next->figures[FIGURE(BRANCHES)];

        if (next == entry || runs < LEAST || !is_varied(next->figures[FIGURE(TAKEN)], runs))
            continue;
        other->place = next->place;
        other->runs = runs;
    }
}

/* One more execution of a branch beside the last one of another. One that has not run since, or of
 * which some outcomes are the same and some are not, tells nothing. */
static void compare(struct td_outcomes *outcomes, struct td_outcome_entry *entry, bool taken)
{
    struct td_outcome_other *other = &entry->other;
    const struct td_outcome_entry *before = &outcomes->entries[other->index];
    const uint64_t runs = before->figures[FIGURE(BRANCHES)];

    other->tried++;
    other->same += before->taken == taken;
    other->taken += taken;
    if (other->place == 0 || before->place != other->place || runs == other->runs ||
        (other->same > 1 && other->tried - other->same > 1)) {
        choose_other(outcomes, entry);
        return;
    }
    other->runs = runs;
    if (other->tried < TRIES)
        return;
    if (is_varied(other->taken, TRIES) && (!other->found || other->found == other->place)) {
        other->found = other->place;
        other->count += TRIES;
    }
    other->tried = other->same = other->taken = 0;
}

void td_outcomes_restart(struct td_outcomes *outcomes)
{
    for (size_t i = 0; i < TD_OUTCOME_ENTRIES; i++) {
        if (outcomes->entries[i].filled > 0)
            begin_stretch(&outcomes->entries[i]);
    }
}

static void search(struct td_outcome_entry *entry)
{
    const uint32_t stretch = entry->stretches++;
    const bool chosen = stretch < ALWAYS || stretch % SELDOM == 0;

    /* A predictor learns in the first one. */
    if (stretch > 0 && chosen && entry->wrong > TD_OUTCOME_STRETCH / WRONG_PART) {
        entry->figures[FIGURE(STRETCHES)]++;
        note_period(entry, find_period(entry->bits));
    }
    begin_stretch(entry);
}

void td_outcomes_note(struct td_outcomes *outcomes, const struct td_outcome *outcome)
{
    struct td_outcome_entry *entry = entry_of(outcomes, outcome->place);

    if (!entry)
        return;
    entry->figures[FIGURE(TURNS)] +=
        entry->figures[FIGURE(BRANCHES)] > 0 && outcome->target != entry->last;
    entry->figures[FIGURE(BRANCHES)]++;
    entry->figures[FIGURE(TAKEN)] += outcome->taken;
    entry->figures[FIGURE(WRONG)] += outcome->wrong;
    entry->last = outcome->target;
    if (!outcome->conditional)
        return;
    if (entry->figures[FIGURE(WRONG)] * WRONG_PART > entry->figures[FIGURE(BRANCHES)])
        compare(outcomes, entry, outcome->taken);
    entry->taken = outcome->taken;
    entry->bits[entry->filled / 64] |= (uint64_t)outcome->taken << entry->filled % 64;
    entry->wrong += outcome->wrong;
    if (++entry->filled == TD_OUTCOME_STRETCH)
        search(entry);
}

void td_outcomes_each(const struct td_outcomes *outcomes, td_outcomes_fn *fn, void *ctx)
{
    for (size_t i = 0; i < TD_OUTCOME_ENTRIES; i++) {
        const struct td_outcome_entry *entry = &outcomes->entries[i];
        struct td_habit habit = {.offset = entry->place - 1};

        if (entry->figures[FIGURE(BRANCHES)] < LEAST)
            continue;
        memcpy(&habit.figures[TD_HABIT_BRANCHES], entry->figures, sizeof(entry->figures));
        for (int p = 0; p < TD_OUTCOME_PERIODS; p++) {
            const struct td_habit_mark mark = {.kind = TD_HABIT_PERIOD,
                                               .module = UINT32_MAX,
                                               .key = entry->periods[p].period,
                                               .count = entry->periods[p].count};
            if (mark.count > 0)
                td_habit_mark(&habit, &mark);
        }
        const struct td_habit_mark follows = {.kind = TD_HABIT_FOLLOWS,
                                              .key = (int64_t)(entry->other.found - 1),
                                              .count = entry->other.count};
        if (follows.count > 0)
            td_habit_mark(&habit, &follows);
        fn(ctx, &habit);
    }
}
