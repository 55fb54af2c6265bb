/* SPDX-License-Identifier: MIT */
#include "record/sim/model/habits/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/likely.h"
#include "base/mem.h"

enum {
    LINE_BITS = 6,
    PAGE_BITS = 12,
    LEAST = 32,        /* what ran less often is not told */
    HOLD_MAX = 100000, /* what has stopped running gives way after as many of another */
    /* An address was waited for when it is known so soon after the data before, */
    SERIAL_SLACK = 16,
    /* and so late when those were another instruction's. */
    SERIAL_LATE = 32,
};

struct td_usage *td_usage_new(uint32_t lines, uint32_t ways)
{
    struct td_usage *usage = td_xcalloc(1, sizeof(*usage));

    usage->lines = td_lines_new(lines);
    usage->set_mask = lines / ways - 1;
    return usage;
}

void td_usage_free(struct td_usage *usage)
{
    if (!usage)
        return;
    td_lines_free(usage->lines);
    free(usage);
}

/* The entry, empty. */
static struct td_usage_entry *empty_place(struct td_usage *usage, size_t at)
{
    const uint16_t owner = usage->places[at];

    if (owner == 0) {
        usage->places[at] = ++usage->placed;
        return &usage->entries[usage->placed - 1];
    }
    td_lines_replace_owner(usage->lines, owner);
    memset(&usage->entries[owner - 1], 0, sizeof(usage->entries[owner - 1]));
    return &usage->entries[owner - 1];
}

static uint64_t *hold_of(struct td_usage *usage, size_t at)
{
    return usage->places[at] ? &usage->entries[usage->places[at] - 1].hold : NULL;
}

/* Of the places that the key may have, that of one that runs no more gives way in time. They age by
 * turns: were it always the one that is held least, two that run by turns would hold off each other
 * for ever, and what has long ended would stay. */
static struct td_usage_entry *take_place(struct td_usage *usage, size_t first, uint64_t key,
                                         const struct td_use *use)
{
    size_t least = first;
    uint64_t *hold = hold_of(usage, first);

    for (size_t at = first + 1; hold && at < first + TD_USAGE_WAYS; at++) {
        uint64_t *other = hold_of(usage, at);

        if (other && *other >= *hold)
            continue;
        least = at;
        hold = other;
    }
    if (hold && *hold > 0) {
        --*hold_of(usage, first + usage->turn++ % TD_USAGE_WAYS);
        return NULL;
    }
    struct td_usage_entry *entry = empty_place(usage, least);
    usage->keys[least] = key;
    entry->hold = 1;
    entry->last = entry->lowest = entry->highest = use->address;
    entry->strides[0].step = INT64_MIN; /* no step can be it */
    return entry;
}

static inline struct td_usage_entry *entry_of(struct td_usage *usage, const struct td_use *use)
{
    const uint64_t key = (use->place << 1 | (uint64_t)use->store) + 1;
    const size_t first = (key * UINT64_C(0x9e3779b97f4a7c15) >> 40) %
                         (TD_LINE_OWNERS / TD_USAGE_WAYS) * TD_USAGE_WAYS;

    for (size_t at = first; at < first + TD_USAGE_WAYS; at++) {
        if (usage->keys[at] == key) {
            struct td_usage_entry *entry = &usage->entries[usage->places[at] - 1];

            entry->hold += entry->hold < HOLD_MAX;
            return entry;
        }
    }
    return take_place(usage, first, key, use);
}

/* Misra and Gries: what makes up more than a part of all keeps its place. */
static void note_step(struct td_usage_entry *entry, int64_t step)
{
    struct td_usage_stride *s = entry->strides;

    for (int i = 1; i < TD_USAGE_STRIDES; i++) {
        if (s[i].count > 0 && s[i].step == step) {
            if (++s[i].count > s[i - 1].count) {
                const struct td_usage_stride swap = s[i];
                s[i] = s[i - 1];
                s[i - 1] = swap;
            }
            return;
        }
    }
    for (int i = 0; i < TD_USAGE_STRIDES; i++) {
        if (s[i].count == 0) {
            s[i] = (struct td_usage_stride){.step = step, .count = 1};
            return;
        }
    }
    s[TD_USAGE_STRIDES - 1].count--;
}

static void note_different(uint8_t *registers, uint64_t what)
{
    const uint64_t hash = td_hash_u64(what + 1);
    uint8_t *at = &registers[hash % TD_USAGE_REGISTERS];
    const uint8_t rank = (uint8_t)(__builtin_clzll(hash | TD_USAGE_REGISTERS) + 1);

    if (rank > *at)
        *at = rank;
}

