/* SPDX-License-Identifier: MIT */
#include "report/view/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "formats/frames.h"
#include "report/query/figures/ending.h"
#include "report/query/figures/machine.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/replicated.h"
#include "report/query/figures/sampled.h"
#include "report/query/figures/shared.h"
#include "report/query/figures/totals.h"
#include "report/view/slots.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"
#include "report/view/waits.h"
#include "report/view/table/weights.h"

#define SHOWN         0.0005 /* less would be printed as 0.0 % */
#define COMMAND_BYTES 1024   /* of a command that are shown in one line */
#define VALUES_MAX    4      /* of one thing, in a merge: more are not listed */
#define GAPS_MAX      6
#define KB_PER_GB     1048576.0
#define DOUBTFUL      0.05  /* of the time or the samples missing: said before all else */
#define GAP_SHARE     0.005 /* a smaller gap is not worth a line */

/* A text that grows. */
struct text {
    char *at;
    size_t size;
    FILE *out;
};

/* The stream keeps the places of `at` and `size`: a text is never copied. */
static void text_begin(struct text *text)
{
    text->out = td_xmemstream(&text->at, &text->size);
}

static void subject_end(const struct td_style *style, const char *label, struct text *text)
{
    fclose(text->out);
    if (text->at[0])
        td_style_paragraph(style, label, TD_TONE_DIM, text->at);
    free(text->at);
}

/* `printed` separates what comes next. */
static const char *comma(const struct text *text)
{
    fflush(text->out);
    return text->size ? ", " : "";
}

/* A word of a command line as a shell would read it back. */
static void print_word(FILE *out, const char *word)
{
    if (word[0] && !strpbrk(word, " \t\n'\"\\$`*?[]()<>|&;#~"))
        fputs(word, out);
    else
        fprintf(out, "'%s'", word);
}

/* The caller frees it. */
static char *command_text(const struct td_model *model)
{
    const char *target = td_model_env(model, TD_ENV_TARGET);
    const char *scope = td_model_env(model, TD_ENV_SCOPE);
    const char *word = NULL;
    struct text text;

    text_begin(&text);
    for (size_t i = 0; (word = td_model_env_at(model, TD_ENV_ARGV, i)); i++) {
        fputs(i ? " " : "", text.out);
        print_word(text.out, word);
    }
    fflush(text.out);
    if (text.size == 0 && scope)
        fprintf(text.out, "%s%s%s", scope, target ? " " : "", target ? target : "");
    fclose(text.out);
    return text.at;
}

/* As much of it as one line has; whole only in the details, where it is longer than that. */
static void print_command(const struct td_model *model, bool whole, const struct td_style *style)
{
    char *text = command_text(model);
    char line[COMMAND_BYTES];

    td_fit_text(style, line, sizeof(line), text,
                style->full || style->width <= TD_LABEL_WIDTH ? 0 : style->width - TD_LABEL_WIDTH);
    const bool cut = strlen(text) >= sizeof(line) || td_text_width(text) > td_text_width(line);
    if (text[0] && !whole)
        td_style_paragraph(style, "command", TD_TONE_DIM, line);
    else if (text[0] && cut)
        td_style_paragraph(style, "command", TD_TONE_DIM, text);
    free(text);
}

/* Never the source without its reason; never a modelled number without the word. */
static void print_source_text(FILE *out, const struct td_measure *measure)
{
    const struct td_model *model = measure->model;
    const enum td_source_id id = td_model_source(model);
    const char *source = td_model_env(model, TD_ENV_SOURCE);
    const char *reason = td_model_env(model, TD_ENV_SOURCE_REASON);
    const char *core = td_model_env(model, TD_ENV_CORE);

    if (measure->weighted) {
        fprintf(out,
                id == TD_SOURCE_LIVE
                    ? "live: time measured, categories modelled in windows of the run%s%s"
                    : "hybrid: time measured, categories modelled%s%s",
                core ? " on core " : "", core ? core : "");
        if (reason)
            fprintf(out, ": %s", reason);
        return;
    }
    if (!source && !td_model_losses(model)->damaged)
        return;
    if (!source) {
        fprintf(out, "not known, lost with a damaged part%s",
                td_measure_is_modelled(measure) ? "; categories are modelled" : "");
        return;
    }
    fputs(source, out);
    if (id == TD_SOURCE_LIVE)
        fputs(" (time only: no window was modelled)", out);
    else if (td_source_is_modelled(id))
        fprintf(out, ", modelled%s%s", core ? " on core " : "", core ? core : "");
    else if (id == TD_SOURCE_CLOCK)
        fputs(" (time only, no pipeline categories)", out);
    else if (core)
        fprintf(out, " on core %s", core);
    if (measure->event != TD_NONE && id != TD_SOURCE_CLOCK)
        fprintf(out, ", event %s%s", td_measure_event_name(measure),
                measure->all_core_types ? " (all core types added up)" : "");
    if (reason)
        fprintf(out, ": %s", reason);
}

