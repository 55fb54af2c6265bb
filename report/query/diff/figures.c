/* SPDX-License-Identifier: MIT */
#include "report/query/diff/diff_priv.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "report/attribution/stats.h"
#include "formats/frames.h"
#include "report/query/figures/coverage.h"
#include "report/query/figures/ending.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/shared.h"
#include "report/query/figures/totals.h"
#include "report/query/figures/tree.h"
#include "report/query/figures/weights.h"

#define Z_95 1.959964 /* stated errors are at 95 %; here are standard deviations */

/*
 * By how much two runs of one program differ, as parts and standard deviations, when nothing says
 * it. Eight recordings each of five programs on a virtual machine that others loaded: the total's
 * spread was 1.2 to 1.4 % where the program computed in its own caches, and 6 to 9 % where it
 * shared them (a fourth recording in hybrid: 17 %); functions of 1 % and more spread by 10 to 20 %
 * beyond what their samples explain, and of the kernel's one took 4 % in one of them and 0.1 %
 * else. The machine was busy when the command had less of the CPU than the clock went on.
 */
#define QUIET_TOTAL     0.02
#define BUSY_TOTAL      0.10  /* more, when it had next to nothing of the CPU */
#define ROWS_TO_TOTAL   2.0   /* functions spread more than their sum; */
#define QUIET_OF_TOTAL  0.001 /* small ones by a part of the whole */
#define BUSY_OF_TOTAL   0.003
#define FREEDOM         10
#define KERNEL_OF_TOTAL 0.01 /* which pages are free, who else asks: not the program's */

#define WORTH_SAYING 0.2 /* of the time that passed: from that on it is said that it was busy */

#define COMMAND_BYTES 160 /* of a command in a note */

#define GAPS_MAX         8
#define GAP_WORTH_SAYING 0.05 /* of a run without names or lines */

/* A model that is run twice on the same instructions gives the same cycles. What differs is the
 * program: where it lies in memory, the seeds of its hashes, how its threads take turns. */
#define MODEL_TOTAL    0.002
#define MODEL_ROWS     0.01
#define MODEL_OF_TOTAL 0.0002
#define MODEL_FREEDOM  30
/* Where threads share lines (figures/shared.h) that is all there is. */
#define TURNS_TOTAL    0.25
#define TURNS_ROWS     0.35
#define TURNS_OF_TOTAL 0.02
#define TURNS_FREEDOM  4

void td_diff_note(struct td_diff *diff, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (size_t i = 0; i < diff->note_count; i++) {
        if (strcmp(diff->notes[i], text) == 0)
            return;
    }
    diff->notes = td_grow(diff->notes, &diff->note_cap, diff->note_count + 1, sizeof(*diff->notes));
    diff->notes[diff->note_count++] = td_xstrdup(text);
}

/* The time is modelled, not only the categories. */
static bool has_modelled_time(const struct td_measure *m)
{
    return td_measure_is_modelled(m) && !m->weighted;
}

static bool has_categories(const struct td_measure *m)
{
    return m->totals[TD_METRIC_SLOTS] > 0;
}

static const char *source_of(const struct td_measure *m)
{
    const char *source = td_model_env(m->model, TD_ENV_SOURCE);

    if (m->weighted)
        return td_model_source(m->model) == TD_SOURCE_LIVE ? "live" : "hybrid";
    return source ? source : "import";
}

/* Samples of one event without its modifiers are samples of the same event. */
static bool is_same_event(const struct td_measure *a, const struct td_measure *b)
{
    const char *x = td_measure_event_name(a), *y = td_measure_event_name(b);
    const size_t len = strcspn(x, ":");

    return len == strcspn(y, ":") && strncmp(x, y, len) == 0;
}

