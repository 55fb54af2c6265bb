/* SPDX-License-Identifier: MIT */
/* report/query: from a model to rows, tree and errors, by hand-made profiles. */
#include "report_fixture.h"

#include <math.h>

#include "report/query/figures/coverage.h"
#include "report/query/lines_of.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/names.h"
#include "report/query/figures/rows.h"
#include "report/attribution/stats.h"
#include "report/query/figures/tree.h"

/* Two functions in one program, one in a library, one thread more. */
struct clock_profile {
    struct td_model *model;
    uint32_t app, lib, f, g, h, group, main_thread, worker;
    uint32_t at_f, at_f2, at_g_in_f, at_h, at_unknown;
};

static void add(struct td_model *model, uint32_t thread, uint32_t node, uint32_t group,
                uint64_t samples, uint64_t ns)
{
    td_model_add_values(model, thread, node, group, samples, &ns);
}

static struct clock_profile clock_profile(void)
{
    struct clock_profile p = {.model = td_model_new()};
    struct td_model *m = p.model;

    p.app = fx_module(m, "/usr/bin/app");
    p.lib = fx_module(m, "/lib/libz.so.1");
    p.f = fx_function(m, p.app, "ns::f(int)", "/src/app.c", 10);
    p.g = fx_function(m, p.app, "g", "/src/g.h", 3);
    p.h = fx_function(m, p.lib, "h", "", 0);
    p.main_thread = fx_thread(m, 100, 100, "app", "app");
    p.worker = fx_thread(m, 100, 101, "worker", "app");
    p.group = fx_clock_group(m, 1000);
    p.at_f = td_model_put_node(m, 0, fx_location(m, p.f, 0x10, 12));
    p.at_f2 = td_model_put_node(m, 0, fx_location(m, p.f, 0x18, 13));
    p.at_g_in_f = td_model_put_node(m, 0, fx_inlined(m, p.g, 4, p.f, 14, 0x20));
    p.at_h = td_model_put_node(m, p.at_f, fx_location(m, p.h, 0x30, 0));
    p.at_unknown = td_model_put_node(m, 0, td_model_put_location(m, p.lib, 0x99));
    add(m, p.main_thread, p.at_f, p.group, 30, 30000);
    add(m, p.main_thread, p.at_f2, p.group, 5, 5000);
    add(m, p.main_thread, p.at_g_in_f, p.group, 40, 40000);
    add(m, p.worker, p.at_h, p.group, 15, 15000);
    add(m, p.worker, p.at_unknown, p.group, 10, 10000);
    return p;
}

static const struct td_row *row_named(const struct td_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (strcmp(td_row_name(rows, &rows->at[i]), name) == 0)
            return &rows->at[i];
    }
    fail_msg("no row '%s'", name);
    abort();
}

static void test_clock_measure(void **state)
{
    const struct clock_profile p = clock_profile();
    struct td_measure *m = fx_measure(p.model, NULL);

    (void)state;
    assert_int_equal(m->row_count, 5);
    assert_int_equal(m->totals[TD_METRIC_SAMPLES], 100);
    assert_int_equal(m->totals[TD_METRIC_TIME_NS], 100000);
    assert_null(m->values[TD_METRIC_SLOTS]);
    assert_null(m->values[TD_METRIC_FIRST_NODE]);
    assert_int_equal(td_measure_primary(m), TD_METRIC_TIME_NS);
    assert_false(td_measure_is_modelled(m));
    assert_int_equal(td_tree_of(m).len, 0);
    td_measure_free(m);
    td_model_free(p.model);
}

