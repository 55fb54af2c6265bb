/* SPDX-License-Identifier: MIT */
#include "record/count/print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "formats/export/json.h"
#include "record/count/print_stalls.h"
#include "record/count/print_threads.h"
#include "record/count/rate.h"

#define NODE_WIDTH 26 /* of the tree, at least */
/* Less of the slots than this is not worth a line. */
#define CLAMPED_MIN 0.0005
/* What the shares of level 1 may miss of 100 % unsaid: they are printed to a tenth. */
#define SUM_SLACK 0.0005
/* A little less than all the time is the start and the end of counting. */
#define WHOLE_SHARE 0.995

#define LINE_WIDTH      80
#define INTERVAL_INDENT 32 /* of the children in an interval */

#define NS_PER_MS 1e6

/* The user's own word for an event that stands alone, with its modifiers; groups of a core's
 * description have names of their own. */
const char *td_count_event_name(const struct td_plan *plan, size_t g, size_t event)
{
    const struct td_plan_group *group = &plan->groups[g];
    const bool named = plan->core[0] == '\0' && group->event_count == 1;

    return named ? group->name : group->events[event].name;
}

/* Whether an earlier group has the event: groups repeat their clock. */
bool td_count_is_repeated(const struct td_plan *plan, size_t group, size_t event)
{
    const struct td_plan_group *ours = &plan->groups[group];

    if (td_plan_is_tracker(ours))
        return true;
    for (size_t g = 0; g < group; g++) {
        if (strcmp(plan->groups[g].cpu_type, ours->cpu_type) != 0)
            continue;
        for (size_t e = 0; e < plan->groups[g].event_count; e++) {
            if (strcmp(td_count_event_name(plan, g, e), td_count_event_name(plan, group, event)) ==
                0)
                return true;
        }
    }
    return false;
}

static const char *value_text(char *buf, size_t size, const struct td_plan_event *event,
                              double value)
{
    char count[32];

    if (isnan(value)) {
        snprintf(buf, size, "not counted");
    } else if (event->unit == TD_UNIT_NS) {
        const double ms = value / NS_PER_MS;
        const uint64_t whole = (uint64_t)ms;

        snprintf(buf, size, "%s.%02u ms", td_format_count(count, sizeof(count), whole),
                 (unsigned)((ms - (double)whole) * 100));
    } else {
        td_format_count(buf, size, (uint64_t)(value + 0.5));
    }
    return buf;
}

static void event_line(const struct td_count_view *view, size_t g, size_t e, FILE *out)
{
    const struct td_plan_group *group = &view->counts->plan->groups[g];
    const struct td_count *count = td_counts_get(view->counts, g, e);
    const struct td_count_rate rate =
        td_count_rate_of(view->counts, g, e, view->to_s - view->from_s);
    char name[128], value[48], share[16] = "", text[64] = "";

    snprintf(name, sizeof(name), "%s%s%s", td_count_event_name(view->counts->plan, g, e),
             group->cpu_type[0] ? " " : "", group->cpu_type);
    if (td_count_share(count) < WHOLE_SHARE)
        snprintf(share, sizeof(share), "%.0f %%", 100 * td_count_share(count));
    if (!isnan(rate.value))
        snprintf(text, sizeof(text), "%.*f %s", rate.digits, rate.value, rate.unit);
    fprintf(out, "  %-26s %20s", name,
            value_text(value, sizeof(value), &group->events[e], td_count_estimate(count)));
    if (text[0])
        fprintf(out, " %7s  %s\n", share, text);
    else
        fprintf(out, "%*s%s\n", share[0] ? 8 - (int)strlen(share) : 0, "", share);
}

/* Whether anything had to wait for its turn. */
static bool took_turns(const struct td_counts *counts)
{
    for (size_t g = 0; g < counts->plan->group_count; g++) {
        if (!td_plan_is_tracker(&counts->plan->groups[g]) &&
            td_count_share(td_counts_get(counts, g, 0)) < WHOLE_SHARE)
            return true;
    }
    return false;
}

