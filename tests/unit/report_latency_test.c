/* SPDX-License-Identifier: MIT */
/* Latencies of precise samples and the sources of their data: published encodings, and the figures
 * against sums that are made another way. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "formats/data_source.h"
#include "report/query/latency.h"
#include "tests/unit/report_fixture.h"

/* PERF_MEM_S(field, value) of include/uapi/linux/perf_event.h, by first bit. */
#define OP(x)    ((uint64_t)(x))
#define LVL(x)   ((uint64_t)(x) << 5)
#define SNOOP(x) ((uint64_t)(x) << 19)
#define LOCK(x)  ((uint64_t)(x) << 24)
#define TLB(x)   ((uint64_t)(x) << 26)
#define NUM(x)   ((uint64_t)(x) << 33)
#define REM      ((uint64_t)1 << 37)
#define HOPS(x)  ((uint64_t)(x) << 43)

enum { LOAD = 2, STORE = 4, HIT = 2, MISS = 4, HITM = 0x10 };

static void test_sources_of_perf(void **state)
{
    static const struct {
        uint64_t word;
        enum td_data_source source;
        bool hitm, walk, locked, store;
    } cases[] = {
        /* What perf script prints beside the first samples of the recording weight_struct. */
        {0x11868100242, TD_DATA_SOURCE_LFB, .hitm = false},
        {0x10268100142, TD_DATA_SOURCE_L1, .hitm = false},
        {0x1026a100142, TD_DATA_SOURCE_L1, .locked = true},
        /* arch/x86/events/intel/ds.c, pebs_data_source: without lvl_num, as before Linux 4.14. */
        {OP(LOAD) | LVL(HIT | 0x20), TD_DATA_SOURCE_L2, .hitm = false},
        {OP(LOAD) | LVL(HIT | 0x40) | SNOOP(HITM), TD_DATA_SOURCE_L3, .hitm = true},
        {OP(LOAD) | LVL(HIT | 0x80), TD_DATA_SOURCE_DRAM, .hitm = false},
        {OP(LOAD) | LVL(HIT | 0x400) | SNOOP(HITM), TD_DATA_SOURCE_REMOTE, .hitm = true},
        {OP(LOAD) | LVL(HIT | 0x100), TD_DATA_SOURCE_REMOTE, .hitm = false},
        {OP(LOAD) | LVL(HIT | 0x1000), TD_DATA_SOURCE_OTHER, .hitm = false},
        {OP(STORE) | LVL(MISS | 8), TD_DATA_SOURCE_OTHER, .store = true},
        {OP(STORE) | LVL(HIT | 8) | TLB(MISS | 0x10), TD_DATA_SOURCE_L1, .store = true,
         .walk = true},
        /* arch/x86/events/amd/ibs.c: by number, with hops. */
        {OP(LOAD) | NUM(1), TD_DATA_SOURCE_L1, .hitm = false},
        {OP(LOAD) | NUM(3) | LVL(HIT | 0x40), TD_DATA_SOURCE_L3, .hitm = false},
        {OP(LOAD) | NUM(11) | REM | HOPS(1), TD_DATA_SOURCE_REMOTE, .hitm = false},
        {OP(LOAD) | NUM(13) | REM | HOPS(3), TD_DATA_SOURCE_REMOTE, .hitm = false},
        {OP(LOAD) | NUM(13), TD_DATA_SOURCE_DRAM, .hitm = false},
        {OP(LOAD) | NUM(14), TD_DATA_SOURCE_OTHER, .hitm = false},
        {OP(LOAD) | NUM(15), TD_DATA_SOURCE_UNKNOWN, .hitm = false},
        {OP(LOAD), TD_DATA_SOURCE_UNKNOWN, .hitm = false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct td_data_access access = td_data_access_of_perf(cases[i].word);

        assert_true(access.is_access);
        assert_int_equal(access.source, cases[i].source);
        assert_int_equal(access.hitm, cases[i].hitm);
        assert_int_equal(access.tlb_walk, cases[i].walk);
        assert_int_equal(access.locked, cases[i].locked);
        assert_int_equal(access.store, cases[i].store);
    }
    assert_false(td_data_access_of_perf(0).is_access);
    assert_false(td_data_access_of_perf(OP(1)).is_access);    /* not available */
    assert_false(td_data_access_of_perf(OP(0x10)).is_access); /* a fetch */
}

static void test_sources_of_flags(void **state)
{
    static const uint32_t missed = TD_FLAG_LOAD | TD_FLAG_L1D_MISS;
    static const struct {
        uint32_t flags;
        enum td_data_source source;
    } cases[] = {
        {TD_FLAG_LOAD, TD_DATA_SOURCE_L1},
        {missed, TD_DATA_SOURCE_L2},
        {missed | TD_FLAG_L2_MISS, TD_DATA_SOURCE_L3},
        {missed | TD_FLAG_L2_MISS | TD_FLAG_L3_MISS, TD_DATA_SOURCE_DRAM},
        {missed | TD_FLAG_L2_MISS | TD_FLAG_L3_MISS | TD_FLAG_REMOTE, TD_DATA_SOURCE_REMOTE},
        {TD_FLAG_STORE, TD_DATA_SOURCE_L1},
        {TD_FLAG_STORE | TD_FLAG_L1D_MISS, TD_DATA_SOURCE_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct td_data_access access = td_data_access_of_flags(cases[i].flags);

        assert_true(access.is_access);
        assert_int_equal(access.source, cases[i].source);
    }
    assert_false(td_data_access_of_flags(TD_FLAG_EXACT_IP).is_access);
    assert_false(td_data_access_of_flags(TD_FLAG_BRANCH | TD_FLAG_MISPREDICTED).is_access);
    assert_true(td_data_access_of_flags(TD_FLAG_LOAD | TD_FLAG_DTLB_WALK).tlb_walk);
}

/* Every word is answered, with no source out of the list. */
static void test_any_word(void **state)
{
    uint64_t word = 88172645463325252;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        word ^= word << 13;
        word ^= word >> 7;
        word ^= word << 17;
        assert_in_range(td_data_access_of_perf(word).source, 0, TD_DATA_SOURCE_COUNT - 1);
        assert_in_range(td_data_access_of_flags(word).source, 0, TD_DATA_SOURCE_COUNT - 1);
    }
}

enum { FUNCTIONS = 3, SAMPLES = 1000 };

struct fixture {
    struct td_model *model;
    uint32_t nodes[FUNCTIONS], thread, group;
    uint32_t cycles[FUNCTIONS][SAMPLES]; /* retire latencies, in order of coming */
    size_t count[FUNCTIONS];
    uint64_t waited; /* samples with a latency of the access */
};

static uint32_t add_group(struct td_model *model, const char *name, enum td_group_role role)
{
    const struct td_event event = {.name = td_model_intern_z(model, name), .pmu_type = 4};
    const enum td_column_kind kinds[] = {TD_COLUMN_PERIOD, TD_COLUMN_LATENCY,
                                         TD_COLUMN_RETIRE_LATENCY, TD_COLUMN_DATA_SOURCE};
    struct td_group group = {.name = event.name,
                             .role = role,
                             .locates = TD_NODE_NONE,
                             .sampler = td_model_add_event(model, &event),
                             .column_count = 4};

    for (int i = 0; i < 4; i++)
        group.columns[i] = (struct td_column){
            .kind = kinds[i], .event = i ? TD_NONE : group.sampler, .node = TD_NODE_NONE};
    return td_model_add_group(model, &group);
}

static void fill(struct fixture *f)
{
    static const char *const names[FUNCTIONS] = {"chase", "scan", "sum"};
    uint64_t seed = 42;

    *f = (struct fixture){.model = td_model_new()};
    const uint32_t module = fx_module(f->model, "/bin/app");
    f->thread = fx_thread(f->model, 1, 1, "app", "app");
    f->group = add_group(f->model, "l3_miss", TD_ROLE_METRIC);
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        const uint32_t function = fx_function(f->model, module, names[i], "app.c", 10 * (i + 1));
        f->nodes[i] =
            td_model_put_node(f->model, 0, fx_location(f->model, function, 16 * i, 10 * i + 1));
    }
    for (int i = 0; i < SAMPLES; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        const uint32_t which = (uint32_t)(seed >> 33) % FUNCTIONS;
        const uint32_t cycles = (uint32_t)(seed >> 40) % 500 * which;
        const uint64_t latency = (seed >> 50) % 3;
        const uint64_t values[] = {1000, latency, cycles, OP(LOAD) | NUM(which + 1)};
        const struct td_sample sample = {.time_ns = (uint64_t)i * 1000,
                                         .thread = f->thread,
                                         .node = f->nodes[which],
                                         .group = f->group};

        td_model_add_sample(f->model, &sample, values);
        td_model_add_values(f->model, f->thread, f->nodes[which], f->group, 1, values);
        f->cycles[which][f->count[which]++] = cycles;
        f->waited += latency > 0;
    }
}

