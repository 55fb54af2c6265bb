/* SPDX-License-Identifier: MIT */
#include "record/count/print_stalls.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define KB_PER_GB   1048576.0
#define MHZ_PER_GHZ 1000.0
#define LINE_WIDTH  80
#define DIGITS      9

static struct td_count_stalls stalls_of(const struct td_count_view *view,
                                        const struct td_count_cpu_type *part)
{
    const unsigned runs = view->counts->plan->passes;
    struct td_count_stalls stalls;

    td_count_stalls_of(&stalls, part, view->counts, view->machine,
                       (view->to_s - view->from_s) / (runs ? runs : 1), view->part_count == 1);
    return stalls;
}

static const char *missing(const struct td_count_stalls *s, enum td_stall_count which)
{
    return s->has_event[which] ? "not counted here" : "no event of this core";
}

/* A count, with its part of `whole` in %; what is not counted is said. */
static void count_line(const char *name, int indent, double value, double whole, const char *why,
                       FILE *out)
{
    char text[48];

    fprintf(out, "  %*s%-*s ", indent, "", 34 - indent, name);
    if (isnan(value)) {
        fprintf(out, "    %s\n", why);
        return;
    }
    fprintf(out, "%20s", td_format_count(text, sizeof(text), (uint64_t)(value + 0.5)));
    if (whole > 0)
        fprintf(out, " %7.1f", 100 * value / whole);
    fputc('\n', out);
}

static void figure_line(const char *name, double value, const char *unit, const char *why,
                        FILE *out)
{
    if (isnan(value))
        fprintf(out, "  %-34s     %s\n", name, why);
    else
        fprintf(out, "  %-34s %20.3f%s%s\n", name, value, unit[0] ? " " : "", unit);
}

static void value_line(const struct td_count_stalls *s, const char *name, enum td_stall_count which,
                       double whole, FILE *out)
{
    count_line(name, 0, s->value[which], whole, missing(s, which), out);
}

static void print_cycles(const struct td_count_stalls *s, FILE *out)
{
    const double *v = s->value;
    const char *stalled = missing(s, TD_STALL_STALLED), *nops = missing(s, TD_STALL_NOPS);

    value_line(s, "cycles", TD_STALL_CYCLES, 0, out);
    value_line(s, "instructions", TD_STALL_INSTRUCTIONS, 0, out);
    value_line(s, "instructions that do nothing", TD_STALL_NOPS, v[TD_STALL_INSTRUCTIONS], out);
    value_line(s, "stalled cycles", TD_STALL_STALLED, v[TD_STALL_CYCLES], out);
    count_line("unstalled cycles", 0, s->unstalled, v[TD_STALL_CYCLES], stalled, out);
    figure_line("CPI, cycles per instruction", s->cpi, "", "not counted here", out);
    figure_line("CPUI, per useful instruction", s->cpui, "", nops, out);
    figure_line("UCPI, unstalled per instruction", s->ucpi, "", stalled, out);
    figure_line("UCPUI, unstalled per useful one", s->ucpui, "",
                isnan(v[TD_STALL_STALLED]) ? stalled : nops, out);
}

static void print_classes(const struct td_count_stalls *s, FILE *out)
{
    const double stalled = s->value[TD_STALL_STALLED];

    fprintf(out, "\n  %-34s %20s %7s\n", "stalled cycles, by what they wait for", "cycles", "%");
    for (int i = TD_STALL_DATA; i <= TD_STALL_DIVIDER; i++) {
        const enum td_stall_count which = (enum td_stall_count)i;
        const bool level = i >= TD_STALL_DATA_L1 && i <= TD_STALL_DATA_MEMORY;

        if (!level || s->has_event[which])
            count_line(td_stall_meaning(which), level ? 2 : 0, s->value[which], stalled,
                       missing(s, which), out);
    }
    count_line("nothing of these", 0, s->other, stalled, missing(s, TD_STALL_STALLED), out);
    fputs("  (some cycles wait for several at once: parts may add up to more than 100 %)\n", out);
}

