/* SPDX-License-Identifier: MIT */
/* report/query/figures/weights and formats/overlay: measured time with modelled categories. */
#include "report_fixture.h"

#include <math.h>

#include "formats/frames.h"
#include "formats/overlay.h"
#include "formats/replicates.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/rows.h"
#include "report/query/figures/tree.h"
#include "report/query/figures/totals.h"
#include "report/query/figures/weights.h"

enum { LIGHT, DRAM, COLUMNS }; /* of the modelled group; then cycles and instructions */

static void set_id(struct td_module *module, uint8_t first)
{
    module->build_id = (struct td_build_id){.size = 20, .bytes = {first}};
}

static uint32_t module_of(struct td_model *m, const char *path, uint8_t id)
{
    struct td_module module = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(m, path)};

    set_id(&module, id);
    return td_model_put_module(m, &module);
}

/* What retires is charged where the model charges it: as deep as the tree goes. */
static uint32_t sim_group(struct td_model *m)
{
    static const enum td_tma_node nodes[COLUMNS] = {TD_NODE_FP_VECTOR_256B, TD_NODE_DRAM_BOUND};
    struct td_group g = {.name = td_model_intern_z(m, "modelled"),
                         .role = TD_ROLE_MODEL,
                         .attribution = TD_ATTRIBUTION_EXACT,
                         .locates = TD_NODE_NONE,
                         .sampler = TD_NONE};
    const struct td_event slots = {.name = td_model_intern_z(m, "slots"), .unit = TD_UNIT_SLOTS};
    const struct td_event cycles = {.name = td_model_intern_z(m, "cycles"), .unit = TD_UNIT_CYCLES};
    const uint32_t slots_id = td_model_add_event(m, &slots);
    const uint32_t cycles_id = td_model_add_event(m, &cycles);

    for (int n = 0; n < COLUMNS; n++)
        g.columns[g.column_count++] = (struct td_column){TD_COLUMN_TOTAL, slots_id, nodes[n]};
    g.columns[g.column_count++] = (struct td_column){TD_COLUMN_TOTAL, cycles_id, TD_NODE_NONE};
    return td_model_add_group(m, &g);
}

/* Slots in millions. */
static void modelled(struct td_model *model, uint32_t location, uint64_t runs, uint64_t light,
                     uint64_t dram)
{
    const uint64_t m = 1000000;
    const uint64_t values[] = {light * m, dram * m, (light + dram) / 4 * m};

    td_model_add_values(model, 0, td_model_put_node(model, 0, location), 0, runs, values);
}

/* Two functions: f with a block of light work and one that waits, g of light work; and `avx`,
 * which runs only in the model. A core of 4 slots a cycle at 1 GHz. */
static struct td_model *sim_profile(void)
{
    struct td_model *m = td_model_new();
    const uint32_t app = module_of(m, "/bin/app", 1);
    const uint32_t f = fx_function(m, app, "f", "/src/a.c", 1);
    const uint32_t g = fx_function(m, app, "g", "/src/a.c", 20);
    const uint32_t avx = fx_function(m, app, "avx", "", 0);

    td_model_add_env(m, "source", "sim");
    td_model_add_env(m, "parameter", "clock_hz=1000000000");
    td_model_add_env(m, "parameter", "width=4");
    fx_thread(m, 7, 7, "app", "app");
    assert_int_equal(sim_group(m), 0);
    modelled(m, fx_location(m, f, 0x10, 2), 100, 4000, 0);
    modelled(m, fx_location(m, f, 0x14, 3), 100, 4000, 0);
    modelled(m, fx_location(m, f, 0x20, 4), 50, 1000, 7000);
    modelled(m, fx_location(m, g, 0x40, 21), 10, 16000, 0);
    modelled(m, fx_location(m, avx, 0x80, 0), 10, 8000, 0);
    return m;
}

/* A copy of the program elsewhere, of the same build; the kernel; and `evex`, which the model did
 * not run. */
