/* SPDX-License-Identifier: MIT */
#include "report/query/figures/rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/attribution/later.h"

/* Groups of counts that were read together, and not of one event that samples. */
static bool is_counted(const struct td_group *group)
{
    return (group->role == TD_ROLE_SLOTS || group->role == TD_ROLE_METRIC) &&
           group->column_count > 1;
}

/* What the group's counters counted, by event of the core; NaN for what it has none of. */
static void sum_group(const struct td_counted *core, uint32_t group, double *counts)
{
    const struct td_model *model = core->model;
    const uint32_t columns = td_model_group(model, group)->column_count;
    uint64_t room[TD_COLUMNS_MAX];

    for (size_t e = 0; e < core->core->event_count; e++)
        counts[e] = NAN;
    td_pmu_core_give(core->core, &core->given, counts);
    for (uint32_t c = 0; c < columns; c++) {
        if (core->event[c] >= 0)
            counts[core->event[c]] = 0;
    }
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);

        if (tally->group != group)
            continue;
        const uint64_t *values = td_model_tally_values(model, tally, room);
        for (uint32_t c = 0; c < columns; c++) {
            if (core->event[c] >= 0)
                counts[core->event[c]] += (double)values[c];
        }
    }
}

/* The values that this group gives of metrics that none before it gave. */
static void add_group(struct td_rates *rates, size_t first, struct td_counted *core, uint32_t group)
{
    double *counts = td_xcalloc(core->core->event_count + 1, sizeof(*counts));
    const uint32_t width = core->width;

    if (td_counted_columns(core, group))
        sum_group(core, group, counts);
    for (size_t i = 0; i < core->core->metric_count; i++) {
        struct td_rate *rate = &rates->at[first + i];
        const double value =
            isnan(rate->value) ? td_pmu_core_metric(core->core, rate->metric, counts, width) : NAN;

        if (isnan(value) || isinf(value))
            continue;
        rate->value = value;
        rate->run = td_model_group(core->model, group)->pass;
    }
    free(counts);
}

/* All groups of one kind of core; `core` explains them. */
static void add_core(struct td_rates *rates, struct td_counted *core, const char *cpu_type)
{
    const struct td_model *model = core->model;
    const size_t first = rates->len;
    size_t kept = first;

    rates->at =
        td_grow(rates->at, &rates->cap, first + core->core->metric_count + 1, sizeof(*rates->at));
    for (size_t i = 0; i < core->core->metric_count; i++)
        rates->at[first + i] =
            (struct td_rate){.metric = &core->core->metrics[i], .cpu_type = cpu_type, .value = NAN};
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const struct td_group *group = td_model_group(model, g);

        if (is_counted(group) && strcmp(td_model_string(model, group->cpu_type), cpu_type) == 0)
            add_group(rates, first, core, g);
    }
    for (size_t i = first; i < first + core->core->metric_count; i++) {
        if (!isnan(rates->at[i].value))
            rates->at[kept++] = rates->at[i];
    }
    rates->len = kept;
}

static bool is_known(const struct td_rates *rates, const struct td_model *model, uint32_t cpu_type)
{
    for (size_t i = 0; i < rates->core_count; i++) {
        if (td_model_group(model, rates->cores[i].group)->cpu_type == cpu_type)
            return true;
    }
    return false;
}

/* What a model counted, over another count of its. */
struct modelled {
    struct td_pmu_metric metric;
    enum td_counter of, over;
    double factor;
};

#define MODELLED(group_, name_, unit_, of_, over_, factor_)                                      \
    {                                                                                            \
        .metric = {.group = (group_), .name = (name_), .unit = (unit_)}, .of = TD_COUNTER_##of_, \
        .over = TD_COUNTER_##over_, .factor = (factor_)                                          \
    }
#define PER_1000(group, name, of) \
    MODELLED(group, name, "per_1000_instructions", of, INSTRUCTIONS, 1000)
#define RATIO(group, name, of, over) MODELLED(group, name, "ratio", of, over, 1)

/* By the names that descriptions of counted cores give the same figures. */
static const struct modelled modelled[] = {
    PER_1000("branch", "branch_mpki", MISPREDICTS),
    RATIO("branch", "branch_miss_ratio", MISPREDICTS, BRANCHES),
    PER_1000("cache", "l1d_mpki", L1D_MISSES),
    PER_1000("cache", "l2_mpki", L2_MISSES),
    RATIO("cache", "l2_miss_ratio", L2_MISSES, L1D_MISSES),
    PER_1000("cache", "l3_mpki", L3_MISSES),
    RATIO("cache", "l3_miss_ratio", L3_MISSES, L2_MISSES),
    PER_1000("cache", "l1i_mpki", L1I_MISSES),
    PER_1000("tlb", "dtlb_walk_mpki", DTLB_WALKS),
    PER_1000("tlb", "itlb_mpki", ITLB_MISSES),
    RATIO("mix", "load_share", LOADS, INSTRUCTIONS),
    RATIO("mix", "store_share", STORES, INSTRUCTIONS),
    RATIO("mix", "branch_share", BRANCHES, INSTRUCTIONS),
    MODELLED("utilization", "ipc", "instructions_per_cycle", INSTRUCTIONS, CYCLES, 1),
    MODELLED("utilization", "cpi", "cycles_per_instruction", CYCLES, INSTRUCTIONS, 1),
};

/* Of a model that ran all instructions exactly: events of windows stand for nothing else. Older
 * recordings have no such counts. */
static void add_modelled(struct td_rates *rates, const struct td_model *model)
{
    const uint64_t instructions = td_model_counter(model, TD_COUNTER_INSTRUCTIONS);

    if (instructions == 0 || td_model_counter(model, TD_COUNTER_DETAILED) != instructions ||
        td_model_counter(model, TD_COUNTER_BRANCHES) == 0)
        return;
    rates->at = td_grow(rates->at, &rates->cap, TD_ARRAY_SIZE(modelled), sizeof(*rates->at));
    for (size_t i = 0; i < TD_ARRAY_SIZE(modelled); i++) {
        const uint64_t over = td_model_counter(model, modelled[i].over);

        if (over > 0)
            rates->at[rates->len++] = (struct td_rate){
                .metric = &modelled[i].metric,
                .cpu_type = "",
                .modelled = true,
                .value = modelled[i].factor * (double)td_model_counter(model, modelled[i].of) /
                         (double)over,
            };
    }
}

void td_rates_of(struct td_rates *rates, const struct td_model *model)
{
    *rates = (struct td_rates){.len = 0};
    if (td_source_is_modelled(td_model_source(model)))
        add_modelled(rates, model);
    rates->cores = td_xcalloc((size_t)td_model_group_count(model) + 1, sizeof(*rates->cores));
    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const struct td_group *group = td_model_group(model, g);
        struct td_counted *core = &rates->cores[rates->core_count];

        if (!is_counted(group) || is_known(rates, model, group->cpu_type))
            continue;
        if (td_counted_init_rates(core, model, g) == TD_OK)
            rates->core_count++;
        else
            td_counted_release(core);
    }
    for (size_t i = 0; i < rates->core_count; i++) {
        struct td_counted *core = &rates->cores[i];
        const struct td_group *group = td_model_group(model, core->group);

        add_core(rates, core, td_model_string(model, group->cpu_type));
    }
}

void td_rates_release(struct td_rates *rates)
{
    for (size_t i = 0; i < rates->core_count; i++)
        td_counted_release(&rates->cores[i]);
    free(rates->cores);
    free(rates->at);
    *rates = (struct td_rates){.len = 0};
}