static void access_line(const struct td_count_stalls *s, const char *name,
                        enum td_stall_count which, double latency, double cycles, FILE *out)
{
    char text[48], sum[48];

    fprintf(out, "  %-18s ", name);
    if (isnan(s->value[which])) {
        fprintf(out, "    %s\n", missing(s, which));
        return;
    }
    fprintf(out, "%18s %8.0f %18s",
            td_format_count(text, sizeof(text), (uint64_t)(s->value[which] + 0.5)), latency,
            td_format_count(sum, sizeof(sum), (uint64_t)(cycles + 0.5)));
    if (s->modelled > 0)
        fprintf(out, " %7.1f", 100 * cycles / s->modelled);
    fputc('\n', out);
}

static void sum_line(const char *name, double value, double part, FILE *out)
{
    char digits[48], text[64];

    td_format_count(digits, sizeof(digits), (uint64_t)(fabs(value) + 0.5));
    snprintf(text, sizeof(text), "%s%s", value < 0 ? "-" : "", digits);
    fprintf(out, "  %-18s %18s %8s %18s", name, "", "", text);
    if (!isnan(part))
        fprintf(out, " %+7.1f", 100 * part);
    fputc('\n', out);
}

/* The sum beside what was measured: that loads wait beside each other makes it the larger one. */
static void print_difference(const struct td_count_stalls *s, FILE *out)
{
    const double measured = s->value[TD_STALL_DATA];

    if (isnan(s->modelled))
        return;
    sum_line("sum", s->modelled, NAN, out);
    if (isnan(measured))
        return;
    sum_line("measured", measured, NAN, out);
    sum_line("difference", s->modelled - measured, s->difference, out);
    if (s->modelled > measured && measured > 0)
        fprintf(out, "  (more than measured: %.1f loads waited at a time, or other work went on)\n",
                s->modelled / measured);
}

static void print_model(const struct td_count_view *view, const struct td_count_stalls *s,
                        FILE *out)
{
    const struct td_count_latencies *l = &view->machine->latencies;

    fprintf(out, "\n  %-18s %18s %8s %18s %7s\n", "data, by latency", "accesses", "cycles",
            "cycles in all", "%");
    access_line(s, "L2", TD_STALL_FROM_L2, l->l2, s->l2_cycles, out);
    access_line(s, "L3", TD_STALL_FROM_L3, l->l3, s->l3_cycles, out);
    access_line(s, "memory", TD_STALL_FROM_MEMORY, l->memory, s->memory_cycles, out);
    access_line(s, "page walks", TD_STALL_WALKS, l->walk, s->walk_cycles, out);
    print_difference(s, out);
    fprintf(out, "  (latencies %s)\n", l->from);
}

static void print_rates(const struct td_count_stalls *s, FILE *out)
{
    const double million = 1e6;
    const char *fp = missing(s, TD_STALL_FP_OPERATIONS);

    fputc('\n', out);
    figure_line("L2 misses of its accesses", 100 * s->l2_miss_ratio, "%",
                missing(s, TD_STALL_L2_MISSES), out);
    figure_line("L3 misses of its accesses", 100 * s->l3_miss_ratio, "%",
                missing(s, TD_STALL_L3_MISSES), out);
    figure_line("time of a run", s->elapsed_s, "s", "", out);
    if (!isnan(s->fp_instructions_per_s))
        figure_line("FP and vector instructions", s->fp_instructions_per_s / million,
                    "million per second", "", out);
    figure_line("floating point operations", s->fp_per_s / million, "million per second", fp, out);
    figure_line(s->clock_counted ? "clock, counted" : "clock, at most", s->clock_hz / 1e9, "GHz",
                "not known", out);
    figure_line("peak of a core, width x clock", s->peak_per_s / million, "million per second",
                "not known", out);
    figure_line("instructions, of the peak", 100 * s->utilization, "%", "not known", out);
    figure_line("floating point, of the peak", 100 * s->fp_utilization, "%", fp, out);
}