static void events_text(const struct td_count_view *view, FILE *out)
{
    const struct td_plan *plan = view->counts->plan;
    const bool turns = took_turns(view->counts);

    fprintf(out, "  %-26s %20s%s\n", "event", "count", turns ? " counted" : "");
    for (size_t g = 0; g < plan->group_count; g++) {
        for (size_t e = 0; e < plan->groups[g].event_count; e++) {
            if (!td_count_is_repeated(plan, g, e))
                event_line(view, g, e, out);
        }
    }
    if (turns)
        fputs("  (groups took turns on the counters: a count is scaled up by the part of the\n"
              "  time that it was counted in; --passes runs once for each group instead)\n",
              out);
}

/* Children of a node that is not high say nothing: siblings compare, cousins do not. */
static bool is_shown(const struct td_count_view *view, const struct td_count_cpu_type *part,
                     const struct td_pmu_tree *tree, enum td_tma_node node)
{
    const struct td_tma_info *info = td_tma_info(node);

    if (isnan(tree->share[node]))
        return false;
    if (view->level)
        return info->level <= (int)view->level;
    return info->parent == TD_NODE_NONE || td_count_cpu_type_high(part, tree, info->parent);
}

/* As wide as the longest shown id at its level. */
static int node_width(const struct td_count_view *view, const struct td_count_cpu_type *part,
                      const struct td_pmu_tree *tree)
{
    int width = NODE_WIDTH;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);
        const int wide = (int)strlen(info->id) + 2 * (info->level - 1);

        if (wide > width && is_shown(view, part, tree, (enum td_tma_node)n))
            width = wide;
    }
    return width;
}

static void node_text(const struct td_count_view *view, const struct td_count_cpu_type *part,
                      const struct td_pmu_tree *tree, enum td_tma_node parent, int width, FILE *out)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);
        const bool high = td_count_cpu_type_high(part, tree, (enum td_tma_node)n);

        if (info->parent != parent || !is_shown(view, part, tree, (enum td_tma_node)n))
            continue;
        fprintf(out, "  %*s%-*s %6.1f%s\n", 2 * (info->level - 1), "",
                width - 2 * (info->level - 1), info->id, 100 * tree->share[n],
                high ? "  high" : "");
        /* as deep as the table of nodes */
        node_text(view, part, tree, (enum td_tma_node)n, width, out);
    }
}

/* What the formulas of the shown nodes read that was not counted. */
static void given_text(const struct td_count_view *view, const struct td_count_cpu_type *part,
                       const struct td_pmu_tree *tree, FILE *out)
{
    bool clock = false, latencies = false, counted = false;
    const double ghz = td_count_cpu_type_clock(part, view->counts, &counted);

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_pmu_needs needs = td_pmu_core_needs(part->choice.core, (enum td_tma_node)n);
        const bool shown = is_shown(view, part, tree, (enum td_tma_node)n);

        clock = clock || (shown && needs.clock);
        latencies = latencies || (shown && needs.latencies);
    }
    if (clock)
        fprintf(out, "  (nanoseconds in formulas: at %.2f GHz, %s)\n", ghz,
                counted ? "the cycles over the CPU time" : "the highest clock of this machine");
    if (latencies)
        fputs("  (retire latencies in formulas: the vendor's means, none is measured here)\n", out);
}

static void tree_text(const struct td_count_view *view, const struct td_count_cpu_type *part,
                      const char *of, FILE *out)
{
    const struct td_pmu_core *core = part->choice.core;
    struct td_pmu_tree tree;
    char slots[32];

    if (!td_count_cpu_type_tree(part, view->counts, &tree))
        return;
    fprintf(out, "\nTop-down%s on %s%s%s", of, core->name, part->cpu_type[0] ? ", " : "",
            part->cpu_type);
    if (!isnan(tree.slots))
        fprintf(out, ": %s slots", td_format_count(slots, sizeof(slots), (uint64_t)tree.slots));
    const int width = node_width(view, part, &tree);
    fprintf(out, "\n  %-*s %6s\n", width, "slots", "%");
    node_text(view, part, &tree, TD_NODE_NONE, width, out);
    if (tree.clamped >= CLAMPED_MIN)
        fprintf(out,
                "  (%.1f %% of the slots were cut: a formula gave less than none, or too many)\n",
                100 * tree.clamped);
    if (fabs(tree.sum - 1) >= SUM_SLACK)
        fprintf(out, "  (the formulas of this core add up to %.1f %% here, nothing is scaled)\n",
                100 * tree.sum);
    given_text(view, part, &tree, out);
    if (!view->level)
        fputs("  (children of nodes below their threshold are hidden: --topdown-level 3)\n", out);
}

