/* SPDX-License-Identifier: MIT */
/* report/query/whatif: how sure speed-ups of a sampled run are. */
#include "report_fixture.h"

#include <math.h>

#include "formats/replicates.h"
#include "report/query/figures/replicated.h"
#include "report/query/figures/rows.h"
#include "report/query/whatif.h"

enum { WINDOWS = TD_REPLICATES, MILLION = 1000000, INSTRUCTIONS = 100 };

/* A run of two functions on a core of one slot a cycle, and on the same with perfect branches. */
struct run {
    struct td_model *model;
    uint32_t groups[2][2]; /* of the core, of the variant: slots, replicates */
    uint32_t nodes[2];     /* by function */
    struct td_measure *measure;
};

static uint32_t add_group(struct td_model *m, struct td_group group, const char *name)
{
    group.name = td_model_intern_z(m, name);
    group.attribution = TD_ATTRIBUTION_EXACT;
    group.sampler = TD_NONE;
    return td_model_add_group(m, &group);
}

static uint32_t slots_group(struct td_model *m, bool variant)
{
    const struct td_event slots = {.name = td_model_intern_z(m, "slots"), .unit = TD_UNIT_SLOTS};
    const struct td_event instructions = {.name = td_model_intern_z(m, "instructions"),
                                          .unit = TD_UNIT_INSTRUCTIONS};
    const enum td_tma_node node = variant ? TD_NODE_NONE : TD_NODE_LIGHT_OPERATIONS;
    struct td_group group = {.role = variant ? TD_ROLE_VARIANT : TD_ROLE_MODEL,
                             .locates = TD_NODE_NONE,
                             .column_count = variant ? 2 : 1};

    group.columns[0] = (struct td_column){TD_COLUMN_TOTAL, td_model_add_event(m, &slots), node};
    group.columns[1] =
        (struct td_column){TD_COLUMN_TOTAL, td_model_add_event(m, &instructions), TD_NODE_NONE};
    return add_group(m, group, variant ? "branches" : "modelled");
}

static uint32_t replicates_group(struct td_model *m, bool variant)
{
    const enum td_tma_node node = variant ? TD_NODE_NONE : TD_NODE_LIGHT_OPERATIONS;
    struct td_group group = {.role = TD_ROLE_REPLICATES, .locates = node};

    for (int r = 0; r < TD_REPLICATES; r++)
        group.columns[group.column_count++] =
            (struct td_column){TD_COLUMN_REPLICATE, TD_NONE, node};
    return add_group(m, group, variant ? "branches" : "replicates");
}

static void begin(struct run *run)
{
    struct td_model *m = run->model = td_model_new();
    const uint32_t app = fx_module(m, "/bin/app");

    td_model_add_env(m, "source", "sim");
    td_model_add_env(m, "parameter", "width=1");
    fx_thread(m, 7, 7, "app", "app");
    for (int v = 0; v < 2; v++) {
        run->groups[v][0] = slots_group(m, v);
        run->groups[v][1] = replicates_group(m, v);
    }
    for (uint32_t f = 0; f < 2; f++) {
        const uint32_t function = fx_function(m, app, f ? "g" : "f", "/src/a.c", 1 + 10 * f);

        run->nodes[f] =
            td_model_put_node(m, 0, fx_location(m, function, 0x10 + 0x40 * f, 2 + 10 * f));
    }
    run->measure = NULL;
}

/* What the function took on the core or the variant: of each window so many slots, in millions. */
static void add(struct run *run, int v, uint32_t function, const uint64_t windows[WINDOWS])
{
    uint64_t all = 0, replicates[TD_REPLICATES] = {0};

    for (unsigned w = 0; w < WINDOWS; w++)
        all += windows[w] * MILLION;
    for (unsigned w = 0; w < WINDOWS; w++) {
        const int64_t off = (int64_t)(windows[w] * MILLION) - (int64_t)(all / WINDOWS);

        for (unsigned r = 0; r < TD_REPLICATES; r++)
            replicates[r] += (uint64_t)(__builtin_popcount(w & r) & 1 ? -off : off);
    }
    const uint64_t values[] = {all, INSTRUCTIONS};
    td_model_add_values(run->model, 0, run->nodes[function], run->groups[v][0],
                        v ? 0 : INSTRUCTIONS, values);
    td_model_add_values(run->model, 0, run->nodes[function], run->groups[v][1], 0, replicates);
}

/* Of all instructions so many were modelled. */
static void measure(struct run *run, uint64_t detailed)
{
    td_model_set_counter(run->model, TD_COUNTER_INSTRUCTIONS, 1000);
    td_model_set_counter(run->model, TD_COUNTER_DETAILED, detailed);
    run->measure = fx_measure(run->model, NULL);
    assert_int_equal(run->measure->variant_count, 1);
}