/* Flajolet and others 2007, with linear counting for few. */
static uint64_t count_different(const uint8_t *registers)
{
    const double m = TD_USAGE_REGISTERS;
    uint32_t of_rank[65] = {0};
    double sum = 0;

    for (int i = 0; i < TD_USAGE_REGISTERS; i++)
        of_rank[registers[i]]++;
    for (int rank = 0; rank < 65; rank++)
        sum += ldexp(of_rank[rank], -rank);
    const double estimate = 0.7213 / (1 + 1.079 / m) * m * m / sum;
    if (estimate <= 2.5 * m && of_rank[0] > 0)
        return (uint64_t)(m * log(m / of_rank[0]) + 0.5);
    return (uint64_t)(estimate + 0.5);
}

/* Different units of 2^bits bytes: no more than lie between the addresses. */
static uint64_t count_units(const struct td_usage_entry *entry, const uint8_t *registers,
                            unsigned bits)
{
    const uint64_t count = count_different(registers);
    const uint64_t most = (entry->highest >> bits) - (entry->lowest >> bits) + 1;

    return count < most ? count : most;
}

static void note_partner(struct td_usage_partner *partners, uint32_t row)
{
    for (int i = 0; i < TD_USAGE_PARTNERS; i++) {
        if (partners[i].count == 0 || partners[i].row == row) {
            partners[i].row = row;
            partners[i].count++;
            return;
        }
    }
    partners[TD_USAGE_PARTNERS - 1].count--;
}

static inline void note_place(struct td_usage_entry *entry, const struct td_use *use)
{
    const int64_t step = (int64_t)(use->address - entry->last);
    const uint64_t other = use->address ^ entry->last;

    if (TD_LIKELY(step == entry->strides[0].step))
        entry->strides[0].count++;
    else
        note_step(entry, step);
    if (other >> LINE_BITS || entry->figures[TD_HABIT_ACCESSES] == 1) {
        entry->figures[TD_HABIT_NEW_LINES]++;
        entry->lowest = use->address < entry->lowest ? use->address : entry->lowest;
        entry->highest = use->address > entry->highest ? use->address : entry->highest;
        note_different(entry->lines, use->address >> LINE_BITS);
        if (other >> PAGE_BITS || entry->figures[TD_HABIT_ACCESSES] == 1) {
            entry->figures[TD_HABIT_NEW_PAGES]++;
            note_different(entry->pages, use->address >> PAGE_BITS);
        }
    }
    entry->last = use->address;
}

static void note_unaligned(struct td_usage_entry *entry, const struct td_use *use)
{
    const uint64_t last = use->address + use->bytes - 1;

    entry->figures[TD_HABIT_UNALIGNED]++;
    entry->figures[TD_HABIT_SPLIT_LINES] += (last ^ use->address) >> LINE_BITS != 0;
    entry->figures[TD_HABIT_SPLIT_PAGES] += (last ^ use->address) >> PAGE_BITS != 0;
}

/* The line in the slot is used for the first time since it came. */
static void take_line(struct td_usage *usage, struct td_usage_entry *entry,
                      struct td_line_slot *slot, uint64_t address)
{
    slot->owner = (uint16_t)(entry - usage->entries + 1);
    slot->life = usage->lines->lives[slot->owner];
    entry->figures[TD_HABIT_LINES]++;
    entry->figures[TD_HABIT_CONFLICTS] += slot->conflict;
    entry->figures[TD_HABIT_SETS] |= UINT64_C(1) << (address >> LINE_BITS & usage->set_mask & 63);
    if (slot->back != TD_LINE_BACK_UNKNOWN)
        entry->backs[slot->back] += slot->weight;
}

/* Whether the address is what loads before gave, one after the other. It may be another load's that
 * this one waited for; but when its own data of the last time came later than that, several of them
 * are under way at a time, as where an array holds the addresses. */
static bool is_serial(const struct td_usage *usage, const struct td_usage_entry *entry,
                      const struct td_use *use)
{
    const int64_t after = use->known - entry->last_ready;
    const int64_t other = use->known - usage->last_ready;

    if (use->known <= use->first || after < -SERIAL_SLACK)
        return false;
    return (after >= 0 && after < SERIAL_SLACK) ||
           (use->known - use->first > SERIAL_LATE && other >= 0 && other < SERIAL_SLACK);
}

