/* SPDX-License-Identifier: MIT */
/* report/query/verdict: what is high, ruled out or not sure, and where to look. */
#include "report_fixture.h"

#include <math.h>
#include <stdio.h>

#include "report/query/figures/measure.h"
#include "report/query/verdict.h"

enum { LIGHT, DRAM, MISPREDICTS, LATENCY, PORTS, RESTEERS, COLUMNS };

/* A modelled profile of lines; each with slots by column. */
struct place {
    uint32_t line;
    uint64_t slots[COLUMNS];
};

static struct td_model *profile(const struct place *places, size_t len)
{
    static const enum td_tma_node nodes[COLUMNS] = {
        TD_NODE_LIGHT_OPERATIONS, TD_NODE_DRAM_BOUND,        TD_NODE_BRANCH_MISPREDICTS,
        TD_NODE_FETCH_LATENCY,    TD_NODE_PORTS_UTILIZATION, TD_NODE_BRANCH_RESTEERS};
    struct td_model *model = td_model_new();
    const uint32_t module = fx_module(model, "/usr/bin/app");
    const uint32_t thread = fx_thread(model, 1, 1, "app", "app");
    const struct td_event slots = {.name = td_model_intern_z(model, "slots"),
                                   .unit = TD_UNIT_SLOTS};
    struct td_group group = {.role = TD_ROLE_MODEL,
                             .attribution = TD_ATTRIBUTION_EXACT,
                             .locates = TD_NODE_NONE,
                             .sampler = TD_NONE,
                             .column_count = COLUMNS};
    const uint32_t event = td_model_add_event(model, &slots);

    for (unsigned c = 0; c < COLUMNS; c++)
        group.columns[c] = (struct td_column){TD_COLUMN_TOTAL, event, nodes[c]};
    const uint32_t g = td_model_add_group(model, &group);
    for (size_t i = 0; i < len; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%u", (unsigned)places[i].line);
        const uint32_t f = fx_function(model, module, name, "/src/app.c", places[i].line);
        const uint32_t at = fx_location(model, f, 0x10 * places[i].line, places[i].line);

        td_model_add_values(model, thread, td_model_put_node(model, 0, at), g, 0, places[i].slots);
    }
    return model;
}

static struct td_verdict verdict_of(const struct td_model *model, double error)
{
    struct td_measure *measure = fx_measure(model, NULL);
    struct td_verdict verdict;
    struct td_tree tree = td_tree_of(measure);

    for (size_t i = 0; i < tree.len; i++)
        tree.at[i].error = error;
    td_verdict_of(&verdict, measure, &tree, false);
    td_measure_free(measure);
    return verdict;
}

static const struct td_verdict_node *node_of(const struct td_verdict *v, enum td_tma_node node)
{
    for (size_t i = 0; i < v->node_count; i++) {
        if (v->nodes[i].node == node)
            return &v->nodes[i];
    }
    return NULL;
}

static enum td_finding finding_of(const struct td_verdict *v, enum td_tma_node node)
{
    const struct td_verdict_node *n = node_of(v, node);

    assert_non_null(n);
    return n ? n->finding : TD_FINDING_HIGH;
}

/* 20 % light, 45 % DRAM, 25 % mispredicts, 5 % latency, 5 % ports. */
static const struct place memory[] = {
    {11, {100, 400, 0, 0, 0}},
    {12, {50, 50, 50, 50, 0}},
    {13, {50, 0, 200, 0, 50}},
    {14, {0, 0, 0, 0, 0}},
};

static void test_high_and_ruled_out(void **state)
{
    struct td_model *model = profile(memory, 4);
    const struct td_verdict v = verdict_of(model, 0);

    (void)state;
    assert_int_equal(v.node_count, 3);
    assert_int_equal(v.nodes[0].node, TD_NODE_DRAM_BOUND); /* the deepest, the greatest first */
    assert_int_equal(v.nodes[0].finding, TD_FINDING_HIGH);
    assert_true(fabs(v.nodes[0].share - 0.45) < 1e-9);
    assert_true(fabs(v.nodes[0].speedup - 1 / 0.55) < 1e-9);
    assert_int_equal(v.nodes[1].node, TD_NODE_BRANCH_MISPREDICTS);
    assert_int_equal(v.nodes[2].node, TD_NODE_FRONTEND_BOUND);
    assert_int_equal(v.nodes[2].finding, TD_FINDING_RULED_OUT);
    assert_null(node_of(&v, TD_NODE_BACKEND_BOUND)); /* its child says it */
    td_model_free(model);
}

static void test_places(void **state)
{
    struct td_model *model = profile(memory, 4);
    const struct td_verdict v = verdict_of(model, 0);

    (void)state;
    assert_int_equal(v.place_count, 3);
    assert_int_equal(v.places[0].line, 11);
    assert_int_equal(v.places[0].losses[0].node, TD_NODE_DRAM_BOUND);
    assert_true(fabs(v.places[0].losses[0].share - 0.4) < 1e-9);
    assert_int_equal(v.places[1].line, 13); /* 200 of mispredicts; what ports took is not high */
    assert_int_equal(v.places[1].losses[0].node, TD_NODE_BRANCH_MISPREDICTS);
    assert_int_equal(v.places[1].loss_count, 1);
    assert_true(fabs(v.places[1].losses[0].share - 0.2) < 1e-9);
    assert_int_equal(v.places[2].line, 12);
    assert_int_equal(v.places[2].loss_count,
                     2); /* each by itself, never their sum under one name */
    assert_true(fabs(v.places[2].losses[0].share - 0.05) < 1e-9);
    assert_true(fabs(v.places[2].losses[1].share - 0.05) < 1e-9);
    assert_int_equal(v.function, v.places[0].function);
    td_model_free(model);
}