static void metric_line(const struct td_pmu_metric *metric, double value, const char *group,
                        FILE *out)
{
    const bool ratio = strcmp(metric->unit, "ratio") == 0;
    char unit[64];

    snprintf(unit, sizeof(unit), "%s", ratio ? "%" : metric->unit);
    for (char *p = unit; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    fprintf(out, "  %-12s %-22s %10.2f %s\n", group, metric->name, ratio ? 100 * value : value,
            unit);
}

static void metrics_text(const struct td_count_view *view, const struct td_count_cpu_type *part,
                         const char *of, FILE *out)
{
    const struct td_pmu_core *core = part->choice.core;
    const char *last = NULL;

    for (size_t i = 0; i < core->metric_count; i++) {
        const struct td_pmu_metric *metric = &core->metrics[i];
        const double value = td_count_cpu_type_metric(part, view->counts, metric);

        if (isnan(value))
            continue;
        if (!last)
            fprintf(out, "\nRates%s%s%s\n", of, part->cpu_type[0] ? " on " : "", part->cpu_type);
        metric_line(metric, value, last && strcmp(last, metric->group) == 0 ? "" : metric->group,
                    out);
        last = metric->group;
    }
}

static void command_text(const struct td_count_view *view, FILE *out)
{
    char word[256];

    fprintf(out, "Counted%s", view->command ? "" : " what ran");
    for (char *const *p = view->command; p && *p; p++) {
        td_text_safe(word, sizeof(word), *p, strlen(*p));
        fprintf(out, " %s", word);
    }
    if (view->whole_s > 0)
        fprintf(out, "\n  only a part of the run: %.3f s of %.3f s, in %u %s",
                view->to_s - view->from_s, view->whole_s, view->pieces,
                view->pieces == 1 ? "piece" : "pieces");
    else
        fprintf(out, "\n  %.3f s elapsed", view->to_s - view->from_s);
    if (view->user_s >= 0)
        fprintf(out, ", %.3f s user, %.3f s system", view->user_s, view->system_s);
    fputs("\n\n", out);
}

void td_count_print_parts(const struct td_count_view *view, const char *of, FILE *out)
{
    for (size_t i = 0; i < view->part_count; i++) {
        tree_text(view, &view->parts[i], of, out);
        metrics_text(view, &view->parts[i], of, out);
    }
}

void td_count_print_text(const struct td_count_view *view, FILE *out)
{
    command_text(view, out);
    events_text(view, out);
    if (view->machine)
        td_count_stalls_print(view, out);
    else
        td_count_print_parts(view, "", out);
    if (view->per_thread)
        td_count_threads_print(view, out);
}

/* Level 1 and nothing else: what fits a line. */
const enum td_tma_node td_count_columns[TD_COUNT_COLUMNS] = {
    TD_NODE_RETIRING, TD_NODE_BAD_SPECULATION, TD_NODE_FRONTEND_BOUND, TD_NODE_BACKEND_BOUND};

double td_count_ipc(const struct td_count_cpu_type *part, const struct td_counts *counts)
{
    const struct td_pmu_core *core = part->choice.core;

    for (size_t i = 0; i < core->metric_count; i++) {
        if (strcmp(core->metrics[i].name, "ipc") == 0)
            return td_count_cpu_type_metric(part, counts, &core->metrics[i]);
    }
    return NAN;
}

void td_count_print_cell(double value, int width, int digits, FILE *out)
{
    if (isnan(value))
        fprintf(out, " %*s", width, "");
    else
        fprintf(out, " %*.*f", width, digits, value);
}

/* "            memory_bound       l1_bound 1.0, l2_bound 2.0": a node's children, as far as they
 * fit a line, and then on the next. */
static void children_line(const struct td_pmu_tree *tree, enum td_tma_node parent, FILE *out)
{
    size_t used = 0;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);
        char text[64];

        if (info->parent != parent || isnan(tree->share[n]))
            continue;
        const int len = snprintf(text, sizeof(text), "%s %.1f", info->id, 100 * tree->share[n]);
        if (used && used + (size_t)len + 2 > LINE_WIDTH) {
            fputs(",\n", out);
            used = 0;
            fprintf(out, "%12s%-20s", "", "");
        } else if (used) {
            fputs(", ", out);
        } else {
            fprintf(out, "%12s%-20s", "", td_tma_info(parent)->id);
        }
        used = (used ? used + 2 : INTERVAL_INDENT) + (size_t)len;
        fputs(text, out);
    }
    if (used)
        fputc('\n', out);
}

