/* SPDX-License-Identifier: MIT */
/*
 * Arm's SPE: packets as the architecture lays them out, written here another way, and a perf.data
 * that holds them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "base/bytes.h"
#include "formats/data_source.h"
#include "formats/load.h"
#include "formats/perfdata/spe.h"
#include "report/query/latency.h"

static const struct td_pmu_cpu neoverse_n2 = {
    .vendor = TD_VENDOR_ARM, .family = 0x41, .model = 0xd49};
static const struct td_pmu_cpu ampereone = {
    .vendor = TD_VENDOR_ARM, .family = 0xc0, .model = 0xac3};
static const struct td_pmu_cpu another = {.vendor = TD_VENDOR_ARM, .family = 0x48, .model = 0xd01};

static void put(struct td_buf *buf, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        td_buf_u8(buf, (uint8_t)(value >> 8 * i));
}

static void put_packet(struct td_buf *buf, unsigned header, uint64_t payload)
{
    td_buf_u8(buf, (uint8_t)header);
    put(buf, payload, 1U << (header >> 4 & 3));
}

/* Bytes from a manual's tables: a load of user code that missed everything, as Neoverse N2 writes
 * it, and a mispredicted branch of the kernel, without a time. */
static void test_known_bytes(void **state)
{
    static const uint8_t bytes[] = {
        0xb0, 0x23, 0x01, 0x40, 0x00, 0x00, 0x00, 0x00, 0x80, /* PC 0x400123, EL0, non-secure */
        0x65, 0xd2, 0x04, 0x00, 0x00,                         /* context, EL2: 1234 */
        0x49, 0x00,                                           /* a load */
        0x52, 0x3e, 0x03, /* events: retired, L1D access and refill, TLB access and walk, LLC */
        0x98, 0x2c, 0x01, /* total latency 300 */
        0x99, 0x14, 0x00, /* issue latency 20 */
        0x9a, 0x28, 0x00, /* translation latency 40 */
        0xb2, 0x00, 0x10, 0x00, 0x00, 0xff, 0x7f, 0x00, 0x3c, /* data, with a tag */
        0x43, 0x0e,                                           /* source: DRAM */
        0x00, 0x00,                                           /* padding */
        0x71, 0x40, 0x42, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, /* time 1,000,000 */
        0xb0, 0x10, 0x00, 0x00, 0x10, 0x00, 0x80, 0xff, 0xa0, /* EL1 */
        0x4a, 0x01,                                           /* a conditional branch */
        0x42, 0x82,                                           /* retired, mispredicted */
        0xb1, 0x00, 0x02, 0x40, 0x00, 0x00, 0x00, 0x00, 0x80, /* where it went */
        0x01};
    struct td_spe spe = td_spe_init(bytes, sizeof(bytes), 0);
    struct td_spe_record r;

    (void)state;
    assert_true(td_spe_next(&spe, &r));
    assert_int_equal(r.pc, 0x400123);
    assert_int_equal(r.level, 0);
    assert_true(r.has_context && r.context == 1234);
    assert_true(r.has_time && r.time == 1000000);
    assert_int_equal(r.class, TD_SPE_MEMORY);
    assert_false(r.store);
    assert_int_equal(r.total_latency, 300);
    assert_int_equal(r.issue_latency, 20);
    assert_int_equal(r.translation_latency, 40);
    assert_int_equal(r.data_address, 0x7fff00001000);
    assert_true(r.has_source && r.source == 0xe);
    assert_int_equal(td_spe_flags(&r), TD_FLAG_EXACT_IP | TD_FLAG_LOAD | TD_FLAG_L1D_MISS |
                                           TD_FLAG_L2_MISS | TD_FLAG_L3_MISS | TD_FLAG_DTLB_MISS |
                                           TD_FLAG_DTLB_WALK);
    assert_true(td_data_access_of_perf(td_spe_data_source(&r, &neoverse_n2)).tlb_walk);
    assert_true(td_spe_next(&spe, &r));
    assert_int_equal(r.pc, 0xffff800010000010);
    assert_int_equal(r.level, 1);
    assert_false(r.has_time || r.has_context);
    assert_int_equal(td_spe_flags(&r), TD_FLAG_EXACT_IP | TD_FLAG_BRANCH | TD_FLAG_MISPREDICTED);
    assert_int_equal(td_spe_data_source(&r, &neoverse_n2), 0);
    assert_false(td_spe_next(&spe, &r));
    assert_int_equal(spe.bad, 0);
    /* Cut anywhere, there are the whole records before the cut, and nothing else. */
    for (size_t cut = 0; cut < sizeof(bytes); cut++) {
        size_t count = 0;

        spe = td_spe_init(bytes, cut, 0);
        while (td_spe_next(&spe, &r))
            count++;
        assert_int_equal(count, cut >= 50);
    }
}

