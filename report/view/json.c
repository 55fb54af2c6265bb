/* SPDX-License-Identifier: MIT */
#include "report/view/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "formats/file_id.h"
#include "formats/frames.h"
#include "report/query/figures/machine.h"
#include "report/query/figures/replicated.h"
#include "report/query/figures/sampled.h"
#include "report/attribution/slots.h"
#include "report/attribution/stats.h"
#include "report/query/figures/totals.h"
#include "report/query/figures/weights.h"
#include "report/view/slots.h"

#define DIGITS 6

static void add_env(struct td_json *json, const char *key, const struct td_model *model,
                    enum td_env_key env)
{
    td_json_string(json, key, td_model_env(model, env));
}

/* A total that is 0 was not counted. */
static void add_total(struct td_json *json, const char *key, uint64_t value)
{
    if (value)
        td_json_u64(json, key, value);
    else
        td_json_null(json, key);
}

/* Of the whole program: counted as such, or with the slots. */
static uint64_t count_of(const struct td_measure *measure, enum td_counter counter,
                         enum td_metric metric)
{
    const uint64_t counted = td_model_counter(measure->model, counter);

    return counted || !measure->slots ? counted : measure->totals[metric];
}

/* Cycles an instruction; null where either was not counted. */
static void add_cpi(struct td_json *json, uint64_t cycles, uint64_t instructions)
{
    if (cycles > 0 && instructions > 0)
        td_json_double(json, "cpi", (double)cycles / (double)instructions, DIGITS);
    else
        td_json_null(json, "cpi");
}

static void add_counts(struct td_json *json, const struct td_measure *measure)
{
    const uint64_t cycles = count_of(measure, TD_COUNTER_CYCLES, TD_METRIC_CYCLES);
    const uint64_t instructions =
        count_of(measure, TD_COUNTER_INSTRUCTIONS, TD_METRIC_INSTRUCTIONS);

    add_total(json, "cycles", cycles);
    add_total(json, "instructions", instructions);
    add_cpi(json, cycles, instructions);
}

/* The machine that recorded, as its kernel told it; of an older profile all is null. */
static void add_system(struct td_json *json, const struct td_measure *measure)
{
    static const char *const caches[] = {"l1d_kb", "l1i_kb", "l2_kb", "l3_kb"};
    const struct td_machine m = td_machine_of(measure);
    char key[32];

    td_json_object(json, "machine");
    add_total(json, "mhz", m.mhz);
    add_total(json, "mhz_max", m.mhz_max);
    td_json_string(json, "governor", m.governor);
    add_total(json, "threads_per_core", m.threads_per_core);
    add_total(json, "memory_kb", m.memory_kb);
    for (size_t i = 0; i < TD_ARRAY_SIZE(caches); i++) {
        snprintf(key, sizeof(key), "machine_%s", caches[i]);
        add_total(json, caches[i], td_machine_parameter(measure->model, key));
    }
    add_total(json, "line_bytes", m.line_bytes);
    td_json_end(json);
}

static void add_list(struct td_json *json, const char *key, const struct td_model *model,
                     enum td_env_key env)
{
    const char *value = NULL;

    td_json_array(json, key);
    for (size_t i = 0; (value = td_model_env_at(model, env, i)); i++)
        td_json_string(json, NULL, value);
    td_json_end(json);
}

/* What the profile has samples of: `shown` is what the figures are of. */
static void add_events(struct td_json *json, const struct td_measure *measure)
{
    struct td_sampled sampled;

    td_sampled_of(&sampled, measure->model);
    td_json_array(json, "events");
    for (size_t i = 0; i < sampled.len; i++) {
        const struct td_sampled_event *event = &sampled.at[i];

        if (!event->name[0] || event->is_sum)
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "name", event->name);
        td_json_u64(json, "samples", event->samples);
        td_json_bool(json, "shown", td_sampled_is_shown(&sampled, i, measure));
        td_json_end(json);
    }
    td_json_end(json);
    td_sampled_release(&sampled);
}

static double cycles_error(const struct td_measure *measure)
{
    if (measure->join)
        return td_weights_total_error(measure, TD_METRIC_CYCLES);
    return (double)td_model_counter(measure->model, TD_COUNTER_CYCLES) *
           td_replicated_cycles_error(measure->model);
}