/* The levels below the first, of an interval; as deep as was asked for. */
static void deeper_interval(const struct td_count_view *view, const struct td_pmu_tree *tree,
                            FILE *out)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->level < (int)view->level)
            children_line(tree, (enum td_tma_node)n, out);
    }
}

static bool part_interval(const struct td_count_view *view, const struct td_count_cpu_type *part,
                          bool heading, FILE *out)
{
    struct td_pmu_tree tree;

    if (!td_count_cpu_type_tree(part, view->counts, &tree))
        return false;
    if (heading) {
        fputs("Each interval: instructions a cycle, and shares of the slots in %\n", out);
        fprintf(out, "%10s  %-12s %9s", "s", "CPUs", "IPC");
        for (size_t i = 0; i < TD_COUNT_COLUMNS; i++)
            fprintf(out, " %9s", td_tma_info(td_count_columns[i])->name);
        fputc('\n', out);
    }
    fprintf(out, "%10.3f  %-12s", view->to_s, part->cpu_type[0] ? part->cpu_type : "all");
    td_count_print_cell(td_count_ipc(part, view->counts), 9, 2, out);
    for (size_t i = 0; i < TD_COUNT_COLUMNS; i++)
        td_count_print_cell(100 * tree.share[td_count_columns[i]], 9, 1, out);
    fputc('\n', out);
    deeper_interval(view, &tree, out);
    return true;
}

void td_count_print_interval(const struct td_count_view *view, bool first, FILE *out)
{
    const struct td_plan *plan = view->counts->plan;
    bool slots = false;

    if (view->per_thread) {
        td_count_threads_print_interval(view, first, out);
        return;
    }
    for (size_t i = 0; i < view->part_count; i++)
        slots = part_interval(view, &view->parts[i], first && !slots, out) || slots;
    for (size_t g = 0; g < plan->group_count && !slots; g++) {
        for (size_t e = 0; e < plan->groups[g].event_count; e++) {
            if (td_count_is_repeated(plan, g, e))
                continue;
            fprintf(out, "%10.3f", view->to_s);
            event_line(view, g, e, out);
        }
    }
}

static void event_json(const struct td_count_view *view, size_t g, size_t e, struct td_json *json)
{
    const struct td_plan_group *group = &view->counts->plan->groups[g];
    const struct td_count *count = td_counts_get(view->counts, g, e);
    const struct td_count_rate rate =
        td_count_rate_of(view->counts, g, e, view->to_s - view->from_s);

    td_json_object(json, NULL);
    td_json_string(json, "event", td_count_event_name(view->counts->plan, g, e));
    td_json_string(json, "group", group->name);
    td_json_string(json, "cpu_type", group->cpu_type);
    td_json_u64(json, "count", count->value);
    td_json_double(json, "estimate", td_count_estimate(count), 17);
    td_json_string(json, "unit", td_unit_name(group->events[e].unit));
    td_json_u64(json, "enabled_ns", count->enabled_ns);
    td_json_u64(json, "running_ns", count->running_ns);
    td_json_double(json, "rate", rate.value, 6);
    td_json_string(json, "rate_unit", isnan(rate.value) ? NULL : rate.unit);
    td_json_end(json);
}

/* null where no formula of this core needs it. */
static void clock_json(const struct td_count_view *view, const struct td_count_cpu_type *part,
                       struct td_json *json)
{
    bool needed = false, counted = false;
    const double ghz = td_count_cpu_type_clock(part, view->counts, &counted);

    for (int n = 0; n < TD_NODE_COUNT; n++)
        needed = needed || td_pmu_core_needs(part->choice.core, (enum td_tma_node)n).clock;
    td_json_double(json, "clock_ghz", needed ? ghz : (double)NAN, 6);
    td_json_string(json, "clock_from",
                   !needed || isnan(ghz) ? NULL
                   : counted             ? "counted"
                                         : "described");
}

