/* SPDX-License-Identifier: MIT */
/* report/query/later: levels that a second and a third run counted, against what functions truly
 * lost. */
#include "report_fixture.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/rows.h"
#include "report/attribution/slots.h"
#include "report/query/figures/tree.h"

#define FUNCTIONS 3
#define WIDTH     6

/* Of all slots: to the front end, the back end and bad speculation; and of those, to latency, to
 * memory. */
static const struct truth {
    double fe, be, bad, latency, memory;
} truth[FUNCTIONS] = {
    {0.5, 0.2, 0.1, 0.9, 0.3},
    {0.2, 0.5, 0.1, 0.1, 0.8},
    {0.3, 0.3, 0.2, 0.5, 0.5},
};

struct profile {
    struct td_model *model;
    uint32_t node[FUNCTIONS], function[FUNCTIONS];
    uint64_t random;
};

static double noise(struct profile *p)
{
    p->random = p->random * 6364136223846793005u + 1442695040888963407u;
    return 0.9 + 0.2 * ((double)(p->random >> 11) / 9007199254740992.0);
}

static uint32_t add_group(struct td_model *model, const char *name, const char *const *events)
{
    struct td_group group = {.name = td_model_intern_z(model, name),
                             .role = TD_ROLE_SLOTS,
                             .attribution = TD_ATTRIBUTION_INTERVAL,
                             .locates = TD_NODE_NONE};

    for (; events[group.column_count]; group.column_count++) {
        const struct td_event event = {.name = td_model_intern_z(model, events[group.column_count]),
                                       .unit = group.column_count ? TD_UNIT_COUNT : TD_UNIT_CYCLES};
        const uint32_t index = td_model_add_event(model, &event);

        group.columns[group.column_count] =
            (struct td_column){TD_COLUMN_DELTA, index, TD_NODE_NONE};
        group.sampler = group.column_count ? group.sampler : index;
    }
    return td_model_add_group(model, &group);
}

static struct profile new_profile(void)
{
    struct profile p = {.model = td_model_new(), .random = 7};
    const uint32_t module = fx_module(p.model, "/usr/bin/app");

    td_model_add_env(p.model, "core", "zen4-server");
    for (int f = 0; f < FUNCTIONS; f++) {
        char name[16];

        snprintf(name, sizeof(name), "f%d", f);
        p.function[f] = fx_function(p.model, module, name, "/src/app.c", 10U * (unsigned)f + 10);
        p.node[f] = td_model_put_node(
            p.model, 0,
            fx_location(p.model, p.function[f], 0x100U * (unsigned)f, 10U * (unsigned)f + 11));
    }
    return p;
}

/* The group's counts of so many cycles of a function. */
static void count(struct profile *p, int run, int f, double cycles, double values[6])
{
    const struct truth *t = &truth[f];
    const double slots = WIDTH * cycles, fe = slots * t->fe * noise(p),
                 be = slots * t->be * noise(p),
                 retired = slots * (1 - t->fe - t->be - t->bad) * noise(p);
    const double counts[5][6] = {
        {cycles, fe, retired + slots * t->bad, retired, be, 0},
        {cycles, fe, fe * t->latency * noise(p) / WIDTH, 9 * t->bad * cycles / 100,
         t->bad * cycles / 100, retired / 100},
        {cycles, be, cycles * t->be, cycles * t->be * t->memory * noise(p), retired, 0},
        {cycles, cycles * t->be},
        {cycles, cycles * t->be * t->memory * noise(p)},
    };

    for (int c = 0; c < 6; c++)
        values[c] += counts[run][c];
}

/* A thread that stays in each function for some intervals; a change falls into an interval. */
static void run_once(struct profile *p, int run, uint32_t group, int length)
{
    const uint32_t thread =
        fx_thread(p->model, 100 + (unsigned)run, 100 + (unsigned)run, "app", "app");
    const uint64_t start = UINT64_C(1000000000) * (unsigned)run;

    for (int i = 0; i < length; i++) {
        const int f = i / 10 % FUNCTIONS, before = i ? (i - 1) / 10 % FUNCTIONS : f;
        double counts[6] = {0};
        uint64_t values[6];

        count(p, run, before, 500000, counts);
        count(p, run, f, 500000, counts);
        for (int c = 0; c < 6; c++)
            values[c] = (uint64_t)counts[c];
        const struct td_sample sample = {.time_ns = start + 250000 * (unsigned)i,
                                         .thread = thread,
                                         .node = p->node[f],
                                         .group = group};
        td_model_add_sample(p->model, &sample, values);
        td_model_add_values(p->model, thread, p->node[f], group, 1, values);
    }
}

