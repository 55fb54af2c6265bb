/* SPDX-License-Identifier: MIT */
#include "report/view/slots.h"

#include <math.h>

#include "base/text.h"
#include "report/attribution/slots.h"
#include "report/attribution/stats.h"
#include "report/query/figures/tree.h"
#include "report/view/json.h"

#define DIGITS        6
#define CLAMPED_SHARE 0.0005 /* what is less is not worth a word */
#define RUNNING_SHARE 0.9995
#define MOVED_SHARE   0.02

static const char *locator_words(enum td_mix_kind kind)
{
    return kind == TD_MIX_TIMED ? "where its event samples, by how long each took"
                                : "where its event samples";
}

/* How the categories of most functions were found. */
static void print_kind(FILE *out, enum td_mix_kind kind, double same_share)
{
    const int percent = isnan(same_share) ? 0 : (int)(100 * same_share + 0.5);

    fputs("; a function's categories ", out);
    switch (kind) {
    case TD_MIX_INTERVAL:
        fprintf(out, "by the intervals that end in it (%d %% of them begin there too)", percent);
        break;
    case TD_MIX_SAME:
        fprintf(out, "by intervals that begin and end in it (%d %% do)", percent);
        break;
    case TD_MIX_PAIRED:
        fprintf(out, "by short windows that begin and end in it (%d %% do)", percent);
        break;
    case TD_MIX_LOCATED:
    case TD_MIX_TIMED:
    case TD_MIX_JOINED:
    case TD_MIX_KINDS: fputs("where precise events sample", out); break;
    }
}

/* What the categories of most functions rest on: of the leaves without a locator. */
static enum td_mix_kind usual_kind(const struct td_slots_part *part)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (part->leaf[n] && !part->used[n])
            return part->kind[n];
    }
    return TD_MIX_LOCATED;
}

/* What mispredicted branches cost is found where the program goes on: at another function, where
 * such are short. */
static void print_moved(FILE *out, const struct td_slots_part *part)
{
    const double wrong_path = part->intervals.tree.share[TD_NODE_BAD_SPECULATION];
    const double moved = isnan(part->same_share) ? 0 : (1 - part->same_share) * wrong_path;

    if (moved >= MOVED_SHARE)
        fprintf(out, "; calls of some dozen cycles may misplace up to %.0f %% of them",
                100 * moved);
}

/* What other runs than the first counted. */
static void print_later(FILE *out, const struct td_slots_part *part)
{
    unsigned last = 1;

    for (;;) {
        unsigned run = 0;
        bool any = false;

        for (int n = 0; n < TD_NODE_COUNT; n++) {
            const unsigned one = part->later[n].run;

            run = one > last && (run == 0 || one < run) ? one : run;
        }
        if (run == 0)
            return;
        for (int n = 0; n < TD_NODE_COUNT; n++) {
            if (part->later[n].run != run)
                continue;
            fprintf(out, "%s%s", any ? ", " : "; ", td_tma_info((enum td_tma_node)n)->id);
            any = true;
        }
        fprintf(out, " as run %u divides what is above", run);
        last = run;
    }
}

/* What the formulas of nodes that were found read, and was not counted. */
static void print_given(FILE *out, const struct td_slots_part *part)
{
    const struct td_counted *counted = &part->counted;
    bool clock = false, latencies = false;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_pmu_needs needs = td_pmu_core_needs(counted->core, (enum td_tma_node)n);
        const bool found = part->leaf[n] || part->later[n].run > 0;

        clock = clock || (found && needs.clock);
        latencies = latencies || (found && needs.latencies);
    }
    if (clock)
        fprintf(out, "; nanoseconds at %.2f GHz, %s", counted->given.ghz,
                counted->clock_counted ? "the cycles over the CPU time"
                                       : "the highest clock of the machine");
    if (latencies)
        fputs(counted->latencies ? "; retire latencies as sampled, else the vendor's means"
                                 : "; retire latencies: the vendor's means",
              out);
}

static void print_part(FILE *out, const struct td_slots_part *part, bool named)
{
    char count[32];

    if (named)
        fprintf(out, "%s: ", part->cpu_type);
    fprintf(out, "%s counted on %s", td_format_count(count, sizeof(count), part->slots),
            part->counted.core->name);
    print_kind(out, usual_kind(part), part->same_share);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (part->leaf[n] && part->used[n])
            fprintf(out, "; %s %s (%s)", td_tma_info((enum td_tma_node)n)->id,
                    locator_words(part->locators[n].kind), part->locators[n].events);
    }
    print_moved(out, part);
    print_later(out, part);
    if (part->lost_share > CLAMPED_SHARE)
        fprintf(out, "; %.1f %% lie where samples were lost ([unknown])", 100 * part->lost_share);
    if (part->running < RUNNING_SHARE)
        fprintf(out, "; the counters ran %.1f %% of the time, shared with others",
                100 * part->running);
    print_given(out, part);
    if (part->counted.missing[0])
        fprintf(out, "; %s: not counted, taken as 0", part->counted.missing);
}

