/* SPDX-License-Identifier: MIT */
/* A diff as JSON, schema tdreport-diff/1. */
#include <math.h>
#include <stdio.h>

#include "report/query/figures/measure.h"
#include "report/view/diff/diff.h"
#include "report/view/diff/words.h"

#define DIGITS     6
#define SUM_DIGITS 15 /* changes add up to the total's */

static void column_json(struct td_json *json, const struct td_diff *diff, size_t column)
{
    const struct td_diff_column *c = &diff->columns[column];
    const struct td_model *model = c->first->model;
    const char *word = NULL;
    char label[TD_DIFF_LABEL];

    td_json_object(json, NULL);
    td_json_string(json, "label", td_diff_label(label, column));
    td_json_string(json, "name", c->name);
    td_json_u64(json, "runs", c->runs);
    td_json_double(json, "work", c->work, DIGITS);
    td_json_array(json, "command");
    for (size_t i = 0; (word = td_model_env_at(model, TD_ENV_ARGV, i)); i++)
        td_json_string(json, NULL, word);
    td_json_end(json);
    td_json_string(json, "source",
                   c->first->weighted ? "hybrid" : td_model_env(model, TD_ENV_SOURCE));
    td_json_string(json, "core", td_model_env(model, TD_ENV_CORE));
    td_json_bool(json, "modelled", td_measure_is_modelled(c->first));
    td_json_double(json, "instructions", c->instructions > 0 ? c->instructions : NAN, SUM_DIGITS);
    td_json_double(json, "cycles", c->cycles > 0 ? c->cycles : NAN, SUM_DIGITS);
    td_json_end(json);
}

static void reason_json(struct td_json *json, const struct td_diff *diff,
                        const struct td_diff_reason *reason)
{
    const struct td_diff_place *place = td_diff_place_of(diff, reason->row, diff->column_count - 1);
    const struct td_diff_place *line =
        reason->line ? td_diff_place_of(diff, reason->line, diff->column_count - 1) : NULL;

    td_json_object(json, NULL);
    td_json_string(json, "function", place->function);
    td_json_string(json, "module", place->module);
    td_json_string(json, "file", line ? line->file : NULL);
    if (line)
        td_json_u64(json, "line", line->line);
    else
        td_json_null(json, "line");
    td_json_string(json, "category",
                   reason->node == TD_NODE_NONE ? NULL : td_tma_info(reason->node)->id);
    td_json_double(json, "change", reason->delta, SUM_DIGITS);
    td_json_double(json, "error", reason->error, DIGITS);
    td_json_double(json, "change_share", td_diff_part(diff, reason->delta), DIGITS);
    td_json_end(json);
}

static void verdict_json(struct td_json *json, const struct td_diff *diff, size_t column)
{
    const struct td_diff_verdict v = td_diff_verdict_of(diff, column);
    char label[TD_DIFF_LABEL];

    td_json_object(json, NULL);
    td_json_string(json, "column", td_diff_label(label, column));
    td_json_bool(json, "significant", v.significant);
    td_json_double(json, "change", v.delta, SUM_DIGITS);
    td_json_double(json, "error", v.error, DIGITS);
    td_json_double(json, "change_share", v.change, DIGITS);
    td_json_double(json, "change_share_error", v.change_error, DIGITS);
    td_json_double(json, "speed", v.speed, DIGITS);
    td_json_double(json, "speed_low", v.speed_low, DIGITS);
    td_json_double(json, "speed_high", v.speed_high, DIGITS);
    td_json_array(json, "reasons");
    for (size_t i = 0; i < v.reason_count; i++)
        reason_json(json, diff, &v.reasons[i]);
    td_json_end(json);
    td_json_end(json);
}

