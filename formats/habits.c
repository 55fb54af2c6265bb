/* SPDX-License-Identifier: MIT */
#include "formats/habits.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/sums.h"

static const struct td_habit_info infos[] = {
#define X(symbol, name, rule, meaning) {#name, TD_HABIT_##rule},
    TD_HABIT_FIGURES(X)
#undef X
};

static const char *const mark_names[] = {
#define X(symbol, name, meaning) #name,
    TD_HABIT_MARKS(X)
#undef X
};

struct td_habit_info td_habit_info(enum td_habit_figure figure)
{
    return infos[figure];
}

const char *td_habit_mark_name(unsigned kind)
{
    return kind < TD_HABIT_MARK_COUNT ? mark_names[kind] : "?";
}

bool td_habit_is_right(const struct td_habit *habit)
{
    const uint64_t *f = habit->figures;
    const enum td_habit_figure of_accesses[] = {
        TD_HABIT_STORES,      TD_HABIT_NEW_LINES,   TD_HABIT_NEW_PAGES, TD_HABIT_UNALIGNED,
        TD_HABIT_SPLIT_LINES, TD_HABIT_SPLIT_PAGES, TD_HABIT_FROM_L2,   TD_HABIT_FROM_L3,
        TD_HABIT_FROM_MEMORY, TD_HABIT_FORWARDED,   TD_HABIT_BLOCKED,   TD_HABIT_ALIASED,
        TD_HABIT_CLEARED,     TD_HABIT_SERIAL,      TD_HABIT_FAULTS};
    const enum td_habit_figure of_branches[] = {TD_HABIT_TAKEN, TD_HABIT_WRONG, TD_HABIT_TURNS,
                                                TD_HABIT_STRETCHES};

    for (int i = 0; i < TD_HABIT_FIGURE_COUNT; i++) {
        if (infos[i].rule != TD_HABIT_BITS && f[i] >= TD_SUM_MAX)
            return false;
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(of_accesses); i++) {
        if (f[of_accesses[i]] > f[TD_HABIT_ACCESSES])
            return false;
    }
    for (size_t i = 0; i < TD_ARRAY_SIZE(of_branches); i++) {
        if (f[of_branches[i]] > f[TD_HABIT_BRANCHES])
            return false;
    }
    for (uint32_t i = 0; i < habit->mark_count; i++) {
        if (habit->marks[i].count >= TD_SUM_MAX)
            return false;
    }
    return f[TD_HABIT_CONFLICTS] <= f[TD_HABIT_LINES] &&
           f[TD_HABIT_BYTES_USED] / 64 <= f[TD_HABIT_LINES_GONE];
}

void td_habit_mark(struct td_habit *habit, const struct td_habit_mark *mark)
{
    struct td_habit_mark *least = NULL;

    for (uint32_t i = 0; i < habit->mark_count; i++) {
        struct td_habit_mark *known = &habit->marks[i];

        if (known->kind == mark->kind && known->key == mark->key && known->module == mark->module) {
            if (known->count + mark->count < TD_SUM_MAX)
                known->count += mark->count;
            return;
        }
        if (!least || known->count < least->count)
            least = known;
    }
    if (habit->mark_count < TD_HABIT_MARKS_MAX)
        habit->marks[habit->mark_count++] = *mark;
    else if (least && mark->count > least->count)
        *least = *mark;
}

static uint64_t sum_of(enum td_habit_rule rule, uint64_t a, uint64_t b)
{
    switch (rule) {
    case TD_HABIT_ADD: return a + b;
    case TD_HABIT_MOST: return a > b ? a : b;
    case TD_HABIT_BITS: return a | b;
    }
    return a;
}

void td_habit_add(struct td_habit *sum, const struct td_habit *habit)
{
    struct td_habit more = *sum;

    for (int i = 0; i < TD_HABIT_FIGURE_COUNT; i++)
        more.figures[i] = sum_of(infos[i].rule, sum->figures[i], habit->figures[i]);
    for (uint32_t i = 0; i < habit->mark_count; i++)
        td_habit_mark(&more, &habit->marks[i]);
    if (td_habit_is_right(&more))
        *sum = more;
}

const struct td_habit_mark *td_habit_most(const struct td_habit *habit,
                                          enum td_habit_mark_kind kind)
{
    const struct td_habit_mark *most = NULL;

    for (uint32_t i = 0; i < habit->mark_count; i++) {
        if (habit->marks[i].kind == kind && (!most || habit->marks[i].count > most->count))
            most = &habit->marks[i];
    }
    return most;
}

void td_habits_release(struct td_habits *habits)
{
    free(habits->at);
    td_map_release(&habits->by_place);
    *habits = (struct td_habits){.at = NULL};
}

bool td_habits_put(struct td_habits *habits, const struct td_habit *habit)
{
    const uint32_t *known = td_map_find(&habits->by_place, habit->offset, habit->module);

    if (known) {
        td_habit_add(&habits->at[*known], habit);
        return true;
    }
    if (habits->len >= TD_HABITS_MAX)
        return false;
    td_map_put(&habits->by_place, habit->offset, habit->module, (uint32_t)habits->len, NULL);
    habits->at = td_grow(habits->at, &habits->cap, habits->len + 1, sizeof(*habits->at));
    habits->at[habits->len++] = *habit;
    return true;
}

const struct td_habit *td_habits_find(const struct td_habits *habits, uint32_t module,
                                      uint64_t offset)
{
    const uint32_t *i = td_map_find(&habits->by_place, offset, module);

    return i ? &habits->at[*i] : NULL;
}