static struct td_model *clock_profile(uint64_t in_first, uint64_t in_second)
{
    struct td_model *m = td_model_new();
    const uint32_t app = module_of(m, "/tmp/copy/app", 1);
    const uint32_t other = module_of(m, "/lib/other.so", 2);
    const struct td_module kernel = {.kind = TD_MODULE_KERNEL,
                                     .path = td_model_intern_z(m, "[kernel]")};
    const uint32_t core = td_model_put_module(m, &kernel);
    const uint32_t thread = fx_thread(m, 9, 9, "app", "app");
    const uint32_t group = fx_clock_group(m, 1000);
    const struct {
        uint32_t location;
        uint64_t samples;
    } rows[] = {{td_model_put_location(m, app, 0x12), in_first}, /* inside of an instruction */
                {td_model_put_location(m, app, 0x20), in_second},
                {td_model_put_location(m, app, 0x40), 1000},
                {td_model_put_location(m, other, 0x10), 300},
                {td_model_put_location(m, core, 0x999), 200}};
    const struct td_symbol symbol = {.offset = 0x900,
                                     .size = 0x100,
                                     .name = td_model_intern_z(m, "page_fault"),
                                     .file = td_model_intern_z(m, "/src/fault.c"),
                                     .line = 12};

    td_model_add_symbol(m, core, &symbol);
    td_model_set_counter(m, TD_COUNTER_SAMPLES, 4500);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t ns = 1000000 * rows[i].samples;

        td_model_add_values(m, thread, td_model_put_node(m, 0, rows[i].location), group,
                            rows[i].samples, &ns);
    }
    return m;
}

/* What the symbolizer would do with the places that the clock profile brought along. */
static void name_places(struct td_model *m)
{
    for (uint32_t i = 0; i < td_model_location_count(m); i++) {
        const struct td_location l = *td_model_location(m, i);

        if (l.line_count == 0 && l.module == 0 && l.offset == 0x12) {
            const struct td_line line = {.function = 0, .file = 0, .line = 2};
            td_model_set_lines(m, i, &line, 1);
        }
    }
}

struct join {
    struct td_model *model;
    struct td_measure *measure;
    struct td_rows rows;
};

static struct join join_of(uint64_t in_first, uint64_t in_second, const struct td_filter *filter)
{
    struct join j = {.model = sim_profile()};
    struct td_model *clock = clock_profile(in_first, in_second);
    struct td_err err = TD_ERR_INIT;

    assert_int_equal(td_overlay_add(j.model, clock, TD_ROLE_TIME, &err), TD_OK);
    td_model_free(clock);
    name_places(j.model);
    assert_int_equal(td_measure_new(&j.measure, j.model, filter, &err), TD_OK);
    td_rows_init(&j.rows, j.measure, TD_ROWS_FUNCTIONS, false);
    return j;
}

static void release(struct join *j)
{
    td_rows_release(&j->rows);
    td_measure_free(j->measure);
    td_model_free(j->model);
}

static const struct td_row *row_of(const struct join *j, const char *function)
{
    for (size_t i = 0; i < j->rows.len; i++) {
        if (strcmp(td_row_name(&j->rows, &j->rows.at[i]), function) == 0)
            return &j->rows.at[i];
    }
    fail_msg("no row of %s", function);
    return NULL;
}

static void overlay_joins_by_build_id(void **state)
{
    struct join j = join_of(1000, 2000, NULL);

    (void)state;
    assert_int_equal(td_model_module_count(j.model), 3); /* the copy is the same module */
    assert_int_equal(td_model_counter(j.model, TD_COUNTER_SAMPLES), 4500);
    assert_true(j.measure->weighted);
    assert_string_equal(td_weights_event(j.model), "cpu-clock");
    release(&j);
}

/* The strings of a symbol are the model's that it is put into. */
static void overlay_brings_symbols(void **state)
{
    struct join j = join_of(1000, 2000, NULL);
    size_t found = 0;

    (void)state;
    for (uint32_t m = 0; m < td_model_module_count(j.model); m++) {
        size_t count = 0;
        const struct td_symbol *symbols = td_model_symbols(j.model, m, &count);

        for (size_t i = 0; i < count; i++, found++) {
            assert_string_equal(td_model_string(j.model, symbols[i].name), "page_fault");
            assert_string_equal(td_model_string(j.model, symbols[i].file), "/src/fault.c");
            assert_int_equal(symbols[i].line, 12);
        }
    }
    assert_int_equal(found, 1);
    release(&j);
}