static void add_profile(struct td_json *json, const struct td_measure *measure,
                        const struct td_coverage *coverage)
{
    const struct td_model *model = measure->model;

    td_json_object(json, "profile");
    add_list(json, "command", model, TD_ENV_ARGV);
    if (measure->weighted)
        td_json_string(json, "source",
                       td_source_name(td_model_source(model) == TD_SOURCE_LIVE ? TD_SOURCE_LIVE
                                                                               : TD_SOURCE_HYBRID));
    else
        add_env(json, "source", model, TD_ENV_SOURCE);
    add_env(json, "source_reason", model, TD_ENV_SOURCE_REASON);
    add_env(json, "core", model, TD_ENV_CORE);
    add_env(json, "kernel", model, TD_ENV_KERNEL);
    add_env(json, "cpu", model, TD_ENV_CPU);
    add_system(json, measure);
    td_json_double(json, "duration_s", coverage->duration_s, 9);
    if (coverage->recorded_s > 0) {
        td_json_double(json, "recorded_s", coverage->recorded_s, 9);
        td_json_u64(json, "recorded_pieces", coverage->pieces);
    }
    if (coverage->recordings > 0)
        td_json_u64(json, "recordings", coverage->recordings);
    add_counts(json, measure);
    add_total(json, "detailed_instructions", td_model_counter(model, TD_COUNTER_DETAILED));
    add_total(json, "cycles_error", td_rounded((long double)cycles_error(measure)));
    add_env(json, "call_graph", model, TD_ENV_CALL_GRAPH);
    if (measure->event != TD_NONE)
        td_json_string(json, "event", td_measure_event_name(measure));
    else
        td_json_null(json, "event");
    add_events(json, measure);
    add_env(json, "scope", model, TD_ENV_SCOPE);
    add_env(json, "exit", model, TD_ENV_EXIT);
    add_env(json, "recorder", model, TD_ENV_RECORDER);
    add_list(json, "warnings", model, TD_ENV_WARNING);
    td_json_end(json);
}

/* What damage left out. Where `dropped_exact` is false, it may be more. */
static void add_losses(struct td_json *json, const struct td_losses *losses)
{
    td_json_bool(json, "cut", losses->cut);
    td_json_bool(json, "damaged", losses->damaged);
    td_json_u64(json, "dropped_samples", losses->dropped_samples);
    td_json_u64(json, "dropped_tallies", losses->dropped_tallies);
    td_json_bool(json, "dropped_exact", !losses->damaged || losses->exact);
    td_json_double(json, "dropped_share", losses->damaged ? losses->dropped_share : 0, DIGITS);
}

/* What all shares are of. */
static void add_totals(struct td_json *json, const struct td_measure *measure)
{
    struct td_total totals[TD_TOTALS_MAX];
    const size_t len = td_totals_of(totals, measure);

    if (len == 0)
        return;
    td_json_object(json, "total");
    for (size_t i = 0; i < len; i++) {
        const char *name = td_metric_key(totals[i].metric);
        char key[64];

        td_json_u64(json, name, totals[i].value);
        snprintf(key, sizeof(key), "%s_error", name);
        td_json_u64(json, key, totals[i].error);
    }
    td_json_end(json);
}

/* Of live windows: functions that have the categories of another version of them. */
static void add_versions(struct td_json *json, const struct td_measure *measure)
{
    const struct td_model *model = measure->model;
    size_t count = 0;
    struct td_weights_version *all = td_weights_versions(measure, &count);

    if (count > 0) {
        td_json_array(json, "versions");
        for (size_t i = 0; i < count; i++) {
            td_json_object(json, NULL);
            td_json_string(json, "function",
                           td_model_string(model, td_model_function(model, all[i].function)->name));
            td_json_string(json, "categories_of",
                           td_model_string(model, td_model_function(model, all[i].from)->name));
            td_json_double(json, "time_share",
                           td_ratio(all[i].ns, measure->totals[TD_METRIC_TIME_NS]), DIGITS);
            td_json_end(json);
        }
        td_json_end(json);
    }
    free(all);
}

