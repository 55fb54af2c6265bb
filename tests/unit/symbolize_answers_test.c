/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "symbolize/answers.h"

/* Two places, one with an inlined call, one of which nothing is known. */
static void fill(struct td_answers *a)
{
    td_answers_init(a);
    const uint32_t file = td_answers_string(a, "/src/a.cc");
    const uint32_t outer = td_answers_function(a, "_ZN2ns5outerEv", "outer", file, 10);
    const uint32_t inner = td_answers_function(a, NULL, "inner", file, 3);

    td_answers_frame(a, &(struct td_answer_frame){inner, file, 4, 7});
    td_answers_frame(a, &(struct td_answer_frame){outer, file, 12, 0});
    td_answers_place(a, 0x1000);
    td_answers_place(a, 0x2000);
    a->note = td_answers_string(a, "a note");
}

static void encoded_answers_read_the_same(void **state)
{
    (void)state;
    struct td_answers a;
    struct td_answers_view v;
    struct td_answer_place place;
    struct td_answer_frame frame;
    struct td_answer_function f;
    struct td_buf buf = {0};
    size_t len = 0;

    fill(&a);
    td_answers_encode(&a, &buf);
    assert_int_equal(td_answers_open(&v, (struct td_bytes){buf.data, buf.len}, NULL), TD_OK);
    assert_int_equal(v.place_count, 2);
    assert_true(v.complete);
    td_answers_view_place(&v, 0, &place);
    assert_int_equal(place.offset, 0x1000);
    assert_int_equal(place.frame_count, 2);
    td_answers_view_frame(&v, 1, &frame);
    assert_int_equal(frame.line, 12);
    td_answers_view_function(&v, frame.function, &f);
    assert_memory_equal(td_answers_view_string(&v, f.name, &len), "ns::outer", 9);
    assert_int_equal(len, 9);
    assert_memory_equal(td_answers_view_string(&v, f.linkage, &len), "_ZN2ns5outerEv", 14);
    td_answers_view_place(&v, 1, &place);
    assert_int_equal(place.frame_count, 0);
    assert_memory_equal(td_answers_view_string(&v, v.note, &len), "a note", 6);
    td_buf_release(&buf);
    td_answers_release(&a);
}

static void every_prefix_is_refused(void **state)
{
    (void)state;
    struct td_answers a;
    struct td_answers_view v;
    struct td_buf buf = {0};

    fill(&a);
    td_answers_encode(&a, &buf);
    for (size_t n = 0; n < buf.len; n++)
        assert_int_not_equal(td_answers_open(&v, (struct td_bytes){buf.data, n}, NULL), TD_OK);
    td_buf_release(&buf);
    td_answers_release(&a);
}

/* Wrong indexes give nothing, and never a read outside. */
static void any_word_may_be_wrong(void **state)
{
    (void)state;
    struct td_answers a;
    struct td_answers_view v;
    struct td_answer_place place;
    struct td_answer_frame frame;
    struct td_answer_function f;
    struct td_buf buf = {0};
    size_t len = 0;

    fill(&a);
    td_answers_encode(&a, &buf);
    for (size_t at = 0; at + 4 <= buf.len; at += 4) {
        uint8_t saved[4];

        memcpy(saved, buf.data + at, 4);
        memset(buf.data + at, 0xff, 4);
        if (td_answers_open(&v, (struct td_bytes){buf.data, buf.len}, NULL) == TD_OK) {
            for (uint32_t p = 0; p < v.place_count; p++) {
                td_answers_view_place(&v, p, &place);
                for (uint32_t i = 0; i < place.frame_count; i++) {
                    td_answers_view_frame(&v, place.frame_first + i, &frame);
                    td_answers_view_function(&v, frame.function, &f);
                    (void)td_answers_view_string(&v, f.name, &len);
                    assert_true(len <= buf.len);
                }
            }
        }
        memcpy(buf.data + at, saved, 4);
    }
    td_buf_release(&buf);
    td_answers_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encoded_answers_read_the_same),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(any_word_may_be_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