void td_slots_words(FILE *out, const struct td_measure *measure)
{
    const struct td_slots *slots = measure->slots;

    for (size_t p = 0; slots && p < slots->len; p++) {
        fputs(p > 0 ? ". " : "", out);
        print_part(out, &slots->parts[p], slots->len > 1);
    }
    if (slots && slots->clamped > CLAMPED_SHARE)
        fprintf(out, "; %.1f %% clamped: formulas gave negative shares, or more than the whole",
                100 * slots->clamped);
    if (slots)
        fputs("; blank where the error is above 4/5 of the figure, or above 25 %", out);
    else if (measure->no_slots)
        fprintf(out, "no categories: %s", measure->no_slots);
}

static void add_leaves(struct td_json *json, const struct td_slots_part *part)
{
    td_json_array(json, "found");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!part->leaf[n])
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "id", td_tma_info((enum td_tma_node)n)->id);
        td_json_string(json, "by", td_mix_kind_name(part->kind[n]));
        td_json_string(json, "event", part->used[n] ? part->locators[n].events : NULL);
        td_json_end(json);
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (part->later[n].run == 0)
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "id", td_tma_info((enum td_tma_node)n)->id);
        td_json_string(json, "by", td_mix_kind_name(TD_MIX_INTERVAL));
        td_json_string(json, "event", NULL);
        td_json_u64(json, "run", part->later[n].run);
        td_json_end(json);
    }
    td_json_end(json);
}

void td_slots_json(struct td_json *json, const struct td_measure *measure)
{
    const struct td_slots *slots = measure->slots;

    if (!slots)
        return;
    td_json_object(json, "attribution");
    td_json_double(json, "clamped_share", slots->clamped, DIGITS);
    td_json_array(json, "parts");
    for (size_t p = 0; p < slots->len; p++) {
        const struct td_slots_part *part = &slots->parts[p];
        const struct td_tree tree = td_tree_of_part(measure, p);

        td_json_object(json, NULL);
        td_json_string(json, "cpu_type", part->cpu_type);
        td_json_string(json, "core", part->counted.core->name);
        td_json_u64(json, "slots", part->slots);
        td_json_u64(json, "intervals", part->intervals.len);
        td_json_double(json, "same_function_share", part->same_share, DIGITS);
        td_json_double(json, "lost_share", part->lost_share, DIGITS);
        td_json_double(json, "running_share", part->running, DIGITS);
        td_json_string(json, "taken_as_0", part->counted.missing[0] ? part->counted.missing : NULL);
        add_leaves(json, part);
        if (slots->len > 1)
            td_report_json_tree(json, &tree);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

/* The names that DESIGN.md fixes: which intervals were chosen stands beside. */
static const char *attribution_of(enum td_mix_kind kind)
{
    return td_mix_kind_name(kind == TD_MIX_SAME ? TD_MIX_INTERVAL : kind);
}

/* Categories that another run than the first counted. */
static void add_runs(struct td_json *json, const struct td_measure *measure)
{
    bool any = false;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const unsigned run = td_later_run(measure, (enum td_tma_node)n);

        if (run == 0)
            continue;
        if (!any)
            td_json_object(json, "category_runs");
        td_json_u64(json, td_tma_info((enum td_tma_node)n)->id, run);
        any = true;
    }
    if (any)
        td_json_end(json);
}

void td_slots_errors_json(struct td_json *json, const struct td_rows *rows,
                          const struct td_row *row)
{
    const struct td_mix *mix = td_row_evidence(rows, row);

    td_json_object(json, "category_errors");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (rows->measure->values[TD_METRIC_FIRST_NODE + n])
            td_json_double(json, td_tma_info((enum td_tma_node)n)->id, mix->error[n], DIGITS);
    }
    td_json_end(json);
}

void td_slots_row_json(struct td_json *json, const struct td_rows *rows, const struct td_row *row)
{
    const struct td_mix *mix = td_row_evidence(rows, row);

    td_json_string(json, "attribution", attribution_of(mix->kind));
    td_json_string(json, "found_by", td_mix_kind_name(mix->kind));
    td_json_u64(json, "intervals", mix->intervals);
    td_json_double(json, "same_share", mix->same_share, DIGITS);
    td_json_double(json, "slots_share_bound", mix->slots_bound, DIGITS);
    td_slots_errors_json(json, rows, row);
    add_runs(json, rows->measure);
}

void td_slots_print_runs(const struct td_measure *measure, enum td_tma_node parent,
                         const struct td_style *style)
{
    bool any = false;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const unsigned run = td_later_run(measure, (enum td_tma_node)n);

        if (run == 0 || td_tma_info((enum td_tma_node)n)->parent != parent)
            continue;
        if (!any)
            td_style_begin(style, TD_TONE_DIM);
        fprintf(style->out, "%s%s of run %u", any ? ", " : "  (",
                td_tma_info((enum td_tma_node)n)->name, run);
        any = true;
    }
    if (!any)
        return;
    fputs(")\n", style->out);
    td_style_end(style, TD_TONE_DIM);
}
