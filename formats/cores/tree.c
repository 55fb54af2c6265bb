/* SPDX-License-Identifier: MIT */
#include "formats/cores/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/banned.h"

#define LINE_MAX_BYTES 2048
/* From this level on the vendors' formulas are estimates (a count times a latency) that overlap and
 * often exceed what they are part of: that they are cut is no news. */
#define ESTIMATES_LEVEL 4

/* One "name = expression", evaluated in the order of the file into its own place of the values:
 * first the events, then the width, then these. */
struct formula {
    const char *name;
    struct td_expr *expr;
};

struct td_pmu_formulas {
    size_t event_count;
    size_t len, cap;
    struct formula *at;
};

struct scope {
    const struct td_pmu_core *core;
    const struct td_pmu_formulas *formulas;
};

static int resolve(const void *ctx, const char *name)
{
    const struct scope *scope = ctx;
    const int event = td_pmu_core_event(scope->core, name);

    if (event >= 0)
        return event;
    if (strcmp(name, "width") == 0)
        return (int)scope->formulas->event_count;
    for (size_t i = 0; i < scope->formulas->len; i++) {
        if (strcmp(scope->formulas->at[i].name, name) == 0)
            return (int)(scope->formulas->event_count + 1 + i);
    }
    return -1;
}

/* The words after word `from`, which must be "=", joined by blanks. */
static int join(const struct td_uarch_line *line, uint32_t from, char *text, size_t size,
                struct td_err *err)
{
    size_t used = 0;

    if (line->word_count < from + 2 || strcmp(line->words[from], "=") != 0)
        return td_fail(err, TD_EFORMAT, "line %u: expected 'name = formula'", line->number);
    for (uint32_t i = from + 1; i < line->word_count; i++) {
        const int n = snprintf(text + used, size - used, "%s ", line->words[i]);

        used += n > 0 ? (size_t)n : 0;
        if (used >= size)
            return td_fail(err, TD_EFORMAT, "line %u: the formula is too long", line->number);
    }
    return TD_OK;
}

static int compile(struct td_expr **ret, const struct scope *scope,
                   const struct td_uarch_line *line, uint32_t from, struct td_err *err)
{
    char text[LINE_MAX_BYTES];
    int rc = join(line, from, text, sizeof(text), err);

    if (rc == TD_OK)
        rc = td_expr_compile(ret, text, resolve, scope, err);
    if (rc != TD_OK)
        td_err_prefix(err, "line %u", line->number);
    return rc;
}

static int read_formula(struct td_pmu_formulas *formulas, const struct scope *scope,
                        const struct td_uarch_line *line, struct td_err *err)
{
    const bool let = strcmp(line->words[0], "let") == 0;
    const uint32_t at = let ? 1 : 0;
    const char *name = line->word_count > at ? line->words[at] : "";
    struct td_expr *expr = NULL;

    if (!let && strcmp(name, "slots") != 0 && td_tma_by_id(name) == TD_NODE_NONE)
        return td_fail(err, TD_EFORMAT, "line %u: '%s' is not a node; write 'let %s = ...'",
                       line->number, name, name);
    /* "slots" may be an event's name too: the formula is found by its own list. */
    if (let && resolve(scope, name) >= 0)
        return td_fail(err, TD_EFORMAT, "line %u: '%s' stands above", line->number, name);
    const int rc = compile(&expr, scope, line, at + 1, err);
    if (rc != TD_OK)
        return rc;
    formulas->at = td_grow(formulas->at, &formulas->cap, formulas->len + 1, sizeof(*formulas->at));
    formulas->at[formulas->len++] = (struct formula){.name = name, .expr = expr};
    return TD_OK;
}