static void latency_of(struct td_latency *latency, const struct td_model *model,
                       const struct td_filter *filter, bool lines)
{
    const struct td_measure measure = {.model = model};

    td_latency_of(latency, model, filter, lines);
    td_latency_weigh(latency, &measure);
}

/* How many of the function's samples are at most `cycles`. */
static size_t at_most(const struct fixture *f, uint32_t which, double cycles)
{
    size_t count = 0;

    for (size_t i = 0; i < f->count[which]; i++)
        count += f->cycles[which][i] <= cycles;
    return count;
}

static void check_figures(const struct fixture *f, uint32_t which,
                          const struct td_latency_figures *figures)
{
    double sum = 0;
    uint32_t max = 0;

    for (size_t i = 0; i < f->count[which]; i++) {
        sum += f->cycles[which][i];
        max = f->cycles[which][i] > max ? f->cycles[which][i] : max;
    }
    assert_int_equal(figures->samples, f->count[which]);
    assert_float_equal(figures->mean, sum / (double)f->count[which], 1e-9);
    assert_int_equal(figures->max, max);
    assert_true(2 * at_most(f, which, figures->median) >= f->count[which]);
    assert_true(2 * at_most(f, which, figures->median - 1) <= f->count[which]);
    assert_true(100 * at_most(f, which, (double)figures->p95) >= 95 * f->count[which]);
    if (figures->p95 > 0)
        assert_true(100 * at_most(f, which, (double)figures->p95 - 1) < 95 * f->count[which]);
}

