/* SPDX-License-Identifier: MIT */
#include "report/query/code_of.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "report/query/figures/names.h"
#include "report/query/figures/weights.h"

struct collecting {
    const struct td_measure *measure;
    const uint32_t *rank_of; /* by function and td_code_unnamed: 1 + its place in the request; NULL:
                                lines */
    const char *pattern;
    uint32_t from, to;
    bool once; /* what several functions asked for contain counts once */
    struct td_code_parts *parts;
    size_t cap;
    size_t *caps; /* of each part's `at` */
    size_t caps_cap;
    struct td_map part_ids; /* (function, container) */
    struct td_map costs;    /* (location, part) -> index in the part */
    struct td_map files;    /* string -> whether the pattern names it */
};

uint32_t td_code_unnamed(const struct td_model *model, uint32_t module)
{
    return td_model_function_count(model) + module;
}

static bool is_wanted_file(struct collecting *c, uint32_t file)
{
    bool added = false;
    uint32_t *wanted = td_map_put(&c->files, file, 0, 0, &added);

    if (added)
        *wanted = td_pattern_is_path(c->pattern, td_model_string(c->measure->model, file));
    return *wanted != 0;
}

static bool is_wanted(struct collecting *c, const struct td_line *line)
{
    if (c->rank_of)
        return c->rank_of[line->function] != 0;
    return line->line >= c->from && line->line <= c->to && line->line != 0 &&
           is_wanted_file(c, line->file);
}

static uint32_t part_for(struct collecting *c, uint32_t function, uint32_t container,
                         uint32_t module)
{
    struct td_code_parts *parts = c->parts;
    bool added = false;
    const uint32_t index =
        *td_map_put(&c->part_ids, function, container, (uint32_t)parts->len, &added);

    if (added) {
        parts->at = td_grow(parts->at, &c->cap, parts->len + 1, sizeof(*parts->at));
        c->caps = td_grow(c->caps, &c->caps_cap, parts->len + 1, sizeof(*c->caps));
        c->caps[parts->len] = 0;
        parts->at[parts->len++] =
            (struct td_code_part){.function = function, .container = container, .module = module};
    }
    return index;
}

static void charge(struct collecting *c, uint32_t index, uint32_t location, size_t row)
{
    const struct td_measure *m = c->measure;
    struct td_code_part *part = &c->parts->at[index];
    bool added = false;
    const uint32_t at = *td_map_put(&c->costs, location, index, (uint32_t)part->len, &added);

    if (added) {
        part->at = td_grow(part->at, &c->caps[index], part->len + 1, sizeof(*part->at));
        part->at[part->len++] = (struct td_code_cost){
            .location = location, .offset = td_model_location(m->model, location)->offset};
    }
    const bool other = td_weights_is_borrowed(m, row); /* other code has other instructions */
    for (unsigned k = 0; k < TD_METRIC_COUNT; k++) {
        if (!m->values[k])
            continue;
        if (!other || (k != TD_METRIC_SLOTS && k < TD_METRIC_FIRST_NODE))
            part->at[at].values[k] += m->values[k][row];
        part->values[k] += m->values[k][row];
    }
}

/* A row counts once for each function asked for that is on its location's chain, or once for all; a
 * location of wanted lines counts once. */
static void charge_row(struct collecting *c, size_t row)
{
    const struct td_model *model = c->measure->model;
    const uint32_t location = td_model_node(model, c->measure->rows[row].node)->location;

    if (location == TD_NONE)
        return;
    const struct td_location l = *td_model_location(model, location);
    const uint32_t unnamed = td_code_unnamed(model, l.module);
    if (l.line_count == 0 && c->rank_of && c->rank_of[unnamed] != 0) {
        const uint32_t part = part_for(c, TD_NONE, unnamed, l.module);

        c->parts->at[part].container = TD_NONE;
        charge(c, part, location, row);
    }
    for (uint32_t i = 0; i < l.line_count; i++) {
        const struct td_line *line = td_model_line(model, l.line_first + i);
        const uint32_t function = c->rank_of ? line->function : TD_NONE;
        bool repeated = false; /* recursion, unrolled by inlining */

        for (uint32_t k = 0; k < i && c->rank_of; k++)
            repeated =
                repeated || td_model_line(model, l.line_first + k)->function == line->function;
        if (repeated || !is_wanted(c, line))
            continue;
        const uint32_t container = td_model_line(model, l.line_first + l.line_count - 1)->function;
        charge(c, part_for(c, function, container, l.module), location, row);
        if (!c->rank_of || c->once)
            return;
    }
}