static size_t count_values(const struct td_model *model, enum td_env_key key)
{
    size_t count = 0;

    for (size_t i = 0; i < td_model_env_count(model); i++) {
        const char *name = NULL, *value = NULL;

        td_model_env_entry(model, i, &name, &value);
        count += td_env_key_by_name(name) == key;
    }
    return count;
}

/* Of a merge of several hosts: what differs cannot be told apart, so nothing is said as of one. */
static void print_hosts(const struct td_model *model, const struct td_style *style)
{
    static const struct {
        enum td_env_key key;
        const char *one, *several;
    } parts[] = {{TD_ENV_HOST, "host", "hosts"},
                 {TD_ENV_CPU, "CPU", "kinds of CPU"},
                 {TD_ENV_KERNEL, "kernel", "kernels"}};
    struct text text;

    text_begin(&text);
    for (size_t i = 0; i < TD_ARRAY_SIZE(parts); i++) {
        const size_t count = count_values(model, parts[i].key);

        if (count == 0)
            continue;
        fputs(text.size ? "; " : "", text.out);
        if (count > 1)
            fprintf(text.out, "%zu %s: ", count, parts[i].several);
        else
            fprintf(text.out, "%s: ", parts[i].one);
        for (size_t k = 0; k < count && k < VALUES_MAX; k++)
            fprintf(text.out, "%s%s", k ? ", " : "", td_model_env_at(model, parts[i].key, k));
        fputs(count > VALUES_MAX ? ", and others" : "", text.out);
        fflush(text.out);
    }
    subject_end(style, "machine", &text);
}

static void print_machine(const struct td_model *model, const struct td_style *style)
{
    static const struct {
        enum td_env_key key;
        const char *before;
    } parts[] = {{TD_ENV_CPU, ""},
                 {TD_ENV_CPUS_ONLINE, "CPUs "},
                 {TD_ENV_HYPERVISOR, ""},
                 {TD_ENV_KERNEL, "kernel "},
                 {TD_ENV_HOST, "host "}};
    struct text text;

    if (td_model_env_at(model, TD_ENV_HOST, 1)) {
        print_hosts(model, style);
        return;
    }
    text_begin(&text);
    for (size_t i = 0; i < TD_ARRAY_SIZE(parts); i++) {
        const char *value = td_model_env(model, parts[i].key);

        if (value && *value)
            fprintf(text.out, "%s%s%s", comma(&text), parts[i].before, value);
    }
    subject_end(style, "machine", &text);
}

/* "every 1,000,000 cycles", "every 1,000,000 ns". */
static void print_period(FILE *out, uint64_t period, const struct td_event *event)
{
    static const char *const units[] = {[TD_UNIT_NS] = "ns",
                                        [TD_UNIT_CYCLES] = "cycles",
                                        [TD_UNIT_INSTRUCTIONS] = "instructions",
                                        [TD_UNIT_SLOTS] = "slots"};
    const char *unit = event && event->unit < TD_ARRAY_SIZE(units) ? units[event->unit] : NULL;
    char count[32];

    fprintf(out, " every %s %s", td_format_count(count, sizeof(count), period),
            unit         ? unit
            : period > 1 ? "events"
                         : "event");
}

