/* SPDX-License-Identifier: MIT */
#include "record/machine/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/cores/core.h"
#include "record/machine/host_core.h"
#include "record/machine/timings.h"

#define SECONDS 14.0
/* The branch itself, which the probe's cost includes. */
#define BRANCH_CYCLES 1
/* Above this, runs at full speed did not agree: what they share with other work was busy. */
#define SPREAD_MAX 0.10

/* What a probe says of the description. */
static double value_of(enum td_timing_kind kind, const struct td_timing results[TD_TIMING_COUNT],
                       const struct td_core_desc *base)
{
    const double value = results[kind].value;

    if (kind == TD_TIMING_MISPREDICT)
        return value - BRANCH_CYCLES;
    return kind == TD_TIMING_WALK ? value - base->stlb_latency : value;
}

/* The keys that the probes give, in their order. */
static const char *const keys[TD_TIMING_COUNT] = {
    [TD_TIMING_CLOCK] = "mhz",         [TD_TIMING_L1] = "l1d_latency",
    [TD_TIMING_L2] = "l2_latency",     [TD_TIMING_L3] = "l3_latency",
    [TD_TIMING_DRAM] = "dram_latency", [TD_TIMING_READ] = "dram_line",
    [TD_TIMING_WRITE] = "dram_write",  [TD_TIMING_MISPREDICT] = "refill",
    [TD_TIMING_WALK] = "walk",
};

static double base_value(enum td_timing_kind kind, const struct td_core_desc *base)
{
    switch (kind) {
    case TD_TIMING_CLOCK: return base->mhz;
    case TD_TIMING_L1: return base->l1d_latency;
    case TD_TIMING_L2: return base->l2_latency;
    case TD_TIMING_L3: return base->l3_latency;
    case TD_TIMING_DRAM: return base->dram_latency;
    case TD_TIMING_READ: return (double)base->dram_line / TD_TICKS_PER_CYCLE;
    case TD_TIMING_WRITE: return (double)base->dram_write / TD_TICKS_PER_CYCLE;
    case TD_TIMING_MISPREDICT: return base->refill + BRANCH_CYCLES;
    case TD_TIMING_WALK: return base->walk + base->stlb_latency;
    case TD_TIMING_COUNT: break;
    }
    return 0;
}

static void print_row(const struct td_timing *timing, const char *name, double named,
                      const char *unit, FILE *out)
{
    fprintf(out, "%-28s %9.1f  %12.1f %s", name, timing->value, named, unit);
    if (!timing->quiet)
        fputs(", while other work ran", out);
    else if (timing->spread > SPREAD_MAX)
        fprintf(out, ", runs differ by %.0f %%", 100 * timing->spread);
    fputc('\n', out);
}

static void print_table(const struct td_timing results[TD_TIMING_COUNT],
                        const struct td_core_desc *base, FILE *out)
{
    static const char *const names[] = {
#define X(symbol, name, unit) [TD_TIMING_##symbol] = (name),
        TD_TIMINGS(X)
#undef X
    };
    static const char *const units[] = {
#define X(symbol, name, unit) [TD_TIMING_##symbol] = (unit),
        TD_TIMINGS(X)
#undef X
    };

    fprintf(out, "%-28s %9s  %12s\n", "", "here", base->name);
    for (int i = 0; i < TD_TIMING_COUNT; i++)
        print_row(&results[i], names[i], base_value((enum td_timing_kind)i, base), units[i], out);
}

/* The description with what was measured; checked by its reader. Newly allocated. */
static int make_text(char **ret, const struct td_caps *caps,
                     const struct td_timing results[TD_TIMING_COUNT],
                     const struct td_core_desc *base, struct td_err *err)
{
    struct td_host_value values[TD_TIMING_COUNT + 1];
    struct td_core_desc desc;
    char safe[40], title[64];

    for (int i = 0; i < TD_TIMING_COUNT; i++)
        values[i] = (struct td_host_value){
            .key = keys[i], .value = value_of((enum td_timing_kind)i, results, base)};
    const double refill = values[TD_TIMING_MISPREDICT].value;
    values[TD_TIMING_COUNT] = (struct td_host_value){
        .key = "resteer", .value = base->resteer < refill ? base->resteer : refill};
    td_text_safe(safe, sizeof(safe), caps->cpu, strlen(caps->cpu));
    snprintf(title, sizeof(title), "%s, calibrated", safe);
    char *text = td_host_core_text(base->name, title, values, TD_ARRAY_SIZE(values));
    if (!text)
        return td_fail(err, TD_ENOENT, "there is no core '%s'", base->name);
    const int rc = td_core_desc_text(&desc, text, err);
    if (rc == TD_OK)
        *ret = text;
    else
        free(text);
    return rc;
}

int td_calibrate(const struct td_caps *caps, FILE *out, struct td_err *err)
{
    struct td_timing results[TD_TIMING_COUNT] = {{0}};
    struct td_core_desc base = {.mhz = 0};
    char *text = NULL, *path = td_host_core_path();
    int rc = td_core_desc_builtin(&base, td_host_core_base(caps->cpu_id, caps->code_kb), err);

    if (rc == TD_OK && !td_timings_run(results, SECONDS, (size_t)base.l2_kb))
        rc = td_fail(err, TD_EIO, "there is not enough memory to measure with");
    if (rc == TD_OK)
        rc = make_text(&text, caps, results, &base, err);
    if (rc == TD_OK)
        rc = td_host_core_write(text, err);
    if (rc == TD_OK) {
        print_table(results, &base, out);
        fprintf(out, "The rest is as in %s. Written to %s; use it with --sim-core %s.\n", base.name,
                path, TD_HOST_CORE);
    }
    free(text);
    free(path);
    return rc;
}
