/* SPDX-License-Identifier: MIT */
/*
 * Resources that are taken for a time, asked for out of order: instructions are modelled in
 * program order, but their times are not in order. A lane has a rate: time is cut into windows and
 * a request takes the first that has room at or after its time, so an older request with a later
 * time does not push back a younger one with an earlier. A pool has places held until a time.
 */
#ifndef TD_RECORD_SIM_MODEL_MEMORY_QUEUES_H
#define TD_RECORD_SIM_MODEL_MEMORY_QUEUES_H

#include <stdint.h>

#define TD_LANE_WINDOWS     1024
#define TD_LANE_WINDOW_BITS 5 /* 32 cycles */
#define TD_POOL_MAX         128

struct td_lane {
    struct {
        int64_t window;
        int32_t ticks; /* taken */
    } at[TD_LANE_WINDOWS];
};

struct td_pool {
    int count;
    int64_t until[TD_POOL_MAX];
};

/* Takes `ticks` of the lane at or after cycle `t`; returns the cycle in which they begin. */
int64_t td_lane_take(struct td_lane *lane, int64_t t, int ticks);

void td_pool_init(struct td_pool *pool, int count);
/* The place to use at or after `t`: the first that is free then, else the one free soonest. *start
 * is when it can be had. A chain of requests, each after the one before, stays in one place. */
int td_pool_find(const struct td_pool *pool, int64_t t, int64_t *start);

#endif