static void test_functions(void **state)
{
    const struct clock_profile p = clock_profile();
    struct td_measure *m = fx_measure(p.model, NULL);
    struct td_rows rows;

    (void)state;
    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    assert_int_equal(rows.len, 4);
    assert_string_equal(td_row_name(&rows, &rows.at[0]), "g");
    assert_int_equal(rows.at[0].values[TD_METRIC_TIME_NS], 40000);
    assert_int_equal(row_named(&rows, "ns::f(int)")->values[TD_METRIC_SAMPLES], 35);
    assert_int_equal(row_named(&rows, "ns::f(int)")->line, 10);
    assert_int_equal(row_named(&rows, "[unknown]")->module, p.lib);
    assert_true(fabs(td_row_share(&rows, &rows.at[0]) - 0.4) < 1e-12);
    td_rows_release(&rows);

    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, true);
    assert_int_equal(rows.len, 3);
    assert_int_equal(row_named(&rows, "ns::f(int)")->values[TD_METRIC_TIME_NS], 75000);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(p.model);
}

static void test_lines(void **state)
{
    const struct clock_profile p = clock_profile();
    struct td_measure *m = fx_measure(p.model, NULL);
    struct td_rows rows;

    (void)state;
    td_rows_init(&rows, m, TD_ROWS_LINES, false);
    assert_int_equal(rows.len, 5); /* g.h:4, app.c:12, app.c:13, h and unknown without a line */
    assert_int_equal(rows.at[0].line, 4);
    assert_string_equal(td_model_string(p.model, rows.at[0].file), "/src/g.h");
    assert_int_equal(row_named(&rows, "h")->line, 0);
    td_rows_release(&rows);

    td_rows_init(&rows, m, TD_ROWS_LINES, true);
    assert_int_equal(rows.at[0].line, 14); /* where g was inlined */
    assert_string_equal(td_row_name(&rows, &rows.at[0]), "ns::f(int)");
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(p.model);
}

/* A line that two functions share belongs to the one that took most of it. */
static void test_shared_line(void **state)
{
    struct clock_profile p = clock_profile();
    const uint32_t k = fx_function(p.model, p.app, "g<long>", "/src/g.h", 3);

    (void)state;
    add(p.model, p.worker, td_model_put_node(p.model, 0, fx_location(p.model, k, 0x77, 4)), p.group,
        50, 50000);
    struct td_measure *m = fx_measure(p.model, NULL);
    struct td_rows rows;
    td_rows_init(&rows, m, TD_ROWS_LINES, false);
    assert_int_equal(rows.at[0].values[TD_METRIC_SAMPLES], 90);
    assert_string_equal(td_row_name(&rows, &rows.at[0]), "g<long>");
    assert_int_equal(rows.at[0].others, 1);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(p.model);
}

/* Of two that took as much the first by name, in whichever order they were recorded. */
static void test_shared_line_ties(void **state)
{
    static const char *const others[] = {"a<long>", "z<long>"};
    static const char *const shown[] = {"a<long>", "g"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct clock_profile p = clock_profile();
        const uint32_t k = fx_function(p.model, p.app, others[i], "/src/g.h", 3);
        add(p.model, p.worker, td_model_put_node(p.model, 0, fx_location(p.model, k, 0x77, 4)),
            p.group, 40, 40000);
        struct td_measure *m = fx_measure(p.model, NULL);
        struct td_rows rows;
        td_rows_init(&rows, m, TD_ROWS_LINES, false);
        assert_int_equal(rows.at[0].values[TD_METRIC_SAMPLES], 80);
        assert_string_equal(td_row_name(&rows, &rows.at[0]), shown[i]);
        td_rows_release(&rows);
        td_measure_free(m);
        td_model_free(p.model);
    }
}

static void test_modules_and_threads(void **state)
{
    const struct clock_profile p = clock_profile();
    struct td_measure *m = fx_measure(p.model, NULL);
    struct td_rows rows;

    (void)state;
    td_rows_init(&rows, m, TD_ROWS_MODULES, false);
    assert_int_equal(rows.len, 2);
    assert_string_equal(td_row_name(&rows, &rows.at[0]), "app");
    assert_int_equal(rows.at[1].values[TD_METRIC_SAMPLES], 25);
    td_rows_release(&rows);
    td_rows_init(&rows, m, TD_ROWS_THREADS, false);
    assert_int_equal(rows.len, 2);
    assert_string_equal(td_row_name(&rows, &rows.at[1]), "worker");
    assert_int_equal(rows.at[1].values[TD_METRIC_SAMPLES], 25);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(p.model);
}