/* Pieces of a sentence, broken where a line is full. */
struct line {
    FILE *out;
    size_t used;
};

static void add_piece(struct line *line, const char *piece)
{
    const size_t len = strlen(piece);

    if (line->used && line->used + 2 + len > LINE_WIDTH) {
        fputs(",\n    ", line->out);
        line->used = 4;
    } else if (line->used) {
        fputs(line->used > 2 ? ", " : "  ", line->out);
        line->used += 2;
    }
    line->used += len;
    fputs(piece, line->out);
}

static void print_machine(const struct td_count_machine *machine, FILE *out)
{
    const struct td_system *system = &machine->system;
    struct line line = {.out = out, .used = 2};
    char text[160];

    fputs("\nMachine\n", out);
    td_text_safe(text, sizeof(text), machine->caps->cpu, strlen(machine->caps->cpu));
    add_piece(&line, text[0] ? text : "CPU not known");
    snprintf(text, sizeof(text), "%zu CPUs", machine->caps->online.len);
    add_piece(&line, text);
    add_piece(&line, system->smt ? "SMT on" : "SMT off");
    snprintf(text, sizeof(text), "%.2f GHz", system->mhz / MHZ_PER_GHZ);
    if (system->mhz > 0)
        add_piece(&line, text);
    snprintf(text, sizeof(text), "at most %.2f GHz", system->mhz_max / MHZ_PER_GHZ);
    if (system->mhz_max > 0)
        add_piece(&line, text);
    snprintf(text, sizeof(text), "governor %s", system->governor);
    if (system->governor[0])
        add_piece(&line, text);
    for (size_t i = 0; i < system->cache_count; i++) {
        const struct td_system_cache *cache = &system->caches[i];
        const char kind[2] = {cache->kind == 'u' ? '\0' : cache->kind};

        snprintf(text, sizeof(text), "L%s%s %llu kB", cache->level, kind,
                 (unsigned long long)cache->kb);
        add_piece(&line, text);
    }
    snprintf(text, sizeof(text), "lines of %llu bytes", (unsigned long long)system->line_bytes);
    if (system->line_bytes)
        add_piece(&line, text);
    snprintf(text, sizeof(text), "%.1f GB memory", (double)system->memory_kb / KB_PER_GB);
    if (system->memory_kb)
        add_piece(&line, text);
    fputc('\n', out);
}

void td_count_stalls_print(const struct td_count_view *view, FILE *out)
{
    for (size_t i = 0; i < view->part_count; i++) {
        const struct td_count_cpu_type *part = &view->parts[i];
        const struct td_count_stalls stalls = stalls_of(view, part);

        fprintf(out, "\nStalls on %s%s%s\n", part->choice.core->name, part->cpu_type[0] ? ", " : "",
                part->cpu_type);
        print_cycles(&stalls, out);
        print_classes(&stalls, out);
        print_model(view, &stalls, out);
        print_rates(&stalls, out);
    }
    print_machine(view->machine, out);
}

static void figure_json(struct td_json *json, const char *name, double value)
{
    td_json_double(json, name, value, DIGITS);
}

static void model_json(const struct td_count_view *view, const struct td_count_stalls *s,
                       struct td_json *json)
{
    const struct td_count_latencies *l = &view->machine->latencies;
    const struct {
        const char *name;
        enum td_stall_count accesses;
        double latency, cycles;
    } levels[] = {
        {"l2", TD_STALL_FROM_L2, l->l2, s->l2_cycles},
        {"l3", TD_STALL_FROM_L3, l->l3, s->l3_cycles},
        {"memory", TD_STALL_FROM_MEMORY, l->memory, s->memory_cycles},
        {"walks", TD_STALL_WALKS, l->walk, s->walk_cycles},
    };

