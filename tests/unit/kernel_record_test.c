/* SPDX-License-Identifier: MIT */
/* formats/kernel/record: every kind of record, whole, cut at every byte, and unknown. */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "formats/kernel/record.h"
#include "tests/unit/record_ring.h"

static const struct td_layout plain = {.sample_type = FAKE_SAMPLE_TYPE, .sample_id_all = true};
static const struct td_layouts plain_only = {.items = &plain, .count = 1};

/* Parses the record and every prefix of it: the prefixes must be refused or parse, never read
 * beyond (the sanitizer looks). */
static struct td_rec parse(uint32_t type, uint16_t misc, struct td_buf *body,
                           const struct td_layouts *layouts)
{
    uint8_t record[1024];
    const size_t size = fake_record(record, type, misc, body);
    struct td_rec rec;

    for (size_t cut = 0; cut < size; cut++) {
        struct td_buf exact = {0};

        td_buf_bytes(&exact, record, cut);
        td_rec_parse(&rec, exact.data, cut, layouts, NULL);
        td_buf_release(&exact);
    }
    assert_int_equal(td_rec_parse(&rec, record, size, layouts, NULL), TD_OK);
    assert_int_equal(td_rec_time(record, size, layouts), rec.time_ns);
    td_buf_release(body);
    return rec;
}

static void put_text(struct td_buf *body, const char *text)
{
    td_buf_bytes(body, text, strlen(text) + 1);
    while (body->len % 8)
        td_buf_u8(body, 0);
}

static void test_mmap(void **state)
{
    struct td_buf body = {0};

    (void)state;
    td_buf_u32(&body, 10);
    td_buf_u32(&body, 11);
    td_buf_u64(&body, 0x400000);
    td_buf_u64(&body, 0x1000);
    td_buf_u64(&body, 0x2000);
    td_buf_u8(&body, 20);
    td_buf_u8(&body, 0);
    td_buf_u16(&body, 0);
    for (unsigned i = 0; i < 20; i++)
        td_buf_u8(&body, (uint8_t)(i + 1));
    td_buf_u32(&body, PROT_READ | PROT_EXEC);
    td_buf_u32(&body, MAP_PRIVATE);
    put_text(&body, "/usr/bin/true");
    fake_trailer(&body, 10, 11, 77);
    const struct td_rec rec =
        parse(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, &body, &plain_only);
    assert_int_equal(rec.kind, TD_REC_MMAP);
    assert_int_equal(rec.pid, 10);
    assert_int_equal(rec.time_ns, 77);
    assert_int_equal(rec.u.mmap.start, 0x400000);
    assert_int_equal(rec.u.mmap.offset, 0x2000);
    assert_int_equal(rec.u.mmap.build_id.size, 20);
    assert_int_equal(rec.u.mmap.build_id.bytes[19], 20);
    assert_true(rec.u.mmap.executable);
}

static void test_mmap_path(void **state)
{
    uint8_t record[256];
    struct td_buf body = {0};
    struct td_rec rec;

    (void)state;
    td_buf_u64(&body, 10);
    for (unsigned i = 0; i < 3; i++)
        td_buf_u64(&body, 0x1000);
    td_buf_u32(&body, 0xfe);
    td_buf_u32(&body, 3);
    td_buf_u64(&body, 4711);
    td_buf_u64(&body, 1);
    td_buf_u64(&body, PROT_EXEC);
    put_text(&body, "/lib/x.so");
    fake_trailer(&body, 10, 10, 5);
    const size_t size = fake_record(record, PERF_RECORD_MMAP2, 0, &body);
    assert_int_equal(td_rec_parse(&rec, record, size, &plain_only, NULL), TD_OK);
    assert_int_equal(rec.u.mmap.build_id.size, 0);
    assert_int_equal(rec.u.mmap.inode, 4711);
    assert_int_equal(rec.u.mmap.major, 0xfe);
    assert_int_equal(rec.u.mmap.path_len, strlen("/lib/x.so"));
    assert_memory_equal(rec.u.mmap.path, "/lib/x.so", rec.u.mmap.path_len);
    td_buf_release(&body);
}

static void test_tasks(void **state)
{
    struct td_buf body = {0};

    (void)state;
    for (uint32_t i = 1; i <= 4; i++)
        td_buf_u32(&body, i);
    td_buf_u64(&body, 99); /* the record's own time */
    fake_trailer(&body, 2, 4, 100);
    const struct td_rec rec = parse(PERF_RECORD_FORK, 0, &body, &plain_only);
    assert_int_equal(rec.kind, TD_REC_FORK);
    assert_int_equal(rec.u.task.pid, 1);
    assert_int_equal(rec.u.task.ppid, 2);
    assert_int_equal(rec.u.task.tid, 3);
    assert_int_equal(rec.u.task.ptid, 4);
    assert_int_equal(rec.time_ns, 100);
}