void td_report_json_begin(struct td_json *json, const struct td_measure *measure,
                          const struct td_coverage *coverage)
{
    td_json_object(json, NULL);
    td_json_string(json, "schema", "tdreport/1");
    add_profile(json, measure, coverage);
    td_json_object(json, "coverage");
    td_json_u64(json, "samples", coverage->samples);
    td_json_u64(json, "lost", coverage->lost);
    td_json_u64(json, "throttled", coverage->throttled);
    td_json_double(json, "unresolved_share", coverage->unresolved_share, DIGITS);
    td_json_double(json, "no_line_share", coverage->no_line_share, DIGITS);
    td_json_double(json, "unverified_share", coverage->unverified_share, DIGITS);
    td_json_double(json, "truncated_stacks_share", coverage->truncated_stacks_share, DIGITS);
    td_json_double(json, "unsampled_share", coverage->unsampled_share, DIGITS);
    if (coverage->cpu_s > 0) {
        td_json_double(json, "cpu_s", coverage->cpu_s, 9);
        td_json_double(json, "busy_cpus", td_coverage_busy(coverage), DIGITS);
    }
    if (measure->weighted) {
        const struct td_weights_coverage c = td_weights_coverage_of(measure);

        td_json_double(json, "uncategorized_share", c.uncategorized, DIGITS);
        td_json_double(json, "modelled_only_share", c.modelled_only, DIGITS);
        td_json_double(json, "unexplained_slots_share", c.unexplained, DIGITS);
        td_json_double(json, "too_fast_share", c.too_fast, DIGITS);
        add_versions(json, measure);
    }
    td_json_bool(json, "complete", coverage->complete);
    add_losses(json, coverage->losses);
    td_json_end(json);
    add_totals(json, measure);
}

void td_report_json_tree(struct td_json *json, const struct td_tree *tree)
{
    td_json_array(json, "tree");
    for (size_t i = 0; i < tree->len; i++) {
        const struct td_tree_node *n = &tree->at[i];
        const struct td_tma_info *info = td_tma_info(n->node);
        const enum td_standing standing = td_tree_standing(n);

        td_json_object(json, NULL);
        td_json_string(json, "id", info->id);
        td_json_string(json, "parent",
                       info->parent == TD_NODE_NONE ? NULL : td_tma_info(info->parent)->id);
        td_json_i64(json, "level", info->level);
        td_json_u64(json, "slots", n->slots);
        td_json_double(json, "share", n->share, DIGITS);
        td_json_double(json, "error", n->error, DIGITS);
        td_json_double(json, "threshold", n->threshold, DIGITS);
        td_json_bool(json, "flagged", standing == TD_STANDING_HIGH);
        td_json_bool(json, "unsure", standing == TD_STANDING_UNSURE);
        if (n->run)
            td_json_u64(json, "run", n->run);
        td_json_end(json);
    }
    td_json_end(json);
}

/* Shares of the row's own slots; null for nodes in `thin`, of which too little is known. */
static void add_categories(struct td_json *json, const struct td_measure *measure,
                           const uint64_t *values, td_tma_set thin)
{
    td_json_object(json, "categories");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const unsigned metric = (unsigned)TD_METRIC_FIRST_NODE + (unsigned)n;

        if (measure->values[metric] && values[TD_METRIC_SLOTS] > 0)
            td_json_double(json, td_tma_info((enum td_tma_node)n)->id,
                           thin & td_tma_bit(n) ? NAN
                                                : td_ratio(values[metric], values[TD_METRIC_SLOTS]),
                           DIGITS);
    }
    td_json_end(json);
}

static void add_value(struct td_json *json, const char *key, const struct td_measure *measure,
                      const uint64_t *values, enum td_metric metric)
{
    if (measure->values[metric])
        td_json_u64(json, key, values[metric]);
    else
        td_json_null(json, key);
}

static void add_share(struct td_json *json, const char *key, const struct td_measure *measure,
                      const uint64_t *values, enum td_metric metric)
{
    if (measure->values[metric])
        td_json_double(json, key, td_ratio(values[metric], measure->totals[metric]), DIGITS);
    else
        td_json_null(json, key);
}