static void overlay_refuses(void **state)
{
    struct td_model *sim = sim_profile(), *clock = clock_profile(1, 1);
    struct td_err err = TD_ERR_INIT;

    (void)state;
    assert_int_equal(td_overlay_add(clock, sim, TD_ROLE_TIME, &err), TD_EUSAGE);
    assert_non_null(strstr(err.text, "has no time samples"));
    assert_int_equal(td_overlay_add(sim, clock, TD_ROLE_TIME, &err), TD_OK);
    assert_int_equal(td_overlay_add(sim, clock, TD_ROLE_TIME, &err), TD_EUSAGE);
    td_model_free(sim);
    td_model_free(clock);
}

static void time_is_measured(void **state)
{
    struct join j = join_of(1000, 2000, NULL);

    (void)state;
    assert_int_equal(j.rows.primary, TD_METRIC_TIME_NS);
    assert_int_equal(j.measure->totals[TD_METRIC_TIME_NS], 4500000000);
    assert_int_equal(row_of(&j, "f")->values[TD_METRIC_TIME_NS], 3000000000);
    assert_int_equal(row_of(&j, "f")->values[TD_METRIC_SAMPLES], 3000);
    assert_int_equal(row_of(&j, "g")->values[TD_METRIC_TIME_NS], 1000000000);
    assert_int_equal(td_measure_categorized_ns(j.measure), 4000000000);
    release(&j);
}

static double share(const struct join *j, const char *function, enum td_tma_node node)
{
    return td_row_node_share(row_of(j, function), node);
}

/* f takes 3 s, which have 12 G slots; 9 G of them retire uops, and what is left was lost. */
static void categories_are_modelled(void **state)
{
    struct join j = join_of(1000, 2000, NULL);

    (void)state;
    assert_true(fabs(share(&j, "f", TD_NODE_RETIRING) - 9.0 / 12) < 1e-6);
    assert_true(fabs(share(&j, "f", TD_NODE_DRAM_BOUND) - 3.0 / 12) < 1e-6);
    assert_int_equal(row_of(&j, "f")->values[TD_METRIC_SLOTS], UINT64_C(12000000000));
    release(&j);
    j = join_of(4000, 2000, NULL); /* 24 G slots: longer than modelled */
    assert_true(fabs(share(&j, "f", TD_NODE_RETIRING) - 9.0 / 24) < 1e-6);
    assert_true(fabs(share(&j, "f", TD_NODE_DRAM_BOUND) - 15.0 / 24) < 1e-6);
    release(&j);
}

/* Where in a function a sample lies says nothing: it is behind what took the time. */
static void skid_moves_nothing(void **state)
{
    struct join there = join_of(0, 3000, NULL), here = join_of(3000, 0, NULL);

    (void)state;
    assert_memory_equal(row_of(&there, "f")->values, row_of(&here, "f")->values,
                        sizeof(here.rows.at[0].values));
    release(&there);
    release(&here);
}

/* g retires 16 G uops in 1 s, which has 4 G slots: no more than those can be said to. */
static void retired_slots_are_uops(void **state)
{
    const uint64_t samples[][2] = {{0, 1}, {7, 3}, {1000, 2000}, {500, 0}, {40000, 9000}};

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct join j = join_of(samples[i][0], samples[i][1], NULL);
        const uint64_t f = row_of(&j, "f")->values[TD_METRIC_FIRST_NODE + TD_NODE_RETIRING];

        assert_true(f <= UINT64_C(9000000000));
        assert_true(f <= row_of(&j, "f")->values[TD_METRIC_SLOTS]);
        assert_true(share(&j, "g", TD_NODE_RETIRING) == 1);
        assert_int_equal(row_of(&j, "g")->values[TD_METRIC_SLOTS], UINT64_C(4000000000));
        assert_true(td_weights_coverage_of(j.measure).too_fast > 0);
        release(&j);
    }
}