static int by_offset(const void *a, const void *b)
{
    const struct td_code_cost *x = a, *y = b;

    return (x->offset > y->offset) - (x->offset < y->offset);
}

static uint32_t rank_of_part(const struct collecting *c, const struct td_code_part *part)
{
    return c->rank_of[part->container == TD_NONE ? td_code_unnamed(c->measure->model, part->module)
                                                 : part->function];
}

static int compare_parts(const void *a, const void *b, void *ctx)
{
    const struct collecting *c = ctx;
    const enum td_metric primary = td_measure_primary(c->measure);
    const struct td_code_part *x = a, *y = b;

    if (c->rank_of && rank_of_part(c, x) != rank_of_part(c, y))
        return rank_of_part(c, x) < rank_of_part(c, y) ? -1 : 1;
    if (x->values[primary] != y->values[primary])
        return x->values[primary] > y->values[primary] ? -1 : 1;
    return (x->container > y->container) - (x->container < y->container);
}

static void finish_part(const struct td_measure *measure, struct td_code_part *part)
{
    qsort(part->at, part->len, sizeof(*part->at), by_offset);
    td_measure_sum_time(measure, part->values);
    for (size_t i = 0; i < part->len; i++)
        td_measure_sum_time(measure, part->at[i].values);
}

static void collect(struct collecting *c)
{
    struct td_code_parts *parts = c->parts;

    *parts = (struct td_code_parts){0};
    for (size_t i = 0; i < c->measure->row_count; i++)
        charge_row(c, i);
    for (size_t i = 0; i < parts->len; i++)
        finish_part(c->measure, &parts->at[i]);
    if (parts->len > 1)
        qsort_r(parts->at, parts->len, sizeof(*parts->at), compare_parts, c);
    td_map_release(&c->part_ids);
    td_map_release(&c->costs);
    td_map_release(&c->files);
    free(c->caps);
}

static void collect_functions(struct td_code_parts *parts, const struct td_measure *measure,
                              const uint32_t *functions, size_t count, bool once)
{
    uint32_t *rank_of =
        td_xcalloc((size_t)td_code_unnamed(measure->model, td_model_module_count(measure->model)),
                   sizeof(*rank_of));
    struct collecting c = {.measure = measure, .rank_of = rank_of, .once = once, .parts = parts};

    for (size_t i = 0; i < count; i++)
        rank_of[functions[i]] = (uint32_t)i + 1;
    collect(&c);
    free(rank_of);
}

void td_code_of_functions(struct td_code_parts *parts, const struct td_measure *measure,
                          const uint32_t *functions, size_t count)
{
    collect_functions(parts, measure, functions, count, false);
}

void td_code_of_any(struct td_code_parts *parts, const struct td_measure *measure,
                    const uint32_t *functions, size_t count)
{
    collect_functions(parts, measure, functions, count, true);
}

void td_code_of_lines(struct td_code_parts *parts, const struct td_measure *measure,
                      const char *pattern, uint32_t from, uint32_t to)
{
    struct collecting c = {
        .measure = measure, .pattern = pattern, .from = from, .to = to, .parts = parts};

    collect(&c);
}

void td_code_parts_release(struct td_code_parts *parts)
{
    for (size_t i = 0; i < parts->len; i++)
        free(parts->at[i].at);
    free(parts->at);
    *parts = (struct td_code_parts){0};
}
