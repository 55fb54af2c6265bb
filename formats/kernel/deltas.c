/* SPDX-License-Identifier: MIT */
#include "formats/kernel/deltas.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/cursor.h"

/* No thread's id: the sum over all of them. */
#define ALL_THREADS UINT64_MAX

struct last {
    uint64_t id, value;
    uint32_t total; /* of all threads: the index of its last */
};

/* A group as it was read before: its counters, in its order. */
struct members {
    uint32_t first, count;     /* of `order` */
    uint32_t starts;           /* of threads of this number: whose counts these are */
    uint64_t enabled, running; /* ns */
};

struct td_deltas {
    struct td_map ids; /* (counter id, tid) to an index of lasts */
    struct last *lasts;
    size_t len, cap;
    struct td_map groups; /* (the leader's id, tid) to an index of members */
    struct td_map starts; /* (tid, 0) to how often a thread of this number began */
    uint32_t present;     /* index of members: of the read that was taken last */
    struct members *members;
    size_t member_len, member_cap;
    uint32_t *order; /* indexes of lasts */
    size_t order_len, order_cap;
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
    td_map_release(&deltas->starts);
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

/* How the values of a sample are laid out: `stride` bytes each, the first of which are the value
 * and, with `ids`, those behind it the counter's id. */
struct values {
    const uint8_t *at;
    size_t stride;
    bool ids, big;
    uint64_t id; /* without: the sample's (the times stand between the value and its id) */
};

static struct values values_of(const struct td_rec *rec, bool big)
{
    const uint64_t format = rec->layout->read_format;

    return (struct values){
        .at = rec->u.sample.values,
        .stride = 8 * (size_t)td_rec_value_words(format),
        .ids = format & PERF_FORMAT_GROUP && format & PERF_FORMAT_ID,
        .big = big,
        .id = rec->u.sample.id,
    };
}

static uint64_t id_at(const struct values *values, uint64_t i)
{
    return values->ids ? td_cur_word(values->at + i * values->stride + 8, values->big) : values->id;
}

uint64_t td_rec_value_id(const struct td_rec *rec, uint64_t i, bool big)
{
    const struct values values = values_of(rec, big);

    return id_at(&values, i);
}

/* The counters of a group that was not read before for this thread. */
static struct members add_members(struct td_deltas *deltas, const struct values *values,
                                  uint64_t count, uint32_t tid)
{
    const struct members members = {.first = (uint32_t)deltas->order_len, .count = (uint32_t)count};

    deltas->order = td_grow(deltas->order, &deltas->order_cap, deltas->order_len + count,
                            sizeof(*deltas->order));
    for (uint64_t i = 0; i < count; i++)
        deltas->order[deltas->order_len++] = find_last(deltas, id_at(values, i), tid);
    return members;
}

void td_deltas_begin(struct td_deltas *deltas, uint32_t tid)
{
    bool added = false;

    ++*td_map_put(&deltas->starts, tid, 0, 0, &added);
}

/* Counts of a thread that had the number before are not continued. */
static void begin_anew(struct td_deltas *deltas, struct members *members, uint32_t tid)
{
    const uint32_t *const starts = tid ? td_map_find(&deltas->starts, tid, 0) : NULL;

    if (!starts || members->starts == *starts)
        return;
    members->starts = *starts;
    members->enabled = members->running = 0;
    for (uint32_t i = 0; i < members->count; i++)
        deltas->lasts[deltas->order[members->first + i]].value = 0;
}

static struct members find_members(struct td_deltas *deltas, const struct values *values,
                                   uint64_t count, uint32_t tid)
{
    bool added = false;
    const uint32_t i =
        *td_map_put(&deltas->groups, id_at(values, 0), tid, (uint32_t)deltas->member_len, &added);

    deltas->present = i;
    if (added) {
        deltas->members = td_grow(deltas->members, &deltas->member_cap, deltas->member_len + 1,
                                  sizeof(*deltas->members));
        deltas->members[deltas->member_len++] = add_members(deltas, values, count, tid);
    }
    begin_anew(deltas, &deltas->members[i], tid);
    return deltas->members[i];
}

bool td_deltas_take(struct td_deltas *deltas, uint32_t tid, const struct td_rec *rec, bool big,
                    uint64_t *ret, size_t count)
{
    const uint64_t read = rec->u.sample.value_count;

    if (read < count || read == 0)
        return false;
    const struct values values = values_of(rec, big);
    const struct members members = find_members(deltas, &values, read, tid);
    bool good = true;
    for (uint64_t i = 0; i < read; i++) {
        const uint64_t value = td_cur_word(values.at + i * values.stride, big);
        const uint64_t id = id_at(&values, i);
        uint32_t at = deltas->order[members.first + (i < members.count ? i : 0)];

        /* Never, from a kernel: a group keeps its members. */
        if (deltas->lasts[at].id != id)
            at = find_last(deltas, id, tid);
        struct last *last = &deltas->lasts[at];
        good = good && value >= last->value;
        if (i < count)
            ret[i] = value - last->value;
        deltas->lasts[last->total].value += value - last->value;
        last->value = value;
    }
    return good;
}

void td_deltas_times(struct td_deltas *deltas, const struct td_rec_sample *sample,
                     uint64_t *enabled, uint64_t *running)
{
    struct members *const members = &deltas->members[deltas->present];

    *enabled = sample->time_enabled - members->enabled;
    *running = sample->time_running - members->running;
    members->enabled = sample->time_enabled;
    members->running = sample->time_running;
}

uint64_t td_deltas_seen(const struct td_deltas *deltas, uint64_t id)
{
    const uint32_t *i = td_map_find(&deltas->ids, id, ALL_THREADS);

    return i ? deltas->lasts[*i].value : 0;
}
