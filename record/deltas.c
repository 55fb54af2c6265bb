/* SPDX-License-Identifier: MIT */
#include "record/deltas.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/mem.h"

/* No thread's id: the sum over all of them. */
#define ALL_THREADS UINT32_MAX

struct last {
    uint64_t value, lost;
};

struct td_deltas {
    struct td_map ids; /* (counter id, tid) to an index of lasts */
    struct last *lasts;
    size_t len, cap;
    uint64_t lost;
};

struct td_deltas *td_deltas_new(void)
{
    return td_xcalloc(1, sizeof(struct td_deltas));
}

void td_deltas_free(struct td_deltas *deltas)
{
    if (!deltas)
        return;
    td_map_release(&deltas->ids);
    free(deltas->lasts);
    free(deltas);
}

static struct last *find_last(struct td_deltas *deltas, uint64_t id, uint32_t tid)
{
    bool added = false;
    const uint32_t i = *td_map_put(&deltas->ids, id, tid, (uint32_t)deltas->len, &added);

    if (added) {
        deltas->lasts =
            td_grow(deltas->lasts, &deltas->cap, deltas->len + 1, sizeof(*deltas->lasts));
        deltas->lasts[deltas->len++] = (struct last){0};
    }
    return &deltas->lasts[i];
}

bool td_deltas_take(struct td_deltas *deltas, uint32_t tid, uint64_t read_format,
                    const uint8_t *read, size_t read_size, uint64_t *ret, size_t count)
{
    struct td_rd rd = td_rd_init(read, read_size, 0);
    const uint64_t members = td_rd_u64(&rd);
    bool good = members >= count;

    if ((read_format & PERF_FORMAT_GROUP) == 0 || (read_format & PERF_FORMAT_ID) == 0)
        return false;
    if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        td_rd_u64(&rd);
    if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        td_rd_u64(&rd);
    for (uint64_t i = 0; i < members && td_rd_ok(&rd); i++) {
        const uint64_t value = td_rd_u64(&rd);
        const uint64_t id = td_rd_u64(&rd);
        const uint64_t lost = read_format & PERF_FORMAT_LOST ? td_rd_u64(&rd) : 0;

        if (!td_rd_ok(&rd))
            break;
        find_last(deltas, id, ALL_THREADS)->value += value - find_last(deltas, id, tid)->value;
        struct last *last = find_last(deltas, id, tid);
        good = good && value >= last->value;
        if (i < count)
            ret[i] = value - last->value;
        if (lost > last->lost)
            deltas->lost += lost - last->lost;
        *last = (struct last){.value = value, .lost = lost};
    }
    return good && td_rd_ok(&rd);
}

uint64_t td_deltas_seen(const struct td_deltas *deltas, uint64_t id)
{
    const uint32_t *i = td_map_find(&deltas->ids, id, ALL_THREADS);

    return i ? deltas->lasts[*i].value : 0;
}

uint64_t td_deltas_lost(const struct td_deltas *deltas)
{
    return deltas->lost;
}