static uint64_t filtered(const struct td_model *model, const struct td_filter *filter)
{
    struct td_measure *m = fx_measure(model, filter);
    const uint64_t samples = m->totals[TD_METRIC_SAMPLES];

    td_measure_free(m);
    return samples;
}

static void test_filters(void **state)
{
    const struct clock_profile p = clock_profile();
    const char *worker[] = {"worker"}, *tid[] = {"100"}, *z[] = {"libz.so*"}, *f[] = {"f", "g"};
    const char *none[] = {"nothing"}, *process[] = {"app"};

    (void)state;
    assert_int_equal(filtered(p.model, &(struct td_filter){.threads = {worker, 1}}), 25);
    assert_int_equal(filtered(p.model, &(struct td_filter){.threads = {tid, 1}}), 75);
    assert_int_equal(filtered(p.model, &(struct td_filter){.processes = {process, 1}}), 100);
    assert_int_equal(filtered(p.model, &(struct td_filter){.modules = {z, 1}}), 25);
    assert_int_equal(filtered(p.model, &(struct td_filter){.functions = {f, 2}}), 75);
    assert_int_equal(filtered(p.model, &(struct td_filter){.functions = {f, 1}}), 35);
    assert_int_equal(filtered(p.model, &(struct td_filter){.functions = {f, 1}, .no_inline = true}),
                     75);
    assert_int_equal(filtered(p.model, &(struct td_filter){.functions = {none, 1}}), 0);
    td_model_free(p.model);
}

static void test_events(void **state)
{
    const struct clock_profile p = clock_profile();
    struct td_measure *m = NULL;
    struct td_err err = TD_ERR_INIT;

    (void)state;
    assert_int_equal(td_measure_new(&m, p.model, &(struct td_filter){.event = "cycles"}, &err),
                     TD_EUSAGE);
    assert_non_null(strstr(err.text, "cpu-clock"));
    struct td_model *empty = td_model_new();
    assert_int_equal(td_measure_new(&m, empty, NULL, &err), TD_ENODATA);
    td_model_free(empty);
    td_model_free(p.model);
}

static double busy_of(const struct td_measure *measure)
{
    const struct td_coverage c = td_coverage_of(measure);

    return td_coverage_busy(&c);
}

/* Whole CPUs run other programs too: how busy they were says nothing. */
static void test_busy_of_whole_cpus(void **state)
{
    const struct clock_profile p = clock_profile();

    (void)state;
    td_model_set_counter(p.model, TD_COUNTER_COUNTED_NS, 200000);
    td_model_set_counter(p.model, TD_COUNTER_STARTED_NS, 1000000);
    td_model_set_counter(p.model, TD_COUNTER_ENDED_NS, 3000000);
    td_model_add_env(p.model, "scope", "system");
    struct td_measure *m = fx_measure(p.model, NULL);
    assert_true(isnan(busy_of(m)));
    td_measure_free(m);
    td_model_free(p.model);
}

static void test_coverage(void **state)
{
    const struct clock_profile p = clock_profile();
    struct td_measure *m = NULL;

    (void)state;
    td_model_set_counter(p.model, TD_COUNTER_SAMPLES, 100);
    td_model_set_counter(p.model, TD_COUNTER_LOST, 7);
    td_model_set_counter(p.model, TD_COUNTER_TRUNCATED_STACKS, 5);
    td_model_set_counter(p.model, TD_COUNTER_COUNTED_NS, 200000);
    td_model_set_counter(p.model, TD_COUNTER_SAMPLED_NS, 100000);
    td_model_set_counter(p.model, TD_COUNTER_STARTED_NS, 1000000);
    td_model_set_counter(p.model, TD_COUNTER_ENDED_NS, 3000000);
    td_model_set_complete(p.model, true);
    m = fx_measure(p.model, NULL);
    assert_true(isnan(busy_of(m)));
    td_model_add_env(p.model, "scope", "command");
    assert_true(fabs(busy_of(m) - 0.1) < 1e-12);
    const struct td_coverage c = td_coverage_of(m);
    assert_int_equal(c.lost, 7);
    assert_true(fabs(c.unresolved_share - 0.10) < 1e-12);
    assert_true(fabs(c.no_line_share - 0.25) < 1e-12);
    assert_true(fabs(c.truncated_stacks_share - 0.05) < 1e-12);
    assert_true(fabs(c.unsampled_share - 0.5) < 1e-12);
    assert_true(fabs(c.unverified_share - 0.90) < 1e-12); /* no module here has a build-id */
    assert_true(c.complete);
    td_measure_free(m);
    td_model_free(p.model);
}