static enum td_data_source source_of(const struct td_spe_record *record,
                                     const struct td_pmu_cpu *cpu)
{
    return td_data_access_of_perf(td_spe_data_source(record, cpu)).source;
}

static void test_sources(void **state)
{
    static const struct {
        const struct td_pmu_cpu *cpu;
        unsigned number;
        enum td_data_source source;
    } numbers[] = {
        {&neoverse_n2, 0, TD_DATA_SOURCE_L1},      {&neoverse_n2, 8, TD_DATA_SOURCE_L2},
        {&neoverse_n2, 9, TD_DATA_SOURCE_L2},      {&neoverse_n2, 10, TD_DATA_SOURCE_L3},
        {&neoverse_n2, 11, TD_DATA_SOURCE_L3},     {&neoverse_n2, 12, TD_DATA_SOURCE_L3},
        {&neoverse_n2, 13, TD_DATA_SOURCE_REMOTE}, {&neoverse_n2, 14, TD_DATA_SOURCE_DRAM},
        {&neoverse_n2, 5, TD_DATA_SOURCE_UNKNOWN}, {&ampereone, 8, TD_DATA_SOURCE_L1},
        {&ampereone, 9, TD_DATA_SOURCE_L2},        {&ampereone, 3, TD_DATA_SOURCE_L3},
        {&ampereone, 7, TD_DATA_SOURCE_DRAM},      {&ampereone, 5, TD_DATA_SOURCE_REMOTE},
        {&ampereone, 14, TD_DATA_SOURCE_UNKNOWN},  {&another, 14, TD_DATA_SOURCE_UNKNOWN},
    };
    static const struct {
        uint64_t events;
        enum td_data_source source;
    } events[] = {
        {TD_SPE_L1D_ACCESS, TD_DATA_SOURCE_L1},
        {TD_SPE_L1D_ACCESS | TD_SPE_L1D_REFILL, TD_DATA_SOURCE_OTHER},
        {TD_SPE_L1D_REFILL | TD_SPE_LLC_ACCESS, TD_DATA_SOURCE_L3},
        {TD_SPE_L1D_REFILL | TD_SPE_LLC_ACCESS | TD_SPE_LLC_MISS, TD_DATA_SOURCE_DRAM},
        {TD_SPE_LLC_MISS | TD_SPE_REMOTE, TD_DATA_SOURCE_REMOTE},
        {0, TD_DATA_SOURCE_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct td_spe_record r = {
            .class = TD_SPE_MEMORY, .has_source = true, .source = (uint16_t)numbers[i].number};

        assert_int_equal(source_of(&r, numbers[i].cpu), numbers[i].source);
        /* Of stores the number says nothing; where it is of another core's making neither. */
        r.store = true;
        assert_int_equal(source_of(&r, numbers[i].cpu), TD_DATA_SOURCE_UNKNOWN);
    }
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        const struct td_spe_record r = {.class = TD_SPE_MEMORY, .events = events[i].events};

        assert_int_equal(source_of(&r, &another), events[i].source);
    }
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void put_record(struct td_buf *buf, uint64_t *seed, struct td_spe_record *made)
{
    const uint64_t bits = next_random(seed);

    *made = (struct td_spe_record){.has_pc = true};
    made->level = bits & 1;
    made->pc = next_random(seed) >> 17 | (made->level ? UINT64_C(0xffff) << 48 : 0);
    put_packet(buf, 0xb0, (made->pc & (UINT64_MAX >> 8)) | (uint64_t)made->level << 61);
    made->class = (enum td_spe_class)(bits >> 1 & 3) % 3;
    made->store = made->class == TD_SPE_MEMORY && bits >> 3 & 1;
    put_packet(buf, 0x48 | made->class, bits >> 3 & 1);
    if (bits & 16) {
        made->has_context = true;
        made->context = (uint32_t)next_random(seed);
        put_packet(buf, 0x64 | (bits >> 5 & 1), made->context);
    }
    if (bits & 64) {
        made->events = next_random(seed);
        put_packet(buf, 0x72, made->events);
    }
    made->total_latency = (uint16_t)next_random(seed);
    /* The long form of the header means the same. */
    if (bits & 128)
        td_buf_u8(buf, 0x20);
    put_packet(buf, 0x98, made->total_latency);
    for (uint64_t i = bits >> 8 & 3; i > 0; i--)
        td_buf_u8(buf, 0);
    /* An index that no counter has yet. */
    td_buf_u8(buf, 0x21);
    put_packet(buf, 0x98, 77);
    made->has_time = bits >> 10 & 1;
    made->time = made->has_time ? next_random(seed) : 0;
    if (made->has_time)
        put_packet(buf, 0x71, made->time);
    else
        td_buf_u8(buf, 0x01);
}

static void expect_same(const struct td_spe_record *got, const struct td_spe_record *made)
{
    assert_int_equal(got->has_pc, made->has_pc);
    assert_int_equal(got->has_context, made->has_context);
    assert_int_equal(got->has_time, made->has_time);
    assert_int_equal(got->has_source, made->has_source);
    assert_int_equal(got->pc, made->pc);
    assert_int_equal(got->data_address, made->data_address);
    assert_int_equal(got->time, made->time);
    assert_int_equal(got->events, made->events);
    assert_int_equal(got->context, made->context);
    assert_int_equal(got->level, made->level);
    assert_int_equal(got->class, made->class);
    assert_int_equal(got->store, made->store);
    assert_int_equal(got->total_latency, made->total_latency);
    assert_int_equal(got->issue_latency, made->issue_latency);
    assert_int_equal(got->translation_latency, made->translation_latency);
}

/* What is written is read, whatever else stands between. */
static void test_random_records(void **state)
{
    uint64_t seed = 88172645463325252;

    (void)state;
    for (int round = 0; round < 300; round++) {
        struct td_spe_record made[20], got;
        struct td_buf buf = {0};
        const uint64_t origin = next_random(&seed) % 64;

        for (size_t i = 0; i < 20; i++) {
            put_record(&buf, &seed, &made[i]);
            if (i % 3)
                continue;
            /* Alignment to 16 bytes: what lies before the boundary is of no meaning. */
            td_buf_u8(&buf, 0x23);
            td_buf_u8(&buf, 0x00);
            /* The boundary is counted from the packet itself. */
            const uint64_t at = origin + buf.len - 2;
            for (uint64_t skip = 16 - (at & 15); skip > 2; skip--) /* beyond its two bytes */
                td_buf_u8(&buf, 0xff);
        }
        struct td_spe spe = td_spe_init(buf.data, buf.len, origin);
        for (size_t i = 0; i < 20; i++) {
            assert_true(td_spe_next(&spe, &got));
            expect_same(&got, &made[i]);
        }
        assert_false(td_spe_next(&spe, &got));
        assert_int_equal(spe.bad, 0);
        td_buf_release(&buf);
    }
}

/* What is no packet costs the record that it stands in, and no other. */
static void test_bad_bytes(void **state)
{
    uint64_t seed = 42;
    struct td_spe_record made[3], got;
    struct td_buf buf = {0};

    (void)state;
    put_record(&buf, &seed, &made[0]);
    td_buf_u8(&buf, 0xff);
    put_record(&buf, &seed, &made[1]);
    put_record(&buf, &seed, &made[2]);
    struct td_spe spe = td_spe_init(buf.data, buf.len, 0);
    assert_true(td_spe_next(&spe, &got));
    expect_same(&got, &made[0]);
    assert_true(td_spe_next(&spe, &got));
    expect_same(&got, &made[2]);
    assert_false(td_spe_next(&spe, &got));
    assert_int_equal(spe.bad, 1);
    td_buf_release(&buf);
}

enum { PMU_TYPE = 9, SIZE_ATTR = 136 };

static void put_header(struct td_buf *buf, uint32_t type, uint16_t misc, size_t body)
{
    put(buf, type, 4);
    put(buf, misc, 2);
    put(buf, 8 + body, 2);
}

#define SAMPLE_TYPE \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static void put_attr(struct td_buf *buf, uint32_t type, uint64_t id)
{
    put_header(buf, 64, 0, SIZE_ATTR + 8);
    put(buf, type, 4);
    put(buf, SIZE_ATTR, 4);
    put(buf, 1, 8);
    put(buf, 1024, 8); /* operations a sample */
    put(buf, SAMPLE_TYPE, 8);
    put(buf, 0, 8);
    put(buf, 1 << 18, 8); /* sample_id_all */
    for (int i = 0; i < 11; i++)
        put(buf, 0, 8);
    put(buf, id, 8);
}

static void put_trailer(struct td_buf *buf, uint32_t pid, uint32_t tid, uint64_t time, uint32_t cpu)
{
    put(buf, pid, 4);
    put(buf, tid, 4);
    put(buf, time, 8);
    put(buf, cpu, 8);
    put(buf, 42, 8);
}

static void put_mmap(struct td_buf *buf, uint32_t pid, uint64_t time, const char *path)
{
    char name[16] = {0};

    snprintf(name, sizeof(name), "%s", path);
    put_header(buf, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, 32 + 16 + 32);
    put(buf, pid, 4);
    put(buf, pid, 4);
    put(buf, 0x400000, 8);
    put(buf, 0x10000, 8);
    put(buf, 0, 8);
    td_buf_bytes(buf, name, sizeof(name));
    put_trailer(buf, pid, pid, time, 0);
}

static void put_load(struct td_buf *buf, uint64_t pc, uint32_t context, uint16_t latency,
                     uint64_t time)
{
    put_packet(buf, 0xb0, pc | UINT64_C(1) << 63);
    if (context)
        put_packet(buf, 0x64, context);
    put_packet(buf, 0x49, 0);
    put_packet(buf, 0x52, 0x306);
    put_packet(buf, 0x98, latency);
    put_packet(buf, 0x43, 0xe);
    put_packet(buf, 0x71, time);
}

static void put_auxtrace(struct td_buf *buf, const struct td_buf *trace, uint32_t tid, uint32_t cpu)
{
    put_header(buf, 71, 0, 40);
    put(buf, trace->len, 8);
    put(buf, 0, 8);
    put(buf, 0, 8);
    put(buf, 0, 4);
    put(buf, tid, 4);
    put(buf, cpu, 8);
    td_buf_bytes(buf, trace->data, trace->len);
}

/* CPU 0 runs 100 and, from 5000 on, 200; the trace of it says no thread. */
static struct td_buf make_file(bool clock, uint32_t context)
{
    struct td_buf buf = {0}, trace = {0};

    td_buf_bytes(&buf, "PERFILE2", 8);
    put(&buf, 16, 8);
    put_attr(&buf, PERF_TYPE_HARDWARE, 41);
    put_attr(&buf, PMU_TYPE, 42);
    put_header(&buf, 80, 0, 8 + 4 + 24); /* HEADER_FEATURE 9: cpuid */
    put(&buf, 9, 8);
    put(&buf, 24, 4);
    td_buf_bytes(&buf, "0x00000000410fd493\0\0\0\0\0\0", 24);
    put_header(&buf, 70, 0, 8 + 16);
    put(&buf, 4, 8);
    put(&buf, PMU_TYPE, 8);
    put(&buf, 1, 8);
    if (clock) {
        put_header(&buf, 79, 0, 24); /* two counts a nanosecond, 1000 ns in */
        put(&buf, 1, 8);
        put(&buf, 1, 8);
        put(&buf, 1000, 8);
    }
    put_mmap(&buf, 100, 1100, "/bin/first");
    put_mmap(&buf, 200, 1200, "/bin/second");
    put_header(&buf, PERF_RECORD_ITRACE_START, 0, 8 + 32);
    put(&buf, 100, 4);
    put(&buf, 100, 4);
    put_trailer(&buf, 100, 100, 1300, 0);
    put_header(&buf, PERF_RECORD_SWITCH_CPU_WIDE, 1 << 13, 8 + 32);
    put(&buf, 200, 4);
    put(&buf, 200, 4);
    put_trailer(&buf, 100, 100, 5000, 0);
    put_load(&trace, 0x400010, context, 300, 4000); /* at 3000 ns */
    put_load(&trace, 0x400020, context, 500, 6000); /* 4000 */
    put_load(&trace, 0x400030, context, 10, 10000); /* 6000: the other */
    put_auxtrace(&buf, &trace, UINT32_MAX, 0);
    td_buf_release(&trace);
    return buf;
}

static void latency_of(struct td_latency *latency, const struct td_model *model,
                       const struct td_filter *filter, bool lines)
{
    const struct td_measure measure = {.model = model};

    td_latency_of(latency, model, filter, lines);
    td_latency_weigh(latency, &measure);
}

static void expect_places(const struct td_buf *file, const uint32_t pids[3], const uint64_t *times)
{
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_load_status status = {0};
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_load_bytes(&model, file->data, file->len, "spe", &opts, &status, &err) != TD_OK)
        fail_msg("%s", err.text);
    assert_false(status.damaged);
    assert_int_equal(td_model_sample_count(model), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct td_sample *s = td_model_sample(model, i);
        const struct td_location *location =
            td_model_location(model, td_model_node(model, s->node)->location);

        assert_int_equal(td_model_thread(model, s->thread)->pid, pids[i]);
        if (times)
            assert_int_equal(s->time_ns, times[i]);
        assert_string_equal(td_model_string(model, td_model_module(model, location->module)->path),
                            pids[i] == 100 ? "/bin/first" : "/bin/second");
        assert_int_equal(location->offset, 0x10 + 0x10 * i);
        assert_int_equal(td_model_sample_values(model, s)[0], 1024);
    }
    struct td_latency latency;
    const struct td_filter filter = {.event = NULL};
    latency_of(&latency, model, &filter, false);
    assert_int_equal(latency.len, 1);
    const struct td_latency_row *total = &latency.at[0].total;
    assert_int_equal(total->figures[TD_LATENCY_DATA].samples, 3);
    assert_float_equal(total->figures[TD_LATENCY_DATA].mean, 270, 1e-9);
    assert_int_equal(total->sources[TD_DATA_SOURCE_DRAM], 3);
    td_latency_release(&latency);
    assert_null(td_model_env_at(model, TD_ENV_WARNING, 0));
    td_model_free(model);
}

static void test_import(void **state)
{
    static const uint32_t by_switch[3] = {100, 100, 200}, by_context[3] = {200, 200, 200};
    static const uint64_t times[3] = {3000, 4000, 6000};
    struct td_buf file = make_file(true, 0);

    (void)state;
    expect_places(&file, by_switch, times);
    /* Cut anywhere: no crash, and nothing that is not in the file. */
    for (size_t cut = 16; cut < file.len; cut++) {
        struct td_model *model = NULL;

        if (td_load_bytes(&model, file.data, cut, "cut", NULL, NULL, NULL) == TD_OK)
            assert_true(td_model_counter(model, TD_COUNTER_SAMPLES) <= 3);
        td_model_free(model);
    }
    td_buf_release(&file);
    file = make_file(true, 200); /* CONTEXTIDR holds the thread */
    expect_places(&file, by_context, times);
    td_buf_release(&file);
    file = make_file(false, 200); /* no clock: in the order of the file */
    expect_places(&file, by_context, NULL);
    td_buf_release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_bytes),    cmocka_unit_test(test_sources),
        cmocka_unit_test(test_random_records), cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_import),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
