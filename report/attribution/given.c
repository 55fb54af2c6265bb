/* SPDX-License-Identifier: MIT */
#include "report/attribution/given.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* The cycles of the first group that counts them; 0 where several kinds of cores counted, since the
 * CPU time is of all together. */
static double counted_cycles(const struct td_model *model)
{
    const struct td_group *other = NULL;
    uint32_t first = TD_NONE, column = 0;
    uint64_t room[TD_COLUMNS_MAX];
    double cycles = 0;

    for (uint32_t g = 0; g < td_model_group_count(model); g++) {
        const struct td_group *group = td_model_group(model, g);

        if ((group->role != TD_ROLE_SLOTS && group->role != TD_ROLE_METRIC) || group->pass > 1)
            continue;
        if (other && group->cpu_type != other->cpu_type)
            return 0;
        other = group;
        for (uint32_t c = 0; c < group->column_count && first == TD_NONE; c++) {
            const uint32_t event = group->columns[c].event;

            if (group->columns[c].kind != TD_COLUMN_DELTA || event == TD_NONE ||
                td_model_event(model, event)->unit != TD_UNIT_CYCLES)
                continue;
            first = g;
            column = c;
        }
    }
    for (size_t i = 0; first != TD_NONE && i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);

        if (tally->group == first)
            cycles += (double)td_model_tally_values(model, tally, room)[column];
    }
    return cycles;
}

static double described_mhz(const struct td_model *model)
{
    static const char *const names[] = {"machine_mhz_max=", "machine_mhz="};
    const char *text = NULL;
    uint64_t mhz = 0;

    for (size_t n = 0; n < TD_ARRAY_SIZE(names); n++) {
        const size_t len = strlen(names[n]);

        for (size_t i = 0; (text = td_model_env_at(model, TD_ENV_PARAMETER, i)); i++) {
            if (strncmp(text, names[n], len) == 0 && td_parse_u64(text + len, &mhz) && mhz > 0)
                return (double)mhz;
        }
    }
    return NAN;
}

double td_given_clock(const struct td_model *model, bool *counted)
{
    const double ns = (double)td_model_counter(model, TD_COUNTER_COUNTED_NS);
    const double cycles = counted_cycles(model);

    *counted = ns > 0 && cycles > 0;
    return *counted ? cycles / ns : described_mhz(model) / 1000;
}

static int latency_column(const struct td_group *group)
{
    for (uint32_t c = 0; c < group->column_count; c++) {
        if (group->columns[c].kind == TD_COLUMN_RETIRE_LATENCY)
            return (int)c;
    }
    return -1;
}

/* The mean over all samples of groups that this event samples. */
static double mean_latency(const struct td_model *model, const struct td_pmu_event *event)
{
    double sum = 0, samples = 0;
    uint64_t room[TD_COLUMNS_MAX];

    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *tally = td_model_tally(model, i);
        const struct td_group *group = td_model_group(model, tally->group);
        const int column = latency_column(group);

        if (column < 0 || group->sampler == TD_NONE)
            continue;
        const struct td_event *sampler = td_model_event(model, group->sampler);
        if (sampler->config[0] != event->config || sampler->config[1] != event->config1)
            continue;
        sum += (double)td_model_tally_values(model, tally, room)[column];
        samples += (double)tally->samples;
    }
    return sum > 0 ? sum / samples : NAN;
}

double *td_given_latencies(const struct td_pmu_core *core, const struct td_model *model)
{
    double *means = td_xcalloc(core->event_count + 1, sizeof(*means));
    bool any = false;

    for (size_t i = 0; i < core->event_count; i++) {
        const int event =
            core->events[i].given ? td_pmu_core_timed_event(core, core->events[i].name) : -1;

        means[i] = event >= 0 ? mean_latency(model, &core->events[event]) : NAN;
        any = any || !isnan(means[i]);
    }
    if (any)
        return means;
    free(means);
    return NULL;
}
