/* SPDX-License-Identifier: MIT */
#include "formats/measure.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

static const struct {
    const char *id, *key;
    enum td_unit unit;
} own[TD_METRIC_FIRST_NODE] = {
#define X(symbol, name, with_unit, of) {.id = (name), .key = (with_unit), .unit = (of)},
    TD_METRICS(X)
#undef X
};

static const char *node_id(enum td_metric metric)
{
    return td_tma_info((enum td_tma_node)(metric - TD_METRIC_FIRST_NODE))->id;
}

const char *td_metric_id(enum td_metric metric)
{
    return metric < TD_METRIC_FIRST_NODE ? own[metric].id : node_id(metric);
}

const char *td_metric_key(enum td_metric metric)
{
    return metric < TD_METRIC_FIRST_NODE ? own[metric].key : node_id(metric);
}

enum td_unit td_metric_unit(enum td_metric metric)
{
    return metric < TD_METRIC_FIRST_NODE ? own[metric].unit : TD_UNIT_SLOTS;
}

enum td_metric td_metric_of_node(enum td_tma_node node)
{
    return (enum td_metric)(TD_METRIC_FIRST_NODE + (int)node);
}

enum td_metric td_metric_of_unit(enum td_unit unit)
{
    return unit == TD_UNIT_CYCLES         ? TD_METRIC_CYCLES
           : unit == TD_UNIT_INSTRUCTIONS ? TD_METRIC_INSTRUCTIONS
                                          : TD_METRIC_COUNT;
}

enum td_metric td_metric_by_id(const char *id)
{
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (strcasecmp(td_metric_id((enum td_metric)m), id) == 0)
            return (enum td_metric)m;
    }
    return TD_METRIC_COUNT;
}

enum td_metric td_measure_primary(const struct td_measure *measure)
{
    static const enum td_metric order[] = {TD_METRIC_SLOTS, TD_METRIC_TIME_NS, TD_METRIC_EVENT};

    if (measure->weighted)
        return TD_METRIC_TIME_NS;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (measure->values[order[i]])
            return order[i];
    }
    return TD_METRIC_SAMPLES;
}

void td_measure_sum_time(const struct td_measure *measure, uint64_t *values)
{
    const unsigned __int128 ns = (unsigned __int128)values[measure->time_of] * 1000000000;
    const uint64_t rate = measure->time_rate;

    if (rate == 0)
        return;
    const unsigned __int128 time = (ns + rate / 2) / rate;
    values[TD_METRIC_TIME_NS] = time < UINT64_MAX ? (uint64_t)time : UINT64_MAX;
}

const char *td_measure_event_name(const struct td_measure *measure)
{
    return measure->event_name && measure->event_name[0] ? measure->event_name
                                                         : td_metric_id(TD_METRIC_EVENT);
}

size_t td_measure_thread_count(const struct td_measure *measure)
{
    const uint64_t *values = measure->values[td_measure_primary(measure)];
    bool *has = td_xcalloc((size_t)td_model_thread_count(measure->model) + 1, sizeof(*has));
    size_t count = 0;

    for (size_t i = 0; values && i < measure->row_count; i++) {
        const uint32_t thread = measure->rows[i].thread;

        if (values[i] == 0 || has[thread])
            continue;
        has[thread] = true;
        count++;
    }
    free(has);
    return count;
}

bool td_measure_has_processes(const struct td_measure *measure)
{
    for (size_t row = 1; row < measure->row_count; row++) {
        if (td_model_thread(measure->model, measure->rows[row].thread)->process !=
            td_model_thread(measure->model, measure->rows[0].thread)->process)
            return true;
    }
    return false;
}

void td_measure_free(struct td_measure *measure)
{
    if (!measure)
        return;
    if (measure->free_slots)
        measure->free_slots(measure->slots);
    if (measure->free_join)
        measure->free_join(measure->join);
    free(measure->no_slots);
    free(measure->event_name);
    free(measure->blank);
    free(measure->no_line);
    free(measure->rows);
    free(measure->replicates);
    for (size_t i = 0; i < measure->variant_count; i++)
        td_measure_free(measure->variants[i]);
    free(measure->variants);
    for (unsigned m = 0; m < TD_METRIC_COUNT; m++)
        free(measure->values[m]);
    free(measure);
}