/* 25 % is 10 above the threshold of bad speculation: with an error of 12 it is not known. */
static void test_not_sure(void **state)
{
    struct td_model *model = profile(memory, 4);
    const struct td_verdict v = verdict_of(model, 0.16);

    (void)state;
    assert_int_equal(finding_of(&v, TD_NODE_DRAM_BOUND), TD_FINDING_HIGH);
    assert_int_equal(finding_of(&v, TD_NODE_BRANCH_MISPREDICTS), TD_FINDING_UNSURE);
    assert_int_equal(finding_of(&v, TD_NODE_FRONTEND_BOUND), TD_FINDING_UNSURE);
    td_model_free(model);
}

/* What is surely high is said even if it is not sure which part of it is; the tree says the same.
 */
static void test_sure_of_the_whole(void **state)
{
    struct td_model *model = profile(memory, 4);
    struct td_measure *measure = fx_measure(model, NULL);
    struct td_tree tree = td_tree_of(measure);
    struct td_verdict v;

    (void)state;
    for (size_t i = 0; i < tree.len; i++)
        tree.at[i].error = tree.at[i].node == TD_NODE_DRAM_BOUND ? 0.4 : 0.01;
    td_verdict_of(&v, measure, &tree, false);
    assert_int_equal(finding_of(&v, TD_NODE_MEMORY_BOUND), TD_FINDING_HIGH);
    assert_int_equal(finding_of(&v, TD_NODE_DRAM_BOUND), TD_FINDING_UNSURE);
    assert_null(node_of(&v, TD_NODE_BACKEND_BOUND));
    assert_int_equal(td_tree_standing(td_tree_find(&tree, TD_NODE_DRAM_BOUND)), TD_STANDING_UNSURE);
    td_measure_free(measure);
    td_model_free(model);
}

/* Where no branch is mispredicted, fetch does not begin anew after it either. */
static void test_what_goes_with_it(void **state)
{
    const struct place branchy[] = {{11, {300, 0, 500, 0, 0, 100}}, {12, {100, 0, 0, 0, 0, 0}}};
    struct td_model *model = profile(branchy, 2);
    const struct td_verdict v = verdict_of(model, 0);

    (void)state;
    assert_int_equal(v.nodes[0].node, TD_NODE_BRANCH_MISPREDICTS);
    assert_int_equal(v.nodes[0].with, TD_NODE_BRANCH_RESTEERS);
    assert_true(fabs(v.nodes[0].speedup - 1 / (1 - 0.6)) < 1e-9);
    td_model_free(model);
}

static void test_useful_work(void **state)
{
    const struct place busy[] = {{11, {900, 10, 0, 0, 0}}, {12, {50, 40, 0, 0, 0}}};
    struct td_model *model = profile(busy, 2);
    const struct td_verdict v = verdict_of(model, 0);

    (void)state;
    const struct td_verdict_node *last = &v.nodes[v.node_count - 1];
    assert_int_equal(last->node, TD_NODE_LIGHT_OPERATIONS);
    assert_int_equal(last->finding, TD_FINDING_WORK); /* no loss */
    assert_true(last->speedup == 1);                  /* only less can be done */
    assert_int_equal(v.places[0].line, 11);
    assert_null(node_of(&v, TD_NODE_RETIRING));
    assert_true(v.useful && fabs(v.retiring - 0.95) < 1e-9);
    assert_int_equal(v.worker_count, 2);
    assert_true(fabs(v.workers[0].share - 900.0 / 950) < 1e-9);
    td_model_free(model);
}

static void test_nothing_counted(void **state)
{
    struct td_model *model = td_model_new();
    const uint64_t ns = 5;

    (void)state;
    td_model_add_values(model, fx_thread(model, 1, 1, "app", "app"), 0, fx_clock_group(model, 1000),
                        1, &ns);
    const struct td_verdict v = verdict_of(model, 0);
    assert_int_equal(v.node_count, 0);
    assert_false(v.useful);
    assert_int_equal(v.work, TD_METRIC_TIME_NS); /* without categories: where the time goes */
    assert_int_equal(v.place_count, 1);
    assert_int_equal(v.places[0].loss_count, 0);
    assert_int_equal(v.places[0].function, TD_NONE);
    assert_int_equal(v.function, TD_NONE);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_high_and_ruled_out), cmocka_unit_test(test_places),
        cmocka_unit_test(test_not_sure),           cmocka_unit_test(test_useful_work),
        cmocka_unit_test(test_nothing_counted),    cmocka_unit_test(test_sure_of_the_whole),
        cmocka_unit_test(test_what_goes_with_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