static void test_comm(void **state)
{
    struct td_buf body = {0};

    (void)state;
    td_buf_u32(&body, 7);
    td_buf_u32(&body, 8);
    put_text(&body, "worker");
    fake_trailer(&body, 7, 8, 5);
    const struct td_rec rec =
        parse(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &body, &plain_only);
    assert_int_equal(rec.kind, TD_REC_COMM);
    assert_true(rec.u.comm.exec);
    assert_int_equal(rec.u.comm.len, 6);
    assert_int_equal(rec.tid, 8);
}

static void test_lost(void **state)
{
    struct td_buf body = {0};

    (void)state;
    td_buf_u64(&body, 1);
    td_buf_u64(&body, 42);
    fake_trailer(&body, 0, 0, 6);
    struct td_rec rec = parse(PERF_RECORD_LOST, 0, &body, &plain_only);
    assert_int_equal(rec.kind, TD_REC_LOST);
    assert_int_equal(rec.u.lost, 42);
    td_buf_u64(&body, 43);
    fake_trailer(&body, 0, 0, 7);
    rec = parse(PERF_RECORD_LOST_SAMPLES, 0, &body, &plain_only);
    assert_int_equal(rec.kind, TD_REC_LOST_SAMPLES);
    assert_int_equal(rec.u.lost, 43);
}

static void test_unknown(void **state)
{
    struct td_buf body = {0};

    (void)state;
    td_buf_u64(&body, 123);
    fake_trailer(&body, 1, 2, 8);
    const struct td_rec rec = parse(4711, 0, &body, &plain_only);
    assert_int_equal(rec.kind, TD_REC_OTHER);
    assert_int_equal(rec.time_ns, 8);
}

#define RICH_TYPE                                                                            \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |          \
     PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | \
     PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC)

static const struct td_layout rich[] = {
    {.id = 5, .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME},
    {.id = 9,
     .sample_type = RICH_TYPE,
     .read_format =
         PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED,
     .user_regs = 0x7},
};
static const struct td_layouts rich_layouts = {.items = rich, .count = 2};

static void put_rich(struct td_buf *body, uint64_t id)
{
    td_buf_u64(body, id);
    td_buf_u64(body, 0xabc); /* ip */
    td_buf_u32(body, 3);
    td_buf_u32(body, 4);
    td_buf_u64(body, 1000);
    td_buf_u64(body, 17); /* period */
    td_buf_u64(body, 2);  /* group of two: enabled, then value, id, lost of each */
    for (uint64_t i = 0; i < 7; i++)
        td_buf_u64(body, 100 + i);
    td_buf_u64(body, 3);
    td_buf_u64(body, (uint64_t)PERF_CONTEXT_USER);
    td_buf_u64(body, 0xabc);
    td_buf_u64(body, 0xdef);
    td_buf_u64(body, PERF_SAMPLE_REGS_ABI_64);
    for (uint64_t i = 0; i < 3; i++)
        td_buf_u64(body, 200 + i);
    td_buf_u64(body, 16); /* stack: room, bytes, how many are real */
    td_buf_u64(body, 0x1111);
    td_buf_u64(body, 0x2222);
    td_buf_u64(body, 8);
    td_buf_u64(body, 300); /* weight */
    td_buf_u64(body, 400); /* data source */
}

static void test_rich_sample(void **state)
{
    struct td_buf body = {0};

    (void)state;
    put_rich(&body, 9);
    const struct td_rec rec =
        parse(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_EXACT_IP, &body,
              &rich_layouts);
    const struct td_rec_sample *sample = &rec.u.sample;
    assert_ptr_equal(rec.layout, &rich[1]);
    assert_int_equal(rec.tid, 4);
    assert_int_equal(rec.time_ns, 1000);
    assert_int_equal(sample->period, 17);
    assert_int_equal(sample->value_count, 2);
    assert_int_equal(sample->chain_count, 3);
    assert_non_null(sample->regs);
    assert_int_equal(sample->stack_size, 8);
    assert_int_equal(sample->weight, 300);
    assert_int_equal(sample->data_source, 400);
    assert_true(sample->exact_ip);
    assert_int_equal(rec.mode, PERF_RECORD_MISC_USER);
}

/* Branch records between the chain and the registers; a count that cannot be true is refused. */
static void test_branches(void **state)
{
    static const struct td_layout layout = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN |
                                                           PERF_SAMPLE_BRANCH_STACK |
                                                           PERF_SAMPLE_WEIGHT};
    static const struct td_layouts layouts = {.items = &layout, .count = 1};
    struct td_buf body = {0};

    (void)state;
    td_buf_u64(&body, 0xabc);
    td_buf_u64(&body, 1);
    td_buf_u64(&body, 0xabc);
    td_buf_u64(&body, 2);
    for (uint64_t i = 1; i <= 2; i++) {
        td_buf_u64(&body, 0x100 * i); /* from */
        td_buf_u64(&body, 0x200 * i); /* to */
        td_buf_u64(&body, 0);
    }
    td_buf_u64(&body, 55);
    const struct td_rec rec = parse(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body, &layouts);
    assert_int_equal(rec.u.sample.branch_count, 2);
    assert_int_equal(rec.u.sample.weight, 55);
    assert_non_null(rec.u.sample.branches);
}

