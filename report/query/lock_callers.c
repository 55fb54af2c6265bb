/* SPDX-License-Identifier: MIT */
#include "report/query/lock_callers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "report/query/waits.h"

static uint64_t slots_of(const struct td_measure *measure, size_t row)
{
    static const enum td_tma_node nodes[] = {TD_NODE_CONTESTED_ACCESSES, TD_NODE_FALSE_SHARING,
                                             TD_NODE_LOCK_LATENCY};
    uint64_t sum = 0;

    for (size_t i = 0; i < TD_ARRAY_SIZE(nodes); i++) {
        const uint64_t *values = measure->values[td_metric_of_node(nodes[i])];

        sum += values ? values[row] : 0;
    }
    return sum;
}

static bool is_of_lock(const struct td_model *model, const struct td_frame *frame)
{
    if (frame->function == TD_NONE)
        return false;
    const char *reason = td_wait_reason(
        td_model_string(model, td_model_function(model, frame->function)->name), false);

    return reason && strcmp(reason, "lock") == 0;
}

/* `index`: (function, file and line) -> caller */
static void add(struct td_lock_callers *callers, struct td_map *index, const struct td_frame *frame,
                uint64_t slots)
{
    bool added = false;
    const uint32_t i =
        *td_map_put(index, td_function_key(frame), (uint64_t)frame->file << 32 | frame->line,
                    (uint32_t)callers->len, &added);

    if (added) {
        callers->at = td_grow(callers->at, &callers->cap, callers->len + 1, sizeof(*callers->at));
        callers->at[callers->len++] = (struct td_lock_caller){.frame = *frame};
    }
    callers->at[i].slots += slots;
    callers->slots += slots;
}

static int dearest_first(const void *a, const void *b)
{
    const struct td_lock_caller *x = a, *y = b;

    if (x->slots != y->slots)
        return x->slots > y->slots ? -1 : 1;
    return (x->frame.location > y->frame.location) - (x->frame.location < y->frame.location);
}

/* The first frame from `first` on that is of the program's own code; of headers alone, `first`. */
static const struct td_frame *own_frame(const struct td_model *model,
                                        const struct td_frames *frames, size_t first)
{
    for (size_t i = first; i < frames->len; i++) {
        if (!td_frame_is_system(model, &frames->at[i]))
            return &frames->at[i];
    }
    return &frames->at[first];
}

void td_lock_callers_init(struct td_lock_callers *ret, const struct td_measure *measure,
                          bool no_inline)
{
    const struct td_frame none = {.location = TD_NONE, .module = TD_NONE, .function = TD_NONE};
    struct td_frames frames = {.at = NULL};
    struct td_map index = {0};

    *ret = (struct td_lock_callers){.at = NULL};
    for (size_t row = 0; row < measure->row_count; row++) {
        const uint64_t slots = slots_of(measure, row);
        size_t i = 0;

        if (slots == 0)
            continue;
        td_frames_fill(&frames, measure->model, measure->rows[row].node, no_inline);
        while (i < frames.len && is_of_lock(measure->model, &frames.at[i]))
            i++;
        if (i > 0)
            add(ret, &index, i < frames.len ? own_frame(measure->model, &frames, i) : &none, slots);
    }
    td_frames_release(&frames);
    td_map_release(&index);
    if (ret->len > 0)
        qsort(ret->at, ret->len, sizeof(ret->at[0]), dearest_first);
}

void td_lock_callers_release(struct td_lock_callers *callers)
{
    free(callers->at);
    *callers = (struct td_lock_callers){.at = NULL};
}