static int check_pair(struct td_diff *diff, const char *old_name, const struct td_measure *old,
                      const char *name, const struct td_measure *now, struct td_err *err)
{
    const bool timed = old->values[TD_METRIC_TIME_NS] && now->values[TD_METRIC_TIME_NS];

    if (has_modelled_time(old) != has_modelled_time(now))
        return td_fail(err, TD_EMISMATCH,
                       "%s has %s time and %s has %s time, which do not compare: record both with "
                       "the same --source",
                       old_name, has_modelled_time(old) ? "modelled" : "measured", name,
                       has_modelled_time(now) ? "modelled" : "measured");
    if (!timed) {
        if (diff->cost == TD_METRIC_TIME_NS)
            diff->cost = td_measure_primary(old);
        if (td_measure_primary(old) != td_measure_primary(now) ||
            (td_measure_primary(old) != TD_METRIC_SLOTS && !is_same_event(old, now)))
            return td_fail(
                err, TD_EMISMATCH,
                "%s counts %s and %s counts %s, which do not compare: record both with "
                "the same events",
                old_name, old->event_name ? old->event_name : td_metric_id(td_measure_primary(old)),
                name, now->event_name ? now->event_name : td_metric_id(td_measure_primary(now)));
    }
    if (has_categories(old) && has_categories(now) &&
        td_measure_is_modelled(old) != td_measure_is_modelled(now)) {
        diff->nodes = 0;
        diff->has_slots = false;
        td_diff_note(diff, "categories of %s are %s and those of %s are %s: time alone is compared",
                     old_name, td_measure_is_modelled(old) ? "modelled" : "measured", name,
                     td_measure_is_modelled(now) ? "modelled" : "measured");
    } else if (has_categories(old) != has_categories(now)) {
        td_diff_note(diff, "%s has no categories (source %s): %s alone is compared",
                     has_categories(old) ? name : old_name,
                     source_of(has_categories(old) ? now : old), td_metric_id(diff->cost));
    }
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!now->values[TD_METRIC_FIRST_NODE + n])
            diff->nodes &= ~(td_tma_bit(n));
    }
    diff->has_slots = diff->has_slots && has_categories(now);
    return TD_OK;
}

static void note_env(struct td_diff *diff, const struct td_diff_side *old,
                     const struct td_diff_side *now, enum td_env_key key, const char *what)
{
    const char *a = td_model_env(old->runs[0]->model, key);
    const char *b = td_model_env(now->runs[0]->model, key);

    if (a && b && strcmp(a, b) != 0)
        td_diff_note(diff, "%s: %s in %s, %s in %s", what, a, old->name, b, now->name);
}

static void note_endings(struct td_diff *diff, const struct td_diff_side *first, struct td_ending a,
                         const struct td_diff_side *second, struct td_ending b)
{
    char words[2][64];

    td_diff_note(diff, "%s %s, %s %s: they did not do the same work", first->name,
                 td_ending_words(words[0], sizeof(words[0]), a), second->name,
                 td_ending_words(words[1], sizeof(words[1]), b));
}

/* The run of a side that ended worst. */
static struct td_ending ending_of(const struct td_diff_side *side)
{
    struct td_ending worst = td_ending_of(side->runs[0]->model);

    for (size_t r = 1; r < side->run_count; r++)
        worst = td_ending_worse(worst, td_ending_of(side->runs[r]->model));
    return worst;
}

/* Before all other notes: a command that was killed is faster the sooner that happens. */
static void compare_endings(struct td_diff *diff, const struct td_diff_side *sides, size_t count)
{
    const struct td_ending old = ending_of(&sides[0]);

    for (size_t s = 1; s < count; s++) {
        const struct td_ending now = ending_of(&sides[s]);

        if (!td_endings_differ(old, now))
            continue;
        if (old.killed != now.killed ? old.killed : now.number == 0)
            note_endings(diff, &sides[0], old, &sides[s], now);
        else
            note_endings(diff, &sides[s], now, &sides[0], old);
    }
    diff->unlike_count = diff->note_count;
}