static void test_sections(void **state)
{
    const struct clock_profile p = clock_profile();
    struct td_measure *m = fx_measure(p.model, NULL);
    struct td_sections s;

    (void)state;
    td_sections_of_functions(&s, m, &p.f, 1, false);
    assert_int_equal(s.len, 1);
    assert_int_equal(s.at[0].len, 3);
    assert_int_equal(s.at[0].lines[0].line, 12);
    assert_int_equal(s.at[0].lines[0].values[TD_METRIC_SAMPLES], 30);
    assert_int_equal(s.at[0].lines[2].line, 14);
    assert_int_equal(s.at[0].lines[2].values[TD_METRIC_SAMPLES], 0);
    assert_int_equal(s.at[0].lines[2].inlined, 40000);
    assert_int_equal(s.at[0].values[TD_METRIC_SAMPLES], 35);
    td_sections_release(&s);
    const uint32_t both[] = {p.g, p.f}; /* what g costs in f is g's own, and inlined in f */
    td_sections_of_functions(&s, m, both, 2, false);
    assert_int_equal(s.len, 2);
    assert_int_equal(s.at[0].values[TD_METRIC_SAMPLES], 40);
    assert_int_equal(s.at[1].lines[2].inlined, 40000);
    td_sections_release(&s);
    td_sections_of_file(&s, m, "app.c", 13, 20, false);
    assert_int_equal(s.len, 1);
    assert_int_equal(s.at[0].len, 2);
    td_sections_release(&s);
    td_measure_free(m);
    td_model_free(p.model);
}

/* A modelled profile: slots by cause, exact. */
static struct td_model *sim_profile(uint32_t *hot)
{
    struct td_model *m = td_model_new();
    const uint32_t app = fx_module(m, "/usr/bin/app");
    const uint32_t f = fx_function(m, app, "chase", "/src/app.c", 10);
    const uint32_t g = fx_function(m, app, "cold", "/src/app.c", 40);
    const uint32_t thread = fx_thread(m, 1, 1, "app", "app");
    static const enum td_tma_node nodes[] = {TD_NODE_LIGHT_OPERATIONS, TD_NODE_DRAM_BOUND,
                                             TD_NODE_L1_BOUND,         TD_NODE_PORTS_UTILIZATION,
                                             TD_NODE_BRANCH_RESTEERS,  TD_NODE_BAD_SPECULATION};
    const struct td_event slots = {.name = td_model_intern_z(m, "slots"), .unit = TD_UNIT_SLOTS};
    const struct td_event cycles = {.name = td_model_intern_z(m, "cycles"), .unit = TD_UNIT_CYCLES};
    struct td_group group = {.name = td_model_intern_z(m, "sim"),
                             .role = TD_ROLE_MODEL,
                             .attribution = TD_ATTRIBUTION_EXACT,
                             .locates = TD_NODE_NONE,
                             .sampler = TD_NONE};
    const uint32_t slots_event = td_model_add_event(m, &slots);
    const uint32_t cycles_event = td_model_add_event(m, &cycles);

