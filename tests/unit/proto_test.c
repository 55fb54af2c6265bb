/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "formats/export/proto.h"

/* The examples of protobuf's own description of its encoding. */
static void test_fields(void **state)
{
    static const uint8_t want[] = {0x08, 0x96, 0x01, /* 1: 150 */
                                   0x12, 0x07, 't',  'e',  's',  't',  'i',  'n',
                                   'g', /* 2: "testing" */
                                   0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05, /* 6: packed */
                                   0x12, 0x00};
    static const uint64_t packed[] = {3, 270, 86942};
    struct td_buf buf = {0};

    (void)state;
    td_proto_u64(&buf, 1, 150);
    td_proto_u64(&buf, 3, 0);
    td_proto_bytes(&buf, 2, "testing", 7);
    td_proto_packed(&buf, 6, packed, 3);
    td_proto_packed(&buf, 7, packed, 0);
    td_proto_bytes(&buf, 2, "", 0);
    assert_int_equal(buf.len, sizeof(want));
    assert_memory_equal(buf.data, want, sizeof(want));
    td_buf_release(&buf);
}

static void test_negative_numbers_take_ten_bytes(void **state)
{
    struct td_buf buf = {0};

    (void)state;
    td_proto_u64(&buf, 1, (uint64_t)-2);
    assert_int_equal(buf.len, 11);
    td_buf_release(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_negative_numbers_take_ten_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
