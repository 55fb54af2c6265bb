/* SPDX-License-Identifier: MIT */
#include "report/view/rates.h"

#include <stdio.h>
#include <string.h>

#define DIGITS 9
#define NARROW 71 /* columns that a line of the longest unit takes */

static void heading(const struct td_rate *rate, const struct td_style *style)
{
    fputc('\n', style->out);
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "Rates of the whole recording%s%s%s", rate->modelled ? ", modelled" : "",
            rate->cpu_type[0] ? ", " : "", rate->cpu_type);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
}

static void print_rate(const struct td_rate *rate, const char *group, const struct td_style *style)
{
    const bool ratio = strcmp(rate->metric->unit, "ratio") == 0;
    char unit[64];

    snprintf(unit, sizeof(unit), "%s", ratio ? "%" : rate->metric->unit);
    for (char *p = unit; *p; p++)
        *p = *p == '_' ? ' ' : *p;
    /* A narrow screen has no room for the blanks between. */
    const bool narrow = style->width < NARROW && !style->full;
    fprintf(style->out, "  %-*s %-*s %*.2f %s", narrow ? 11 : 12, group, narrow ? 14 : 22,
            rate->metric->name, narrow ? 7 : 10, ratio ? 100 * rate->value : rate->value, unit);
    if (rate->run > 1) {
        td_style_begin(style, TD_TONE_DIM);
        fprintf(style->out, "  run %u", rate->run);
        td_style_end(style, TD_TONE_DIM);
    }
    fputc('\n', style->out);
}

void td_rates_print(const struct td_rates *rates, const struct td_style *style)
{
    for (size_t i = 0; i < rates->len; i++) {
        const struct td_rate *rate = &rates->at[i], *last = i ? rate - 1 : NULL;
        const bool begins = !last || strcmp(last->cpu_type, rate->cpu_type) != 0;
        const bool same = !begins && strcmp(last->metric->group, rate->metric->group) == 0;

        if (begins)
            heading(rate, style);
        print_rate(rate, same ? "" : rate->metric->group, style);
    }
}

void td_rates_json(const struct td_rates *rates, struct td_json *json)
{
    if (rates->len == 0)
        return;
    td_json_array(json, "rates");
    for (size_t i = 0; i < rates->len; i++) {
        const struct td_rate *rate = &rates->at[i];

        td_json_object(json, NULL);
        td_json_string(json, "cpu_type", rate->cpu_type);
        td_json_string(json, "group", rate->metric->group);
        td_json_string(json, "name", rate->metric->name);
        td_json_string(json, "unit", rate->metric->unit);
        td_json_double(json, "value", rate->value, DIGITS);
        if (rate->modelled)
            td_json_bool(json, "modelled", true);
        if (rate->run)
            td_json_u64(json, "run", rate->run);
        td_json_end(json);
    }
    td_json_end(json);
}
