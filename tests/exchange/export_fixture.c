/* SPDX-License-Identifier: MIT */
/*
 * Writes a known profile in every export format into a folder: one of slots (inlined functions,
 * recursion, two threads, names that attack the formats) and one of time alone. Beside each,
 * totals.tsv says what every viewer has to show.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "formats/export/export.h"
#include "tests/unit/report_fixture.h"

struct stacks {
    uint32_t main_only, hot, inlined, recursive, hostile, unknown;
};

static struct stacks make_stacks(struct td_model *model)
{
    const uint32_t app = fx_module(model, "/bin/app");
    const uint32_t lib = fx_module(model, "/usr/lib/libm.so.6");
    const uint32_t f_main = fx_function(model, app, "main", "/src/app.c", 30);
    const uint32_t f_hot = fx_function(model, app, "hot", "/src/app.c", 10);
    const uint32_t f_step = fx_function(model, app, "step", "/src/step.h", 3);
    const uint32_t f_walk = fx_function(model, app, "walk", "/src/app.c", 20);
    const uint32_t f_bad = fx_function(
        model, app, "a;b\n\"</script><img src=x onerror=window.__pwn=1>\x1b[31m\xff,(1) x",
        "/src/ev\x1bil.c", 1);
    const uint32_t in_main = fx_location(model, f_main, 0x1000, 35);
    const uint32_t in_hot = fx_location(model, f_hot, 0x1100, 12);
    const uint32_t in_step = fx_inlined(model, f_step, 5, f_hot, 14, 0x1120);
    const uint32_t in_walk = fx_location(model, f_walk, 0x1200, 22);
    const uint32_t in_bad = fx_location(model, f_bad, 0x1300, 2);
    const uint32_t nowhere = td_model_put_location(model, lib, 0x1f40);
    struct stacks s = {.main_only = td_model_put_node(model, 0, in_main)};

    s.hot = td_model_put_node(model, s.main_only, in_hot);
    s.inlined = td_model_put_node(model, s.main_only, in_step);
    s.recursive = td_model_put_node(
        model, td_model_put_node(model, td_model_put_node(model, s.main_only, in_walk), in_walk),
        in_walk);
    s.hostile = td_model_put_node(model, s.main_only, in_bad);
    s.unknown = td_model_put_node(model, s.main_only, nowhere);
    return s;
}

static struct td_measure *new_measure(const struct td_model *model, size_t rows)
{
    struct td_measure *const measure = td_xcalloc(1, sizeof(*measure));

    measure->model = model;
    measure->event = TD_NONE;
    measure->rows = td_xcalloc(rows, sizeof(*measure->rows));
    return measure;
}

static void set(struct td_measure *measure, size_t row, enum td_metric metric, uint64_t value)
{
    if (!measure->values[metric])
        measure->values[metric] = td_xcalloc(measure->row_count, sizeof(uint64_t));
    measure->values[metric][row] += value;
    measure->totals[metric] += value;
}

static void set_node(struct td_measure *measure, size_t row, enum td_tma_node node, uint64_t value)
{
    set(measure, row, TD_METRIC_SLOTS, value);
    for (; node != TD_NODE_NONE; node = td_tma_info(node)->parent)
        set(measure, row, (enum td_metric)(TD_METRIC_FIRST_NODE + (int)node), value);
}

static size_t fill_rows(struct td_measure *measure, const struct stacks *s, uint32_t first,
                        uint32_t second)
{
    const struct td_measure_row rows[] = {
        {.thread = first, .node = s->main_only}, {.thread = first, .node = s->hot},
        {.thread = first, .node = s->inlined},   {.thread = first, .node = s->recursive},
        {.thread = second, .node = s->hot},      {.thread = second, .node = s->hostile},
        {.thread = second, .node = s->unknown},
    };

    memcpy(measure->rows, rows, sizeof(rows));
    measure->row_count = TD_ARRAY_SIZE(rows);
    return measure->row_count;
}

static void fill_slots(struct td_measure *measure)
{
    static const enum td_tma_node leaves[] = {TD_NODE_LIGHT_OPERATIONS,   TD_NODE_HEAVY_OPERATIONS,
                                              TD_NODE_BRANCH_MISPREDICTS, TD_NODE_FETCH_LATENCY,
                                              TD_NODE_DRAM_BOUND,         TD_NODE_CORE_BOUND};

    for (size_t row = 0; row < measure->row_count; row++) {
        for (size_t n = 0; n < TD_ARRAY_SIZE(leaves); n++)
            set_node(measure, row, leaves[n], 1000003 * (row + 1) * (n + 2) + 7 * row);
        set(measure, row, TD_METRIC_TIME_NS, 10000019 * (row + 1));
        set(measure, row, TD_METRIC_SAMPLES, row + 1);
    }
}

static void fill_time(struct td_measure *measure)
{
    for (size_t row = 0; row < measure->row_count; row++) {
        set(measure, row, TD_METRIC_TIME_NS, 1000003 * (row + 1));
        set(measure, row, TD_METRIC_SAMPLES, row + 1);
        measure->rows[row].time_ns = 5000000000 + 1000000 * row;
    }
    measure->by_sample = true;
}

static FILE *open_in(const char *folder, const char *name, const char *suffix)
{
    char *const path = td_xasprintf("%s/%s.%s", folder, name, suffix);
    FILE *const file = fopen(path, "w");

    if (!file) {
        perror(path);
        exit(1);
    }
    free(path);
    return file;
}

static void write_all(const struct td_measure *measure, const char *folder, const char *name)
{
    const struct td_export_opts opts = {.metric = TD_METRIC_COUNT, .tool = "tdreport test"};
    FILE *const totals = open_in(folder, name, "totals.tsv");

    for (unsigned m = 0; m < TD_METRIC_COUNT; m++) {
        if (measure->values[m])
            fprintf(totals, "%s\t%" PRIu64 "\n", td_metric_id((enum td_metric)m),
                    measure->totals[m]);
    }
    fclose(totals);
    for (const struct td_exporter *const *e = td_exporters; *e; e++) {
        FILE *const out = open_in(folder, name, (*e)->suffix);
        struct td_err err = TD_ERR_INIT;

        if ((*e)->write(measure, &opts, out, &err) != TD_OK || fclose(out) != 0) {
            fprintf(stderr, "%s: %s\n", (*e)->name, err.text);
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    struct td_model *const model = td_model_new();
    const struct stacks stacks = make_stacks(model);
    const uint32_t first = fx_thread(model, 100, 100, "app", "app");
    const uint32_t second = fx_thread(model, 100, 101, "worker", "app");
    struct td_measure *const slots = new_measure(model, 16);
    struct td_measure *const times = new_measure(model, 16);

    if (argc != 2 || td_make_dirs(argv[1], NULL) != TD_OK)
        return 2;
    td_model_add_env(model, "argv", "/bin/app");
    td_model_add_env(model, "argv", "--fast");
    td_model_add_env(model, "source", "sim");
    td_model_add_env(model, "source_reason", "no core PMU");
    td_model_add_env(model, "warning", "a warning to be seen");
    td_model_set_counter(model, TD_COUNTER_STARTED_NS, 5000000000);
    td_model_set_counter(model, TD_COUNTER_ENDED_NS, 5500000000);
    td_model_set_complete(model, true);
    fill_rows(slots, &stacks, first, second);
    fill_slots(slots);
    fill_rows(times, &stacks, first, second);
    fill_time(times);
    write_all(slots, argv[1], "slots");
    write_all(times, argv[1], "time");
    td_measure_free(slots);
    td_measure_free(times);
    td_model_free(model);
    return 0;
}
