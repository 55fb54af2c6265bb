/* SPDX-License-Identifier: MIT */
#include "report/query/figures/machine.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/cores/core.h"
#include "report/attribution/slots.h"
#include "report/attribution/stats.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/rates.h"

/* Of fewer, the intervals at the ends of the threads weigh too much for a clock. */
#define SAMPLES_MIN 200

static const char *const cache_keys[TD_CACHE_COUNT] = {"l1d_kb", "l1i_kb", "l2_kb", "l3_kb"};

const char *td_machine_parameter_text(const struct td_model *model, const char *name)
{
    const size_t len = strlen(name);
    const char *text = NULL;

    for (size_t i = 0; (text = td_model_env_at(model, TD_ENV_PARAMETER, i)); i++) {
        if (strncmp(text, name, len) == 0 && text[len] == '=')
            return text + len + 1;
    }
    return NULL;
}

uint64_t td_machine_parameter(const struct td_model *model, const char *name)
{
    const char *text = td_machine_parameter_text(model, name);
    uint64_t value = 0;

    return text && td_parse_u64(text, &value) ? value : 0;
}

/* What the kernel said of the machine, whatever was recorded on it. */
static void add_system(struct td_machine *m, const struct td_model *model)
{
    m->memory_kb = td_machine_parameter(model, "machine_memory_kb");
    m->line_bytes = td_machine_parameter(model, "machine_line_bytes");
    m->mhz = td_machine_parameter(model, "machine_mhz");
    m->mhz_max = td_machine_parameter(model, "machine_mhz_max");
    m->threads_per_core = td_machine_parameter(model, "machine_threads_per_core");
    m->governor = td_machine_parameter_text(model, "machine_governor");
}

/* Older recordings do not say them: those of a built-in core have not changed. */
static void add_builtin(struct td_machine *m)
{
    struct td_core_desc desc;

    if (!m->name || td_core_desc_builtin(&desc, m->name, NULL) < 0)
        return;
    m->width = (unsigned)desc.width;
    m->cache_kb[TD_CACHE_L1D] = (uint64_t)desc.l1d_kb;
    m->cache_kb[TD_CACHE_L1I] = (uint64_t)desc.l1i_kb;
    m->cache_kb[TD_CACHE_L2] = (uint64_t)desc.l2_kb;
    m->cache_kb[TD_CACHE_L3] = (uint64_t)desc.l3_kb;
}

static void add_modelled(struct td_machine *m, const struct td_model *model)
{
    m->name = td_model_env(model, TD_ENV_CORE);
    m->clock_hz = (double)td_machine_parameter(model, "clock_hz");
    for (int c = 0; c < TD_CACHE_COUNT; c++)
        m->cache_kb[c] = td_machine_parameter(model, cache_keys[c]);
    m->width = (unsigned)td_machine_parameter(model, "width");
    if (m->cache_kb[TD_CACHE_L1D] == 0)
        add_builtin(m);
}

static void add_measured(struct td_machine *m, const struct td_measure *measure)
{
    const struct td_slots *slots = measure->slots;
    const double time_ns = (double)measure->totals[TD_METRIC_TIME_NS];
    char key[32];

    m->name = td_model_env(measure->model, slots ? TD_ENV_CORE : TD_ENV_CPU);
    for (int c = 0; c < TD_CACHE_COUNT; c++) {
        snprintf(key, sizeof(key), "machine_%s", cache_keys[c]);
        m->cache_kb[c] = td_machine_parameter(measure->model, key);
    }
    if (!slots || slots->len != 1)
        return;
    const uint64_t own = td_machine_parameter(measure->model, "slot_width");
    m->width = own ? (unsigned)own : slots->parts[0].counted.core->width;
    if (m->width > 0 && time_ns > 0 && measure->totals[TD_METRIC_SAMPLES] >= SAMPLES_MIN)
        m->clock_hz = (double)measure->totals[TD_METRIC_SLOTS] / m->width / time_ns * 1e9;
}

/* Of the first kind of core that says it. */
static double counted_ipc(const struct td_model *model)
{
    struct td_rates rates;
    double ipc = 0;

    td_rates_of(&rates, model);
    for (size_t i = 0; i < rates.len && ipc == 0; i++) {
        if (strcmp(rates.at[i].metric->name, "ipc") == 0)
            ipc = rates.at[i].value;
    }
    td_rates_release(&rates);
    return ipc;
}

struct td_machine td_machine_of(const struct td_measure *measure)
{
    struct td_machine m = {.modelled = td_measure_is_modelled(measure)};
    const struct td_model *model = measure->model;
    uint64_t cycles = measure->totals[TD_METRIC_CYCLES];

    add_system(&m, model);
    if (m.modelled)
        add_modelled(&m, model);
    else
        add_measured(&m, measure);
    m.instructions = measure->totals[TD_METRIC_INSTRUCTIONS];
    if (m.instructions == 0 || cycles == 0) {
        m.instructions = td_model_counter(model, TD_COUNTER_INSTRUCTIONS);
        cycles = td_model_counter(model, TD_COUNTER_CYCLES);
    }
    m.ipc = cycles > 0 ? td_ratio(m.instructions, cycles) : counted_ipc(model);
    return m;
}