    for (size_t i = 0; i < 6; i++)
        group.columns[group.column_count++] =
            (struct td_column){TD_COLUMN_TOTAL, slots_event, nodes[i]};
    group.columns[group.column_count++] =
        (struct td_column){TD_COLUMN_TOTAL, cycles_event, TD_NODE_NONE};
    const uint32_t g_id = td_model_add_group(m, &group);
    const uint64_t a[] = {101, 507, 33, 11, 7, 1, 110}, b[] = {201, 3, 0, 9, 60, 17, 48};
    const uint32_t at_f = td_model_put_node(m, 0, fx_location(m, f, 0x10, 12));
    const uint32_t at_g = td_model_put_node(m, 0, fx_location(m, g, 0x40, 42));
    td_model_add_values(m, thread, at_f, g_id, 90, a);
    td_model_add_values(m, thread, at_g, g_id, 180, b);
    td_model_add_env(m, "source", "sim");
    td_model_add_env(m, "parameter", "clock_hz=3000000000");
    td_model_add_env(m, "parameter", "width=6");
    *hot = f;
    return m;
}

/* A thread's stacks that end in one place are one row; another thread has its own. What is sampled
 * keeps its stacks. */
static void rows_by_leaf(void **state)
{
    const struct td_filter by_leaf = {.by_leaf = true};
    const struct clock_profile sampled = clock_profile();
    const uint64_t more[] = {1, 2, 3, 4, 5, 6, 7};
    uint32_t hot = 0, rows = 0;
    uint64_t found = 0;
    struct td_model *model = sim_profile(&hot);
    const uint32_t at = td_model_tally(model, 0)->node, other = td_model_tally(model, 1)->node;
    const uint32_t location = td_model_node(model, at)->location;
    const uint32_t called = td_model_put_node(model, other, location);

    (void)state;
    td_model_add_values(model, 0, called, 0, 1, more);
    td_model_add_values(model, fx_thread(model, 1, 2, "worker", "app"), called, 0, 1, more);
    struct td_measure *m = fx_measure(model, &by_leaf), *whole = fx_measure(model, NULL);
    assert_int_equal(whole->row_count, 4);
    assert_int_equal(m->row_count, 3);
    assert_int_equal(m->totals[TD_METRIC_SLOTS], whole->totals[TD_METRIC_SLOTS]);
    for (size_t i = 0; i < m->row_count; i++) {
        if (m->rows[i].thread != 0 || td_model_node(model, m->rows[i].node)->location != location)
            continue;
        found += m->values[TD_METRIC_SLOTS][i];
        rows++;
    }
    assert_int_equal(rows, 1);
    assert_int_equal(found, 660 + 21);
    td_measure_free(whole);
    td_measure_free(m);
    td_model_free(model);

    m = fx_measure(sampled.model, &by_leaf);
    assert_int_equal(m->row_count, 5);
    assert_false(m->by_leaf);
    td_measure_free(m);
    td_model_free(sampled.model);
}

/* Every level adds up to the level above, every row to its slots, all rows to the total. */
static void test_sim_reconciles(void **state)
{
    uint32_t hot = 0;
    struct td_model *model = sim_profile(&hot);
    struct td_measure *m = fx_measure(model, NULL);
    uint64_t level1 = 0;

    (void)state;
    assert_true(td_measure_is_modelled(m));
    assert_int_equal(td_measure_primary(m), TD_METRIC_SLOTS);
    assert_int_equal(m->totals[TD_METRIC_SLOTS], 950);
    assert_int_equal(m->totals[TD_METRIC_INSTRUCTIONS], 270);
    assert_int_equal(m->totals[TD_METRIC_CYCLES], 158);
    assert_null(m->values[TD_METRIC_SAMPLES]);
    for (size_t r = 0; r < m->row_count; r++) {
        uint64_t sum = 0;

        for (int n = 0; n < TD_NODE_COUNT; n++) {
            const uint64_t *values = m->values[TD_METRIC_FIRST_NODE + n];
            if (values && td_tma_info((enum td_tma_node)n)->level == 1)
                sum += values[r];
        }
        assert_int_equal(sum, m->values[TD_METRIC_SLOTS][r]);
        level1 += sum;
    }
    assert_int_equal(level1, 950);
    assert_int_equal(m->totals[TD_METRIC_FIRST_NODE + TD_NODE_BACKEND_BOUND], 563);
    assert_int_equal(m->totals[TD_METRIC_FIRST_NODE + TD_NODE_MEMORY_BOUND], 543);
    assert_int_equal(m->totals[TD_METRIC_FIRST_NODE + TD_NODE_DRAM_BOUND], 510);
    /* 158 cycles at 3 GHz, rounded once */
    assert_int_equal(m->totals[TD_METRIC_TIME_NS], 53);
    assert_int_equal(m->values[TD_METRIC_TIME_NS][0] + m->values[TD_METRIC_TIME_NS][1], 53);
    td_measure_free(m);
    td_model_free(model);
}