static void add_costs(struct td_json *json, const struct td_measure *measure,
                      const uint64_t *values)
{
    add_share(json, "time_share", measure, values, TD_METRIC_TIME_NS);
    add_value(json, "slots", measure, values, TD_METRIC_SLOTS);
    add_share(json, "slots_share", measure, values, TD_METRIC_SLOTS);
    if (measure->values[TD_METRIC_EVENT])
        add_share(json, "event_share", measure, values, TD_METRIC_EVENT);
    add_value(json, "time_ns", measure, values, TD_METRIC_TIME_NS);
    add_value(json, "samples", measure, values, TD_METRIC_SAMPLES);
    if (measure->values[TD_METRIC_EVENT])
        add_value(json, "event", measure, values, TD_METRIC_EVENT);
    if (measure->values[TD_METRIC_CYCLES])
        add_value(json, "cycles", measure, values, TD_METRIC_CYCLES);
    if (measure->values[TD_METRIC_INSTRUCTIONS])
        add_value(json, "instructions", measure, values, TD_METRIC_INSTRUCTIONS);
    if (measure->values[TD_METRIC_CYCLES] && measure->values[TD_METRIC_INSTRUCTIONS])
        add_cpi(json, values[TD_METRIC_CYCLES], values[TD_METRIC_INSTRUCTIONS]);
}

void td_report_json_costs(struct td_json *json, const struct td_measure *measure,
                          const uint64_t *values)
{
    add_costs(json, measure, values);
    add_categories(json, measure, values, td_slots_not_placed(measure));
}

void td_report_json_place(struct td_json *json, const struct td_model *model, uint32_t file,
                          uint32_t line)
{
    td_json_string(json, "file", file ? td_model_string(model, file) : NULL);
    if (line)
        td_json_u64(json, "line", line);
    else
        td_json_null(json, "line");
}

static void add_module(struct td_json *json, const struct td_model *model, uint32_t module)
{
    td_json_string(json, "module", td_module_name(model, module));
    td_json_string(
        json, "module_path",
        module == TD_NONE ? NULL : td_model_string(model, td_model_module(model, module)->path));
}

static void add_thread(struct td_json *json, const struct td_model *model, uint32_t thread)
{
    const struct td_thread *t = td_model_thread(model, thread);

    td_json_string(json, "thread", td_model_string(model, t->name));
    td_json_i64(json, "tid", td_task_id(t->tid));
    td_json_string(json, "process", td_model_string(model, t->process));
    td_json_i64(json, "pid", td_task_id(t->pid));
}

static void add_build_id(struct td_json *json, const struct td_module *module)
{
    char hex[2 * TD_BUILD_ID_MAX + 1] = "";

    td_file_id_build_text(&module->build_id, hex, sizeof(hex));
    td_json_string(json, "build_id", hex[0] ? hex : NULL);
}

static void add_module_details(struct td_json *json, const struct td_model *model, uint32_t index)
{
    if (index == TD_NONE)
        return;
    const struct td_module *module = td_model_module(model, index);
    td_json_string(json, "kind", td_module_kind_name(module->kind));
    add_build_id(json, module);
    td_json_string(json, "debug_file",
                   module->debug_file ? td_model_string(model, module->debug_file) : NULL);
    td_json_string(json, "note", module->note ? td_model_string(model, module->note) : NULL);
}

/* Of a join: how well the model's time of a function fits the measured one. */
static void add_check(struct td_json *json, const struct td_measure *measure,
                      const uint64_t *values)
{
    const struct td_weights_check check = td_weights_check_of(measure, values);

    td_json_double(json, "sampled_time_share", check.sampled_share, DIGITS);
    td_json_double(json, "modelled_time_share", check.modelled_share, DIGITS);
    td_json_bool(json, "disagrees", check.disagrees);
}

static void add_join_errors(struct td_json *json, const struct td_rows *rows,
                            const struct td_row *row)
{
    td_json_double(json, "sampling_error", td_row_sampling_error(rows, row), DIGITS);
    td_json_double(json, "slots_share_bound", td_row_evidence(rows, row)->slots_bound, DIGITS);
    td_slots_errors_json(json, rows, row);
}

static void add_category_errors(struct td_json *json, const struct td_rows *rows,
                                const struct td_row *row)
{
    td_json_object(json, "category_errors");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (rows->measure->values[TD_METRIC_FIRST_NODE + n])
            td_json_double(json, td_tma_info((enum td_tma_node)n)->id,
                           td_row_cell(rows, row, (enum td_tma_node)n).error, DIGITS);
    }
    td_json_end(json);
}

