/* SPDX-License-Identifier: MIT */
#include "formats/sums.h"

#include <string.h>

/* No core that is modelled is as wide. */
#define WIDTH_MAX 32
/* Cycles and slots of a place are rounded apart; what all places of a thread are rounded by may
 * stand on one of them until it is told. */
#define ROUNDED_CYCLES 65536

/* Flags, latencies and addresses have no sum. */
static bool has_sum(enum td_column_kind kind)
{
    return kind == TD_COLUMN_PERIOD || kind == TD_COLUMN_DELTA || kind == TD_COLUMN_TOTAL ||
           kind == TD_COLUMN_TIME_ENABLED || kind == TD_COLUMN_TIME_RUNNING;
}

static bool has_cycles(const struct td_model *model, const struct td_column *column)
{
    return column->node == TD_NODE_NONE && column->event != TD_NONE &&
           td_model_event(model, column->event)->unit == TD_UNIT_CYCLES;
}

static bool fits(const uint64_t *sums, const struct td_group *group, const uint64_t *values)
{
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (has_sum(group->columns[c].kind) &&
            (values[c] >= TD_SUM_MAX || sums[c] + values[c] >= TD_SUM_MAX))
            return false;
    }
    return true;
}

static void add(uint64_t *sums, const struct td_group *group, const uint64_t *values)
{
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (has_sum(group->columns[c].kind))
            sums[c] += values[c];
    }
}

bool td_sums_add(struct td_sums *sums, const struct td_model *model, const struct td_group *group,
                 uint64_t samples, const uint64_t *values)
{
    const uint64_t stated =
        group->sampler == TD_NONE ? 0 : td_model_event(model, group->sampler)->period;
    const uint64_t period = stated > 0 ? stated : 1;

    if (samples >= TD_SUM_MAX / period || sums->samples + samples * period >= TD_SUM_MAX ||
        !fits(sums->sampled, group, values))
        return false;
    sums->samples += samples * period;
    add(sums->sampled, group, values);
    return true;
}

static double as_difference(uint64_t value)
{
    return value >> 63 ? -(double)(~value + 1) : (double)value;
}

bool td_sums_parts_are_right(const struct td_model *model, const struct td_group *group,
                             const uint64_t *values, uint64_t width)
{
    const double most = (double)(width > 0 && width < WIDTH_MAX ? width : WIDTH_MAX);
    double cycles = 0, slots = 0;
    bool counted = false;

    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].node != TD_NODE_NONE) {
            slots += as_difference(values[c]);
        } else if (has_cycles(model, &group->columns[c])) {
            cycles += as_difference(values[c]);
            counted = true;
        }
    }
    const double whole = most * cycles;
    return !counted || slots <= whole + (whole > 0 ? whole : -whole) / 8 + ROUNDED_CYCLES * most;
}

static bool is_wrong_variant(struct td_sums *sums, const struct td_group *group,
                             const uint64_t *values)
{
    if (!fits(sums->varied, group, values))
        return true;
    add(sums->varied, group, values);
    return false;
}

static bool is_wrong(void *ctx, const struct td_model *model, const struct td_tally *tally)
{
    struct td_sums *sums = ctx;
    const struct td_group *group = td_model_group(model, tally->group);
    uint64_t room[TD_COLUMNS_MAX], values[TD_COLUMNS_MAX], slots = 0;

    if (group->role == TD_ROLE_VARIANT)
        return is_wrong_variant(sums, group, td_model_tally_values(model, tally, room));
    if (group->role != TD_ROLE_MODEL)
        return false;
    memcpy(values, td_model_tally_values(model, tally, room),
           group->column_count * sizeof(*values));
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (values[c] >> 63 && has_cycles(model, &group->columns[c]))
            values[c] = 0;
    }
    if (tally->samples >= TD_SUM_MAX || !fits(sums->modelled, group, values))
        return true;
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].node != TD_NODE_NONE && sums->slots + slots < TD_SUM_MAX)
            slots += values[c];
    }
    if (sums->slots + slots >= TD_SUM_MAX)
        return true;
    sums->slots += slots;
    add(sums->modelled, group, values);
    return false;
}

size_t td_sums_drop_wrong(struct td_sums *sums, struct td_model *model)
{
    return td_model_drop_tallies(model, is_wrong, sums);
}