/* "app -x file", as much of it as a note has room for. */
static const char *command_of(const struct td_diff_side *side, char *buf, size_t size)
{
    const char *word = NULL;
    size_t len = 0;

    buf[0] = '\0';
    for (size_t i = 0; (word = td_model_env_at(side->runs[0]->model, TD_ENV_ARGV, i)); i++) {
        const int n = snprintf(buf + len, size - len, "%s%s", i ? " " : "",
                               i ? word : td_text_last_part(word));

        len += n > 0 ? (size_t)n : 0;
        if (len < size)
            continue;
        len = size - sizeof("...");
        while (len > 0 && ((unsigned char)buf[len] & 0xc0) == 0x80)
            len--;
        memcpy(buf + len, "...", sizeof("..."));
        break;
    }
    return buf;
}

/* The program may lie elsewhere. True where one of them is not known. */
static bool is_same_command(const struct td_diff_side *a, const struct td_diff_side *b)
{
    const char *x = NULL, *y = NULL;
    size_t i = 0;

    do {
        x = td_model_env_at(a->runs[0]->model, TD_ENV_ARGV, i);
        y = td_model_env_at(b->runs[0]->model, TD_ENV_ARGV, i);
        if (i == 0 && (!x || !y))
            return true;
        if (i == 0) {
            x = td_text_last_part(x);
            y = td_text_last_part(y);
        }
        i++;
    } while (x && y && strcmp(x, y) == 0);
    return !x && !y;
}

/* Another program or other arguments may be other work. */
static void compare_commands(struct td_diff *diff, const struct td_diff_side *sides, size_t count)
{
    char first[COMMAND_BYTES], other[COMMAND_BYTES];

    for (size_t s = 1; s < count && sides[0].work <= 0; s++) {
        if (!is_same_command(&sides[0], &sides[s]))
            td_diff_note(diff, "the commands differ: %s, %s",
                         command_of(&sides[0], first, sizeof(first)),
                         command_of(&sides[s], other, sizeof(other)));
    }
    diff->first_count = diff->note_count;
}

/* Functions without names are one row, whatever they did. */
static void note_gaps(struct td_diff *diff, const struct td_diff_side *side,
                      const struct td_measure *measure)
{
    struct td_gap gaps[GAPS_MAX];
    const size_t len = td_coverage_gaps(measure, gaps, GAPS_MAX);

    for (size_t i = 0; i < len; i++) {
        const struct td_module *module = td_model_module(measure->model, gaps[i].module);

        if (gaps[i].share >= GAP_WORTH_SAYING && !gaps[i].callers)
            td_diff_note(diff, "%s: names or lines are missing of %.0f %%, %s: %s", side->name,
                         100 * gaps[i].share, td_module_name(measure->model, gaps[i].module),
                         td_model_string(measure->model, module->note));
    }
}

static void note_side(struct td_diff *diff, const struct td_diff_side *side)
{
    for (size_t r = 0; r < side->run_count; r++) {
        const struct td_model *model = side->runs[r]->model;
        const char *scope = td_model_env(model, TD_ENV_SCOPE);

        if (!td_model_complete(model))
            td_diff_note(diff, "%s is not whole: what could be read of it is compared", side->name);
        if (scope && strcmp(scope, "command") != 0 && side->work <= 0)
            td_diff_note(diff,
                         "%s is no recording of a command (%s): how much work was done is not "
                         "known; --work says it",
                         side->name, scope);
        note_gaps(diff, side, side->runs[r]);
        if (side->runs[r]->no_slots)
            td_diff_note(diff, "%s: %s", side->name, side->runs[r]->no_slots);
    }
}

static td_tma_set leaves_of(td_tma_set nodes)
{
    td_tma_set leaves = nodes;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const enum td_tma_node parent = td_tma_info((enum td_tma_node)n)->parent;

        if (nodes >> n & 1 && parent != TD_NODE_NONE)
            leaves &= ~(td_tma_bit(parent));
    }
    return leaves;
}