/* How often the reported event took a sample: an import has several events, each with its own. */
static void print_rate(FILE *out, const struct td_measure *measure)
{
    const struct td_model *model = measure->model;
    const struct td_event *event =
        measure->event == TD_NONE ? NULL : td_model_event(model, measure->event);
    const char *frequency = td_model_env(model, TD_ENV_FREQUENCY);
    const char *period = td_model_env(model, TD_ENV_PERIOD);
    uint64_t value = 0;
    char count[32];

    if (event && event->frequency_hz > 0)
        fprintf(out, " at %s Hz", td_format_count(count, sizeof(count), event->frequency_hz));
    else if (frequency && td_parse_u64(frequency, &value) && !(event && event->period > 0))
        fprintf(out, " at %s Hz", td_format_count(count, sizeof(count), value));
    else if (event && event->period > 0)
        print_period(out, event->period, event);
    else if (period && td_parse_u64(period, &value))
        print_period(out, value, event);
}

static const char *call_graph_words(const char *call_graph)
{
    static const char *const words[][2] = {{"fp", "call stacks by frame pointer"},
                                           {"dwarf", "call stacks by unwind tables"},
                                           {"auto", "call stacks by tables or frame pointer"},
                                           {"lbr", "call stacks by branch records"},
                                           {"exact", "exact call stacks"},
                                           {"none", "no call stacks"}};

    for (size_t i = 0; i < TD_ARRAY_SIZE(words); i++) {
        if (call_graph && strcmp(call_graph, words[i][0]) == 0)
            return words[i][1];
    }
    return call_graph;
}

/* Samples were taken; of a join, too. */
static bool is_sampled(const struct td_measure *measure)
{
    return measure->weighted || !td_measure_is_modelled(measure);
}

/* Of a modelled profile that was sampled. */
static void print_detailed(const struct text *text, const struct td_model *model)
{
    const uint64_t instructions = td_model_counter(model, TD_COUNTER_INSTRUCTIONS);
    const uint64_t detailed = td_model_counter(model, TD_COUNTER_DETAILED);
    const uint64_t cycles = td_model_counter(model, TD_COUNTER_CYCLES);

    if (detailed == 0 || detailed >= instructions || cycles == 0)
        return;
    fprintf(text->out, "%smodel sampled: %.1f %% of the instructions in detail, cycles ± %.1f %%",
            comma(text), 100 * (double)detailed / (double)instructions,
            100 * td_replicated_cycles_error(model));
}

static void print_recorded(const struct td_head *head, const struct td_style *style)
{
    const struct td_model *model = head->measure->model;
    const struct td_coverage *c = head->coverage;
    const char *call_graph = call_graph_words(td_model_env(model, TD_ENV_CALL_GRAPH));
    const char *end = td_model_env(model, TD_ENV_EXIT);
    struct text text;
    char count[32];

    text_begin(&text);
    if (c->recordings > 1)
        fprintf(text.out, "%s recordings merged",
                td_format_count(count, sizeof(count), c->recordings));
    if (c->duration_s > 0)
        fprintf(text.out,
                c->duration_s < 0.1  ? "%s%s%.4f s"
                : c->duration_s < 10 ? "%s%s%.2f s"
                                     : "%s%s%.1f s",
                comma(&text), c->recordings > 1 ? "at most " : "", c->duration_s);
    print_detailed(&text, model);
    if (call_graph)
        fprintf(text.out, "%s%s", comma(&text), call_graph);
    if (end)
        fprintf(text.out, "%scommand ended with %s", comma(&text), end);
    subject_end(style, "recorded", &text);
}

/* "1,234 samples and 5 tallies", of what damage left out. */
static void print_dropped(FILE *out, const struct td_losses *losses)
{
    char count[32];

    if (losses->dropped_samples > 0)
        fprintf(out, "%s sample%s", td_format_count(count, sizeof(count), losses->dropped_samples),
                losses->dropped_samples == 1 ? "" : "s");
    if (losses->dropped_samples > 0 && losses->dropped_tallies > 0)
        fputs(" and ", out);
    if (losses->dropped_tallies > 0)
        fprintf(out, "%s modelled tall%s",
                td_format_count(count, sizeof(count), losses->dropped_tallies),
                losses->dropped_tallies == 1 ? "y" : "ies");
}

