/* SPDX-License-Identifier: MIT */
#include "report/query/why/copies.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/frames.h"

enum { COPIES_MAX = 64, LINE_BYTES = 64, PAGE_BYTES = 4096 };

/* The step that most accesses go on by; 0: there is none. */
static int64_t step_of(const struct td_habit *habit)
{
    const struct td_habit_mark *stride = td_habit_most(habit, TD_HABIT_STRIDE);

    return stride && 2 * stride->count >= habit->figures[TD_HABIT_ACCESSES] ? stride->key : 0;
}

/* Copies run as often, but for the last round. */
static bool is_alike(const struct td_habit *a, const struct td_habit *b)
{
    const uint64_t *f = a->figures, *g = b->figures;
    const uint64_t more = f[TD_HABIT_ACCESSES] > g[TD_HABIT_ACCESSES]
                              ? f[TD_HABIT_ACCESSES] - g[TD_HABIT_ACCESSES]
                              : g[TD_HABIT_ACCESSES] - f[TD_HABIT_ACCESSES];

    return f[TD_HABIT_ACCESSES] > 0 && more <= f[TD_HABIT_ACCESSES] / 16 &&
           f[TD_HABIT_BYTES] / f[TD_HABIT_ACCESSES] ==
               g[TD_HABIT_BYTES] / (g[TD_HABIT_ACCESSES] + (g[TD_HABIT_ACCESSES] == 0)) &&
           (f[TD_HABIT_STORES] > 0) == (g[TD_HABIT_STORES] > 0) && step_of(a) == step_of(b);
}

static size_t find_alike(const struct td_habit *alike[COPIES_MAX], const struct td_model *model,
                         const struct td_code_parts *parts, const struct td_habit *habit,
                         uint32_t location)
{
    const struct td_frame line = td_frame_leaf(model, location, false);
    size_t count = 0;

    for (size_t p = 0; p < parts->len; p++) {
        for (size_t i = 0; i < parts->at[p].len && count < COPIES_MAX; i++) {
            const struct td_code_cost *cost = &parts->at[p].at[i];
            const struct td_habit *other =
                td_habits_find(td_model_habits(model), parts->at[p].module, cost->offset);

            if (!other || !is_alike(habit, other) || cost->location == TD_NONE)
                continue;
            const struct td_frame at = td_frame_leaf(model, cost->location, false);
            if (at.file == line.file && at.line == line.line)
                alike[count++] = other;
        }
    }
    return count;
}

static int by_highest(const void *a, const void *b)
{
    const uint64_t x = (*(const struct td_habit *const *)a)->figures[TD_HABIT_HIGHEST];
    const uint64_t y = (*(const struct td_habit *const *)b)->figures[TD_HABIT_HIGHEST];

    return (x > y) - (x < y);
}

/* Keeps those whose addresses are within one step of the habit's, in order. */
static size_t keep_near(const struct td_habit **alike, size_t count, const struct td_habit *habit,
                        uint64_t step)
{
    const uint64_t own = habit->figures[TD_HABIT_HIGHEST];
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        const uint64_t other = alike[i]->figures[TD_HABIT_HIGHEST];

        if ((other > own ? other - own : own - other) < step)
            alike[kept++] = alike[i];
    }
    qsort(alike, kept, sizeof(*alike), by_highest);
    return kept;
}

/* Into how many parts they divide the step evenly, so that one goes on where another was; 0: they
 * do not. Several may go the same way, as where rounds of the loop around are copies as well. */
static size_t parts_of_step(const struct td_habit *const *alike, size_t count, uint64_t step)
{
    size_t parts = count > 0;

    for (size_t i = 1; i < count; i++)
        parts += alike[i]->figures[TD_HABIT_HIGHEST] != alike[i - 1]->figures[TD_HABIT_HIGHEST];
    if (parts < 2 || step % parts != 0)
        return 0;
    for (size_t i = 1; i < count; i++) {
        const uint64_t on =
            alike[i]->figures[TD_HABIT_HIGHEST] - alike[i - 1]->figures[TD_HABIT_HIGHEST];

        if (on != 0 && on != step / parts)
            return 0;
    }
    return parts;
}

/* So many times the units of one copy are those of all: where a unit holds a whole step, all have
 * the same. */
static uint64_t times(uint64_t step, size_t parts, uint64_t unit)
{
    const uint64_t units = step / unit;

    return units < 1 ? 1 : units < parts ? units : parts;
}

/* Of accesses that go on by the step, those to another unit. */
static uint64_t to_another(uint64_t accesses, uint64_t step, uint64_t unit)
{
    return step >= unit ? accesses : accesses / unit * step;
}

static struct td_habit *join(const struct td_habit *const *alike, size_t count, int64_t step,
                             size_t parts)
{
    struct td_habit *all = td_xcalloc(1, sizeof(*all));
    uint64_t *f = all->figures;
    const uint64_t wide = (uint64_t)(step < 0 ? -step : step), each = wide / parts;

    *all = *alike[0];
    for (size_t i = 1; i < count; i++)
        td_habit_add(all, alike[i]);
    f[TD_HABIT_FOOTPRINT_LINES] *= times(wide, parts, LINE_BYTES);
    f[TD_HABIT_FOOTPRINT_PAGES] *= times(wide, parts, PAGE_BYTES);
    if (each < LINE_BYTES)
        f[TD_HABIT_NEW_LINES] = to_another(f[TD_HABIT_ACCESSES], each, LINE_BYTES);
    if (each < PAGE_BYTES)
        f[TD_HABIT_NEW_PAGES] = to_another(f[TD_HABIT_ACCESSES], each, PAGE_BYTES);
    for (uint32_t i = 0; i < all->mark_count; i++) {
        struct td_habit_mark *mark = &all->marks[i];

        if (mark->kind == TD_HABIT_STRIDE && mark->key == step)
            mark->key = step / (int64_t)parts;
    }
    return all;
}

struct td_why_copies td_why_copies_of(const struct td_model *model,
                                      const struct td_code_parts *parts,
                                      const struct td_habit *habit, uint32_t location)
{
    struct td_why_copies ret = {.count = 1};
    const struct td_habit *alike[COPIES_MAX];
    const int64_t step = habit ? step_of(habit) : 0;
    const uint64_t wide = (uint64_t)(step < 0 ? -step : step);

    if (!habit || habit->figures[TD_HABIT_ACCESSES] == 0 || location == TD_NONE ||
        td_frame_leaf(model, location, false).line == 0)
        return ret;
    size_t count = find_alike(alike, model, parts, habit, location);
    if (step == 0 || count < 2) {
        ret.count = count > 1 ? count : 1;
        return ret;
    }
    count = keep_near(alike, count, habit, wide);
    const size_t divided = parts_of_step(alike, count, wide);

    if (divided == 0)
        return ret;
    ret.count = count;
    ret.habit = join(alike, count, step, divided);
    return ret;
}