static const char *const topdown[] = {"cycles",      "no_ops_from_frontend", "ops_dispatched",
                                      "ops_retired", "backend_stalls",       "smt_stalls",
                                      NULL};
static const char *const split[] = {"cycles",
                                    "no_ops_from_frontend",
                                    "frontend_empty",
                                    "br_misp_retired",
                                    "resyncs",
                                    "ucode_ops_retired",
                                    NULL};
static const char *const backend[] = {
    "cycles", "backend_stalls", "not_complete", "load_not_complete", "ops_retired", NULL};

/* What `backend` needs, in two runs. */
static const char *const waits[] = {"cycles", "not_complete", NULL};
static const char *const loads[] = {"cycles", "load_not_complete", NULL};

static struct profile three_runs(int length)
{
    struct profile p = new_profile();
    const uint32_t groups[] = {add_group(p.model, "topdown", topdown),
                               add_group(p.model, "split", split),
                               add_group(p.model, "backend", backend)};

    td_model_add_env(p.model, "parameter", "passes=3");
    td_model_set_pass(p.model, groups[1], 2);
    td_model_set_pass(p.model, groups[2], 3);
    for (int run = 0; run < 3; run++)
        run_once(&p, run, groups[run], run ? length : 600);
    return p;
}

static const struct td_row *row_of(const struct td_rows *rows, uint32_t function)
{
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->at[i].function == function)
            return &rows->at[i];
    }
    fail_msg("no such row");
    return NULL;
}

static void assert_near(double got, double wanted, double most)
{
    if (!(fabs(got - wanted) <= most))
        fail_msg("%g, wanted %g within %g", got, wanted, most);
}

/* The tree has the levels of all runs, each with its run; the first run's are as without them. */
static void test_tree(void **state)
{
    struct profile p = three_runs(600);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    const struct td_tree tree = td_tree_of(m), part = td_tree_of_part(m, 0);
    const struct {
        enum td_tma_node node;
        unsigned run;
        double share;
    } wanted[] = {
        {TD_NODE_FRONTEND_BOUND, 0, 1.0 / 3},
        {TD_NODE_FETCH_LATENCY, 2, (0.45 + 0.02 + 0.15) / 3},
        {TD_NODE_BRANCH_MISPREDICTS, 2, 0.9 * 0.4 / 3},
        {TD_NODE_HEAVY_OPERATIONS, 2, 0.01 * 0.6 / 3},
        {TD_NODE_MEMORY_BOUND, 3, (0.06 + 0.4 + 0.15) / 3},
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(wanted); i++) {
        const struct td_tree_node *n = td_tree_find(&tree, wanted[i].node);

        assert_non_null(n);
        assert_int_equal(n->run, wanted[i].run);
        assert_near(n->share, wanted[i].share, 0.02);
        assert_non_null(td_tree_find(&part, wanted[i].node));
        assert_near(td_tree_find(&part, wanted[i].node)->share, n->share, 0.02);
        assert_int_equal(td_tree_find(&part, wanted[i].node)->run, wanted[i].run);
    }
    td_measure_free(m);
    td_model_free(p.model);
}