/* Whether all of the file could be read; a recording may be cut off and damaged. */
static void print_state(FILE *out, const struct td_coverage *c)
{
    const struct td_losses *losses = c->losses;
    const bool dropped = losses->dropped_samples + losses->dropped_tallies > 0;

    if (losses->cut || (!c->complete && !losses->damaged))
        fputs("the recording was cut off; what was written is shown", out);
    else if (c->complete)
        fputs("complete", out);
    if (!losses->damaged)
        return;
    fprintf(out, "%sthe profile is damaged", losses->cut || c->complete ? "; " : "");
    if (!dropped) {
        fputs(losses->exact
                  ? ", but no sample was lost"
                  : "; how much is missing is not known; shares are of what could be read",
              out);
        return;
    }
    fputs(losses->exact ? ": " : ": at least ", out);
    print_dropped(out, losses);
    fputs(" could not be read", out);
    if (losses->dropped_share > 0)
        fprintf(out, " (%.1f %% of the %s)", 100 * losses->dropped_share, losses->share_of);
    fputs("; shares are of what could be read", out);
}

static void print_coverage(const struct td_head *head, const struct td_style *style)
{
    const struct td_coverage *c = head->coverage;
    const bool modelled = !is_sampled(head->measure);
    struct text text;
    char count[32];

    text_begin(&text);
    print_state(text.out, c);
    if (!modelled && (c->complete || c->lost > 0)) { /* the end of a recording has the counts */
        fprintf(text.out, ", %s lost", td_format_count(count, sizeof(count), c->lost));
        if (c->samples + c->lost > 0 && c->lost > 0)
            fprintf(text.out, " (%.1f %%)", 100 * (double)c->lost / (double)(c->lost + c->samples));
        fprintf(text.out, ", %s throttled", td_format_count(count, sizeof(count), c->throttled));
    }
    if (c->no_line_share < SHOWN)
        fputs("; all time has a function and a line", text.out);
    if (c->unresolved_share >= SHOWN)
        fprintf(text.out, ", %.1f %% without a name", 100 * c->unresolved_share);
    if (c->no_line_share >= SHOWN)
        fprintf(text.out, ", %.1f %% without a line", 100 * c->no_line_share);
    if (c->truncated_stacks_share > 0)
        fprintf(text.out, ", %.1f %% of stacks cut short", 100 * c->truncated_stacks_share);
    if (c->unsampled_share >= 0.005)
        fprintf(text.out, ", %.1f %% of CPU time not sampled", 100 * c->unsampled_share);
    subject_end(style, "coverage", &text);
}

/* What else there are samples of, where the figures are of one event of several. */
static void print_events(const struct td_head *head, const struct td_style *style)
{
    const struct td_measure *measure = head->measure;
    struct td_sampled sampled;
    struct text text;
    size_t listed = 0;
    char count[32];

    if (measure->slots || measure->weighted || measure->event == TD_NONE)
        return;
    td_sampled_of(&sampled, measure->model);
    text_begin(&text);
    for (size_t i = 0; i < sampled.len; i++) {
        if (!sampled.at[i].name[0] || sampled.at[i].is_sum)
            continue;
        listed++;
        fprintf(text.out, "%s%s %s samples%s", comma(&text), sampled.at[i].name,
                td_format_count(count, sizeof(count), sampled.at[i].samples),
                td_sampled_is_shown(&sampled, i, measure) ? " (shown)" : "");
    }
    fprintf(text.out, "; --event NAME shows another");
    if (listed > 1) {
        subject_end(style, "events", &text);
    } else {
        fclose(text.out);
        free(text.at);
    }
    td_sampled_release(&sampled);
}

static void print_slots(const struct td_head *head, const struct td_style *style)
{
    struct text text;

    text_begin(&text);
    td_slots_words(text.out, head->measure);
    td_weights_words(text.out, head->measure);
    subject_end(style, "slots", &text);
}

static double total_error(const struct td_measure *measure, enum td_metric metric)
{
    struct td_total totals[TD_TOTALS_MAX];
    const size_t len = td_totals_of(totals, measure);

    for (size_t i = 0; i < len; i++) {
        if (totals[i].metric == metric)
            return (double)totals[i].error;
    }
    return 0;
}

static bool is_waits(const struct td_measure *measure)
{
    return measure->event_name && strcmp(measure->event_name, TD_OFF_CPU_EVENT) == 0;
}