/* What the model says of the same code is never farther away than the error. */
static void errors_hold_the_model(void **state)
{
    static const enum td_tma_node nodes[] = {TD_NODE_RETIRING, TD_NODE_DRAM_BOUND};
    const uint64_t samples[][2] = {{0, 1}, {7, 3}, {1000, 2000}, {500, 0}, {40000, 9000}};

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct join j = join_of(samples[i][0], samples[i][1], NULL);
        const struct td_tree tree = td_tree_of(j.measure);

        for (size_t n = 0; n < 2; n++) {
            const double f = n == 0 ? 9.0 / 16 : 7.0 / 16, all = n == 0 ? 33.0 / 40 : 7.0 / 40;
            const struct td_cell cell = td_row_cell(&j.rows, row_of(&j, "f"), nodes[n]);
            const struct td_tree_node *whole = td_tree_find(&tree, nodes[n]);

            assert_true(cell.error >= fabs(cell.share - f));
            assert_true(cell.error > 0.05 && cell.error <= 1);
            assert_true(whole->error >= fabs(whole->share - all));
        }
        release(&j);
    }
}

/* f has 16 of the 40 G slots of the model, g 16: a row's ± holds that of its time and of its slots,
 * and the totals' hold the model's 40 G. */
static void plain_errors_hold_the_model(void **state)
{
    const uint64_t samples[][2] = {{0, 1}, {7, 3}, {1000, 2000}, {500, 0}, {40000, 9000}};
    const char *const names[] = {"f", "g"};

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct join j = join_of(samples[i][0], samples[i][1], NULL);
        struct td_total totals[TD_TOTALS_MAX];
        const size_t len = td_totals_of(totals, j.measure);

        for (size_t n = 0; n < 2; n++) {
            const struct td_row *row = row_of(&j, names[n]);
            const double error = td_row_error(&j.rows, row);

            assert_true(error > 0 && error <= 1);
            assert_true(error >= td_row_sampling_error(&j.rows, row));
            assert_true(error >= fabs(td_row_share_of(&j.rows, row, TD_METRIC_SLOTS) - 16.0 / 40));
            assert_true(error >=
                        fabs(td_row_share_of(&j.rows, row, TD_METRIC_TIME_NS) - 16.0 / 40));
        }
        assert_true(len >= 2);
        for (size_t t = 0; t < len; t++) {
            if (totals[t].metric == TD_METRIC_SLOTS)
                assert_true((double)totals[t].error >= fabs((double)totals[t].value - 40e9));
            assert_true(totals[t].error > 0);
        }
        release(&j);
    }
}

/* Three samples are no ground to print a category by. */
static void few_samples_are_blank(void **state)
{
    struct join j = join_of(1, 2, NULL);

    (void)state;
    assert_int_equal(row_of(&j, "f")->values[TD_METRIC_TIME_NS], 3000000);
    assert_true(td_row_cell(&j.rows, row_of(&j, "f"), TD_NODE_RETIRING).thin);
    release(&j);
}

static void what_was_not_modelled_keeps_its_time(void **state)
{
    struct join j = join_of(1000, 2000, NULL);
    const struct td_weights_coverage c = td_weights_coverage_of(j.measure);
    size_t without = 0;

    (void)state;
    for (size_t i = 0; i < j.rows.len; i++) {
        if (j.rows.at[i].values[TD_METRIC_SLOTS] == 0 && j.rows.at[i].values[TD_METRIC_TIME_NS] > 0)
            without++;
    }
    assert_int_equal(without, 2); /* the library, the kernel */
    assert_true(fabs(c.uncategorized - 500.0 / 4500) < 1e-9);
    assert_true(fabs(c.modelled_only - 8000.0 / 40000) < 1e-9);
    release(&j);
}

