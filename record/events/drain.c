/* SPDX-License-Identifier: MIT */
#include "record/events/drain.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/invariant.h"
#include "base/mem.h"

/* The first record of a ring, parsed. */
struct td_drain_front {
    struct td_rec rec;
    size_t size;
    uint64_t time_ns; /* never before that of the ring's previous record */
};

void td_drain_init(struct td_drain *drain, struct td_ring *rings, size_t ring_count,
                   const struct td_layouts *layouts)
{
    *drain = (struct td_drain){.rings = rings, .ring_count = ring_count, .layouts = *layouts};
    drain->fronts = td_xcalloc(ring_count, sizeof(*drain->fronts));
    drain->heap = td_xcalloc(ring_count, sizeof(*drain->heap));
}

void td_drain_release(struct td_drain *drain)
{
    free(drain->fronts);
    free(drain->heap);
    *drain = (struct td_drain){0};
}

/* Parses the ring's next record into its front; false when there is none. */
static bool advance(struct td_drain *drain, size_t ring)
{
    struct td_drain_front *front = &drain->fronts[ring];
    size_t size = 0;
    const uint8_t *data = NULL;

    while ((data = td_ring_peek(&drain->rings[ring], &size))) {
        if (td_rec_parse(&front->rec, data, size, &drain->layouts, NULL) == TD_OK) {
            front->size = size;
            if (front->rec.time_ns > front->time_ns)
                front->time_ns = front->rec.time_ns;
            return true;
        }
        drain->malformed++;
        td_ring_skip(&drain->rings[ring], size);
    }
    return false;
}

static uint64_t time_at(const struct td_drain *drain, size_t place)
{
    return drain->fronts[drain->heap[place]].time_ns;
}

/* Lets the entry at `place` sink to where both below it are later. */
static void sift_down(struct td_drain *drain, size_t place)
{
    for (;;) {
        size_t least = place;

        for (size_t child = 2 * place + 1; child <= 2 * place + 2; child++) {
            if (child < drain->heap_len && time_at(drain, child) < time_at(drain, least))
                least = child;
        }
        if (least == place)
            return;
        const size_t ring = drain->heap[place];
        drain->heap[place] = drain->heap[least];
        drain->heap[least] = ring;
        place = least;
    }
}

/* No ring is before the one above it. */
static void check_heap(const struct td_drain *drain)
{
    for (size_t place = 1; place < drain->heap_len; place++)
        TD_INVARIANT(time_at(drain, (place - 1) / 2) <= time_at(drain, place));
}

/* The time up to which the first ring is the earliest. */
static uint64_t second_time(const struct td_drain *drain)
{
    uint64_t second = UINT64_MAX;

    for (size_t child = 1; child <= 2 && child < drain->heap_len; child++) {
        if (time_at(drain, child) < second)
            second = time_at(drain, child);
    }
    return second;
}

static bool nearly_full(const struct td_drain *drain)
{
    for (size_t i = 0; i < drain->ring_count; i++) {
        const struct td_ring *ring = &drain->rings[i];

        if (ring->head - ring->tail >= ring->size / 4 * 3)
            return true;
    }
    return false;
}

/* Goes behind a record; now and then the kernel gets the space while the draining goes on. */
static void give_back(struct td_ring *ring, size_t size)
{
    td_ring_skip(ring, size);
    if (ring->tail - ring->page->data_tail >= ring->size / 8)
        td_ring_release_read(ring);
}

static void fill_heap(struct td_drain *drain)
{
    drain->heap_len = 0;
    for (size_t i = 0; i < drain->ring_count; i++) {
        if (advance(drain, i))
            drain->heap[drain->heap_len++] = i;
    }
    for (size_t place = drain->heap_len / 2; place-- > 0;)
        sift_down(drain, place);
}

uint64_t td_drain_run(struct td_drain *drain, uint64_t horizon_ns, td_drain_fn *fn, void *ctx)
{
    uint64_t count = 0;

    for (size_t i = 0; i < drain->ring_count; i++)
        td_ring_load_head(&drain->rings[i]);
    if (nearly_full(drain))
        horizon_ns = UINT64_MAX;
    fill_heap(drain);
    while (drain->heap_len && time_at(drain, 0) <= horizon_ns) {
        check_heap(drain);
        const size_t ring = drain->heap[0];
        struct td_drain_front *front = &drain->fronts[ring];
        const uint64_t second = second_time(drain);
        const uint64_t until = second < horizon_ns ? second : horizon_ns;
        bool more = true;

        while (more && front->time_ns <= until) {
            fn(ctx, ring, &front->rec);
            give_back(&drain->rings[ring], front->size);
            count++;
            more = advance(drain, ring);
        }
        if (!more)
            drain->heap[0] = drain->heap[--drain->heap_len];
        sift_down(drain, 0);
    }
    for (size_t i = 0; i < drain->ring_count; i++)
        td_ring_release_read(&drain->rings[i]);
    return count;
}
