/* SPDX-License-Identifier: MIT */
/*
 * Takes the records of all rings in the order of time, so that what one CPU reports about a process
 * (fork, mapping, exit) is known before the samples that another CPU took of it.
 */
#ifndef TD_RECORD_EVENTS_DRAIN_H
#define TD_RECORD_EVENTS_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/kernel/record.h"
#include "record/events/ring.h"

/* `ring` is the index of the ring the record came from; `rec` is valid during the call. */
typedef void td_drain_fn(void *ctx, size_t ring, const struct td_rec *rec);

struct td_drain {
    struct td_ring *rings; /* borrowed */
    size_t ring_count;
    struct td_layouts layouts; /* borrowed */
    struct td_drain_front *fronts;
    size_t *heap; /* indexes of rings with a record, the earliest first */
    size_t heap_len;
    uint64_t malformed; /* records that could not be parsed */
};

void td_drain_init(struct td_drain *drain, struct td_ring *rings, size_t ring_count,
                   const struct td_layouts *layouts);
void td_drain_release(struct td_drain *drain);

/* Hands out every record up to the horizon, a time before which no CPU is still writing records;
 * UINT64_MAX: all there are. A ring that is three quarters full is emptied whatever the horizon,
 * since losing records is worse than taking them early. Returns how many were handed out. */
uint64_t td_drain_run(struct td_drain *drain, uint64_t horizon_ns, td_drain_fn *fn, void *ctx);

#endif