static int read_metrics(struct td_pmu_core *core, const struct scope *scope,
                        const struct td_uarch_section *section, struct td_err *err)
{
    struct td_pmu_metric *metrics = td_xcalloc(section->line_count, sizeof(*metrics));
    int rc = TD_OK;

    core->metrics = metrics;
    for (size_t i = 0; i < section->line_count && rc == TD_OK; i++) {
        const struct td_uarch_line *line = &section->lines[i];

        if (line->word_count < 5)
            return td_fail(err, TD_EFORMAT, "line %u: expected 'group name unit = formula'",
                           line->number);
        metrics[i] = (struct td_pmu_metric){
            .group = line->words[0], .name = line->words[1], .unit = line->words[2]};
        rc = compile(&metrics[i].expr, scope, line, 3, err);
        core->metric_count = i + 1;
    }
    return rc;
}

int td_pmu_formulas_read(struct td_pmu_formulas **ret, struct td_pmu_core *core,
                         const struct td_uarch *uarch, struct td_err *err)
{
    const struct td_uarch_section *formulas = td_uarch_section(uarch, "pmu.formulas");
    const struct td_uarch_section *metrics = td_uarch_section(uarch, "pmu.metrics");
    struct td_pmu_formulas *made = td_xcalloc(1, sizeof(*made));
    const struct scope scope = {.core = core, .formulas = made};
    int rc = TD_OK;

    *ret = made; /* freed with the core, also after a failure */
    made->event_count = core->event_count;
    for (size_t i = 0; formulas && i < formulas->line_count && rc == TD_OK; i++)
        rc = read_formula(made, &scope, &formulas->lines[i], err);
    if (rc == TD_OK && metrics)
        rc = read_metrics(core, &scope, metrics, err);
    return rc;
}

void td_pmu_formulas_free(struct td_pmu_formulas *formulas)
{
    if (!formulas)
        return;
    for (size_t i = 0; i < formulas->len; i++)
        td_expr_free(formulas->at[i].expr);
    free(formulas->at);
    free(formulas);
}

/* The values of everything that can be named; the caller frees them. */
static double *evaluate(const struct td_pmu_core *core, const double *counts, uint32_t width)
{
    const struct td_pmu_formulas *f = core->formulas;
    double *values = td_xcalloc(f->event_count + 1 + f->len, sizeof(*values));

    if (f->event_count > 0)
        memcpy(values, counts, f->event_count * sizeof(*values));
    values[f->event_count] = width ? width : core->width;
    for (size_t i = 0; i < f->len; i++)
        values[f->event_count + 1 + i] = td_expr_eval(f->at[i].expr, values);
    return values;
}

static double formula_value(const struct td_pmu_formulas *f, const double *values, const char *name)
{
    for (size_t i = 0; i < f->len; i++) {
        if (strcmp(f->at[i].name, name) == 0)
            return values[f->event_count + 1 + i];
    }
    return NAN;
}

double td_pmu_core_formula(const struct td_pmu_core *core, enum td_tma_node node,
                           const double *counts, uint32_t width)
{
    double *values = evaluate(core, counts, width);
    const double value = formula_value(core->formulas, values,
                                       node == TD_NODE_NONE ? "slots" : td_tma_info(node)->id);

    free(values);
    return value;
}

double td_pmu_core_metric(const struct td_pmu_core *core, const struct td_pmu_metric *metric,
                          const double *counts, uint32_t width)
{
    double *values = evaluate(core, counts, width);
    const double value = td_expr_eval(metric->expr, values);

    free(values);
    return value;
}

/* What stands above a formula has a lower index: this ends. */
static td_pmu_event_set events_of(const struct td_pmu_core *core, const struct td_expr *expr)
{
    const struct td_pmu_formulas *f = core->formulas;
    td_pmu_event_set events = 0;

    for (size_t i = 0; td_expr_input(expr, i) >= 0; i++) {
        const size_t input = (size_t)td_expr_input(expr, i);

        if (input < f->event_count)
            events |= td_pmu_event_bit(input);
        else if (input > f->event_count)
            events |= events_of(core, f->at[input - f->event_count - 1].expr);
    }
    return events;
}

