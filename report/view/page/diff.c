/* SPDX-License-Identifier: MIT */
/* What a page says of two profiles compared: figures are [old, new, change, ±, whether it is
 * significant] in the diff's cost; null: too little is known. */
#include <math.h>

#include "report/view/page/page.h"

#define DIGITS     4
#define SUM_DIGITS 9
#define OLD        0
#define NOW        1

static void add_figure(struct td_json *json, const char *key, const struct td_diff *diff,
                       const struct td_diff_row *row, unsigned what)
{
    const struct td_diff_cell *old = td_diff_cell_of(diff, row, OLD, what, TD_DIFF_COST);
    const struct td_diff_cell *now = td_diff_cell_of(diff, row, NOW, what, TD_DIFF_COST);

    if (!old || !now) {
        td_json_null(json, key);
        return;
    }
    td_json_array(json, key);
    td_json_double(json, NULL, old->thin ? NAN : old->value, SUM_DIGITS);
    td_json_double(json, NULL, now->thin ? NAN : now->value, SUM_DIGITS);
    td_json_double(json, NULL, now->change.delta, SUM_DIGITS);
    td_json_double(json, NULL, now->change.error, DIGITS);
    td_json_u64(json, NULL, now->change.significant);
    td_json_end(json);
}

static void add_row(struct td_json *json, const struct td_diff *diff, const struct td_diff_row *row)
{
    const struct td_diff_place *place = td_diff_place_of(diff, row, NOW);
    enum td_tma_node causes[3];
    const size_t count = td_diff_causes(diff, row, NOW, causes, 3);

    td_json_object(json, NULL);
    if (row->kind == TD_DIFF_REST) {
        td_json_bool(json, "rest", true);
    } else {
        td_json_string(json, "function", place->function);
        td_json_string(json, "module", place->module);
        td_json_string(json, "file", place->file);
        td_json_u64(json, "line", place->line);
        td_json_bool(json, "was", row->places[OLD].there);
        td_json_bool(json, "is", row->places[NOW].there);
    }
    add_figure(json, "cost", diff, row, TD_DIFF_WHOLE);
    td_json_array(json, "causes");
    for (size_t i = 0; i < count; i++)
        td_json_string(json, NULL, td_tma_info(causes[i])->id);
    td_json_end(json);
    td_json_end(json);
}

static void add_rows(struct td_json *json, const char *key, const struct td_diff *diff,
                     const struct td_diff_rows *rows, size_t max)
{
    td_json_array(json, key);
    for (size_t i = 0; i < rows->len && i < max; i++)
        add_row(json, diff, &rows->at[i]);
    td_json_end(json);
}

static void add_verdict(struct td_json *json, const struct td_diff *diff)
{
    const struct td_diff_verdict v = td_diff_verdict_of(diff, NOW);

    td_json_object(json, "verdict");
    td_json_bool(json, "significant", v.significant);
    td_json_double(json, "change", v.change, DIGITS);
    td_json_double(json, "error", v.change_error, DIGITS);
    td_json_double(json, "speed", v.speed, DIGITS);
    td_json_double(json, "speed_low", v.speed_low, DIGITS);
    td_json_double(json, "speed_high", v.speed_high, DIGITS);
    td_json_array(json, "reasons");
    for (size_t i = 0; i < v.reason_count; i++) {
        const struct td_diff_reason *reason = &v.reasons[i];

        td_json_object(json, NULL);
        td_json_string(json, "function", td_diff_place_of(diff, reason->row, NOW)->function);
        td_json_string(json, "category",
                       reason->node == TD_NODE_NONE ? NULL : td_tma_info(reason->node)->id);
        td_json_double(json, "change", td_diff_part(diff, reason->delta), DIGITS);
        td_json_double(json, "error", td_diff_part(diff, reason->error), DIGITS);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_page_json_diff(struct td_json *json, const struct td_page_diff *d, size_t rows)
{
    const struct td_diff *diff = d->diff;

    td_json_object(json, "diff");
    td_json_string(json, "old_name", diff->columns[OLD].name);
    td_json_string(json, "new_name", diff->columns[NOW].name);
    td_json_string(json, "cost", td_metric_id(diff->cost));
    td_json_bool(json, "assumed", diff->assumed);
    td_json_bool(json, "lines_by_distance", diff->lines_by >> TD_DIFF_LINES_DISTANCE & 1);
    add_verdict(json, diff);
    add_figure(json, "total", diff, &diff->total, TD_DIFF_WHOLE);
    td_json_array(json, "tree");
    for (int n = 0; n < TD_NODE_COUNT; n++) {
        if (!td_diff_has(diff, TD_DIFF_NODE(n)))
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "id", td_tma_info((enum td_tma_node)n)->id);
        add_figure(json, "cost", diff, &diff->total, TD_DIFF_NODE(n));
        td_json_end(json);
    }
    td_json_end(json);
    add_rows(json, "functions", diff, &diff->functions, rows);
    add_rows(json, "lines", diff, &diff->lines, rows / 4);
    td_json_array(json, "notes");
    for (size_t i = 0; i < diff->note_count; i++)
        td_json_string(json, NULL, diff->notes[i]);
    td_json_end(json);
    td_page_json_stacks(json, d->old_stacks);
    td_json_end(json);
}