/* f is half of modelled time (of what ran in both) and three quarters of the samples. */
static void disagreement(void **state)
{
    struct join j = join_of(1000, 2000, NULL);
    struct td_weights_check c = td_weights_check_of(j.measure, row_of(&j, "g")->values);

    (void)state;
    assert_true(fabs(c.sampled_share - 0.25) < 1e-9);
    assert_true(fabs(c.modelled_share - 0.5) < 1e-3);
    assert_true(c.disagrees);
    c = td_weights_check_of(j.measure, row_of(&j, "f")->values);
    assert_true(fabs(c.sampled_share - 0.75) < 1e-9);
    assert_false(c.disagrees); /* by half as much, not more */
    release(&j);
    j = join_of(500, 500, NULL);
    c = td_weights_check_of(j.measure, row_of(&j, "g")->values);
    assert_false(c.disagrees);
    release(&j);
}

/* Rows, tree and totals are sums of each other, whatever was rounded. */
static void sums_are_exact(void **state)
{
    struct join j = join_of(37, 1001, NULL);
    const struct td_measure *m = j.measure;

    (void)state;
    for (unsigned k = 0; k < TD_METRIC_COUNT; k++) {
        uint64_t sum = 0;

        for (size_t i = 0; m->values[k] && i < m->row_count; i++)
            sum += m->values[k][i];
        assert_int_equal(sum, m->totals[k]);
    }
    uint64_t tops = 0;
    const struct td_tree tree = td_tree_of(m);
    for (size_t i = 0; i < tree.len; i++) {
        if (td_tma_info(tree.at[i].node)->level == 1)
            tops += tree.at[i].slots;
    }
    assert_int_equal(tops, m->totals[TD_METRIC_SLOTS]);
    release(&j);
}

/* A filter takes rows out of the join; it does not change how they fit. */
static void filters_come_after(void **state)
{
    const char *const names[] = {"f"};
    const struct td_filter filter = {.functions = {names, 1}};
    struct join all = join_of(1000, 2000, NULL), one = join_of(1000, 2000, &filter);

    (void)state;
    assert_int_equal(one.rows.len, 1);
    assert_memory_equal(row_of(&one, "f")->values, row_of(&all, "f")->values,
                        sizeof(one.rows.at[0].values));
    assert_int_equal(one.measure->totals[TD_METRIC_TIME_NS], 3000000000);
    release(&all);
    release(&one);
}

/* Natively evex versions ran, in windows those of avx2: 16 G slots of __strlen_avx2, a quarter of
 * which retires. `elsewhere` is of the same name in another module. */
static struct join versions_of(const char *source)
{
    struct join j = {.model = td_model_new()};
    struct td_model *m = j.model;
    const uint32_t libc = module_of(m, "/lib/libc.so.6", 1);
    const uint32_t other = module_of(m, "/lib/other.so", 2);
    const uint32_t met = fx_function(m, libc, "__strlen_avx2", "/src/avx2.S", 1);
    const uint32_t ran = fx_function(m, libc, "__strlen_evex", "/src/evex.S", 1);
    const uint32_t same = fx_function(m, libc, "__memchr_evex", "/src/memchr.S", 1);
    const uint32_t elsewhere = fx_function(m, other, "__strlen_evex", "/src/other.S", 1);
    const struct {
        uint32_t location;
        uint64_t samples;
    } rows[] = {{fx_location(m, ran, 0x10, 5), 900},
                {fx_location(m, ran, 0x20, 6), 100},
                {fx_location(m, same, 0x30, 7), 300},
                {fx_location(m, elsewhere, 0x10, 8), 200}};

    td_model_add_env(m, "source", source);
    td_model_add_env(m, "parameter", "clock_hz=1000000000");
    td_model_add_env(m, "parameter", "width=4");
    fx_thread(m, 7, 7, "app", "app");
    assert_int_equal(sim_group(m), 0);
    modelled(m, fx_location(m, met, 0x80, 2), 10, 4000, 0);
    modelled(m, fx_location(m, met, 0x90, 3), 10, 0, 12000);
    const uint32_t group = fx_clock_group(m, 1000);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint64_t ns = 1000000 * rows[i].samples;