int td_diff_check(struct td_diff *diff, const struct td_diff_side *sides, size_t count,
                  struct td_err *err)
{
    const struct td_measure *old = sides[0].runs[0];

    diff->cost = old->values[TD_METRIC_TIME_NS] ? TD_METRIC_TIME_NS : td_measure_primary(old);
    diff->has_slots = has_categories(old);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (old->values[TD_METRIC_FIRST_NODE + n])
            diff->nodes |= td_tma_bit(n);
    }
    compare_endings(diff, sides, count);
    compare_commands(diff, sides, count);
    for (size_t s = 0; s < count; s++) {
        for (size_t r = 0; r < sides[s].run_count; r++) {
            const int rc =
                check_pair(diff, sides[0].name, old, sides[s].name, sides[s].runs[r], err);
            if (rc < 0)
                return rc;
        }
        note_side(diff, &sides[s]);
        note_env(diff, &sides[0], &sides[s], TD_ENV_CPU, "the CPUs differ");
        note_env(diff, &sides[0], &sides[s], TD_ENV_KERNEL, "the kernels differ");
    }
    if (!diff->has_slots)
        diff->nodes = 0;
    diff->leaves = leaves_of(diff->nodes);
    return TD_OK;
}

/* Modelled time is so many slots or cycles: unrounded, so that rows add up. */
static double cost_of(const struct td_diff_source *source, const uint64_t *values)
{
    const struct td_measure *m = source->measure;

    if (source->metric == TD_METRIC_TIME_NS && m->time_rate)
        return (double)values[m->time_of] * 1e9 / (double)m->time_rate;
    return (double)values[source->metric];
}

struct td_diff_source td_diff_source_of(const struct td_diff *diff,
                                        const struct td_measure *measure, double work)
{
    struct td_diff_source source = {
        .measure = measure, .metric = diff->cost, .scale = work > 0 ? 1 / work : 1};
    const double slots = (double)measure->totals[TD_METRIC_SLOTS];

    source.cost = cost_of(&source, measure->totals);
    if (slots > 0)
        source.per_slot = measure->weighted ? (double)td_measure_categorized_ns(measure) / slots
                                            : source.cost / slots;
    return source;
}

/* The value of something, in both units, with the deviations that the cost has. */
static void put(struct td_run_figure *ret, const struct td_diff_source *source, unsigned what,
                double cost, double slots, const struct td_run_figure *of_cost,
                const struct td_run_figure *of_slots)
{
    struct td_run_figure *c = &ret[td_diff_at(TD_DIFF_COST, what)];
    struct td_run_figure *s = &ret[td_diff_at(TD_DIFF_SLOTS, what)];

    c->value = cost * source->scale;
    c->random = of_cost->random * source->scale;
    c->bias = of_cost->bias * source->scale;
    s->value = slots * source->scale;
    s->random = of_slots->random * source->scale;
    s->bias = of_slots->bias * source->scale;
}

static bool is_kernel(const struct td_measure *m, const struct td_row *row)
{
    return row->module != TD_NONE &&
           td_model_module(m->model, row->module)->kind == TD_MODULE_KERNEL;
}

/* Deviations of a row's cost and slots: [0] and [1]. */
static void row_deviations(struct td_run_figure ret[2], const struct td_diff_source *source,
                           const struct td_rows *rows, const struct td_row *row)
{
    const struct td_measure *m = source->measure;
    const double slots = (double)m->totals[TD_METRIC_SLOTS];
    const double error = td_row_error(rows, row) / Z_95;

    memset(ret, 0, 2 * sizeof(*ret));
    if (m->join) {
        ret[0].random = source->cost * td_row_sampling_error(rows, row) / Z_95;
        ret[1].bias = slots * error;
    } else if (rows->replicated) {
        const double whole = td_replicated_total_error(m) / Z_95;

        ret[0].bias = hypot(source->cost * error, cost_of(source, row->values) * whole);
        ret[1].bias = hypot(slots * error, (double)row->values[TD_METRIC_SLOTS] * whole);
    } else {
        ret[0].random = source->cost * error;
        ret[1].random = slots * error;
    }
    if (!has_modelled_time(m) && is_kernel(m, row)) {
        ret[0].random = hypot(ret[0].random, source->cost * KERNEL_OF_TOTAL);
        ret[1].random = hypot(ret[1].random, slots * KERNEL_OF_TOTAL);
    }
}

