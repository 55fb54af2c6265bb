/* SPDX-License-Identifier: MIT */
/* base/range against a plain array that says for every address whose it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/range.h"

#define SPACE 256

static void test_split(void **state)
{
    struct td_range_set ranges = {0};
    const struct td_range file = {.start = 100, .end = 200, .offset = 1000, .value = 1};
    const struct td_range hole = {.start = 140, .end = 150, .offset = 0, .value = 2};

    (void)state;
    td_range_set_put(&ranges, &file);
    td_range_set_put(&ranges, &hole);
    assert_int_equal(ranges.len, 3);
    assert_null(td_range_set_find(&ranges, 99));
    assert_int_equal(td_range_set_find(&ranges, 139)->value, 1);
    assert_int_equal(td_range_set_find(&ranges, 140)->value, 2);
    /* The tail of a split range still says where in the file it lies. */
    assert_int_equal(td_range_set_find(&ranges, 150)->offset, 1050);
    assert_null(td_range_set_find(&ranges, 200));
    td_range_set_release(&ranges);
}

struct owner {
    uint32_t value;
    uint64_t offset;
};

static void compare(const struct td_range_set *ranges, const struct owner owners[SPACE])
{
    for (uint64_t at = 0; at < SPACE; at++) {
        const struct td_range *found = td_range_set_find(ranges, at);

        assert_int_equal(found ? found->value : 0, owners[at].value);
        if (found)
            assert_int_equal(found->offset + (at - found->start), owners[at].offset);
    }
}

static void test_random(void **state)
{
    struct td_range_set ranges = {0};
    struct owner owners[SPACE] = {{0}};
    uint64_t seed = 1;

    (void)state;
    for (uint32_t i = 1; i < 2000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        const uint64_t start = (seed >> 33) % SPACE;
        const uint64_t end = start + (seed >> 45) % (SPACE - start + 1);
        const struct td_range range = {.start = start, .end = end, .offset = 7 * i, .value = i};

        td_range_set_put(&ranges, &range);
        for (uint64_t at = start; at < end; at++)
            owners[at] = (struct owner){i, 7 * i + (at - start)};
        compare(&ranges, owners);
    }
    td_range_set_release(&ranges);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