static void test_sim_tree(void **state)
{
    uint32_t hot = 0;
    struct td_model *model = sim_profile(&hot);
    struct td_measure *m = fx_measure(model, NULL);
    const struct td_tree tree = td_tree_of(m);

    (void)state;
    assert_true(td_tree_find(&tree, TD_NODE_BACKEND_BOUND)->flagged);
    assert_true(td_tree_find(&tree, TD_NODE_DRAM_BOUND)->flagged);
    assert_false(td_tree_find(&tree, TD_NODE_FRONTEND_BOUND)->flagged);
    /* over its own threshold, but its parents are not: not flagged */
    assert_true(td_tree_find(&tree, TD_NODE_BRANCH_RESTEERS)->share > 0.05);
    assert_false(td_tree_find(&tree, TD_NODE_BRANCH_RESTEERS)->flagged);
    assert_true(td_tree_find(&tree, TD_NODE_BACKEND_BOUND)->error == 0);
    assert_null(td_tree_find(&tree, TD_NODE_DIVIDER));
    td_measure_free(m);
    td_model_free(model);
}

static void test_sim_rows(void **state)
{
    uint32_t hot = 0;
    struct td_model *model = sim_profile(&hot);
    struct td_measure *m = fx_measure(model, NULL);
    struct td_rows rows;
    struct td_sort sort;
    struct td_err err = TD_ERR_INIT;

    (void)state;
    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    assert_int_equal(rows.at[0].function, hot);
    assert_true(td_row_error(&rows, &rows.at[0]) == 0);
    assert_true(fabs(td_row_node_share(&rows.at[0], TD_NODE_DRAM_BOUND) - 507.0 / 660) < 1e-12);
    assert_int_equal(td_sort_parse(&sort, m, TD_ROWS_FUNCTIONS, "Frontend_Bound", &err), TD_OK);
    td_rows_sort(&rows, sort);
    assert_string_equal(td_row_name(&rows, &rows.at[0]), "cold");
    assert_int_equal(td_sort_parse(&sort, m, TD_ROWS_FUNCTIONS, "divider", &err), TD_EUSAGE);
    assert_non_null(strstr(err.text, "it has name, "));
    assert_non_null(strstr(err.text, ", frontend_bound"));
    assert_null(strstr(err.text, "samples")); /* a modelled profile has none */
    assert_int_equal(td_sort_parse(&sort, m, TD_ROWS_FUNCTIONS, "frontned_bound", &err), TD_EUSAGE);
    assert_non_null(strstr(err.text, "did you mean 'frontend_bound'"));
    assert_int_equal(td_sort_parse(&sort, m, TD_ROWS_FUNCTIONS, "FRONT", &err), TD_OK);
    assert_int_equal(sort.metric, td_metric_of_node(TD_NODE_FRONTEND_BOUND));
    assert_int_equal(td_sort_parse(&sort, m, TD_ROWS_FUNCTIONS, "bound", &err), TD_EUSAGE);
    assert_non_null(strstr(err.text, "any of frontend_bound, backend_bound"));
    assert_int_equal(td_sort_parse(&sort, m, TD_ROWS_FUNCTIONS, "file", &err), TD_OK);
    assert_int_equal(td_sort_parse(&sort, m, TD_ROWS_THREADS, "file", &err), TD_EUSAGE);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(model);
}