static void add_row(struct td_json *json, const struct td_rows *rows, const struct td_row *row)
{
    const struct td_measure *measure = rows->measure;
    const struct td_model *model = measure->model;

    td_json_object(json, NULL);
    switch (rows->kind) {
    case TD_ROWS_FUNCTIONS:
        td_json_string(json, "function", td_row_name(rows, row));
        add_module(json, model, row->module);
        td_report_json_place(json, model, row->file, row->line);
        break;
    case TD_ROWS_LINES:
        td_report_json_place(json, model, row->file, row->line);
        td_json_string(json, "function", td_row_name(rows, row));
        add_module(json, model, row->module);
        break;
    case TD_ROWS_MODULES:
        add_module(json, model, row->module);
        add_module_details(json, model, row->module);
        break;
    case TD_ROWS_THREADS: add_thread(json, model, row->thread); break;
    case TD_ROWS_PROGRAMS:
        td_json_string(json, "program", td_row_name(rows, row));
        td_json_u64(json, "processes", (uint64_t)row->others + 1);
        break;
    }
    if (measure->slots)
        td_slots_row_json(json, rows, row);
    else /* Of a join, what was not modelled has time and nothing to attribute. */
        td_json_string(json, "attribution",
                       td_attribution_name(measure->weighted && row->values[TD_METRIC_SLOTS] == 0
                                               ? TD_ATTRIBUTION_NONE
                                               : measure->attribution));
    if (rows->replicated)
        add_category_errors(json, rows, row);
    add_costs(json, measure, row->values);
    td_json_double(json, "error", td_row_error(rows, row), DIGITS);
    if (measure->weighted && rows->kind == TD_ROWS_FUNCTIONS)
        add_check(json, measure, row->values);
    if (measure->weighted && row->values[TD_METRIC_SLOTS] > 0)
        add_join_errors(json, rows, row);
    add_categories(json, measure, row->values, td_row_thin(rows, row));
    td_json_end(json);
}

void td_report_json_rows(struct td_json *json, const struct td_rows *rows, size_t shown)
{
    static const char *const keys[] = {[TD_ROWS_FUNCTIONS] = "functions",
                                       [TD_ROWS_LINES] = "lines",
                                       [TD_ROWS_MODULES] = "modules",
                                       [TD_ROWS_THREADS] = "threads",
                                       [TD_ROWS_PROGRAMS] = "programs"};

    td_json_array(json, keys[rows->kind]);
    for (size_t i = 0; i < shown && i < rows->len; i++)
        add_row(json, rows, &rows->at[i]);
    td_json_end(json);
}

static void add_note(struct td_json *json, const struct td_line_note *note)
{
    if (!note)
        return;
    td_json_object(json, "why");
    td_json_string(json, "cause", note->id);
    td_json_string(json, "cause_text", note->title);
    td_json_string(json, "sentence", note->text);
    td_json_end(json);
}

static void add_section(struct td_json *json, const struct td_measure *measure,
                        const struct td_section *section, const struct td_line_notes *notes)
{
    const struct td_model *model = measure->model;
    const enum td_metric primary = td_measure_primary(measure);

    td_json_object(json, NULL);
    td_json_string(json, "function",
                   section->function == TD_NONE
                       ? NULL
                       : td_model_string(model, td_model_function(model, section->function)->name));
    td_json_string(json, "module",
                   section->module == TD_NONE ? NULL : td_module_name(model, section->module));
    td_json_string(json, "file", section->file ? td_model_string(model, section->file) : NULL);
    add_costs(json, measure, section->values);
    td_json_double(json, "no_line_share", td_ratio(section->no_line, measure->totals[primary]),
                   DIGITS);
    td_json_array(json, "lines");
    for (size_t i = 0; i < section->len; i++) {
        const struct td_marked_line *line = &section->lines[i];

        td_json_object(json, NULL);
        td_json_u64(json, "line", line->line);
        add_costs(json, measure, line->values);
        td_json_double(json, "inlined_share", td_ratio(line->inlined, measure->totals[primary]),
                       DIGITS);
        add_categories(json, measure, line->values, line->thin);
        add_note(json, td_line_note_of(notes, line->line));
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_report_json_sections(struct td_json *json, const struct td_measure *measure,
                             const struct td_sections *sections, const struct td_line_notes *notes)
{
    td_json_array(json, "annotate");
    for (size_t i = 0; i < sections->len; i++)
        add_section(json, measure, &sections->at[i], notes ? &notes[i] : NULL);
    td_json_end(json);
}