/* What all shares are of, in time where that is known. */
static void print_whole(FILE *out, const struct td_measure *measure, const struct td_style *style)
{
    const enum td_metric primary = td_measure_primary(measure);
    const size_t threads = td_measure_thread_count(measure);
    char text[64];

    if (measure->values[TD_METRIC_TIME_NS])
        fprintf(out, "%s of %s time",
                td_format_time_error(style, text, sizeof(text),
                                     (double)measure->totals[TD_METRIC_TIME_NS],
                                     total_error(measure, TD_METRIC_TIME_NS)),
                measure->weighted                 ? "measured CPU"
                : td_measure_is_modelled(measure) ? "modelled"
                : is_waits(measure)               ? "off-CPU"
                                                  : "CPU");
    else
        fprintf(out, "%s %s", td_format_count(text, sizeof(text), measure->totals[primary]),
                td_metric_heading(measure, primary));
    /* It may be more than the time that passed. */
    if (threads > 1)
        fprintf(out, " in %s threads together", td_format_count(text, sizeof(text), threads));
}

static void print_total(const struct td_head *head, const struct td_machine *machine,
                        const struct td_style *style)
{
    const struct td_measure *measure = head->measure;
    const char *modelled = td_measure_is_modelled(measure) ? "modelled " : "";
    struct text text;
    char count[32];

    text_begin(&text);
    print_whole(text.out, measure, style);
    if (head->coverage->samples > 0 && is_sampled(measure) &&
        (measure->values[TD_METRIC_TIME_NS] || td_measure_primary(measure) != TD_METRIC_SAMPLES)) {
        fprintf(text.out, ", %s %s", td_format_count(count, sizeof(count), head->coverage->samples),
                is_waits(measure) ? "waits" : "samples");
        if (!is_waits(measure))
            print_rate(text.out, measure);
    }
    if (machine->instructions > 0)
        fprintf(text.out, ", %s %sinstructions",
                td_format_count(count, sizeof(count), machine->instructions),
                measure->weighted ? modelled : "");
    if (machine->ipc > 0)
        fprintf(text.out, ", %sIPC %.2f", machine->instructions > 0 ? "" : modelled, machine->ipc);
    subject_end(style, "total", &text);
}

/* -D and --control: what is in the profile is not the whole run. */
static void print_part(const struct td_head *head, const struct td_style *style)
{
    const struct td_coverage *c = head->coverage;
    struct text text;

    if (!(c->recorded_s > 0))
        return;
    text_begin(&text);
    fprintf(text.out,
            "only a part of the run was recorded: %.2f s of %.2f s, in %llu %s (-D, --control)",
            c->recorded_s, c->duration_s, (unsigned long long)c->pieces,
            c->pieces == 1 ? "piece" : "pieces");
    subject_end(style, "recorded", &text);
}

/* Below half a CPU a profile of CPU time says little of why the program takes so long. Of a run as
 * short as the second it says only how long a program takes to start. */
#define MOSTLY_WAITING 0.5
#define SHORT_S        0.05

static void print_busy(const struct td_head *head, const struct td_style *style)
{
    const double busy = td_coverage_busy(head->coverage);
    struct text text;

    if (isnan(busy) || head->coverage->duration_s < SHORT_S)
        return;
    text_begin(&text);
    if (busy < MOSTLY_WAITING)
        fprintf(text.out,
                "CPU busy %.1f %% of %.2f s: mostly waiting (I/O, locks, sleep, CPU taken)",
                100 * busy, head->coverage->duration_s);
    else if (busy < 1.05)
        fprintf(text.out, "CPU busy %.0f %% of %.2f s", 100 * fmin(busy, 1),
                head->coverage->duration_s);
    else
        fprintf(text.out, "%.1f CPUs on average for %.2f s", busy, head->coverage->duration_s);
    subject_end(style, "busy", &text);
}

/* "48 kB", "1.25 MB": caches are in powers of two. */
static void print_cache(FILE *out, const char *before, const char *name, uint64_t kb)
{
    if (kb >= 1024 && kb % 1024 == 0)
        fprintf(out, "%s%s %llu MB", before, name, (unsigned long long)(kb / 1024));
    else if (kb >= 1024)
        fprintf(out, "%s%s %.2f MB", before, name, (double)kb / 1024);
    else
        fprintf(out, "%s%s %llu kB", before, name, (unsigned long long)kb);
}