    td_json_object(json, "latency_model");
    td_json_string(json, "latencies", l->from);
    td_json_array(json, "levels");
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        td_json_object(json, NULL);
        td_json_string(json, "level", levels[i].name);
        figure_json(json, "accesses", s->value[levels[i].accesses]);
        figure_json(json, "latency_cycles", levels[i].latency);
        figure_json(json, "cycles", levels[i].cycles);
        td_json_end(json);
    }
    td_json_end(json);
    figure_json(json, "cycles", s->modelled);
    figure_json(json, "measured_cycles", s->value[TD_STALL_DATA]);
    figure_json(json, "difference", s->difference);
    figure_json(json, "cache_share", s->cache_share);
    figure_json(json, "memory_share", s->memory_share);
    figure_json(json, "tlb_share", s->tlb_share);
    td_json_end(json);
}

static void rates_json(const struct td_count_stalls *s, struct td_json *json)
{
    td_json_object(json, "rates");
    figure_json(json, "cpi", s->cpi);
    figure_json(json, "cpui", s->cpui);
    figure_json(json, "ucpi", s->ucpi);
    figure_json(json, "ucpui", s->ucpui);
    figure_json(json, "stalled_share", s->stalled_share);
    figure_json(json, "data_access_share", s->access_share);
    figure_json(json, "l2_miss_ratio", s->l2_miss_ratio);
    figure_json(json, "l3_miss_ratio", s->l3_miss_ratio);
    figure_json(json, "elapsed_s", s->elapsed_s);
    figure_json(json, "fp_operations_per_s", s->fp_per_s);
    figure_json(json, "fp_instructions_per_s", s->fp_instructions_per_s);
    figure_json(json, "clock_hz", s->clock_hz);
    td_json_bool(json, "clock_counted", s->clock_counted);
    figure_json(json, "peak_per_s", s->peak_per_s);
    figure_json(json, "utilization", s->utilization);
    figure_json(json, "fp_utilization", s->fp_utilization);
    td_json_end(json);
}

void td_count_stalls_json(const struct td_count_view *view, const struct td_count_cpu_type *part,
                          struct td_json *json)
{
    const struct td_count_stalls s = stalls_of(view, part);

    td_json_object(json, "stalls");
    for (int i = 0; i < TD_STALL_COUNT; i++)
        figure_json(json, td_stall_name((enum td_stall_count)i), s.value[i]);
    figure_json(json, "unstalled", s.unstalled);
    figure_json(json, "other", s.other);
    td_json_end(json);
    model_json(view, &s, json);
    rates_json(&s, json);
}

static void size_json(struct td_json *json, const char *name, uint64_t value)
{
    if (value)
        td_json_u64(json, name, value);
    else
        td_json_null(json, name);
}

void td_count_machine_json(const struct td_count_view *view, struct td_json *json)
{
    const struct td_system *system = &view->machine->system;
    const struct td_caps *caps = view->machine->caps;

    td_json_object(json, "machine");
    td_json_string(json, "cpu", caps->cpu);
    td_json_u64(json, "cpus", caps->online.len);
    td_json_u64(json, "threads_per_core", system->smt ? 2 : 1);
    figure_json(json, "mhz", system->mhz > 0 ? system->mhz : (double)NAN);
    figure_json(json, "mhz_max", system->mhz_max > 0 ? system->mhz_max : (double)NAN);
    td_json_string(json, "governor", system->governor[0] ? system->governor : NULL);
    size_json(json, "memory_kb", system->memory_kb);
    size_json(json, "line_bytes", system->line_bytes);
    size_json(json, "l1d_kb", td_system_cache_kb(system, "1", 'd'));
    size_json(json, "l1i_kb", td_system_cache_kb(system, "1", 'i'));
    size_json(json, "l2_kb", td_system_cache_kb(system, "2", 'u'));
    size_json(json, "l3_kb", td_system_cache_kb(system, "3", 'u'));
    td_json_end(json);
}