        td_model_add_values(m, 0, td_model_put_node(m, 0, rows[i].location), group, rows[i].samples,
                            &ns);
    }
    j.measure = fx_measure(m, NULL);
    td_rows_init(&j.rows, j.measure, TD_ROWS_FUNCTIONS, false);
    return j;
}

static void versions_are_one_function(void **state)
{
    struct join j = versions_of("live");
    struct td_weights_version *versions = NULL;
    size_t count = 0, evex = 0;

    (void)state;
    assert_true(j.measure->weighted);
    for (size_t i = 0; i < j.rows.len; i++) {
        const struct td_row *row = &j.rows.at[i];
        const char *name = td_row_name(&j.rows, row);

        assert_string_not_equal(name, "__strlen_avx2"); /* it took no time */
        if (strcmp(name, "__strlen_evex") != 0 ||
            strcmp(td_module_name(j.model, row->module), "libc.so.6") != 0) {
            assert_int_equal(row->values[TD_METRIC_SLOTS], 0);
            continue;
        }
        evex++;
        assert_int_equal(row->values[TD_METRIC_TIME_NS], 1000000000);
        assert_int_equal(row->values[TD_METRIC_SLOTS], UINT64_C(4000000000));
        assert_true(fabs(td_row_node_share(row, TD_NODE_RETIRING) - 0.25) < 1e-6);
        const struct td_cell cell = td_row_cell(&j.rows, row, TD_NODE_DRAM_BOUND);
        assert_true(fabs(cell.share - 0.75) < 1e-6);
        assert_false(cell.thin);
    }
    assert_int_equal(evex, 1);
    assert_true(fabs(td_weights_coverage_of(j.measure).uncategorized - 500.0 / 1500) < 1e-9);
    assert_true(td_weights_coverage_of(j.measure).modelled_only == 0);
    versions = td_weights_versions(j.measure, &count);
    assert_int_equal(count, 1);
    assert_int_equal(versions[0].ns, 1000000000);
    free(versions);
    release(&j);
}

/* A window's replicates of a place, of one node: all it saw there, with its signs. */
static void add_window(struct td_model *m, unsigned window, uint32_t location, uint32_t group,
                       uint64_t slots)
{
    uint64_t values[TD_REPLICATES];

    for (unsigned r = 0; r < TD_REPLICATES; r++) {
        const int64_t sign = __builtin_popcount(window & r) & 1 ? -1 : 1;

        values[r] = (uint64_t)(sign * (int64_t)slots);
    }
    td_model_add_values(m, 0, td_model_put_node(m, 0, location), group, 0, values);
}

static uint32_t replicates_group(struct td_model *m, enum td_tma_node node)
{
    struct td_group g = {.name = td_model_intern_z(m, "replicates"),
                         .role = TD_ROLE_REPLICATES,
                         .attribution = TD_ATTRIBUTION_EXACT,
                         .locates = node,
                         .sampler = TD_NONE};

    for (int r = 0; r < TD_REPLICATES; r++)
        g.columns[g.column_count++] = (struct td_column){TD_COLUMN_REPLICATE, TD_NONE, node};
    return td_model_add_group(m, &g);
}

/* Half of the slots of `often` and of `once` wait for memory, in each window that met them: of the
 * one all 16, of the other one. */
