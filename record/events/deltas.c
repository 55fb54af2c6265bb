/* SPDX-License-Identifier: MIT */
#include "record/events/deltas.h"

#include <endian.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/mem.h"

/* No thread's id: the sum over all of them. */
#define ALL_THREADS UINT64_MAX

struct last {
    uint64_t id, value, lost;
    uint32_t total; /* of all threads: the index of its last */
};

/* A group as it was read before: its counters, in its order. */
struct members {
    uint32_t first, count; /* of `order` */
};

struct td_deltas {
    struct td_map ids; /* (counter id, tid) to an index of lasts */
    struct last *lasts;
    size_t len, cap;
    struct td_map groups; /* (the leader's id, tid) to an index of members */
    struct members *members;
    size_t member_len, member_cap;
    uint32_t *order; /* indexes of lasts */
    size_t order_len, order_cap;
    uint64_t lost;
};

/* One read, checked: `stride` words a member, the first of which is at `words`. */
struct group_read {
    const uint8_t *words;
    uint64_t members;
    size_t stride;
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
    td_map_release(&deltas->groups);
    free(deltas->lasts);
    free(deltas->members);
    free(deltas->order);
    free(deltas);
}

static uint32_t put_last(struct td_deltas *deltas, uint64_t id, uint64_t tid)
{
    bool added = false;
    const uint32_t i = *td_map_put(&deltas->ids, id, tid, (uint32_t)deltas->len, &added);

    if (added) {
        deltas->lasts =
            td_grow(deltas->lasts, &deltas->cap, deltas->len + 1, sizeof(*deltas->lasts));
        deltas->lasts[deltas->len++] = (struct last){.id = id};
    }
    return i;
}

static uint32_t find_last(struct td_deltas *deltas, uint64_t id, uint32_t tid)
{
    const uint32_t total = put_last(deltas, id, ALL_THREADS), i = put_last(deltas, id, tid);

    deltas->lasts[i].total = total;
    return i;
}

static uint64_t word_at(const struct group_read *read, uint64_t member, size_t word)
{
    uint64_t value = 0;

    memcpy(&value, read->words + 8 * (member * read->stride + word), sizeof(value));
    return le64toh(value);
}

/* False when the bytes are not whole members, or fewer than `count`. */
static bool open_read(struct group_read *ret, uint64_t format, const uint8_t *bytes, size_t size,
                      size_t count)
{
    struct td_rd rd = td_rd_init(bytes, size, 0);

    if ((format & PERF_FORMAT_GROUP) == 0 || (format & PERF_FORMAT_ID) == 0)
        return false;
    ret->members = td_rd_u64(&rd);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        td_rd_u64(&rd);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        td_rd_u64(&rd);
    ret->stride = format & PERF_FORMAT_LOST ? 3 : 2;
    ret->words = bytes + rd.pos;
    return td_rd_ok(&rd) && ret->members >= count && ret->members > 0 &&
           ret->members <= td_rd_left(&rd) / (8 * ret->stride);
}

/* The counters of a group that was not read before for this thread. */
static struct members add_members(struct td_deltas *deltas, const struct group_read *read,
                                  uint32_t tid)
{
    const struct members members = {(uint32_t)deltas->order_len, (uint32_t)read->members};

    deltas->order = td_grow(deltas->order, &deltas->order_cap, deltas->order_len + read->members,
                            sizeof(*deltas->order));
    for (uint64_t i = 0; i < read->members; i++)
        deltas->order[deltas->order_len++] = find_last(deltas, word_at(read, i, 1), tid);
    return members;
}

static struct members find_members(struct td_deltas *deltas, const struct group_read *read,
                                   uint32_t tid)
{
    bool added = false;
    const uint32_t i = *td_map_put(&deltas->groups, word_at(read, 0, 1), tid,
                                   (uint32_t)deltas->member_len, &added);

    if (!added)
        return deltas->members[i];
    deltas->members = td_grow(deltas->members, &deltas->member_cap, deltas->member_len + 1,
                              sizeof(*deltas->members));
    return deltas->members[deltas->member_len++] = add_members(deltas, read, tid);
}

bool td_deltas_take(struct td_deltas *deltas, uint32_t tid, uint64_t read_format,
                    const uint8_t *read, size_t read_size, uint64_t *ret, size_t count)
{
    struct group_read group;

    if (!open_read(&group, read_format, read, read_size, count))
        return false;
    const struct members members = find_members(deltas, &group, tid);
    bool good = true;
    for (uint64_t i = 0; i < group.members; i++) {
        const uint64_t value = word_at(&group, i, 0), id = word_at(&group, i, 1);
        const uint64_t lost = group.stride > 2 ? word_at(&group, i, 2) : 0;
        uint32_t at = deltas->order[members.first + (i < members.count ? i : 0)];

        /* Never, from a kernel: a group keeps its members. */
        if (deltas->lasts[at].id != id)
            at = find_last(deltas, id, tid);
        struct last *last = &deltas->lasts[at];
        good = good && value >= last->value;
        if (i < count)
            ret[i] = value - last->value;
        deltas->lasts[last->total].value += value - last->value;
        deltas->lost += lost > last->lost ? lost - last->lost : 0;
        last->value = value;
        last->lost = lost;
    }
    return good;
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
