/* SPDX-License-Identifier: MIT */
#include "record/count/stalls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "formats/cores/core.h"
#include "record/machine/host_core.h"

#define NS_PER_S 1e9

static void take_latencies(struct td_count_latencies *ret, const struct td_core_desc *desc)
{
    ret->l2 = desc->l2_latency;
    ret->l3 = desc->l3_latency;
    ret->memory = desc->dram_latency;
    ret->walk = desc->walk + desc->stlb_latency;
}

/* Measured on this machine once, or those of the modelled core that is nearest. */
static void read_latencies(struct td_count_latencies *ret, const struct td_caps *caps)
{
    const char *base = td_host_core_base(caps->cpu_id, caps->code_kb);
    char *text = td_host_core_read();
    struct td_core_desc desc;

    *ret = (struct td_count_latencies){.l2 = NAN, .l3 = NAN, .memory = NAN, .walk = NAN};
    if (text && td_core_desc_text(&desc, text, NULL) == TD_OK) {
        take_latencies(ret, &desc);
        snprintf(ret->from, sizeof(ret->from), "measured here by tdrec --calibrate");
    } else if (td_core_desc_builtin(&desc, base, NULL) == TD_OK) {
        take_latencies(ret, &desc);
        snprintf(ret->from, sizeof(ret->from),
                 "of core %s; tdrec --calibrate measures this machine's", base);
    }
    free(text);
}

void td_count_machine_read(struct td_count_machine *machine, const struct td_caps *caps)
{
    machine->caps = caps;
    td_system_read(&machine->system, caps);
    read_latencies(&machine->latencies, caps);
}

static double over(double a, double b)
{
    return b != 0 ? a / b : NAN;
}

/* CPU time that the kernel counted; NaN without it. */
static double cpu_time_s(const struct td_counts *counts)
{
    for (size_t g = 0; g < counts->plan->group_count; g++) {
        if (counts->plan->groups[g].events[0].unit == TD_UNIT_NS)
            return td_count_estimate(td_counts_get(counts, g, 0)) / NS_PER_S;
    }
    return NAN;
}

static void fill_cycles(struct td_count_stalls *s)
{
    const double *v = s->value;
    const double useful = v[TD_STALL_INSTRUCTIONS] - v[TD_STALL_NOPS];
    double named = 0;

    s->unstalled = v[TD_STALL_CYCLES] - v[TD_STALL_STALLED];
    s->stalled_share = over(v[TD_STALL_STALLED], v[TD_STALL_CYCLES]);
    s->access_share = over(v[TD_STALL_DATA], v[TD_STALL_STALLED]);
    s->cpi = over(v[TD_STALL_CYCLES], v[TD_STALL_INSTRUCTIONS]);
    s->cpui = over(v[TD_STALL_CYCLES], useful);
    s->ucpi = over(s->unstalled, v[TD_STALL_INSTRUCTIONS]);
    s->ucpui = over(s->unstalled, useful);
    for (int i = TD_STALL_DATA; i <= TD_STALL_DIVIDER; i++) {
        const bool level = i >= TD_STALL_DATA_L1 && i <= TD_STALL_DATA_MEMORY;

        named += level || isnan(v[i]) ? 0 : v[i];
    }
    s->other = fmax(0, v[TD_STALL_STALLED] - named);
    s->other = isnan(v[TD_STALL_STALLED]) ? NAN : s->other;
}

/* Walks are a part of their own, and those that a core does not count are left out of the sum. */
static void fill_model(struct td_count_stalls *s, const struct td_count_latencies *latencies)
{
    const double *v = s->value;

    s->l2_cycles = v[TD_STALL_FROM_L2] * latencies->l2;
    s->l3_cycles = v[TD_STALL_FROM_L3] * latencies->l3;
    s->memory_cycles = v[TD_STALL_FROM_MEMORY] * latencies->memory;
    s->walk_cycles = v[TD_STALL_WALKS] * latencies->walk;
    s->modelled = s->l2_cycles + s->l3_cycles + s->memory_cycles +
                  (isnan(s->walk_cycles) ? 0 : s->walk_cycles);
    s->cache_share = over(s->l2_cycles + s->l3_cycles, s->modelled);
    s->memory_share = over(s->memory_cycles, s->modelled);
    s->tlb_share = over(s->walk_cycles, s->modelled);
    s->difference = over(s->modelled - v[TD_STALL_DATA], v[TD_STALL_DATA]);
    s->l2_miss_ratio = over(v[TD_STALL_L2_MISSES], v[TD_STALL_L2_REFERENCES]);
    s->l3_miss_ratio = over(v[TD_STALL_L3_MISSES], v[TD_STALL_L3_REFERENCES]);
}

static void fill_rates(struct td_count_stalls *s, const struct td_counts *counts,
                       const struct td_system *system, bool only)
{
    const double mhz = system->mhz_max > 0 ? system->mhz_max : system->mhz;

    s->clock_hz = only ? over(s->value[TD_STALL_CYCLES], cpu_time_s(counts)) : NAN;
    s->clock_counted = s->clock_hz > 0;
    if (!s->clock_counted)
        s->clock_hz = mhz > 0 ? mhz * 1e6 : NAN;
    s->fp_per_s = over(s->value[TD_STALL_FP_OPERATIONS], s->elapsed_s);
    s->fp_instructions_per_s = over(s->value[TD_STALL_FP_INSTRUCTIONS], s->elapsed_s);
    s->peak_per_s = s->width > 0 ? s->width * s->clock_hz : NAN;
    s->utilization = over(over(s->value[TD_STALL_INSTRUCTIONS], s->elapsed_s), s->peak_per_s);
    s->fp_utilization = over(s->fp_per_s, s->peak_per_s);
}

void td_count_stalls_of(struct td_count_stalls *ret, const struct td_count_cpu_type *part,
                        const struct td_counts *counts, const struct td_count_machine *machine,
                        double elapsed_s, bool only)
{
    const struct td_pmu_core *core = part->choice.core;
    struct td_stall_formulas *formulas = td_stall_formulas_new(core);
    double *values = td_count_cpu_type_values(part, counts);

    *ret = (struct td_count_stalls){.elapsed_s = elapsed_s,
                                    .width = part->width ? part->width : core->width};
    for (int i = 0; i < TD_STALL_COUNT; i++) {
        ret->value[i] = td_stall_value(formulas, (enum td_stall_count)i, values);
        ret->has_event[i] = td_stall_events(formulas, (enum td_stall_count)i) != 0;
    }
    free(values);
    td_stall_formulas_free(formulas);
    fill_cycles(ret);
    fill_model(ret, &machine->latencies);
    fill_rates(ret, counts, &machine->system, only);
}
