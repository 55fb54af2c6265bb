/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/sim/model/mappings.h"
#include "sim_rig.h"

enum { FIRST = 0x10000, SIZE = 0x4000, FILE_A = 3, FILE_B = 5 };

static void map(struct td_mappings *m, uint64_t start, uint64_t size, uint64_t offset,
                uint32_t file)
{
    const struct td_range range = {
        .start = start, .end = start + size, .offset = offset, .value = file};

    td_mappings_add(m, &range);
}

/* The place of an address, and that the file and offset there are these. */
static uint64_t placed(const struct td_mappings *m, uint64_t address, uint32_t file,
                       uint64_t offset)
{
    uint64_t place = 0;

    assert_non_null(td_mappings_find(m, address, &place));
    const struct td_range *range = td_range_set_find(&m->places, place);
    assert_non_null(range);
    assert_int_equal(range->value, file);
    assert_int_equal(place - range->start + range->offset, offset);
    assert_int_equal(TD_PLACE_ADDRESS(place), address);
    return place;
}

static void one_address_is_a_place_for_each_file(void **state)
{
    struct td_mappings m = {.numbers = NULL};

    (void)state;
    map(&m, FIRST, SIZE, 0x1000, FILE_A);
    assert_int_equal(placed(&m, FIRST + 16, FILE_A, 0x1010), FIRST + 16);
    td_mappings_clear(&m);
    map(&m, FIRST, SIZE, 0x1000, FILE_B);
    const uint64_t second = placed(&m, FIRST + 16, FILE_B, 0x1010);
    assert_int_not_equal(second, FIRST + 16);
    /* Another part of the same file is another place, too. */
    td_mappings_clear(&m);
    map(&m, FIRST, SIZE, 0x8000, FILE_A);
    const uint64_t third = placed(&m, FIRST + 16, FILE_A, 0x8010);
    assert_int_not_equal(third, second);
    /* What was there before is there again. */
    for (int i = 0; i < 3; i++) {
        td_mappings_clear(&m);
        map(&m, FIRST, SIZE, 0x1000, FILE_B);
        assert_int_equal(placed(&m, FIRST + 16, FILE_B, 0x1010), second);
        td_mappings_clear(&m);
        map(&m, FIRST, SIZE, 0x1000, FILE_A);
        assert_int_equal(placed(&m, FIRST + 16, FILE_A, 0x1010), FIRST + 16);
    }
    assert_int_equal(m.count, 3);
    td_mappings_release(&m);
}

/* The kernel tells one mapping in parts once a part has other rights. */
static void parts_of_a_mapping_are_its_places(void **state)
{
    struct td_mappings m = {.numbers = NULL};

    (void)state;
    map(&m, FIRST, SIZE, 0, FILE_A);
    td_mappings_clear(&m);
    map(&m, FIRST, SIZE / 2, 0, FILE_A);
    map(&m, FIRST + SIZE / 2, SIZE / 2, SIZE / 2, FILE_A);
    assert_int_equal(placed(&m, FIRST + SIZE - 1, FILE_A, SIZE - 1), FIRST + SIZE - 1);
    map(&m, FIRST + SIZE, SIZE, SIZE, FILE_A);
    td_mappings_clear(&m);
    map(&m, FIRST + 0x1000, 2 * SIZE - 0x1000, 0x1000, FILE_A);
    assert_int_equal(placed(&m, FIRST + SIZE, FILE_A, SIZE), FIRST + SIZE);
    assert_false(td_mappings_overlap(&m, FIRST, FIRST + 0x1000));
    assert_true(td_mappings_overlap(&m, FIRST, FIRST + 0x1001));
    assert_true(td_mappings_overlap(&m, FIRST + 2 * SIZE - 1, UINT64_MAX));
    assert_false(td_mappings_overlap(&m, FIRST + 2 * SIZE, UINT64_MAX));
    td_mappings_release(&m);
}

static bool is_file(void *ctx, uint32_t file, uint64_t offset)
{
    const uint64_t *wanted = ctx;

    return file == wanted[0] && offset == wanted[1];
}

static void copied_code_is_its_files(void **state)
{
    struct td_mappings m = {.numbers = NULL};
    uint64_t wanted[2] = {FILE_A, 0x1010};
    uint64_t place = 0;

    (void)state;
    assert_int_equal(td_mappings_place_copy(&m, FIRST + 16, is_file, wanted), FIRST + 16);
    map(&m, FIRST, SIZE, 0x1000, FILE_A);
    td_mappings_clear(&m);
    map(&m, FIRST, SIZE, 0x1000, FILE_B);
    const uint64_t of_b = placed(&m, FIRST + 16, FILE_B, 0x1010);
    td_mappings_clear(&m);
    assert_null(td_mappings_find(&m, FIRST + 16, &place));
    assert_int_equal(td_mappings_place_copy(&m, FIRST + 16, is_file, wanted), FIRST + 16);
    wanted[0] = FILE_B;
    assert_int_equal(td_mappings_place_copy(&m, FIRST + 16, is_file, wanted), of_b);
    /* Code of no file is at no file's place, and keeps its address. */
    wanted[1]++;
    place = td_mappings_place_copy(&m, FIRST + 16, is_file, wanted);
    assert_null(td_range_set_find(&m.places, place));
    assert_int_equal(TD_PLACE_ADDRESS(place), FIRST + 16);
    td_mappings_release(&m);
}

/* Random mappings: each place goes on to say what was mapped when it was made. */
static void places_never_change(void **state)
{
    enum { PAGES = 24, FILES = 4, STEPS = 3000 };
    struct td_mappings m = {.numbers = NULL};
    struct {
        uint64_t place, offset;
        uint32_t file;
    } known[STEPS];
    uint64_t random = RIG_RANDOM;

    (void)state;
    for (int step = 0; step < STEPS; step++) {
        uint64_t at = FIRST;

        td_mappings_clear(&m);
        while (at < FIRST + PAGES * 0x1000) {
            const uint64_t size = (1 + rig_random(&random) % 5) * 0x1000;

            if (rig_random(&random) % 4)
                map(&m, at, size, rig_random(&random) % 3 * 0x1000,
                    (uint32_t)(rig_random(&random) % FILES));
            at += size;
        }
        known[step].place = 0;
        const uint64_t address = FIRST + rig_random(&random) % (PAGES * 0x1000);
        const struct td_range *range = td_mappings_find(&m, address, &known[step].place);
        if (range) {
            known[step].file = range->value;
            known[step].offset = address - range->start + range->offset;
        }
    }
    for (int step = 0; step < STEPS; step++) {
        const struct td_range *range = td_range_set_find(&m.places, known[step].place);

        if (known[step].place == 0)
            continue;
        assert_non_null(range);
        assert_int_equal(range->value, known[step].file);
        assert_int_equal(known[step].place - range->start + range->offset, known[step].offset);
    }
    td_mappings_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_address_is_a_place_for_each_file),
        cmocka_unit_test(parts_of_a_mapping_are_its_places),
        cmocka_unit_test(copied_code_is_its_files),
        cmocka_unit_test(places_never_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
