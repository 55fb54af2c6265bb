/* SPDX-License-Identifier: MIT */
#include "report/view/cpi/methods.h"

#include <stdio.h>

#include "report/view/cpi/cpi.h"

enum { NAME_WIDTH = 16, COLUMN = 10 };

static const char *const titles[TD_CPI_WAY_COUNT] = {
    [TD_CPI_WAY_EXACT] = "exact",   [TD_CPI_WAY_INTERVAL] = "interval",
    [TD_CPI_WAY_POWER5] = "POWER5", [TD_CPI_WAY_RIGHT_PATH] = "naive-rp",
    [TD_CPI_WAY_NAIVE] = "naive",
};

static double cpi_of(const struct td_cpi_ways *ways, double cycles)
{
    return cycles / (double)ways->instructions;
}

static void print_heading(const char *first, const struct td_style *style)
{
    td_style_begin(style, TD_TONE_HEADING);
    fprintf(style->out, "  %-*s", NAME_WIDTH, first);
    for (int way = 0; way < TD_CPI_WAY_COUNT; way++)
        fprintf(style->out, "%*s", COLUMN, titles[way]);
    td_style_end(style, TD_TONE_HEADING);
    fputc('\n', style->out);
}

static void print_row(const struct td_cpi_ways *ways, unsigned row, bool differences,
                      const struct td_style *style)
{
    const int decimals = td_cpi_decimals(ways->cpi);
    const double exact = ways->cycles_of[TD_CPI_WAY_EXACT][row];

    fprintf(style->out, "  %-*s", NAME_WIDTH, td_cpi_row_name(row));
    for (int way = 0; way < TD_CPI_WAY_COUNT; way++) {
        const double cycles = ways->cycles_of[way][row];

        if (!ways->counts[way][row])
            fprintf(style->out, "%*s", COLUMN, "-");
        else if (differences && way == TD_CPI_WAY_EXACT)
            fprintf(style->out, "%*s", COLUMN, "");
        else if (differences)
            fprintf(style->out, "%+*.*f", COLUMN, decimals, cpi_of(ways, cycles - exact));
        else
            fprintf(style->out, "%*.*f", COLUMN, decimals, cpi_of(ways, cycles));
    }
    fputc('\n', style->out);
}

static void print_total(const struct td_cpi_ways *ways, const struct td_style *style)
{
    fprintf(style->out, "  %-*s", NAME_WIDTH, "total");
    for (int way = 0; way < TD_CPI_WAY_COUNT; way++)
        fprintf(style->out, "%*.*f", COLUMN, td_cpi_decimals(ways->cpi), ways->cpi);
    fputc('\n', style->out);
}

/* What a base below 0 means. */
static void print_negative(const struct td_cpi_ways *ways, const struct td_style *style)
{
    for (int way = 0; way < TD_CPI_WAY_COUNT; way++) {
        const double base = ways->cycles_of[way][TD_CPI_ROW_BASE];

        if (base < 0)
            fprintf(style->out, "  %s counts more cycles than there are: its base is below 0.\n",
                    titles[way]);
    }
}

void td_cpi_methods_print(const struct td_cpi_ways *ways, const struct td_style *style)
{
    fprintf(style->out, "\n");
    print_heading("CPI, by", style);
    for (unsigned row = 0; row < TD_CPI_ROWS; row++)
        print_row(ways, row, false, style);
    print_total(ways, style);
    fputc('\n', style->out);
    print_heading("less the exact", style);
    for (unsigned row = 0; row < TD_CPI_ROWS; row++)
        print_row(ways, row, true, style);
    fputs("\n  exact     slots of the modelled core, each charged to one cause\n"
          "  interval  interval analysis: cycles in which dispatch stalls\n"
          "  POWER5    cycles in which nothing completes, by the oldest instruction\n"
          "  naive-rp  misses times latency, of the right path alone\n"
          "  naive     misses times latency, of wrong paths too\n\n",
          style->out);
    print_negative(ways, style);
    fprintf(style->out,
            "  Front end and window stall at once in %.1f %% of the cycles: interval\n"
            "  analysis counts these for the window.\n",
            100 * ways->overlap);
    if (ways->scale > 1.001)
        fprintf(style->out, "  The run was sampled: each cycle that was counted stands for %.1f.\n",
                ways->scale);
}

static void json_way(const struct td_cpi_ways *ways, enum td_cpi_way way, struct td_json *json)
{
    td_json_object(json, NULL);
    td_json_string(json, "name", td_cpi_way_name(way));
    td_json_double(json, "cpi", ways->cpi, 15);
    td_json_array(json, "components");
    for (unsigned row = 0; row < TD_CPI_ROWS; row++) {
        const double cycles = ways->cycles_of[way][row];
        const double exact = ways->cycles_of[TD_CPI_WAY_EXACT][row];

        if (!ways->counts[way][row])
            continue;
        td_json_object(json, NULL);
        td_json_string(json, "name", td_cpi_row_name(row));
        td_json_double(json, "cpi", cpi_of(ways, cycles), 15);
        td_json_double(json, "cycles", cycles, 15);
        td_json_double(json, "difference", cpi_of(ways, cycles - exact), 15);
        td_json_end(json);
    }
    td_json_end(json);
    td_json_end(json);
}

void td_cpi_methods_json(const struct td_cpi_ways *ways, struct td_json *json)
{
    td_json_object(json, "methods");
    td_json_double(json, "cpi", ways->cpi, 15);
    td_json_double(json, "cycles", ways->cycles, 15);
    td_json_u64(json, "instructions", ways->instructions);
    td_json_double(json, "scale", ways->scale, 15);
    td_json_double(json, "overlap", ways->overlap, 15);
    td_json_array(json, "ways");
    for (int way = 0; way < TD_CPI_WAY_COUNT; way++)
        json_way(ways, (enum td_cpi_way)way, json);
    td_json_end(json);
    td_json_end(json);
}
