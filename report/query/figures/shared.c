/* SPDX-License-Identifier: MIT */
#include "report/query/figures/shared.h"

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