void td_diff_figures_of(struct td_run_figure ret[TD_DIFF_FIGURES],
                        const struct td_diff_source *source, const struct td_rows *rows,
                        const struct td_row *row)
{
    const double slots = (double)row->values[TD_METRIC_SLOTS];
    struct td_run_figure whole[2];

    memset(ret, 0, TD_DIFF_FIGURES * sizeof(*ret));
    row_deviations(whole, source, rows, row);
    put(ret, source, TD_DIFF_WHOLE, cost_of(source, row->values), slots, &whole[0], &whole[1]);
    for (int n = 0; n < TD_NODE_COUNT && slots > 0; n++) {
        const struct td_cell cell = td_row_cell(rows, row, (enum td_tma_node)n);
        const double lost = (double)row->values[TD_METRIC_FIRST_NODE + n];
        const double bias = slots * cell.error / Z_95;
        const struct td_run_figure of_slots = {.random = cell.share * whole[1].random,
                                               .bias = hypot(cell.share * whole[1].bias, bias)};
        const struct td_run_figure of_cost = {
            .random = cell.share * whole[0].random,
            .bias = hypot(cell.share * whole[0].bias, bias * source->per_slot)};

        if (source->measure->values[TD_METRIC_FIRST_NODE + n])
            put(ret, source, TD_DIFF_NODE(n), lost * source->per_slot, lost, &of_cost, &of_slots);
    }
}

/* What no window of a sampled model met may be as much as what is known so badly that it may be
 * nothing: ±, 95 %, of its share. */
static double unmet_error(const struct td_rows *rows)
{
    double most = 0;

    for (size_t r = 0; r < rows->len; r++) {
        const double error = td_row_error(rows, &rows->at[r]);

        if (error >= td_row_share_of(rows, &rows->at[r], TD_METRIC_SLOTS))
            most = fmax(most, error);
    }
    return most;
}

void td_diff_figures_none(struct td_run_figure ret[TD_DIFF_FIGURES],
                          const struct td_diff_source *source, const struct td_rows *rows)
{
    const struct td_measure *m = source->measure;
    const uint64_t samples = m->totals[TD_METRIC_SAMPLES];
    const double slots = (double)m->totals[TD_METRIC_SLOTS];
    const bool exact = m->attribution == TD_ATTRIBUTION_EXACT && !m->weighted;
    const double part = exact ? 0 : td_share_error(0, samples) / Z_95;
    const double unmet = rows->replicated ? unmet_error(rows) / Z_95 : 0;
    const struct td_run_figure of_cost = {.random = source->cost * part,
                                          .bias = source->cost * unmet};
    const struct td_run_figure of_slots = {.random = slots * part, .bias = slots * unmet};

    memset(ret, 0, TD_DIFF_FIGURES * sizeof(*ret));
    for (unsigned what = 0; what < TD_DIFF_WHATS; what++)
        put(ret, source, what, 0, 0, &of_cost, &of_slots);
}

