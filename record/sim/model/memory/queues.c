/* SPDX-License-Identifier: MIT */
#include "record/sim/model/memory/queues.h"

#include "formats/cores/core.h"

enum { WINDOW_TICKS = TD_TICKS_PER_CYCLE << TD_LANE_WINDOW_BITS };

int64_t td_lane_take(struct td_lane *lane, int64_t t, int ticks)
{
    int64_t window = t >> TD_LANE_WINDOW_BITS;

    /* A window is full when what is left cannot be used up; the last request may run over it. */
    for (int i = 0; i < TD_LANE_WINDOWS; i++, window++) {
        const int64_t k = window & (TD_LANE_WINDOWS - 1);
        if (lane->at[k].window != window) {
            const int64_t k0 = (window - 1) & (TD_LANE_WINDOWS - 1);
            const int over =
                lane->at[k0].window == window - 1 ? lane->at[k0].ticks - WINDOW_TICKS : 0;
            lane->at[k].window = window;
            lane->at[k].ticks = over > 0 ? over : 0;
        }
        if (lane->at[k].ticks < WINDOW_TICKS)
            break;
    }
    const int64_t k = window & (TD_LANE_WINDOWS - 1);
    const int64_t begin = (window << TD_LANE_WINDOW_BITS) + lane->at[k].ticks / TD_TICKS_PER_CYCLE;
    lane->at[k].ticks += ticks;
    return begin > t ? begin : t;
}

void td_pool_init(struct td_pool *pool, int count)
{
    *pool = (struct td_pool){.count = count < TD_POOL_MAX ? count : TD_POOL_MAX};
}

int td_pool_find(const struct td_pool *pool, int64_t t, int64_t *start)
{
    int first = 0;

    for (int i = 0; i < pool->count; i++) {
        if (pool->until[i] <= t) {
            *start = t;
            return i;
        }
        if (pool->until[i] < pool->until[first])
            first = i;
    }
    *start = pool->until[first];
    return first;
}
