/* SPDX-License-Identifier: MIT */
/* record/ring and record/drain: wrap, damage, the order of time over several rings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "record/events/drain.h"
#include "tests/unit/record_ring.h"

static const struct td_layout layout = {.sample_type = FAKE_SAMPLE_TYPE, .sample_id_all = true};
static const struct td_layouts layouts = {.items = &layout, .count = 1};

struct seen {
    uint64_t times[256];
    size_t rings[256];
    uint64_t ips[256];
    size_t len;
};

static void take(void *ctx, size_t ring, const struct td_rec *rec)
{
    struct seen *seen = ctx;

    assert_true(seen->len < TD_ARRAY_SIZE(seen->times));
    seen->times[seen->len] = rec->time_ns;
    seen->ips[seen->len] = rec->u.sample.ip;
    seen->rings[seen->len++] = ring;
}

static void test_wrap(void **state)
{
    struct fake_ring fake;
    struct td_ring ring;
    size_t size = 0;

    (void)state;
    /* Every position of an 8-byte grid at which a 32-byte record may be split. */
    for (uint64_t left = 0; left <= 40; left += 8) {
        fake_ring_init(&fake, &ring, 3 * FAKE_RING_BYTES - left);
        fake_write_sample(&fake, 1, 2, 3, 0x1234567890);
        td_ring_load_head(&ring);
        const uint8_t *data = td_ring_peek(&ring, &size);
        struct td_rec rec;

        assert_non_null(data);
        assert_int_equal(size, 32);
        assert_int_equal(td_rec_parse(&rec, data, size, &layouts, NULL), TD_OK);
        assert_int_equal(rec.u.sample.ip, 0x1234567890);
        assert_int_equal(rec.tid, 2);
        td_ring_skip(&ring, size);
        assert_null(td_ring_peek(&ring, &size));
        td_ring_release_read(&ring);
        assert_int_equal(fake.page.data_tail, fake.page.data_head);
        td_ring_unmap(&ring);
    }
}

static void check_thrown_away(uint16_t record_size)
{
    struct fake_ring fake;
    struct td_ring ring;
    size_t size = 0;
    const struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = record_size};

    fake_ring_init(&fake, &ring, 64);
    fake_ring_write(&fake, &header, sizeof(header));
    fake_write_sample(&fake, 1, 1, 1, 1);
    td_ring_load_head(&ring);
    assert_null(td_ring_peek(&ring, &size));
    assert_int_equal(ring.corrupt, 1);
    assert_int_equal(ring.tail, ring.head);
    td_ring_unmap(&ring);
}

static void test_damage(void **state)
{
    (void)state;
    check_thrown_away(0);
    check_thrown_away(4);
    check_thrown_away(12);    /* not a multiple of 8 */
    check_thrown_away(48);    /* more than there is */
    check_thrown_away(65528); /* more than the ring */
}

static void test_overrun(void **state)
{
    struct fake_ring fake;
    struct td_ring ring;
    size_t size = 0;

    (void)state;
    fake_ring_init(&fake, &ring, 0);
    fake.page.data_head = 2 * FAKE_RING_BYTES;
    td_ring_load_head(&ring);
    assert_null(td_ring_peek(&ring, &size));
    assert_int_equal(ring.corrupt, 1);
    td_ring_unmap(&ring);
}

static void test_order(void **state)
{
    struct fake_ring fakes[3];
    struct td_ring rings[3];
    struct td_drain drain;
    struct seen seen = {.len = 0};

    (void)state;
    for (size_t i = 0; i < 3; i++)
        fake_ring_init(&fakes[i], &rings[i], 128 * i);
    for (uint64_t i = 0; i < 60; i++)
        fake_write_sample(&fakes[(i * 7 / 3) % 3], 1, 1, 1000 + i, i);
    td_drain_init(&drain, rings, 3, &layouts);
    /* Up to the horizon only; the rest stays. */
    assert_int_equal(td_drain_run(&drain, 1029, take, &seen), 30);
    assert_int_equal(td_drain_run(&drain, UINT64_MAX, take, &seen), 30);
    assert_int_equal(seen.len, 60);
    for (size_t i = 0; i < seen.len; i++)
        assert_int_equal(seen.ips[i], i);
    td_drain_release(&drain);
    for (size_t i = 0; i < 3; i++)
        td_ring_unmap(&rings[i]);
}

static void test_horizon_of_a_full_ring(void **state)
{
    struct fake_ring fake;
    struct td_ring ring;
    struct td_drain drain;
    struct seen seen = {.len = 0};
    const size_t count = FAKE_RING_BYTES / 4 * 3 / 32;

    (void)state;
    fake_ring_init(&fake, &ring, 0);
    for (uint64_t i = 0; i < count; i++)
        fake_write_sample(&fake, 1, 1, 1000 + i, i);
    td_drain_init(&drain, &ring, 1, &layouts);
    assert_int_equal(td_drain_run(&drain, 0, take, &seen), count);
    td_drain_release(&drain);
    td_ring_unmap(&ring);
}

static void test_malformed_in_between(void **state)
{
    struct fake_ring fake;
    struct td_ring ring;
    struct td_drain drain;
    struct seen seen = {.len = 0};
    /* A sample whose body is too short for its type. */
    static const struct perf_event_header cut = {.type = PERF_RECORD_SAMPLE, .size = 8};

    (void)state;
    fake_ring_init(&fake, &ring, 0);
    fake_write_sample(&fake, 1, 1, 10, 1);
    fake_ring_write(&fake, &cut, sizeof(cut));
    fake_write_sample(&fake, 1, 1, 20, 2);
    td_drain_init(&drain, &ring, 1, &layouts);
    assert_int_equal(td_drain_run(&drain, UINT64_MAX, take, &seen), 2);
    assert_int_equal(drain.malformed, 1);
    assert_int_equal(seen.ips[1], 2);
    td_drain_release(&drain);
    td_ring_unmap(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_overrun),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_horizon_of_a_full_ring),
        cmocka_unit_test(test_malformed_in_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