static void note_stores(struct td_usage_entry *entry, const struct td_use *use)
{
    entry->figures[TD_HABIT_CLEARED] += use->cleared;
    switch (use->met) {
    case TD_MET_NOTHING: break;
    case TD_MET_FORWARDED:
        entry->figures[TD_HABIT_FORWARDED]++;
        note_partner(entry->forwarded_by, use->partner);
        break;
    case TD_MET_BLOCKED:
        entry->figures[TD_HABIT_BLOCKED]++;
        note_partner(entry->blocked_by, use->partner);
        break;
    case TD_MET_ALIASED:
        entry->figures[TD_HABIT_ALIASED]++;
        note_partner(entry->aliased_by, use->partner);
        break;
    }
}

void td_usage_note(struct td_usage *usage, const struct td_use *use)
{
    struct td_usage_entry *entry = entry_of(usage, use);

    if (TD_LIKELY(entry != NULL)) {
        entry->figures[TD_HABIT_ACCESSES]++;
        entry->figures[TD_HABIT_STORES] += use->store;
        entry->figures[TD_HABIT_BYTES] += use->bytes;
        note_place(entry, use);
        if (TD_UNLIKELY((use->address & (use->bytes - 1)) != 0))
            note_unaligned(entry, use);
        if (use->from != TD_HABIT_ACCESSES)
            entry->figures[use->from]++;
        entry->figures[TD_HABIT_WALKS] += use->walked;
        entry->faults += use->faulted;
        if (TD_UNLIKELY(use->met != TD_MET_NOTHING || use->cleared))
            note_stores(entry, use);
        if (use->slot != TD_USE_PAST &&
            TD_UNLIKELY(usage->lines->slots[use->slot].owner == TD_LINE_NEW))
            take_line(usage, entry, &usage->lines->slots[use->slot], use->address);
        if (!use->store) {
            entry->figures[TD_HABIT_SERIAL] += is_serial(usage, entry, use);
            entry->last_ready = use->ready;
        }
    }
    if (!use->store)
        usage->last_ready = use->ready;
}

static void add_mark(struct td_habit *habit, enum td_habit_mark_kind kind, uint32_t module,
                     int64_t key, uint64_t count)
{
    const struct td_habit_mark mark = {.kind = kind, .module = module, .key = key, .count = count};

    if (count > 0)
        td_habit_mark(habit, &mark);
}

static void add_partners(struct td_habit *habit, enum td_habit_mark_kind kind,
                         const struct td_usage_partner *partners)
{
    for (int i = 0; i < TD_USAGE_PARTNERS; i++)
        add_mark(habit, kind, 0, partners[i].row, partners[i].count);
}

static void describe(const struct td_usage *usage, const struct td_usage_entry *entry,
                     struct td_habit *habit)
{
    const struct td_line_use *use = &usage->lines->uses[entry - usage->entries + 1];

    *habit = (struct td_habit){.module = 0};
    memcpy(habit->figures, entry->figures, sizeof(entry->figures));
    habit->figures[TD_HABIT_FAULTS] = entry->faults;
    habit->figures[TD_HABIT_LINES_GONE] = use->gone;
    habit->figures[TD_HABIT_BYTES_USED] = use->bytes;
    habit->figures[TD_HABIT_FOOTPRINT_LINES] = count_units(entry, entry->lines, LINE_BITS);
    habit->figures[TD_HABIT_FOOTPRINT_PAGES] = count_units(entry, entry->pages, PAGE_BITS);
    habit->figures[TD_HABIT_HIGHEST] = entry->highest;
    for (int i = 0; i < TD_USAGE_STRIDES; i++)
        add_mark(habit, TD_HABIT_STRIDE, UINT32_MAX, entry->strides[i].step,
                 entry->strides[i].count);
    for (int i = TD_LINE_BACK_NEVER; i < TD_USAGE_BACKS; i++)
        add_mark(habit, TD_HABIT_REUSE, UINT32_MAX, i - TD_LINE_BACK_KNOWN, entry->backs[i]);
    add_partners(habit, TD_HABIT_FORWARDED_BY, entry->forwarded_by);
    add_partners(habit, TD_HABIT_BLOCKED_BY, entry->blocked_by);
    add_partners(habit, TD_HABIT_ALIASED_BY, entry->aliased_by);
}

void td_usage_each(const struct td_usage *usage, td_usage_fn *fn, void *ctx)
{
    struct td_habit habit;

    for (size_t i = 0; i < TD_LINE_OWNERS; i++) {
        if (usage->places[i] == 0)
            continue;
        const struct td_usage_entry *entry = &usage->entries[usage->places[i] - 1];

        if (entry->figures[TD_HABIT_ACCESSES] < LEAST)
            continue;
        describe(usage, entry, &habit);
        habit.offset = (usage->keys[i] - 1) >> 1;
        fn(ctx, &habit);
    }
}
