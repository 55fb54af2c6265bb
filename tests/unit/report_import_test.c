/* SPDX-License-Identifier: MIT */
/*
 * A perf.data of `perf record -e '{slots,cycles,topdown-*}:S'` and of its equal on Arm, with the
 * whole group in each sample: attributed as tdrec's own are.
 */
#include "report_fixture.h"

#include <linux/perf_event.h>

#include "base/bytes.h"
#include "formats/load.h"
#include "report/query/figures/measure.h"
#include "report/query/figures/rows.h"
#include "report/attribution/slots.h"

#define MEMBERS_MAX 7

struct member {
    const char *name;
    uint64_t config;
    uint64_t share[2]; /* of 1000 slots an interval, in the two functions */
};

struct recorded {
    const char *cpu_id;
    struct member members[MEMBERS_MAX];
    size_t count, sampler;
};

static const struct recorded intel = {
    .cpu_id = "GenuineIntel,6,143,8",
    .count = 6,
    .sampler = 1,
    .members = {{"slots", 0x400, {1000, 1000}},
                {"cycles", 0x3c, {170, 170}},
                {"topdown-retiring", 0x8000, {200, 500}},
                {"topdown-bad-spec", 0x8100, {50, 350}},
                {"topdown-fe-bound", 0x8200, {50, 100}},
                {"topdown-be-bound", 0x8300, {700, 50}}},
};

/* Neoverse N2: five slots a cycle. */
static const struct recorded arm = {
    .cpu_id = "0x00000000410fd493",
    .count = 7,
    .sampler = 0,
    .members = {{"cycles", 0x11, {200, 200}},
                {"op_retired", 0x3a, {200, 500}},
                {"op_spec", 0x3b, {250, 850}},
                {"stall_slot", 0x3f, {750, 150}},
                {"stall_slot_backend", 0x3d, {700, 50}},
                {"stall_slot_frontend", 0x3e, {50, 100}},
                {"br_mis_pred", 0x10, {0, 0}}},
};

static void put(struct td_buf *b, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        td_buf_u8(b, (uint8_t)(value >> 8 * i));
}

static void put_text(struct td_buf *b, const char *text, size_t room)
{
    for (size_t i = 0; i < room; i++)
        td_buf_u8(b, (uint8_t)(i < strlen(text) ? text[i] : 0));
}

static void put_header(struct td_buf *b, uint32_t type, uint16_t misc, size_t body)
{
    put(b, type, 4);
    put(b, misc, 2);
    put(b, 8 + body, 2);
}

/* HEADER_ATTR with one id: the member's place, from 1; its name in an EVENT_UPDATE. */
static void put_event(struct td_buf *b, const struct recorded *r, size_t i)
{
    const uint64_t type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                          PERF_SAMPLE_READ | PERF_SAMPLE_IDENTIFIER;

    put_header(b, 64, 0, 136 + 8);
    put(b, 4, 4);
    put(b, 136, 4);
    put(b, r->members[i].config, 8);
    put(b, i == r->sampler ? 1000003 : 0, 8);
    put(b, type, 8);
    put(b, PERF_FORMAT_GROUP | PERF_FORMAT_ID, 8);
    put(b, 1 << 18, 8); /* sample_id_all */
    for (int word = 0; word < 11; word++)
        put(b, 0, 8);
    put(b, i + 1, 8);
    put_header(b, 78, 0, 16 + 24);
    put(b, 2, 8);
    put(b, i + 1, 8);
    put_text(b, r->members[i].name, 24);
}

static void put_mapping(struct td_buf *b, const struct recorded *r)
{
    put_header(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, 8 + 24 + 16 + 40);
    put(b, 7, 4);
    put(b, 7, 4);
    put(b, 0x1000, 8);
    put(b, 0x2000, 8);
    put(b, 0, 8);
    put_text(b, "/nowhere/app", 16);
    put(b, 7, 4);
    put(b, 7, 4);
    put(b, 1, 8);
    put(b, 0, 8);              /* cpu */
    put(b, r->sampler + 1, 8); /* identifier */
    put(b, 0, 8);
}

static void put_sample(struct td_buf *b, const struct recorded *r, uint64_t time, int f,
                       const uint64_t values[MEMBERS_MAX])
{
    put_header(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 40 + 8 + 16 * r->count);
    put(b, r->sampler + 1, 8);
    put(b, f ? 0x2010 : 0x1010, 8);
    put(b, 7, 4);
    put(b, 7, 4);
    put(b, time, 8);
    put(b, 0, 8); /* cpu */
    put(b, r->count, 8);
    for (size_t i = 0; i < r->count; i++) {
        put(b, values[i], 8);
        put(b, i + 1, 8);
    }
}

/* Phases of 40 samples in one place and in another. */
static struct td_buf make_file(const struct recorded *r)
{
    struct td_buf b = {0};
    uint64_t values[MEMBERS_MAX] = {0};

    put_text(&b, "PERFILE2", 8);
    put(&b, 16, 8); /* a pipe */
    for (size_t i = 0; i < r->count; i++)
        put_event(&b, r, i);
    put_header(&b, 80, 0, 8 + 4 + 28); /* HEADER_FEATURE: cpuid */
    put(&b, 9, 8);
    put(&b, 28, 4);
    put_text(&b, r->cpu_id, 28);
    put_mapping(&b, r);
    for (uint64_t n = 0; n < 400; n++) {
        const int f = (int)(n / 40 % 2);

        for (size_t i = 0; i < r->count; i++)
            values[i] += 1000 * r->members[i].share[f];
        put_sample(&b, r, 1000 + n * 250000, f, values);
    }
    return b;
}

static void check(const struct recorded *recorded, const char *core)
{
    struct td_buf file = make_file(recorded);
    struct td_model *model = NULL;
    struct td_measure *m = NULL;
    struct td_err err = TD_ERR_INIT;
    struct td_rows rows;

    if (td_load_bytes(&model, file.data, file.len, "perf.data",
                      &(struct td_load_opts){.keep_slots = true}, NULL, &err) < 0)
        fail_msg("%s", err.text);
    if (td_measure_new(&m, model, NULL, &err) < 0)
        fail_msg("%s", err.text);
    if (!m->slots) {
        fail_msg("%s", m->no_slots ? m->no_slots : "no slots");
        return;
    }
    assert_string_equal(m->slots->parts[0].counted.core->name, core);
    assert_int_equal(m->slots->parts[0].slots, 400000000);
    assert_true(m->slots->parts[0].same_share > 0.95);
    assert_true(
        llabs((long long)m->totals[TD_METRIC_FIRST_NODE + TD_NODE_BACKEND_BOUND] - 150000000) < 10);
    td_rows_init(&rows, m, TD_ROWS_MODULES, false);
    assert_int_equal(rows.len, 1);
    assert_true(llabs((long long)rows.at[0].values[TD_METRIC_SLOTS] - 400000000) < 10);
    assert_false(td_row_cell(&rows, &rows.at[0], TD_NODE_BACKEND_BOUND).thin);
    td_rows_release(&rows);
    td_measure_free(m);
    td_model_free(model);
    td_buf_release(&file);
}

static void test_intel(void **state)
{
    (void)state;
    check(&intel, "sapphire-rapids");
}

static void test_arm(void **state)
{
    (void)state;
    check(&arm, "neoverse-n2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_intel), cmocka_unit_test(test_arm)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
