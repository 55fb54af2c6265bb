/* SPDX-License-Identifier: MIT */
/* report/attribution/given: the clock and the retire latencies that a profile tells, and what
 * formulas make of them. */
#include "report_fixture.h"

#include <math.h>

#include "base/mem.h"
#include "report/attribution/counted.h"
#include "report/attribution/given.h"

static uint32_t add_event(struct td_model *m, const char *name, enum td_unit unit, uint64_t config)
{
    const struct td_event event = {
        .name = td_model_intern_z(m, name), .unit = unit, .config = {config}};

    return td_model_add_event(m, &event);
}

/* A group of counts, of which the first samples. */
static uint32_t add_group(struct td_model *m, const char *cpu_type, const uint32_t *events,
                          size_t count)
{
    struct td_group g = {.name = td_model_intern_z(m, "group"),
                         .cpu_type = td_model_intern_z(m, cpu_type),
                         .role = TD_ROLE_SLOTS,
                         .locates = TD_NODE_NONE,
                         .pass = 1,
                         .sampler = events[0]};

    for (size_t i = 0; i < count; i++)
        g.columns[g.column_count++] = (struct td_column){TD_COLUMN_DELTA, events[i], TD_NODE_NONE};
    return td_model_add_group(m, &g);
}

static uint32_t add_timed(struct td_model *m, uint32_t event)
{
    struct td_group g = {.name = td_model_intern_z(m, "locator"),
                         .cpu_type = td_model_intern_z(m, ""),
                         .role = TD_ROLE_LOCATOR,
                         .locates = TD_NODE_L3_BOUND,
                         .pass = 1,
                         .sampler = event};

    g.columns[g.column_count++] = (struct td_column){TD_COLUMN_PERIOD, event, TD_NODE_NONE};
    g.columns[g.column_count++] =
        (struct td_column){TD_COLUMN_RETIRE_LATENCY, TD_NONE, TD_NODE_NONE};
    return td_model_add_group(m, &g);
}

/* A thread at one place. */
static uint32_t place_in(struct td_model *m)
{
    fx_thread(m, 1, 1, "app", "app");
    return td_model_put_node(
        m, 0, fx_location(m, fx_function(m, fx_module(m, "/app"), "f", "f.c", 1), 16, 2));
}

static void clock_is_counted_or_described(void **state)
{
    struct td_model *m = td_model_new();
    const uint32_t place = place_in(m);
    const uint32_t cycles = add_event(m, "cycles", TD_UNIT_CYCLES, 0x3c);
    const uint32_t group = add_group(m, "", &cycles, 1);
    bool counted = true;

    (void)state;
    assert_true(isnan(td_given_clock(m, &counted)));
    assert_false(counted);
    td_model_add_env(m, "parameter", "machine_mhz=2100");
    assert_true(fabs(td_given_clock(m, &counted) - 2.1) < 1e-9);
    td_model_add_env(m, "parameter", "machine_mhz_max=3900");
    assert_true(fabs(td_given_clock(m, &counted) - 3.9) < 1e-9);
    assert_false(counted);
    td_model_add_values(m, 0, place, group, 3, (const uint64_t[]){5800000000});
    assert_false((td_given_clock(m, &counted), counted));
    td_model_set_counter(m, TD_COUNTER_COUNTED_NS, 2000000000);
    assert_true(fabs(td_given_clock(m, &counted) - 2.9) < 1e-9);
    assert_true(counted);
    /* Of two kinds of cores the time is not told apart. */
    add_group(m, "cpu_atom", &cycles, 1);
    assert_true(fabs(td_given_clock(m, &counted) - 3.9) < 1e-9);
    assert_false(counted);
    td_model_free(m);
}

/* 40 hits of L3 a thousand cycles, of which four samples waited 30 cycles in the mean. */
static void sampled_latencies_go_before_the_vendors(void **state)
{
    struct td_model *m = td_model_new();
    const uint32_t place = place_in(m);
    const uint32_t events[] = {add_event(m, "cycles", TD_UNIT_CYCLES, 0x3c),
                               add_event(m, "mem_load_l3_hit", TD_UNIT_COUNT, 0x4d1),
                               add_event(m, "mem_load_fb_hit", TD_UNIT_COUNT, 0x40d1),
                               add_event(m, "mem_load_l1_miss", TD_UNIT_COUNT, 0x8d1)};
    const uint32_t group = add_group(m, "", events, TD_ARRAY_SIZE(events));
    const double columns[] = {1000000, 40, 0, 100};
    struct td_counted counted;
    double counts[TD_PMU_EVENTS_MAX];

    (void)state;
    td_model_add_env(m, "core", "granite-rapids");
    td_model_add_env(m, "parameter", "machine_mhz_max=3000");
    for (int sampled = 0; sampled < 2; sampled++) {
        if (sampled)
            td_model_add_values(m, 0, place, add_timed(m, events[1]), 4,
                                (const uint64_t[]){400, 120});
        assert_int_equal(td_counted_init_rates(&counted, m, group), TD_OK);
        assert_true((counted.latencies != NULL) == (sampled == 1));
        for (size_t e = 0; e < counted.core->event_count; e++)
            counts[e] = NAN;
        td_pmu_core_give(counted.core, &counted.given, counts);
        for (int c = 0; c < (int)TD_ARRAY_SIZE(columns); c++)
            counts[counted.event[c]] = columns[c];
        /* Intel's mean is 57.64; both are less than 32.6 ns. */
        const double share = td_pmu_core_formula(counted.core, TD_NODE_L3_HIT_LATENCY, counts, 0);
        assert_true(fabs(share - 40 * (sampled ? 30 : 57.64) / 1e6) < 1e-12);
        assert_true(td_pmu_core_needs(counted.core, TD_NODE_L3_HIT_LATENCY).latencies);
        assert_true(td_pmu_core_needs(counted.core, TD_NODE_L3_HIT_LATENCY).clock);
        assert_false(td_pmu_core_needs(counted.core, TD_NODE_L3_BOUND).clock);
        td_counted_release(&counted);
    }
    td_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_is_counted_or_described),
        cmocka_unit_test(sampled_latencies_go_before_the_vendors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
