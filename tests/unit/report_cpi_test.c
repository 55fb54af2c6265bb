/* SPDX-License-Identifier: MIT */
/* report/query/cpi: the components of a CPI stack add up to cycles per instruction, whatever the
 * slots went to, however finely they are divided and whatever is left out. */
#include "report_fixture.h"

#include <math.h>

#include "report/query/cpi.h"
#include "report/query/figures/rows.h"

#define WIDTH 6

/* Leaves of different levels, one node that has slots of its own beside its children's. */
static const enum td_tma_node leaves[] = {
    TD_NODE_LIGHT_OPERATIONS, TD_NODE_MICROCODE_SEQUENCER, TD_NODE_BRANCH_MISPREDICTS,
    TD_NODE_ICACHE_MISSES,    TD_NODE_FETCH_BANDWIDTH,     TD_NODE_DTLB_LOAD,
    TD_NODE_L1_BOUND,         TD_NODE_MEM_LATENCY,         TD_NODE_DIVIDER};
enum { LEAVES = sizeof(leaves) / sizeof(leaves[0]), FUNCTIONS = 7 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static struct td_model *make_model(uint64_t seed, bool with_width)
{
    struct td_model *m = td_model_new();
    const struct td_event slots = {.name = td_model_intern_z(m, "slots"), .unit = TD_UNIT_SLOTS};
    const uint32_t event = td_model_add_event(m, &slots), module = fx_module(m, "/usr/bin/app");
    const uint32_t thread = fx_thread(m, 1, 1, "app", "app");
    struct td_group group = {.name = td_model_intern_z(m, "sim"),
                             .role = TD_ROLE_MODEL,
                             .attribution = TD_ATTRIBUTION_EXACT,
                             .locates = TD_NODE_NONE,
                             .sampler = TD_NONE};

    td_model_add_env(m, "source", "sim");
    if (with_width)
        td_model_add_env(m, "parameter", "width=6");
    for (int i = 0; i < LEAVES; i++)
        group.columns[group.column_count++] = (struct td_column){TD_COLUMN_TOTAL, event, leaves[i]};
    const uint32_t g = td_model_add_group(m, &group);

    for (uint32_t f = 0; f < FUNCTIONS; f++) {
        const char name[] = {(char)('a' + f), '\0'};
        const uint32_t function = fx_function(m, module, name, "/src/a.c", 1);
        uint64_t values[LEAVES] = {0};

        for (int i = 0; i < LEAVES; i++)
            values[i] = next_random(&seed) % 3 ? next_random(&seed) % 1000003 : 0;
        const uint32_t at = td_model_put_node(m, 0, fx_location(m, function, 0x10 * f, 2));
        td_model_add_values(m, thread, at, g, 1 + next_random(&seed) % 1000003, values);
    }
    return m;
}

static uint64_t value_of(const uint64_t *values, enum td_tma_node node)
{
    return values[td_metric_of_node(node)];
}

static void check_sums(const struct td_cpi *stack, const uint64_t *values)
{
    uint64_t slots = 0;
    size_t count = 0;
    double cpi = 0, share = 0;

    for (size_t i = 0; i < stack->len; i++) {
        slots += stack->at[i].slots;
        cpi += stack->at[i].cpi;
        share += stack->at[i].share;
        count += stack->at[i].count;
    }
    assert_int_equal(slots, values[TD_METRIC_SLOTS]);
    assert_int_equal(slots, stack->slots);
    assert_true(count >= stack->len);
    assert_float_equal(share, 1, 1e-12);
    assert_float_equal(cpi, stack->cpi, 1e-12 * stack->cpi);
    assert_float_equal(stack->cpi * (double)values[TD_METRIC_INSTRUCTIONS],
                       (double)values[TD_METRIC_CYCLES], 1e-9 * (double)values[TD_METRIC_CYCLES]);
    if (value_of(values, TD_NODE_RETIRING) > 0) {
        assert_int_equal(stack->at[0].kind, TD_CPI_BASE);
        assert_int_equal(stack->at[0].slots, value_of(values, TD_NODE_RETIRING));
    }
}

/* Of one row or the whole: every level, nodes that are not known, every limit. */
static void check_all(const struct td_cpi_basis *basis, const uint64_t *values, uint64_t *seed)
{
    for (int levels = 1; levels <= TD_TMA_LEVELS; levels++) {
        for (int t = 0; t < 4; t++) {
            td_tma_set thin = 0;

            for (int n = 0; t > 0 && n < TD_NODE_COUNT; n++)
                thin |= next_random(seed) % 8 || n == TD_NODE_RETIRING ? 0 : td_tma_bit(n);
            const struct td_cpi whole = td_cpi_of(basis, values, thin, levels);

            check_sums(&whole, values);
            for (int halves = 1; halves <= 200; halves *= 3) {
                struct td_cpi cut = whole;

                td_cpi_cut(&cut, halves / 2.0);
                check_sums(&cut, values);
            }
        }
    }
}

static void check_model(const struct td_model *model, uint64_t seed)
{
    struct td_measure *measure = fx_measure(model, NULL);
    const struct td_cpi_basis basis = td_cpi_basis_of(measure);
    struct td_rows rows;

    assert_true(basis.slots && basis.complete);
    check_all(&basis, measure->totals, &seed);
    td_rows_init(&rows, measure, TD_ROWS_FUNCTIONS, false);
    assert_true(rows.len > 0);
    for (size_t i = 0; i < rows.len; i++)
        check_all(&basis, rows.at[i].values, &seed);
    td_rows_release(&rows);
    td_measure_free(measure);
}

static void test_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct td_model *model = make_model(seed, true);