static void tree_json(const struct td_count_view *view, const struct td_count_cpu_type *part,
                      struct td_json *json)
{
    const struct td_pmu_core *core = part->choice.core;
    struct td_pmu_tree tree;
    const bool known = td_count_cpu_type_tree(part, view->counts, &tree);

    td_json_double(json, "slots", tree.slots, 17);
    td_json_double(json, "clamped", tree.clamped, 6);
    td_json_double(json, "sum", tree.sum, 9);
    clock_json(view, part, json);
    td_json_array(json, "tree");
    for (int n = 0; n < TD_NODE_COUNT && known; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);

        if (isnan(tree.share[n]))
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "id", info->id);
        td_json_string(json, "parent",
                       info->parent == TD_NODE_NONE ? NULL : td_tma_info(info->parent)->id);
        td_json_u64(json, "level", (uint64_t)info->level);
        td_json_double(json, "share", tree.share[n], 9);
        td_json_double(json, "threshold", core->thresholds[n], 6);
        td_json_bool(json, "flagged", td_count_cpu_type_high(part, &tree, (enum td_tma_node)n));
        td_json_end(json);
    }
    td_json_end(json);
}

static void part_json(const struct td_count_view *view, const struct td_count_cpu_type *part,
                      struct td_json *json)
{
    const struct td_pmu_core *core = part->choice.core;

    td_json_object(json, NULL);
    td_json_string(json, "cpu_type", part->cpu_type);
    td_json_string(json, "core", core->name);
    if (view->machine)
        td_count_stalls_json(view, part, json);
    tree_json(view, part, json);
    td_json_array(json, "metrics");
    for (size_t i = 0; i < core->metric_count; i++) {
        const double value = td_count_cpu_type_metric(part, view->counts, &core->metrics[i]);

        if (isnan(value))
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "group", core->metrics[i].group);
        td_json_string(json, "name", core->metrics[i].name);
        td_json_string(json, "unit", core->metrics[i].unit);
        td_json_double(json, "value", value, 9);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_count_json_values(const struct td_count_view *view, struct td_json *json)
{
    const struct td_plan *plan = view->counts->plan;

    td_json_array(json, "events");
    for (size_t g = 0; g < plan->group_count; g++) {
        for (size_t e = 0; e < plan->groups[g].event_count && !td_plan_is_tracker(&plan->groups[g]);
             e++)
            event_json(view, g, e, json);
    }
    td_json_end(json);
    td_json_array(json, "cpu_types");
    for (size_t i = 0; i < view->part_count; i++)
        part_json(view, &view->parts[i], json);
    td_json_end(json);
}

static void time_json(struct td_json *json, const char *key, double seconds)
{
    td_json_double(json, key, seconds < 0 ? NAN : seconds, 9);
}

void td_count_print_json(const struct td_count_view *view, bool interval, FILE *out)
{
    const struct td_plan *plan = view->counts->plan;
    struct td_json json = td_json_init(out, interval ? 0 : 2);

    td_json_object(&json, NULL);
    td_json_string(&json, "schema", "tdrec-count/1");
    td_json_bool(&json, "interval", interval);
    td_json_array(&json, "command");
    for (char *const *p = view->command; p && *p; p++)
        td_json_string(&json, NULL, *p);
    td_json_end(&json);
    td_json_string(&json, "source", td_source_name(plan->source));
    td_json_string(&json, "source_reason", plan->source_reason);
    time_json(&json, "from_s", view->from_s);
    time_json(&json, "to_s", view->to_s);
    time_json(&json, "elapsed_s", view->to_s - view->from_s);
    if (view->whole_s > 0) {
        time_json(&json, "whole_s", view->whole_s);
        td_json_u64(&json, "pieces", view->pieces);
    }
    time_json(&json, "user_s", view->user_s);
    time_json(&json, "system_s", view->system_s);
    td_count_json_values(view, &json);
    if (view->machine)
        td_count_machine_json(view, &json);
    if (view->per_thread)
        td_count_threads_json(view, interval, &json);
    td_json_end(&json);
}