/* Each function's own division, within what is stated; children add up to their parents. */
static void test_functions(void **state)
{
    struct profile p = three_runs(600);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    struct td_rows rows;

    (void)state;
    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    for (int f = 0; f < 2; f++) {
        const struct td_row *row = row_of(&rows, p.function[f]);
        const struct td_cell latency = td_row_cell(&rows, row, TD_NODE_FETCH_LATENCY);
        const struct td_cell memory = td_row_cell(&rows, row, TD_NODE_MEMORY_BOUND);

        assert_false(memory.thin);
        assert_near(latency.share, truth[f].fe * truth[f].latency, fmin(0.05, latency.error));
        assert_near(memory.share, truth[f].be * truth[f].memory, fmin(0.05, memory.error));
        assert_true(memory.error < 0.1);
    }
    const uint64_t *const *v = (const uint64_t *const *)m->values + TD_METRIC_FIRST_NODE;
    for (size_t r = 0; r < m->row_count; r++) {
        assert_int_equal(v[TD_NODE_FETCH_LATENCY][r] + v[TD_NODE_FETCH_BANDWIDTH][r],
                         v[TD_NODE_FRONTEND_BOUND][r]);
        assert_int_equal(v[TD_NODE_MEMORY_BOUND][r] + v[TD_NODE_CORE_BOUND][r],
                         v[TD_NODE_BACKEND_BOUND][r]);
    }
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(p.model);
}

/* A run that saw too little of a function leaves its cells blank, and a filter keeps the others. */
static void test_thin_and_filter(void **state)
{
    struct profile p = three_runs(12); /* ten intervals of f0, two of f1 */
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    struct td_rows rows;

    (void)state;
    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    assert_true(td_row_cell(&rows, row_of(&rows, p.function[1]), TD_NODE_MEMORY_BOUND).thin);
    assert_false(td_row_cell(&rows, row_of(&rows, p.function[0]), TD_NODE_FETCH_LATENCY).thin);
    assert_false(td_row_cell(&rows, row_of(&rows, p.function[1]), TD_NODE_BACKEND_BOUND).thin);
    td_rows_release(&rows);
    td_measure_free(m);

    m = fx_slots_measure(p.model,
                         &(struct td_filter){.functions = {(const char *const[]){"f0"}, 1}});
    td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
    const struct td_row *row = row_of(&rows, p.function[0]);
    assert_near(td_row_cell(&rows, row, TD_NODE_FETCH_LATENCY).share, 0.45, 0.05);
    assert_false(td_row_cell(&rows, row, TD_NODE_FETCH_LATENCY).thin);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(p.model);
}

/* A formula whose counts come from two later runs of different length: known from the second of
 * them on, whichever is first. */
static void test_two_later_runs(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct profile p = new_profile();
        const char *const *const events[] = {swapped ? loads : waits, swapped ? waits : loads};

        run_once(&p, 0, add_group(p.model, "topdown", topdown), 600);
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t group = add_group(p.model, i ? "two" : "one", events[i]);

            td_model_set_pass(p.model, group, i + 2);
            run_once(&p, (int)i == swapped ? 3 : 4, group, i ? 300 : 900);
        }
        struct td_measure *m = fx_slots_measure(p.model, NULL);
        const struct td_tree tree = td_tree_of(m);
        const struct td_tree_node *memory = td_tree_find(&tree, TD_NODE_MEMORY_BOUND);
        struct td_rows rows;

        assert_non_null(memory);
        assert_int_equal(memory->run, 3);
        assert_near(memory->share, (0.06 + 0.4 + 0.15) / 3, 0.02);
        td_rows_init(&rows, m, TD_ROWS_FUNCTIONS, false);
        for (int f = 0; f < 2; f++) {
            const struct td_row *row = row_of(&rows, p.function[f]);
            assert_near(td_row_cell(&rows, row, TD_NODE_MEMORY_BOUND).share,
                        truth[f].be * truth[f].memory, 0.05);
        }
        td_rows_release(&rows);
        td_measure_free(m);
        td_model_free(p.model);
    }
}

/* Without a word on which run a group is of, it is not taken for another run's. */
static void test_one_run(void **state)
{
    struct profile p = new_profile();

    (void)state;
    const uint32_t first = add_group(p.model, "topdown", topdown);
    const uint32_t second = add_group(p.model, "split", split);
    run_once(&p, 0, first, 600);
    run_once(&p, 1, second, 600);
    struct td_measure *m = fx_slots_measure(p.model, NULL);
    const struct td_tree tree = td_tree_of(m);
    assert_null(td_tree_find(&tree, TD_NODE_FETCH_LATENCY));
    td_measure_free(m);
    td_model_free(p.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_thin_and_filter),
        cmocka_unit_test(test_two_later_runs),
        cmocka_unit_test(test_one_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