        check_model(model, seed);
        td_model_free(model);
    }
}

static struct td_cpi_part find(const struct td_cpi *stack, enum td_cpi_kind kind,
                               enum td_tma_node node)
{
    for (size_t i = 0; i < stack->len; i++) {
        if (stack->at[i].kind == kind && stack->at[i].node == node)
            return stack->at[i];
    }
    fail_msg("no component %d of node %d", (int)kind, (int)node);
    return stack->at[0];
}

/* By hand: slots per instruction over slots per cycle. */
static void test_components(void **state)
{
    struct td_measure measure = {.row_count = 0};
    uint64_t present = 0, *column = &present;
    const struct {
        enum td_metric metric;
        uint64_t value;
    } given[] = {{TD_METRIC_SLOTS, 6000},
                 {TD_METRIC_CYCLES, 1000},
                 {TD_METRIC_INSTRUCTIONS, 500},
                 {td_metric_of_node(TD_NODE_RETIRING), 1500},
                 {td_metric_of_node(TD_NODE_BACKEND_BOUND), 4400},
                 {td_metric_of_node(TD_NODE_MEMORY_BOUND), 4000},
                 {td_metric_of_node(TD_NODE_L1_BOUND), 3000},
                 {td_metric_of_node(TD_NODE_DRAM_BOUND), 400},
                 {td_metric_of_node(TD_NODE_CORE_BOUND), 400}};

    (void)state;
    for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
        measure.values[given[i].metric] = column;
        measure.totals[given[i].metric] = given[i].value;
    }
    const struct td_cpi_basis basis = {.measure = &measure, .width = WIDTH};
    struct td_cpi stack = td_cpi_of(&basis, measure.totals, 0, 3);

    assert_float_equal(stack.cpi, 2, 1e-12);
    assert_int_equal(stack.len, 6);
    assert_float_equal(find(&stack, TD_CPI_BASE, TD_NODE_RETIRING).cpi, 0.5, 1e-12);
    assert_float_equal(find(&stack, TD_CPI_NODE, TD_NODE_L1_BOUND).cpi, 1, 1e-12);
    assert_int_equal(find(&stack, TD_CPI_REST, TD_NODE_MEMORY_BOUND).slots, 600);
    assert_int_equal(find(&stack, TD_CPI_UNKNOWN, TD_NODE_NONE).slots, 100);
    td_cpi_cut(&stack, 8); /* 400, 400 and 100 of 6000 */
    assert_int_equal(stack.len, 4);
    assert_int_equal(stack.at[3].kind, TD_CPI_OTHER);
    assert_int_equal(stack.at[3].count, 3);
    assert_float_equal(stack.at[3].cpi, 0.3, 1e-12);
    stack = td_cpi_of(&basis, measure.totals, 0, 2);
    assert_int_equal(find(&stack, TD_CPI_NODE, TD_NODE_MEMORY_BOUND).slots, 4000);
    td_cpi_cut(&stack, 2); /* a single small one keeps its name */
    assert_int_equal(find(&stack, TD_CPI_UNKNOWN, TD_NODE_NONE).slots, 100);
    stack = td_cpi_of(&basis, measure.totals, td_tma_bit(TD_NODE_L1_BOUND), 3);
    assert_int_equal(find(&stack, TD_CPI_REST, TD_NODE_MEMORY_BOUND).slots, 3600);
}

/* Nothing is divided by what is not there. */
static void test_missing(void **state)
{
    struct td_model *narrow = make_model(3, false), *clock = td_model_new();
    struct td_measure *measure = fx_measure(narrow, NULL);
    uint64_t values[TD_METRIC_COUNT] = {[TD_METRIC_SLOTS] = 60, [TD_METRIC_CYCLES] = 10};
    uint64_t column = 0;
    struct td_measure idle = {
        .values = {[TD_METRIC_SLOTS] = &column, [TD_METRIC_CYCLES] = &column}};
    const struct td_cpi_basis basis = {.measure = &idle, .slots = true};
    const uint32_t group = fx_clock_group(clock, 1000);

    (void)state;
    assert_true(td_cpi_basis_of(measure).slots);
    assert_false(td_cpi_basis_of(measure).complete); /* neither cycles nor the width */
    td_measure_free(measure);
    td_model_add_values(clock, fx_thread(clock, 1, 1, "app", "app"), 0, group, 1,
                        (const uint64_t[]){1000});
    measure = fx_measure(clock, NULL);
    assert_false(td_cpi_basis_of(measure).slots || td_cpi_basis_of(measure).complete);
    td_measure_free(measure);
    const struct td_cpi stack = td_cpi_of(&basis, values, 0, 3);
    assert_true(isnan(stack.cpi));
    assert_int_equal(stack.len, 1);
    assert_int_equal(stack.at[0].kind, TD_CPI_UNKNOWN);
    assert_true(isnan(stack.at[0].cpi));
    td_model_free(narrow);
    td_model_free(clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_components),
        cmocka_unit_test(test_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