/* A sample as a machine of the other byte order writes it. */
static void test_big_endian(void **state)
{
    static const struct td_layout layout = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                                           PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                                                           PERF_SAMPLE_READ,
                                            .read_format = PERF_FORMAT_ID,
                                            .period = 4000};
    static const struct td_layouts layouts = {.items = &layout, .count = 1, .big = true};
    const uint32_t halves[] = {htobe32(PERF_RECORD_SAMPLE),
                               htobe32(PERF_RECORD_MISC_USER << 16 | 56),
                               0,
                               htobe32(0xabc), /* ip */
                               htobe32(3),
                               htobe32(4), /* pid, tid */
                               0,
                               htobe32(1000), /* time */
                               htobe32(5),
                               0, /* cpu */
                               0,
                               htobe32(77),
                               0,
                               htobe32(42),
                               /* value, id */};
    struct td_rec rec;

    (void)state;
    assert_int_equal(td_rec_parse(&rec, (const uint8_t *)halves, sizeof(halves), &layouts, NULL),
                     TD_OK);
    assert_int_equal(rec.u.sample.ip, 0xabc);
    assert_int_equal(rec.pid, 3);
    assert_int_equal(rec.tid, 4);
    assert_int_equal(rec.time_ns, 1000);
    assert_int_equal(rec.u.sample.cpu, 5);
    assert_int_equal(rec.u.sample.period, 4000);
    assert_int_equal(rec.u.sample.value_count, 1);
    assert_int_equal(rec.u.sample.id, 42);
    assert_int_equal(rec.mode, PERF_RECORD_MISC_USER);
    assert_int_equal(td_rec_time((const uint8_t *)halves, sizeof(halves), &layouts), 1000);
}

/* A sample that does not tell its task is nobody's, not the idle task's. */
static void test_no_task(void **state)
{
    static const struct td_layout layout = {.sample_type = PERF_SAMPLE_IP};
    static const struct td_layouts layouts = {.items = &layout, .count = 1};
    struct td_buf body = {0};

    (void)state;
    td_buf_u64(&body, 0xabc);
    const struct td_rec rec = parse(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, &body, &layouts);
    assert_int_equal(rec.pid, TD_NONE);
    assert_int_equal(rec.u.sample.cpu, TD_NONE);
}

static void test_foreign_id(void **state)
{
    struct td_buf body = {0};
    uint8_t record[512];
    struct td_rec rec;
    struct td_err err = TD_ERR_INIT;

    (void)state;
    put_rich(&body, 6);
    const size_t size = fake_record(record, PERF_RECORD_SAMPLE, 0, &body);
    assert_int_equal(td_rec_parse(&rec, record, size, &rich_layouts, &err), TD_EFORMAT);
    /* Of a software event, which another recording samples too, the id may be that one's. */
    const struct td_layouts shared = {.items = rich, .count = 2, .shared = &rich[1]};
    assert_int_equal(td_rec_parse(&rec, record, size, &shared, &err), TD_OK);
    assert_ptr_equal(rec.layout, &rich[1]);
    assert_int_equal(rec.tid, 4);
    assert_int_equal(rec.u.sample.stack_size, 8);
    assert_int_equal(td_rec_time(record, size, &shared), 1000);
    td_buf_release(&body);
}

static void test_huge_counts(void **state)
{
    static const struct td_layout chain = {.sample_type = PERF_SAMPLE_CALLCHAIN};
    static const struct td_layouts chain_only = {.items = &chain, .count = 1};
    static const uint64_t counts[] = {1, 1000, UINT64_MAX, UINT64_MAX / 8 + 1, UINT64_C(1) << 61};
    struct td_rec rec;

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct td_buf body = {0};
        uint8_t record[64];

        td_buf_u64(&body, counts[i]);
        const size_t size = fake_record(record, PERF_RECORD_SAMPLE, 0, &body);
        assert_int_equal(td_rec_parse(&rec, record, size, &chain_only, NULL), TD_EFORMAT);
        td_buf_release(&body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mmap),        cmocka_unit_test(test_mmap_path),
        cmocka_unit_test(test_tasks),       cmocka_unit_test(test_comm),
        cmocka_unit_test(test_lost),        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_rich_sample), cmocka_unit_test(test_foreign_id),
        cmocka_unit_test(test_huge_counts), cmocka_unit_test(test_branches),
        cmocka_unit_test(test_big_endian),  cmocka_unit_test(test_no_task),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