void td_diff_figures_total(struct td_run_figure ret[TD_DIFF_FIGURES],
                           const struct td_diff_source *source)
{
    const struct td_measure *m = source->measure;
    const double slots = (double)m->totals[TD_METRIC_SLOTS];
    const uint64_t samples = m->totals[TD_METRIC_SAMPLES];
    struct td_tree tree = {.len = 0};
    struct td_run_figure whole[2] = {{.random = 0}};

    if (m->join) {
        whole[1].bias = td_weights_total_error(m, TD_METRIC_SLOTS) / Z_95;
    } else if (m->replicate_count > 0) {
        const double error = td_replicated_total_error(m) / Z_95;

        whole[0].bias = source->cost * error;
        whole[1].bias = slots * error;
    }
    /* Samples on a clock miss less than one of them. */
    if (samples > 0 && !has_modelled_time(m))
        whole[0].random = source->cost / (double)samples;
    memset(ret, 0, TD_DIFF_FIGURES * sizeof(*ret));
    put(ret, source, TD_DIFF_WHOLE, source->cost, slots, &whole[0], &whole[1]);
    if (slots > 0)
        tree = td_tree_of(m);
    for (size_t i = 0; i < tree.len; i++) {
        const struct td_tree_node *node = &tree.at[i];
        const double lost = (double)m->totals[TD_METRIC_FIRST_NODE + (int)node->node];
        const double bias = slots * node->error / Z_95;
        const struct td_run_figure of_slots = {.bias = hypot(node->share * whole[1].bias, bias)};
        const struct td_run_figure of_cost = {
            .random = node->share * whole[0].random,
            .bias = hypot(node->share * whole[0].bias, bias * source->per_slot)};

        put(ret, source, TD_DIFF_NODE(node->node), lost * source->per_slot, lost, &of_cost,
            &of_slots);
    }
}

/* The part of the time that passed in which the command did not have the CPU: 0 to 1. */
static double waiting(const struct td_measure *m)
{
    const uint64_t from = td_model_counter(m->model, TD_COUNTER_STARTED_NS);
    const uint64_t to = td_model_counter(m->model, TD_COUNTER_ENDED_NS);
    const double passed = to > from ? (double)(to - from) : 0;
    const double ran = (double)m->totals[TD_METRIC_TIME_NS];

    return passed > 0 && ran > 0 ? fmin(fmax(1 - ran / passed, 0), 1) : 1;
}

void td_diff_assume(struct td_diff *diff, const struct td_diff_source *sources, size_t count)
{
    double busy = 0;

    for (size_t i = 0; i < count && has_modelled_time(sources[i].measure); i++)
        diff->takes_turns = diff->takes_turns || td_shared_is_much(sources[i].measure->model);
    if (diff->takes_turns) {
        diff->of_total = (struct td_run_spread){.part = TURNS_TOTAL, .freedom = TURNS_FREEDOM};
        diff->of_rows = (struct td_run_spread){
            .part = TURNS_ROWS, .of_total = TURNS_OF_TOTAL, .freedom = TURNS_FREEDOM};
        return;
    }
    if (has_modelled_time(sources[0].measure)) {
        diff->of_total = (struct td_run_spread){.part = MODEL_TOTAL, .freedom = MODEL_FREEDOM};
        diff->of_rows = (struct td_run_spread){
            .part = MODEL_ROWS, .of_total = MODEL_OF_TOTAL, .freedom = MODEL_FREEDOM};
        return;
    }
    for (size_t i = 0; i < count; i++)
        busy = fmax(busy, waiting(sources[i].measure));
    if (busy >= WORTH_SAYING)
        td_diff_note(diff,
                     "of the time of a recording up to %.0f %% went by without the command on a "
                     "CPU: on a machine that is busy runs differ more",
                     100 * busy);
    diff->of_total.part = QUIET_TOTAL + BUSY_TOTAL * busy;
    diff->of_total.freedom = FREEDOM;
    diff->of_rows.part = ROWS_TO_TOTAL * diff->of_total.part;
    diff->of_rows.of_total = QUIET_OF_TOTAL + BUSY_OF_TOTAL * busy;
    diff->of_rows.freedom = FREEDOM;
}
