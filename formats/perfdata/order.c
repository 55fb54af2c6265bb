/* SPDX-License-Identifier: MIT */
/*
 * perf.data: records in the order of time. A file holds one run of rising times for each CPU and
 * round; a FINISHED_ROUND says that nothing older than the previous round's newest can follow.
 */
#include "formats/perfdata/session_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

/* Fewer new records than this are not worth a merge. Waiting also until they outnumber those left
 * over bounds the work to O(n log n), whatever the rounds are. */
#define FLUSH_MIN 4096

static bool before(const struct td_perf_queued *a, const struct td_perf_queued *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void td_perf_queue_put(struct td_perf_session *session, uint64_t time, const uint8_t *record,
                       uint32_t segment)
{
    struct td_perf_queue *const queue = &session->queue;

    queue->items = td_grow(queue->items, &queue->cap, queue->len + 1, sizeof(*queue->items));
    queue->items[queue->len++] = (struct td_perf_queued){
        .time = time,
        .record = record,
        .segment = segment,
        .order = queue->order++,
    };
    session->segments[segment].waiting++;
    if (time > queue->max_time)
        queue->max_time = time;
}

/* The end of the run of rising items that begins at `i`. */
static size_t run_end(const struct td_perf_queued *items, size_t i, size_t len)
{
    for (i++; i < len && !before(&items[i], &items[i - 1]); i++)
        continue;
    return i;
}

/* Merges from[a..b) and from[b..c) to to[a..c). */
static void merge(const struct td_perf_queued *from, struct td_perf_queued *to, size_t a, size_t b,
                  size_t c)
{
    size_t i = a;
    size_t j = b;

    for (size_t k = a; k < c; k++) {
        const bool left = i < b && (j == c || !before(&from[j], &from[i]));

        to[k] = left ? from[i++] : from[j++];
    }
}

/* A natural merge sort: each pass merges neighbouring runs. */
static void sort(struct td_perf_queue *queue)
{
    while (run_end(queue->items, 0, queue->len) < queue->len) {
        struct td_perf_queued *const swap = queue->items;

        if (queue->spare_cap < queue->len)
            queue->spare =
                td_grow(queue->spare, &queue->spare_cap, queue->len, sizeof(*queue->spare));
        for (size_t a = 0; a < queue->len;) {
            const size_t b = run_end(queue->items, a, queue->len);
            const size_t c = b < queue->len ? run_end(queue->items, b, queue->len) : b;

            merge(queue->items, queue->spare, a, b, c);
            a = c;
        }
        const size_t cap = queue->cap;
        queue->items = queue->spare;
        queue->cap = queue->spare_cap;
        queue->spare = swap;
        queue->spare_cap = cap;
    }
}

static void flush(struct td_perf_session *session, uint64_t limit)
{
    struct td_perf_queue *const queue = &session->queue;
    size_t done = 0;

    if (queue->len == 0)
        return;
    sort(queue);
    for (; done < queue->len && queue->items[done].time <= limit; done++) {
        const struct td_perf_queued item = queue->items[done];

        td_perf_deliver(session, item.record, item.segment);
        assert(session->segments[item.segment].waiting > 0);
        session->segments[item.segment].waiting--;
    }
    queue->len -= done;
    memmove(queue->items, queue->items + done, queue->len * sizeof(*queue->items));
    queue->sorted = queue->len;
    td_perf_stream_give_back(session);
}

void td_perf_queue_round(struct td_perf_session *session)
{
    struct td_perf_queue *const queue = &session->queue;
    const size_t fresh = queue->len - queue->sorted;
    const uint64_t limit = queue->next_flush;

    if (fresh >= FLUSH_MIN && fresh >= queue->sorted)
        flush(session, limit);
    queue->next_flush = queue->max_time;
}

void td_perf_queue_finish(struct td_perf_session *session)
{
    flush(session, UINT64_MAX);
}

void td_perf_queue_release(struct td_perf_queue *queue)
{
    free(queue->items);
    free(queue->spare);
}