td_pmu_event_set td_pmu_core_metric_events(const struct td_pmu_core *core,
                                           const struct td_pmu_metric *metric)
{
    return events_of(core, metric->expr);
}

td_pmu_event_set td_pmu_core_node_events(const struct td_pmu_core *core, enum td_tma_node node)
{
    const struct td_pmu_formulas *f = core->formulas;

    for (size_t i = 0; i < f->len; i++) {
        if (strcmp(f->at[i].name, td_tma_info(node)->id) == 0)
            return events_of(core, f->at[i].expr);
    }
    return 0;
}

static bool has_formula(const struct td_pmu_formulas *f, int node)
{
    for (size_t i = 0; i < f->len; i++) {
        if (strcmp(f->at[i].name, td_tma_info((enum td_tma_node)node)->id) == 0)
            return true;
    }
    return false;
}

/* Cuts the children of `parent` to [0, whole]; the sum of those that are known. *all: every child
 * that has a formula is known, and there is one. */
static double cut_children(const struct td_pmu_formulas *f, struct td_pmu_tree *tree,
                           enum td_tma_node parent, double whole, bool *all)
{
    double sum = 0;
    bool unknown = false, any = false;

    for (int n = 0; n < TD_NODE_COUNT; n++) {
        double *share = &tree->share[n];

        if (td_tma_info((enum td_tma_node)n)->parent != parent || !has_formula(f, n))
            continue;
        unknown = unknown || isnan(*share);
        if (isnan(*share))
            continue;
        any = true;
        const double cut = fmin(fmax(*share, 0), whole);
        if (td_tma_info((enum td_tma_node)n)->level < ESTIMATES_LEVEL)
            tree->clamped += fabs(cut - *share);
        *share = cut;
        sum += cut;
    }
    *all = any && !unknown;
    return sum;
}

static void scale_children(struct td_pmu_tree *tree, enum td_tma_node parent, double by)
{
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (td_tma_info((enum td_tma_node)n)->parent == parent)
            tree->share[n] *= by;
    }
}

/* Children cut to their parent, and scaled to add up to it when that is asked for. The formulas of
 * level 3 and below do not name all causes: they are only scaled down. The sum is NaN when one is
 * unknown. */
static double fit_children(const struct td_pmu_core *core, struct td_pmu_tree *tree,
                           enum td_tma_node parent, double whole, bool scaled)
{
    const bool deep = parent != TD_NODE_NONE && td_tma_info(parent)->level > 1;
    bool all = false;
    const double sum = cut_children(core->formulas, tree, parent, whole, &all);

    if (scaled && sum > 0 && (deep ? sum > whole : all))
        scale_children(tree, parent, whole / sum);
    return all ? sum : NAN;
}

static void fill_tree(const struct td_pmu_core *core, const double *counts, uint32_t width,
                      bool scaled, struct td_pmu_tree *tree)
{
    double *values = evaluate(core, counts, width);

    *tree = (struct td_pmu_tree){.slots = formula_value(core->formulas, values, "slots")};
    for (int n = 0; n < TD_NODE_COUNT; n++)
        tree->share[n] =
            formula_value(core->formulas, values, td_tma_info((enum td_tma_node)n)->id);
    free(values);
    tree->sum = fit_children(core, tree, TD_NODE_NONE, 1, scaled);
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!isnan(tree->share[n]) && td_tma_info((enum td_tma_node)n)->level < TD_TMA_LEVELS)
            fit_children(core, tree, (enum td_tma_node)n, tree->share[n], scaled);
    }
}

void td_pmu_core_shares(const struct td_pmu_core *core, const double *counts, uint32_t width,
                        struct td_pmu_tree *tree)
{
    fill_tree(core, counts, width, false, tree);
}

void td_pmu_core_tree(const struct td_pmu_core *core, const double *counts, uint32_t width,
                      struct td_pmu_tree *tree)
{
    fill_tree(core, counts, width, true, tree);
}