static void test_figures(void **state)
{
    const struct td_filter filter = {.event = NULL};
    struct fixture f;

    (void)state;
    fill(&f);
    for (int lines = 0; lines <= 1; lines++) {
        struct td_latency latency;
        uint64_t sum = 0;

        latency_of(&latency, f.model, &filter, lines);
        assert_int_equal(latency.len, 1);
        assert_string_equal(latency.at[0].name, "l3_miss");
        assert_int_equal(latency.at[0].len, FUNCTIONS);
        assert_int_equal(latency.at[0].total.samples, SAMPLES);
        /* 0 is a retire latency, and no latency of an access. */
        assert_int_equal(latency.at[0].total.figures[TD_LATENCY_RETIRE].samples, SAMPLES);
        assert_int_equal(latency.at[0].total.figures[TD_LATENCY_DATA].samples, f.waited);
        assert_int_equal(latency.at[0].total.figures[TD_LATENCY_TLB].samples, 0);
        for (size_t r = 0; r < latency.at[0].len; r++) {
            const struct td_latency_row *row = &latency.at[0].rows[r];
            const uint32_t which = row->frame.function;

            assert_true(r == 0 || td_latency_cost(row - 1) >= td_latency_cost(row));
            assert_int_equal(row->frame.line, lines ? 10 * which + 1 : 0);
            check_figures(&f, which, &row->figures[TD_LATENCY_RETIRE]);
            assert_int_equal(row->accesses, f.count[which]);
            assert_int_equal(row->events, 1000 * f.count[which]);
            assert_float_equal(row->held,
                               1000 * row->figures[TD_LATENCY_RETIRE].mean * (double)row->samples,
                               1e-3 + 1e-9 * row->held);
            assert_int_equal(row->sources[which == 2   ? TD_DATA_SOURCE_L3
                                          : which == 1 ? TD_DATA_SOURCE_L2
                                                       : TD_DATA_SOURCE_L1],
                             f.count[which]);
            sum += row->samples;
        }
        assert_int_equal(sum, SAMPLES);
        td_latency_release(&latency);
    }
    td_model_free(f.model);
}

/* An event of several groups (IBS has one a node) is one event; one that tells nothing is none. */
static void test_groups_and_filters(void **state)
{
    static const char *const chosen[] = {"scan"}, *const none[] = {"other"};
    const struct td_filter one = {.functions = {chosen, 1}}, nothing = {.functions = {none, 1}},
                           other = {.event = "silent"};
    struct td_latency latency;
    struct fixture f;

    (void)state;
    fill(&f);
    const uint32_t again = add_group(f.model, "l3_miss", TD_ROLE_LOCATOR),
                   silent = add_group(f.model, "silent", TD_ROLE_METRIC);
    const uint64_t values[] = {1000, 7, 70, OP(LOAD) | NUM(13)}, zeros[4] = {1000};
    const struct td_sample sample = {.thread = f.thread, .node = f.nodes[1], .group = again},
                           quiet = {.thread = f.thread, .node = f.nodes[1], .group = silent};
    td_model_add_sample(f.model, &sample, values);
    td_model_add_sample(f.model, &quiet, zeros);
    latency_of(&latency, f.model, &one, false);
    assert_int_equal(latency.len, 1);
    assert_int_equal(latency.at[0].len, 1);
    assert_int_equal(latency.at[0].total.samples, f.count[1] + 1);
    assert_int_equal(latency.at[0].rows[0].sources[TD_DATA_SOURCE_DRAM], 1);
    td_latency_release(&latency);
    latency_of(&latency, f.model, &nothing, false);
    assert_int_equal(latency.len, 0);
    td_latency_release(&latency);
    latency_of(&latency, f.model, &other, false);
    assert_int_equal(latency.len, 0);
    td_latency_release(&latency);
    td_model_free(f.model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources_of_perf),    cmocka_unit_test(test_sources_of_flags),
        cmocka_unit_test(test_any_word),           cmocka_unit_test(test_figures),
        cmocka_unit_test(test_groups_and_filters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