/* "golden-cove at 3.5 GHz, 6 slots per cycle; L1 48 kB, L2 2 MB, L3 30 MB". */
/* Of the machine around the core, what may explain a time; all of it is in --json. */
static void print_system(FILE *out, const struct td_machine *m)
{
    char governor[64];

    if (m->memory_kb >= KB_PER_GB / 2)
        fprintf(out, "; %.0f GB memory", (double)m->memory_kb / KB_PER_GB);
    if (m->threads_per_core > 1)
        fputs("; SMT on", out);
    if (!m->governor || strcmp(m->governor, "performance") == 0)
        return;
    td_text_safe(governor, sizeof(governor), m->governor, strlen(m->governor));
    fprintf(out, "; governor %s", governor);
}

static void print_core(const struct td_machine *m, const struct td_style *style)
{
    static const struct {
        enum td_cache cache;
        const char *name;
    } caches[] = {{TD_CACHE_L1D, "L1"}, {TD_CACHE_L2, "L2"}, {TD_CACHE_L3, "L3"}};
    struct text text;
    bool any = false;

    if (!m->name)
        return;
    text_begin(&text);
    fputs(m->name, text.out);
    if (m->clock_hz > 0)
        fprintf(text.out, " at %.1f GHz", m->clock_hz * 1e-9);
    if (m->width > 0)
        fprintf(text.out, ", %u slots per cycle", m->width);
    for (size_t i = 0; i < TD_ARRAY_SIZE(caches); i++) {
        if (m->cache_kb[caches[i].cache] == 0)
            continue;
        print_cache(text.out, any ? ", " : "; ", caches[i].name, m->cache_kb[caches[i].cache]);
        any = true;
    }
    if (!m->modelled)
        print_system(text.out, m);
    subject_end(style, "core", &text);
}

/* What the sums are, where that is not exact. */
static void print_sums(const struct td_head *head, const struct td_style *style)
{
    struct td_total totals[TD_TOTALS_MAX];
    const size_t len = td_totals_of(totals, head->measure);
    struct text text;
    char count[2][32];

    text_begin(&text);
    for (size_t i = 0; i < len; i++) {
        const struct td_total *t = &totals[i];

        if (t->error > 0 && t->metric != TD_METRIC_TIME_NS)
            fprintf(text.out, "%s%s %s %s %s", comma(&text),
                    td_format_count(count[0], sizeof(count[0]), t->value),
                    td_style_plus_minus(style),
                    td_format_count(count[1], sizeof(count[1]), t->error),
                    t->metric == TD_METRIC_CYCLES ? "modelled cycles" : "slots");
    }
    subject_end(style, "sums", &text);
}

static void print_filter(const struct td_head *head, const struct td_style *style)
{
    struct text text;

    text_begin(&text);
    if (head->filter && head->kept_share < 1)
        fprintf(text.out, "only %s: %.1f %% of the profile; shares are of that", head->filter,
                100 * head->kept_share);
    else if (head->filter)
        fprintf(text.out, "only %s; shares are of that", head->filter);
    subject_end(style, "filter", &text);
}

void td_note_print(const char *text, const struct td_style *style)
{
    td_style_begin(style, TD_TONE_NOTE);
    fputs("note", style->out);
    td_style_end(style, TD_TONE_NOTE);
    td_style_wrap(style, text, 4, 6);
}

/* The recorder's own words; what it left out only where all is said. */
static void print_warnings(const struct td_model *model, bool all, const struct td_style *style)
{
    static const enum td_env_key keys[] = {TD_ENV_PRIVILEGE, TD_ENV_WARNING, TD_ENV_LEFT_OUT};

    for (size_t k = 0; k < TD_ARRAY_SIZE(keys) && (all || keys[k] != TD_ENV_LEFT_OUT); k++) {
        const char *value = NULL;

        for (size_t i = 0; (value = td_model_env_at(model, keys[k], i)); i++)
            td_note_print(value, style);
    }
}

/* Coverage that makes what follows doubtful stands before it; else it is among the details. */
static bool is_doubtful(const struct td_head *head)
{
    const struct td_coverage *c = head->coverage;

    return !c->complete || c->losses->damaged || head->damage ||
           (double)c->lost > DOUBTFUL * (double)c->samples || c->unresolved_share > DOUBTFUL ||
           c->unsampled_share > DOUBTFUL;
}