/* Values by column, and changes of all but the first. */
static void figures_json(struct td_json *json, const struct td_diff *diff, const char *key,
                         const struct td_diff_row *row, unsigned what, enum td_diff_unit unit)
{
    if (!td_diff_cell_of(diff, row, 0, what, unit))
        return;
    td_json_object(json, key);
    td_json_array(json, "values");
    for (size_t c = 0; c < diff->column_count; c++) {
        const struct td_diff_cell *cell = td_diff_cell_of(diff, row, c, what, unit);

        td_json_double(json, NULL, cell->thin ? NAN : cell->value, SUM_DIGITS);
    }
    td_json_end(json);
    td_json_array(json, "errors");
    for (size_t c = 0; c < diff->column_count; c++)
        td_json_double(json, NULL, td_diff_cell_of(diff, row, c, what, unit)->error, DIGITS);
    td_json_end(json);
    td_json_array(json, "changes");
    for (size_t c = 1; c < diff->column_count; c++) {
        const struct td_change *change = &td_diff_cell_of(diff, row, c, what, unit)->change;

        td_json_object(json, NULL);
        td_json_double(json, "change", change->delta, SUM_DIGITS);
        td_json_double(json, "error", change->error, DIGITS);
        td_json_double(json, "chance", change->chance, DIGITS);
        td_json_bool(json, "significant", change->significant);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

static void units_json(struct td_json *json, const struct td_diff *diff,
                       const struct td_diff_row *row, unsigned what)
{
    figures_json(json, diff, td_metric_key(diff->cost), row, what, TD_DIFF_COST);
    if (diff->cost != TD_METRIC_SLOTS)
        figures_json(json, diff, td_metric_key(TD_METRIC_SLOTS), row, what, TD_DIFF_SLOTS);
}

static bool is_nothing(const struct td_diff *diff, const struct td_diff_row *row, unsigned what)
{
    for (size_t c = 0; c < diff->column_count; c++) {
        if (td_diff_cell_of(diff, row, c, what, TD_DIFF_COST)->value > 0)
            return false;
    }
    return true;
}

static void place_members(struct td_json *json, const struct td_diff_place *place)
{
    td_json_string(json, "function", place->function);
    td_json_string(json, "module", place->module);
    td_json_string(json, "file", place->file);
    if (place->line)
        td_json_u64(json, "line", place->line);
    else
        td_json_null(json, "line");
}

static void places_json(struct td_json *json, const struct td_diff *diff,
                        const struct td_diff_row *row)
{
    td_json_array(json, "places");
    for (size_t c = 0; c < diff->column_count; c++) {
        const struct td_diff_place *place = &row->places[c];

        if (!place->there) {
            td_json_null(json, NULL);
            continue;
        }
        td_json_object(json, NULL);
        place_members(json, place);
        td_json_end(json);
    }
    td_json_end(json);
}

static void row_json(struct td_json *json, const char *key, const struct td_diff *diff,
                     const struct td_diff_row *row)
{
    const struct td_diff_place *place = td_diff_place_of(diff, row, diff->column_count - 1);
    static const char *const words[] = {[TD_DIFF_IN_BOTH] = "both",
                                        [TD_DIFF_GONE] = "gone",
                                        [TD_DIFF_NEW] = "new",
                                        [TD_DIFF_IN_NONE] = "elsewhere"};

    td_json_object(json, key);
    if (row->kind != TD_DIFF_TOTAL) {
        place_members(json, place);
        td_json_bool(json, "rest", row->kind == TD_DIFF_REST);
        td_json_array(json, "status");
        for (size_t c = 1; c < diff->column_count; c++)
            td_json_string(json, NULL, words[td_diff_status_of(row, c)]);
        td_json_end(json);
        places_json(json, diff, row);
    }
    units_json(json, diff, row, TD_DIFF_WHOLE);
    td_json_object(json, "categories");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!td_diff_has(diff, TD_DIFF_NODE(n)) || is_nothing(diff, row, TD_DIFF_NODE(n)))
            continue;
        td_json_object(json, td_tma_info((enum td_tma_node)n)->id);
        units_json(json, diff, row, TD_DIFF_NODE(n));
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

static void rows_json(struct td_json *json, const char *key, const struct td_diff *diff,
                      const struct td_diff_rows *rows)
{
    td_json_array(json, key);
    for (size_t i = 0; i < rows->len; i++)
        row_json(json, NULL, diff, &rows->at[i]);
    td_json_end(json);
}

static void tree_json(struct td_json *json, const struct td_diff *diff)
{
    td_json_array(json, "tree");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        const struct td_tma_info *info = td_tma_info((enum td_tma_node)n);

        if (!td_diff_has(diff, TD_DIFF_NODE(n)))
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "id", info->id);
        td_json_string(json, "parent",
                       info->parent == TD_NODE_NONE ? NULL : td_tma_info(info->parent)->id);
        td_json_u64(json, "level", (uint64_t)info->level);
        units_json(json, diff, &diff->total, TD_DIFF_NODE(n));
        td_json_end(json);
    }
    td_json_end(json);
}

static void method_json(struct td_json *json, const struct td_diff *diff)
{
    static const char *const words[] = {[TD_DIFF_LINES_NONE] = NULL,
                                        [TD_DIFF_LINES_SAME] = "same",
                                        [TD_DIFF_LINES_TEXT] = "content",
                                        [TD_DIFF_LINES_DISTANCE] = "distance",
                                        [TD_DIFF_LINES_NUMBER] = "number"};

    td_json_object(json, "spread");
    td_json_bool(json, "assumed", diff->assumed);
    td_json_double(json, "total", diff->of_total.part, DIGITS);
    td_json_double(json, "rows", diff->of_rows.part, DIGITS);
    td_json_end(json);
    td_json_array(json, "lines_by");
    for (unsigned by = TD_DIFF_LINES_SAME; by <= TD_DIFF_LINES_NUMBER; by++) {
        if (diff->lines_by >> by & 1)
            td_json_string(json, NULL, words[by]);
    }
    td_json_end(json);
    td_json_array(json, "notes");
    for (size_t i = 0; i < diff->note_count; i++)
        td_json_string(json, NULL, diff->notes[i]);
    td_json_end(json);
}

void td_diff_json(const struct td_diff *diff, FILE *out)
{
    struct td_json json = td_json_init(out, 2);

    td_json_object(&json, NULL);
    td_json_string(&json, "schema", "tdreport-diff/1");
    td_json_string(&json, "unit", td_metric_key(diff->cost));
    td_json_array(&json, "columns");
    for (size_t c = 0; c < diff->column_count; c++)
        column_json(&json, diff, c);
    td_json_end(&json);
    td_json_array(&json, "verdict");
    for (size_t c = 1; c < diff->column_count; c++)
        verdict_json(&json, diff, c);
    td_json_end(&json);
    method_json(&json, diff);
    row_json(&json, "total", diff, &diff->total);
    tree_json(&json, diff);
    rows_json(&json, "functions", diff, &diff->functions);
    rows_json(&json, "lines", diff, &diff->lines);
    td_json_end(&json);
}