static void few_windows_are_less_sure(void **state)
{
    enum { WINDOWS = TD_REPLICATES, OFTEN = 40, ONCE = 100 };
    struct join j = {.model = td_model_new()};
    struct td_model *m = j.model;

    (void)state;
    const uint32_t app = module_of(m, "/bin/app", 1);
    const uint32_t places[] = {
        fx_location(m, fx_function(m, app, "often", "/src/a.c", 1), 0x10, 2),
        fx_location(m, fx_function(m, app, "once", "/src/a.c", 20), 0x40, 21)};
    td_model_add_env(m, "source", "live");
    td_model_add_env(m, "parameter", "clock_hz=1000000000");
    td_model_add_env(m, "parameter", "width=4");
    fx_thread(m, 7, 7, "app", "app");
    assert_int_equal(sim_group(m), 0);
    const uint32_t groups[] = {replicates_group(m, TD_NODE_LIGHT_OPERATIONS),
                               replicates_group(m, TD_NODE_DRAM_BOUND)};
    for (unsigned w = 0; w < WINDOWS; w++) {
        for (unsigned g = 0; g < 2; g++) {
            add_window(m, w, places[0], groups[g], OFTEN * 1000000);
            if (w == 5)
                add_window(m, w, places[1], groups[g], ONCE * 1000000);
        }
    }
    modelled(m, places[0], 10, WINDOWS * OFTEN, WINDOWS * OFTEN);
    modelled(m, places[1], 10, ONCE, ONCE);
    const uint32_t clock = fx_clock_group(m, 1000);
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t ns = UINT64_C(1000000000);

        td_model_add_values(m, 0, td_model_put_node(m, 0, places[i]), clock, 1000, &ns);
    }
    j.measure = fx_measure(m, NULL);
    td_rows_init(&j.rows, j.measure, TD_ROWS_FUNCTIONS, false);
    assert_true(j.measure->weighted);
    const struct td_cell often = td_row_cell(&j.rows, row_of(&j, "often"), TD_NODE_DRAM_BOUND);
    const struct td_cell once = td_row_cell(&j.rows, row_of(&j, "once"), TD_NODE_DRAM_BOUND);
    assert_true(fabs(often.share - 0.5) < 1e-6 && fabs(once.share - 0.5) < 1e-6);
    assert_true(often.error < 0.1);
    assert_true(once.error > 0.4);
    release(&j);
}

static void versions_have_no_lines(void **state)
{
    struct join j = versions_of("live");
    struct td_rows lines;
    size_t found = 0;

    (void)state;
    td_rows_init(&lines, j.measure, TD_ROWS_LINES, false);
    for (size_t i = 0; i < lines.len; i++) {
        const struct td_row *row = &lines.at[i];

        if (row->values[TD_METRIC_SLOTS] == 0)
            continue;
        found++;
        assert_int_equal(row->values[TD_METRIC_TIME_NS], row->line == 5 ? 900000000 : 100000000);
        assert_true(td_row_cell(&lines, row, TD_NODE_DRAM_BOUND).thin);
        assert_true(td_row_cell(&lines, row, TD_NODE_RETIRING).thin);
    }
    assert_int_equal(found, 2);
    td_rows_release(&lines);
    for (unsigned k = 0; k < TD_METRIC_COUNT; k++) {
        uint64_t sum = 0;

        for (size_t i = 0; j.measure->values[k] && i < j.measure->row_count; i++)
            sum += j.measure->values[k][i];
        assert_int_equal(sum, j.measure->totals[k]);
    }
    release(&j);
}

/* A second run under the emulator counts what retires: of another version that is another count. */
static void versions_of_two_runs_are_two(void **state)
{
    struct join j = versions_of("hybrid");
    size_t count = 0;

    (void)state;
    assert_int_equal(j.measure->totals[TD_METRIC_SLOTS], 0);
    free(td_weights_versions(j.measure, &count));
    assert_int_equal(count, 0);
    release(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlay_joins_by_build_id),
        cmocka_unit_test(overlay_brings_symbols),
        cmocka_unit_test(overlay_refuses),
        cmocka_unit_test(time_is_measured),
        cmocka_unit_test(categories_are_modelled),
        cmocka_unit_test(skid_moves_nothing),
        cmocka_unit_test(retired_slots_are_uops),
        cmocka_unit_test(errors_hold_the_model),
        cmocka_unit_test(plain_errors_hold_the_model),
        cmocka_unit_test(few_samples_are_blank),
        cmocka_unit_test(what_was_not_modelled_keeps_its_time),
        cmocka_unit_test(disagreement),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(filters_come_after),
        cmocka_unit_test(versions_are_one_function),
        cmocka_unit_test(versions_have_no_lines),
        cmocka_unit_test(few_windows_are_less_sure),
        cmocka_unit_test(versions_of_two_runs_are_two),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