static void end(struct run *run)
{
    td_measure_free(run->measure);
    td_model_free(run->model);
}

static const uint64_t differing[WINDOWS] = {10, 30, 10, 30, 30, 10, 30, 10,
                                            10, 30, 30, 10, 10, 10, 30, 30};
static const uint64_t halves[WINDOWS] = {5, 15, 5, 15, 15, 5, 15, 5, 5, 15, 15, 5, 5, 5, 15, 15};
static const uint64_t alike[WINDOWS] = {10, 10, 10, 10, 10, 10, 10, 10,
                                        10, 10, 10, 10, 10, 10, 10, 10};

/* Windows differ by half of their mean. Where each is twice as fast on the variant, nothing is
 * unsure but what all windows have in common; where the variant takes as long in each, all that
 * they differ by. */
static void windows_in_common_cancel(void **state)
{
    double errors[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct run run;

        begin(&run);
        add(&run, 0, 0, differing);
        add(&run, 1, 0, i ? alike : halves);
        measure(&run, 100);
        const struct td_whatif of = td_whatif_of(run.measure, 0);
        assert_true(td_replicated_is(run.measure));
        assert_true(fabs(of.speedup - 2) < 1e-6);
        errors[i] = of.error;
        end(&run);
    }
    assert_true(errors[0] > 0 && errors[0] < 0.1);
    /* A standard deviation of 10 in 20, of 16 windows. */
    const double expected = 2 * TD_REPLICATES_T * 0.5 / sqrt(WINDOWS);
    assert_true(errors[1] > expected && errors[1] < 1.1 * expected);
}

/* A function has its own; one that a single window met is known from that alone. */
static void functions_have_their_own(void **state)
{
    uint64_t once[WINDOWS] = {160}, once_on_variant[WINDOWS] = {80};
    struct td_whatif_rows what_if;
    struct td_rows rows;
    struct run run;
    double errors[2] = {0};

    (void)state;
    begin(&run);
    add(&run, 0, 0, alike);
    add(&run, 1, 0, alike);
    add(&run, 0, 1, once);
    add(&run, 1, 1, once_on_variant);
    measure(&run, 100);
    td_rows_init(&rows, run.measure, TD_ROWS_FUNCTIONS, false);
    td_whatif_rows_init(&what_if, &rows, false);
    assert_int_equal(rows.len, 2);
    for (size_t r = 0; r < rows.len; r++) {
        const bool is_once = strcmp(td_row_name(&rows, &rows.at[r]), "g") == 0;
        const struct td_whatif *of = td_whatif_row(&what_if, r, 0);

        assert_true(fabs(of->speedup - (is_once ? 2 : 1)) < 1e-6);
        errors[is_once] = of->error;
    }
    assert_true(errors[0] > 0 && errors[0] < 0.1);
    assert_true(errors[1] > 0.5);
    td_whatif_rows_release(&what_if);
    td_rows_release(&rows);
    end(&run);
}

static void a_whole_run_is_exact(void **state)
{
    struct run run;

    (void)state;
    begin(&run);
    const uint64_t slots[] = {200, INSTRUCTIONS}, faster[] = {100, INSTRUCTIONS};
    td_model_add_values(run.model, 0, run.nodes[0], run.groups[0][0], INSTRUCTIONS, slots);
    td_model_add_values(run.model, 0, run.nodes[0], run.groups[1][0], 0, faster);
    measure(&run, 1000);
    assert_false(td_replicated_is(run.measure));
    assert_true(td_whatif_of(run.measure, 0).speedup == 2);
    assert_true(td_whatif_of(run.measure, 0).error == 0);
    end(&run);
}

/* A category is told what takes its own cause away, and nothing that leaves it as it is. */
static void of_a_category(void **state)
{
    struct td_measure variants[] = {
        {.variant = "l1"}, {.variant = "branches"}, {.variant = "dram"}};
    struct td_measure *all[] = {&variants[0], &variants[1], &variants[2]};
    struct td_measure m = {.variants = all, .variant_count = 3};

    (void)state;
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_L2_BOUND), 0);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_L3_HIT_LATENCY), 0);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_DRAM_BOUND), 2);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_L1_BOUND), 3);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_L1_LATENCY_DEPENDENCY), 3);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_DTLB_LOAD), 3);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_BRANCH_MISPREDICTS), 1);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_MISPREDICTS_RESTEERS), 1);
    assert_int_equal(td_whatif_of_node(&m, TD_NODE_MACHINE_CLEARS), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_in_common_cancel),
        cmocka_unit_test(functions_have_their_own),
        cmocka_unit_test(a_whole_run_is_exact),
        cmocka_unit_test(of_a_category),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