static void test_samples_in_order(void **state)
{
    struct clock_profile p = clock_profile();
    const uint64_t ns = 1000;

    (void)state;
    for (uint64_t i = 0; i < 5; i++) {
        const struct td_sample sample = {.time_ns = (i * 7) % 5,
                                         .thread = p.main_thread,
                                         .node = p.at_f,
                                         .group = p.group,
                                         .cpu = 0};
        td_model_add_sample(p.model, &sample, &ns);
    }
    struct td_measure *m = fx_measure(p.model, &(struct td_filter){.by_sample = true});
    assert_true(m->by_sample);
    assert_int_equal(m->row_count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(m->rows[i].time_ns, i);
    assert_int_equal(m->totals[TD_METRIC_TIME_NS], 5000);
    td_measure_free(m);
    td_model_free(p.model);
}

/* Wilson's interval for 10 of 100: 0.0552 to 0.1744 (Newcombe 1998 gives the formula). */
static void test_errors(void **state)
{
    (void)state;
    assert_true(fabs(td_share_error(0.1, 100) - (0.17437 - 0.05523) / 2) < 1e-4);
    assert_true(td_share_error(0, 1000) > 0);
    assert_true(td_share_error(0.5, 0) == 1);
    assert_true(td_share_error(0.5, 1000000) < 0.001);
}

static void expect_bare(const char *name, const char *expected)
{
    char bare[256];

    td_name_bare(bare, sizeof(bare), name);
    assert_string_equal(bare, expected);
}

static void test_bare_names(void **state)
{
    (void)state;
    expect_bare("main", "main");
    expect_bare("ns::Map<K, V>::find(K const&) const", "ns::Map::find");
    expect_bare("bool ns::f<int>(int)", "ns::f");
    expect_bare("std::enable_if<(a > b), int>::type pick<long>(long*)", "pick");
    expect_bare("(anonymous namespace)::helper(char const*)", "(anonymous namespace)::helper");
    expect_bare("operator<<(std::ostream&, X const&)", "operator<<");
    expect_bare("X::operator()(int) const", "X::operator()");
    expect_bare("X::operator->() const", "X::operator->");
    expect_bare("X::operator bool() const", "X::operator bool");
    expect_bare("operator new(unsigned long)", "operator new");
    expect_bare("f.constprop.0", "f");
    expect_bare("f(int) [clone .cold]", "f");
    expect_bare("<alloc::vec::Vec<T> as core::ops::Index>::index",
                "<alloc::vec::Vec<T> as core::ops::Index>::index");
    expect_bare("core::ops::function::FnOnce::call_once{{vtable.shim}}",
                "core::ops::function::FnOnce::call_once{{vtable.shim}}");
    expect_bare("f<", "f");
    expect_bare("", "");
    expect_bare("my_operator(int)", "my_operator");
}

static void test_patterns(void **state)
{
    (void)state;
    assert_true(td_pattern_names("find", "ns::Map<K, V>::find(K const&) const"));
    assert_true(td_pattern_names("Map::find", "ns::Map<K, V>::find(K const&) const"));
    assert_true(td_pattern_names("ns::*", "ns::Map<K, V>::find(K const&) const"));
    assert_false(td_pattern_names("ind", "ns::Map<K, V>::find(K const&) const"));
    assert_true(td_pattern_names("operator[]", "V::operator[](unsigned long)"));
    assert_true(td_pattern_is_path("token.cpp", "/b/lib/token.cpp"));
    assert_true(td_pattern_is_path("lib/token.cpp", "/b/lib/token.cpp"));
    assert_false(td_pattern_is_path("ib/token.cpp", "/b/lib/token.cpp"));
    assert_true(td_pattern_is_path("*.cpp", "/b/lib/token.cpp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_measure),
        cmocka_unit_test(rows_by_leaf),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_shared_line),
        cmocka_unit_test(test_shared_line_ties),
        cmocka_unit_test(test_modules_and_threads),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_busy_of_whole_cpus),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_sim_reconciles),
        cmocka_unit_test(test_sim_tree),
        cmocka_unit_test(test_sim_rows),
        cmocka_unit_test(test_samples_in_order),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_bare_names),
        cmocka_unit_test(test_patterns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
