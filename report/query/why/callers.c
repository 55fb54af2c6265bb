/* SPDX-License-Identifier: MIT */
#include "report/query/why/callers.h"

#include <stdlib.h>

#include "base/mem.h"
#include "formats/frames.h"

/* Frames above the branch that are looked at, and calls that are told apart in one of them. */
enum { DEPTH_MAX = 12, GROUPS_MAX = 64 };
/* A call with less of the executions does not tell them apart. */
static const double LEAST = 0.01;

/* What one stack has at the branch. */
struct entry {
    uint32_t node; /* of the frame that is looked at; 0: above the outermost one */
    uint64_t executions, lost;
};

/* What one line's calls have. */
struct group {
    uint64_t key; /* function and line */
    uint32_t location;
    uint64_t executions, lost;
};

struct found {
    struct entry *entries;
    size_t len, cap;
    uint64_t executions, lost;
};

static uint64_t value_of(const struct td_measure *measure, enum td_metric metric, size_t row)
{
    return measure->values[metric] ? measure->values[metric][row] : 0;
}

static void find_entries(struct found *found, const struct td_measure *measure, uint32_t location)
{
    for (size_t row = 0; row < measure->row_count; row++) {
        const uint32_t node = measure->rows[row].node;

        if (node == 0 || td_model_node(measure->model, node)->location != location)
            continue;
        const struct entry entry = {
            .node = node,
            .executions = value_of(measure, TD_METRIC_INSTRUCTIONS, row),
            .lost = value_of(measure, td_metric_of_node(TD_NODE_BRANCH_MISPREDICTS), row)};

        found->entries =
            td_grow(found->entries, &found->cap, found->len + 1, sizeof(*found->entries));
        found->entries[found->len++] = entry;
        found->executions += entry.executions;
        found->lost += entry.lost;
    }
}

static uint64_t key_of(const struct td_model *model, uint32_t location)
{
    if (location == TD_NONE)
        return UINT64_MAX;
    const struct td_frame frame = td_frame_leaf(model, location, false);

    return frame.function == TD_NONE ? UINT64_C(1) << 63 | location
                                     : (uint64_t)frame.function << 32 | frame.line;
}

/* Groups of the frames that are looked at now. What does not fit any more goes to the last. */
static size_t make_groups(struct group *groups, const struct found *found,
                          const struct td_model *model)
{
    size_t len = 0;

    for (size_t i = 0; i < found->len; i++) {
        const struct entry *entry = &found->entries[i];
        const uint32_t location =
            entry->node ? td_model_node(model, entry->node)->location : TD_NONE;
        const uint64_t key = key_of(model, location);
        size_t g = 0;

        while (g < len && groups[g].key != key)
            g++;
        g = g < GROUPS_MAX ? g : GROUPS_MAX - 1;
        if (g == len)
            groups[len++] = (struct group){.key = key, .location = location};
        groups[g].executions += entry->executions;
        groups[g].lost += entry->lost;
    }
    return len;
}

static size_t count_large(const struct group *groups, size_t len, uint64_t executions)
{
    size_t large = 0;

    for (size_t g = 0; g < len; g++)
        large += (double)groups[g].executions >= LEAST * (double)executions;
    return large;
}

static int by_lost(const void *a, const void *b)
{
    const struct group *x = a, *y = b;

    if (x->lost != y->lost)
        return x->lost > y->lost ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Of each stack the next frame outwards. False: there are none. */
static bool go_out(const struct found *found, const struct td_model *model)
{
    bool any = false;

    for (size_t i = 0; i < found->len; i++) {
        uint32_t *node = &found->entries[i].node;

        *node = *node ? td_model_node(model, *node)->parent : 0;
        any = any || *node != 0;
    }
    return any;
}

size_t td_why_callers_of(struct td_why_caller *ret, const struct td_measure *measure,
                         uint32_t location)
{
    struct found found = {.entries = NULL};
    struct group groups[GROUPS_MAX];
    size_t len = 0, count = 0;

    if (location == TD_NONE)
        return 0;
    find_entries(&found, measure, location);
    for (int depth = 0; found.executions > 0 && found.lost > 0 && depth < DEPTH_MAX; depth++) {
        if (!go_out(&found, measure->model))
            break;
        len = make_groups(groups, &found, measure->model);
        if (count_large(groups, len, found.executions) < 2)
            continue;
        qsort(groups, len, sizeof(groups[0]), by_lost);
        for (; count < len && count < TD_WHY_CALLERS; count++)
            ret[count] = (struct td_why_caller){
                .location = groups[count].location,
                .executions = (double)groups[count].executions / (double)found.executions,
                .lost = (double)groups[count].lost / (double)found.lost};
        break;
    }
    free(found.entries);
    return count;
}
