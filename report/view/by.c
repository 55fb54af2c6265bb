/* SPDX-License-Identifier: MIT */
#include "report/view/by.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/query/figures/measure.h"
#include "report/view/table/table.h"
#include "report/view/table/units.h"

static void format_value(char *text, size_t size, const struct td_by_table *table, double value)
{
    const struct td_time_unit unit = td_time_unit_of(NULL, table->whole.max);

    if (table->metric == TD_METRIC_TIME_NS)
        snprintf(text, size, "%.*f", unit.decimals, value * unit.per_ns);
    else
        td_format_count(text, size, (uint64_t)(value + 0.5));
}

static void print_spread(const struct td_by_table *table, const struct td_spread *spread,
                         const char *name, const char *module, const struct td_style *style)
{
    const double values[] = {(double)spread->min, spread->mean, (double)spread->max};
    char text[32];
    char safe[512];

    fprintf(style->out, "%6.1f",
            table->whole.total ? 100 * (double)spread->total / (double)table->whole.total : 0);
    for (int i = 0; i < 3; i++) {
        format_value(text, sizeof(text), table, values[i]);
        fprintf(style->out, "  %13s", text);
    }
    td_text_safe(safe, sizeof(safe), name, strlen(name));
    fprintf(style->out, "  %9.1f  %s", 100 * spread->imbalance, safe);
    td_text_safe(safe, sizeof(safe), module, strlen(module));
    fprintf(style->out, "%s%s\n", safe[0] ? "  " : "", safe);
}

static const char *function_name(const struct td_model *model, const struct td_frame *frame)
{
    return frame->function == TD_NONE
               ? "[unknown]"
               : td_model_string(model, td_model_function(model, frame->function)->name);
}

void td_by_print(const struct td_by_table *table, const struct td_measure *measure, enum td_by by,
                 size_t shown, const struct td_style *style)
{
    const char *const unit = table->metric == TD_METRIC_TIME_NS
                                 ? td_time_unit_of(style, table->whole.max).name
                                 : td_metric_heading(measure, table->metric);

    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "%zu %s%s, in %s%s; imbalance is how far the greatest is above the mean",
            table->part_count, td_by_name(by),
            table->part_count == 1 ? ""
            : by == TD_BY_PROCESS  ? "es"
                                   : "s",
            td_measure_is_modelled(measure) ? "modelled " : "", unit);
    td_style_end(style, TD_TONE_HEADING);
    fprintf(style->out, "\n%6s  %13s  %13s  %13s  %9s\n", "%", "min", "mean", "max", "imb. %");
    print_spread(table, &table->whole, "(all)", "", style);
    for (size_t r = 0; r < table->row_count && r < shown; r++) {
        const struct td_by_row *const row = &table->rows[r];

        print_spread(table, &row->spread, function_name(measure->model, &row->frame),
                     td_module_name(measure->model, row->frame.module), style);
    }
}

static void json_spread(struct td_json *json, const struct td_spread *spread)
{
    td_json_u64(json, "total", spread->total);
    td_json_u64(json, "min", spread->min);
    td_json_double(json, "mean", spread->mean, 9);
    td_json_u64(json, "max", spread->max);
    td_json_double(json, "imbalance", spread->imbalance, 6);
}

void td_by_json(const struct td_by_table *table, const struct td_measure *measure, enum td_by by,
                size_t shown, struct td_json *json)
{
    td_json_string(json, "by", td_by_name(by));
    td_json_string(json, "metric", td_metric_key(table->metric));
    td_json_array(json, "parts");
    for (size_t p = 0; p < table->part_count; p++) {
        td_json_object(json, NULL);
        td_json_string(json, "name", table->parts[p].name);
        td_json_u64(json, "value", table->parts[p].value);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_object(json, "whole");
    json_spread(json, &table->whole);
    td_json_end(json);
    td_json_array(json, "functions");
    for (size_t r = 0; r < table->row_count && r < shown; r++) {
        const struct td_by_row *const row = &table->rows[r];

        td_json_object(json, NULL);
        td_json_string(json, "function", function_name(measure->model, &row->frame));
        td_json_string(json, "module", td_module_name(measure->model, row->frame.module));
        json_spread(json, &row->spread);
        td_json_end(json);
    }
    td_json_end(json);
}
