/* SPDX-License-Identifier: MIT */
/* formats/kernel/deltas: cumulative group reads to differences, by counter and by thread. */
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "formats/kernel/deltas.h"

#define FORMAT (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST)

/* A sample of `tid` that has read these words of `count` counters. */
static bool take_words(struct td_deltas *deltas, uint32_t tid, uint64_t format,
                       const struct td_buf *words, uint64_t count, uint64_t ret[2], size_t wanted)
{
    const struct td_layout layout = {.read_format = format};
    struct td_rec rec = {.layout = &layout};

    rec.u.sample.values = words->data;
    rec.u.sample.value_count = count;
    return td_deltas_take(deltas, tid, &rec, false, ret, wanted);
}

/* A read of two counters with ids 7 and 8. */
static bool take(struct td_deltas *deltas, uint32_t tid, uint64_t a, uint64_t b, uint64_t ret[2])
{
    struct td_buf words = {0};

    td_buf_u64(&words, a);
    td_buf_u64(&words, 7);
    td_buf_u64(&words, 0); /* lost */
    td_buf_u64(&words, b);
    td_buf_u64(&words, 8);
    td_buf_u64(&words, 0);
    const bool good = take_words(deltas, tid, FORMAT, &words, 2, ret, 2);
    td_buf_release(&words);
    return good;
}

static void differences_add_up_to_the_last_values(void **state)
{
    (void)state;
    struct td_deltas *deltas = td_deltas_new();
    uint64_t d[2] = {0}, sum[2] = {0};

    for (uint64_t i = 1; i <= 100; i++) {
        assert_true(take(deltas, 0, i * i, i * 3, d));
        sum[0] += d[0];
        sum[1] += d[1];
    }
    assert_int_equal(sum[0], 10000);
    assert_int_equal(sum[1], 300);
    assert_int_equal(td_deltas_seen(deltas, 7), 10000);
    assert_int_equal(td_deltas_seen(deltas, 9), 0);
    td_deltas_free(deltas);
}

static void threads_have_their_own_last_values(void **state)
{
    (void)state;
    struct td_deltas *deltas = td_deltas_new();
    uint64_t d[2] = {0};

    assert_true(take(deltas, 1, 100, 10, d));
    assert_true(take(deltas, 2, 30, 3, d));
    assert_int_equal(d[0], 30);
    assert_true(take(deltas, 1, 150, 15, d));
    assert_int_equal(td_deltas_seen(deltas, 7), 180); /* of both threads */
    assert_int_equal(d[0], 50);
    td_deltas_free(deltas);
}

static void a_counter_that_goes_back_is_said_and_started_from(void **state)
{
    (void)state;
    struct td_deltas *deltas = td_deltas_new();
    uint64_t d[2] = {0};

    assert_true(take(deltas, 0, 100, 10, d));
    assert_false(take(deltas, 0, 90, 11, d));
    assert_true(take(deltas, 0, 95, 12, d));
    assert_int_equal(d[0], 5);
    td_deltas_free(deltas);
}

static void reads_of_too_few_are_refused(void **state)
{
    (void)state;
    struct td_deltas *deltas = td_deltas_new();
    struct td_buf words = {0};
    uint64_t d[2] = {0};

    assert_false(take_words(deltas, 0, FORMAT, &words, 0, d, 0));
    td_buf_u64(&words, 5);
    td_buf_u64(&words, 7);
    td_buf_u64(&words, 0);
    assert_true(take_words(deltas, 0, FORMAT, &words, 1, d, 1));
    assert_int_equal(d[0], 5);
    assert_false(take_words(deltas, 0, FORMAT, &words, 1, d, 2));
    td_buf_release(&words);
    td_deltas_free(deltas);
}

/* A thread with the number of one that has ended: its counts begin at 0. */
static void threads_of_one_number_are_told_apart(void **state)
{
    (void)state;
    struct td_deltas *deltas = td_deltas_new();
    uint64_t d[2] = {0};

    assert_true(take(deltas, 5, 100, 10, d));
    td_deltas_begin(deltas, 5);
    assert_true(take(deltas, 5, 120, 3, d));
    assert_int_equal(d[0], 120);
    assert_int_equal(d[1], 3);
    assert_true(take(deltas, 5, 130, 4, d));
    assert_int_equal(d[0], 10);
    assert_int_equal(td_deltas_seen(deltas, 7), 230);
    td_deltas_free(deltas);
}

/* A read of two counters in any order. */
static bool take_ids(struct td_deltas *deltas, uint32_t tid, const uint64_t pairs[4],
                     uint64_t ret[2])
{
    struct td_buf words = {0};

    for (int i = 0; i < 4; i++)
        td_buf_u64(&words, pairs[i]);
    const bool good =
        take_words(deltas, tid, PERF_FORMAT_GROUP | PERF_FORMAT_ID, &words, 2, ret, 2);
    td_buf_release(&words);
    return good;
}

static void counters_are_known_by_id_whatever_their_order(void **state)
{
    (void)state;
    struct td_deltas *deltas = td_deltas_new();
    uint64_t d[2] = {0};

    assert_true(take_ids(deltas, 1, (const uint64_t[]){100, 7, 10, 8}, d));
    assert_true(take_ids(deltas, 1, (const uint64_t[]){130, 7, 5, 9}, d)); /* 9 in 8's place */
    assert_int_equal(d[0], 30);
    assert_int_equal(d[1], 5);
    assert_true(take_ids(deltas, 1, (const uint64_t[]){14, 8, 131, 7}, d)); /* another leader */
    assert_int_equal(d[0], 4);
    assert_int_equal(d[1], 1);
    assert_int_equal(td_deltas_seen(deltas, 7), 131);
    td_deltas_free(deltas);
}

/* The kernel gives -1 for the thread of a task that has just ended. */
static void a_thread_that_is_not_known_is_one_of_many(void **state)
{
    (void)state;
    struct td_deltas *deltas = td_deltas_new();
    uint64_t d[2] = {0};

    assert_true(take(deltas, 1, 100, 10, d));
    assert_true(take(deltas, UINT32_MAX, 7, 3, d));
    assert_int_equal(d[0], 7);
    assert_true(take(deltas, 1, 105, 11, d));
    assert_int_equal(d[0], 5);
    assert_int_equal(td_deltas_seen(deltas, 7), 112);
    td_deltas_free(deltas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_add_up_to_the_last_values),
        cmocka_unit_test(threads_have_their_own_last_values),
        cmocka_unit_test(a_counter_that_goes_back_is_said_and_started_from),
        cmocka_unit_test(reads_of_too_few_are_refused),
        cmocka_unit_test(threads_of_one_number_are_told_apart),
        cmocka_unit_test(counters_are_known_by_id_whatever_their_order),
        cmocka_unit_test(a_thread_that_is_not_known_is_one_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
