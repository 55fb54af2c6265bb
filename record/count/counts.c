/* SPDX-License-Identifier: MIT */
#include "record/count/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static size_t place(size_t group, size_t event)
{
    return group * TD_PLAN_EVENTS_MAX + event;
}

void td_counts_init(struct td_counts *counts, const struct td_plan *plan)
{
    *counts = (struct td_counts){
        .plan = plan, .at = td_xcalloc(place(plan->group_count, 1), sizeof(*counts->at))};
}

void td_counts_release(struct td_counts *counts)
{
    free(counts->at);
    *counts = (struct td_counts){0};
}

void td_counts_take(void *ctx, const struct td_counter_value *value)
{
    const struct td_counts *counts = ctx;
    struct td_count *count = &counts->at[place(value->group, value->event)];

    count->value += value->value;
    count->enabled_ns += value->enabled_ns;
    count->running_ns += value->running_ns;
}

void td_counts_clear(struct td_counts *counts)
{
    memset(counts->at, 0, place(counts->plan->group_count, 0) * sizeof(*counts->at));
}

void td_counts_add(struct td_counts *counts, const struct td_counts *more)
{
    for (size_t i = 0; i < place(counts->plan->group_count, 0); i++) {
        counts->at[i].value += more->at[i].value;
        counts->at[i].enabled_ns += more->at[i].enabled_ns;
        counts->at[i].running_ns += more->at[i].running_ns;
    }
}

void td_counts_copy(struct td_counts *ret, const struct td_counts *from)
{
    memcpy(ret->at, from->at, place(from->plan->group_count, 0) * sizeof(*ret->at));
}

/* A task that ended in between may take a little of its time back. */
static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

void td_counts_difference(struct td_counts *ret, const struct td_counts *now,
                          const struct td_counts *before)
{
    for (size_t i = 0; i < place(now->plan->group_count, 0); i++) {
        ret->at[i] = (struct td_count){
            .value = more(now->at[i].value, before->at[i].value),
            .enabled_ns = more(now->at[i].enabled_ns, before->at[i].enabled_ns),
            .running_ns = more(now->at[i].running_ns, before->at[i].running_ns),
        };
    }
}

const struct td_count *td_counts_get(const struct td_counts *counts, size_t group, size_t event)
{
    return &counts->at[place(group, event)];
}

double td_count_share(const struct td_count *count)
{
    if (count->running_ns >= count->enabled_ns)
        return 1;
    return (double)count->running_ns / (double)count->enabled_ns;
}

double td_count_estimate(const struct td_count *count)
{
    if (count->enabled_ns > 0 && count->running_ns == 0)
        return NAN;
    return (double)count->value / td_count_share(count);
}
