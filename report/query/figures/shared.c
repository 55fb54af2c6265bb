/* SPDX-License-Identifier: MIT */
#include "report/query/figures/shared.h"

#include "base/map.h"
#include "formats/frames.h"

#define MUCH 0.01

/* Of the cycles, those of which shared lines are told. */
static double told(const struct td_model *model)
{
    const uint64_t detailed = td_model_counter(model, TD_COUNTER_DETAILED);
    const uint64_t whole = td_model_counter(model, TD_COUNTER_INSTRUCTIONS);
    const double cycles = (double)td_model_counter(model, TD_COUNTER_CYCLES);

    return detailed > 0 && detailed < whole ? cycles * (double)detailed / (double)whole : cycles;
}

bool td_shared_is_much(const struct td_model *model)
{
    uint64_t cycles = 0;

    for (uint32_t i = 0; i < td_model_shared_count(model); i++)
        cycles += td_model_shared(model, i)->cycles;
    return cycles > 0 && (double)cycles >= MUCH * told(model);
}

/* The function that holds the instruction, whatever is inlined there. */
static uint64_t function_at(const struct td_model *model, uint32_t location)
{
    const struct td_frame frame = td_frame_leaf(model, location, true);

    return td_function_key(&frame);
}

bool td_shared_spins(const struct td_measure *measure)
{
    const struct td_model *model = measure->model;
    const uint64_t *values = measure->values[td_metric_of_node(TD_NODE_SERIALIZING_OPERATION)];
    uint64_t all = 0, spinning = 0;
    struct td_map waits = {0};
    bool added;

    for (uint32_t i = 0; values && i < td_model_shared_count(model); i++) {
        const struct td_shared_row *row = td_model_shared(model, i);

        if (!row->mine.store && row->theirs.store && row->mine.location != TD_NONE)
            td_map_put(&waits, function_at(model, row->mine.location), 0, 0, &added);
    }
    for (size_t r = 0; values && r < measure->row_count; r++) {
        const uint32_t node = measure->rows[r].node;

        all += values[r];
        if (values[r] > 0 && node != 0 &&
            td_map_find(&waits, function_at(model, td_model_node(model, node)->location), 0))
            spinning += values[r];
    }
    td_map_release(&waits);
    return spinning > 0 && 2 * spinning > all;
}
