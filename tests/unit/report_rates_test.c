/* SPDX-License-Identifier: MIT */
/* report/query/figures/rates: what groups beside the tree counted, in the first run and in further
 * ones. */
#include "report_fixture.h"

#include <math.h>
#include <string.h>

#include "report/query/figures/rates.h"

static uint32_t add_group(struct td_model *model, enum td_group_role role, const char *name,
                          const char *cpu_type, const char *const *events)
{
    struct td_group group = {.name = td_model_intern_z(model, name),
                             .cpu_type = td_model_intern_z(model, cpu_type),
                             .role = role,
                             .locates = TD_NODE_NONE};

    for (; events[group.column_count]; group.column_count++) {
        const struct td_event event = {.name = td_model_intern_z(model, events[group.column_count]),
                                       .unit = TD_UNIT_COUNT};

        group.columns[group.column_count] =
            (struct td_column){TD_COLUMN_DELTA, td_model_add_event(model, &event), TD_NODE_NONE};
    }
    group.sampler = group.columns[0].event;
    return td_model_add_group(model, &group);
}

static const char *const topdown[] = {"cycles",         "inst_retired", "no_ops_from_frontend",
                                      "ops_dispatched", "ops_retired",  NULL};
static const char *const branch[] = {"cycles", "inst_retired", "br_inst_retired", "br_misp_retired",
                                     NULL};

/* NaN of one that is not there. */
static struct td_rate find(const struct td_rates *rates, const char *name)
{
    for (size_t i = 0; i < rates->len; i++) {
        if (strcmp(rates->at[i].metric->name, name) == 0)
            return rates->at[i];
    }
    return (struct td_rate){.value = NAN};
}

static struct td_model *new_model(const char *core, uint32_t *thread)
{
    struct td_model *model = td_model_new();

    td_model_add_env(model, "core", core);
    *thread = fx_thread(model, 1, 1, "app", "app");
    return model;
}

/* Each metric comes from the first group that gives it, summed over threads, with its run. */
static void test_runs(void **state)
{
    uint32_t thread = 0;
    struct td_model *model = new_model("zen4-server", &thread);
    const uint32_t first = add_group(model, TD_ROLE_SLOTS, "topdown", "", topdown);
    const uint32_t second = add_group(model, TD_ROLE_METRIC, "branch", "", branch);
    const uint32_t other = fx_thread(model, 1, 2, "app", "app");
    struct td_rates rates;

    (void)state;
    td_model_set_pass(model, second, 2);
    td_model_add_values(model, thread, 0, first, 1, (const uint64_t[]){1000, 2000, 10, 10, 10});
    td_model_add_values(model, thread, 0, second, 1, (const uint64_t[]){900, 6000, 500, 12});
    td_model_add_values(model, other, 0, second, 1, (const uint64_t[]){100, 4000, 500, 8});
    td_rates_of(&rates, model);
    assert_int_equal(rates.len, 5);
    assert_float_equal(find(&rates, "ipc").value, 2, 1e-9);
    assert_int_equal(find(&rates, "ipc").run, 0);
    assert_float_equal(find(&rates, "branch_mpki").value, 2, 1e-9);
    assert_int_equal(find(&rates, "branch_mpki").run, 2);
    assert_float_equal(find(&rates, "branch_miss_ratio").value, 0.02, 1e-9);
    td_rates_release(&rates);
    td_model_free(model);
}

/* A core without a tree has them all the same; a core that nobody knows has none. */
static void test_without_tree(void **state)
{
    static const char *const stalls[] = {"cycles", "inst_retired", NULL};
    uint32_t thread = 0;
    struct td_rates rates;

    (void)state;
    for (int known = 0; known < 2; known++) {
        struct td_model *model = new_model(known ? "neoverse-n1" : "no-such-core", &thread);
        const uint32_t group = add_group(model, TD_ROLE_METRIC, "stalls", "", stalls);

        td_model_add_values(model, thread, 0, group, 1, (const uint64_t[]){1000, 500});
        td_rates_of(&rates, model);
        assert_int_equal(rates.len > 0, known);
        if (known)
            assert_float_equal(find(&rates, "ipc").value, 0.5, 1e-9);
        td_rates_release(&rates);
        td_model_free(model);
    }
}

/* Of a group that counted nothing there is no rate, not 0 or infinity. */
static void test_nothing_counted(void **state)
{
    uint32_t thread = 0;
    struct td_model *model = new_model("zen4-server", &thread);
    const uint32_t group = add_group(model, TD_ROLE_METRIC, "branch", "", branch);
    struct td_rates rates;

    (void)state;
    td_model_add_values(model, thread, 0, group, 1, (const uint64_t[]){1000, 0, 0, 0});
    td_rates_of(&rates, model);
    for (size_t i = 0; i < rates.len; i++)
        assert_true(isfinite(rates.at[i].value));
    assert_true(isnan(find(&rates, "branch_mpki").value));
    assert_true(isnan(find(&rates, "cpi").value));
    td_rates_release(&rates);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_without_tree),
        cmocka_unit_test(test_nothing_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