/* Of one that was killed: what it had not come to is not here. */
static void print_ending(const struct td_model *model, const struct td_style *style)
{
    const struct td_ending ending = td_ending_of(model);
    char words[64], text[128];

    if (!ending.known || !ending.killed)
        return;
    snprintf(text, sizeof(text), "the command %s, and may not have done all of its work",
             td_ending_words(words, sizeof(words), ending));
    td_style_paragraph(style, "ended", TD_TONE_HOT, text);
}

void td_head_print(const struct td_head *head, const struct td_style *style)
{
    const struct td_machine machine = td_machine_of(head->measure);
    struct text source;

    print_command(head->measure->model, false, style);
    print_ending(head->measure->model, style);
    text_begin(&source);
    print_source_text(source.out, head->measure);
    subject_end(style, "source", &source);
    print_total(head, &machine, style);
    print_part(head, style);
    print_busy(head, style);
    if (head->waits)
        td_waits_print_head(head->waits, head->measure->model, style);
    print_core(&machine, style);
    if (is_doubtful(head))
        print_coverage(head, style);
    print_filter(head, style);
    if (head->damage)
        td_style_paragraph(style, "damaged", TD_TONE_HOT, head->damage);
}

void td_head_print_details(const struct td_head *head, const struct td_style *style)
{
    print_command(head->measure->model, true, style);
    print_machine(head->measure->model, style);
    print_recorded(head, style);
    print_events(head, style);
    if (!is_doubtful(head))
        print_coverage(head, style);
    print_slots(head, style);
    print_sums(head, style);
    print_warnings(head->measure->model, true, style);
}

void td_head_print_short(const struct td_head *head, const struct td_style *style)
{
    struct text source;

    text_begin(&source);
    print_source_text(source.out, head->measure);
    subject_end(style, "source", &source);
    print_coverage(head, style);
    print_filter(head, style);
    if (head->damage)
        td_style_paragraph(style, "damaged", TD_TONE_HOT, head->damage);
    print_warnings(head->measure->model, false, style);
}

/* As td_note_print; the first of several is set apart. */
static void note(const struct td_style *style, bool *first, const char *text)
{
    if (*first)
        fputc('\n', style->out);
    *first = false;
    td_note_print(text, style);
}

void td_notes_print(const struct td_measure *measure, const struct td_style *style)
{
    const struct td_model *model = measure->model;
    struct td_gap gaps[GAPS_MAX];
    const size_t len = td_coverage_gaps(measure, gaps, GAPS_MAX);
    const uint64_t cut = td_model_counter(model, TD_COUNTER_TRUNCATED_STACKS);
    const uint64_t samples = td_model_counter(model, TD_COUNTER_SAMPLES);
    const char *call_graph = td_model_env(model, TD_ENV_CALL_GRAPH);
    bool first = true;

    if (cut > samples / 4 && call_graph && strcmp(call_graph, "fp") == 0)
        note(style, &first,
             "many call stacks end early: code without frame pointers; tdrec --call-graph dwarf "
             "unwinds them (what functions and lines cost by themselves is not affected)");
    const double unverified = td_coverage_of(measure).unverified_share;
    if (unverified >= GAP_SHARE) {
        char *text =
            td_xasprintf("%.1f %% in files that were recorded without a build-id: names come from "
                         "the files that have the same inode and time now",
                         100 * unverified);
        note(style, &first, text);
        free(text);
    }
    if (td_shared_is_much(model))
        note(
            style, &first,
            "threads share lines of the cache (tdreport sharing): how they take turns is another "
            "each run, and cycles often differ by a fifth, at times by a factor of 2 or 3; compare "
            "several runs");
    for (size_t i = 0; i < len && gaps[i].share >= GAP_SHARE; i++) {
        const struct td_module *module = td_model_module(model, gaps[i].module);
        char *text = td_xasprintf(
            "%.1f %% %s %s: %s", 100 * gaps[i].share,
            gaps[i].callers ? "called from functions without a name in" : "in",
            td_module_name(model, gaps[i].module), td_model_string(model, module->note));

        note(style, &first, text);
        free(text);
    }
}
