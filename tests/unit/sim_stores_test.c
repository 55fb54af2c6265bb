/* SPDX-License-Identifier: MIT */
/* What a load finds in the store buffer, and which stores are in one another's way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "record/sim/model/memory/stores.h"

enum { ADDRESS = 0x2000, LATER = 1000, WAYS = 8, BUFFER = 64 };

/* The next store, of `size` bytes of one word, in L1 at cycle `committed`. */
static void store(struct td_stores *stores, uint64_t address, uint32_t size, int64_t committed)
{
    const struct td_store_word word = {.word = address >> 3,
                                       .serial = ++stores->serial,
                                       .bytes = td_store_bytes(address, size),
                                       .offset = (uint8_t)(address & 7)};

    td_stores_put(stores, word, committed);
}

/* The number of the youngest store that a load at cycle 0 finds, or 0. */
static uint32_t found(const struct td_stores *stores, uint64_t address, uint32_t size, bool covers)
{
    const struct td_stores_found found = td_stores_find(stores, address, size, 0);

    assert_int_equal(found.covers, covers);
    return found.youngest ? found.youngest->serial : 0;
}

static void both_halves_of_a_word_are_found(void **state)
{
    struct td_stores *stores = *state;

    store(stores, ADDRESS, 4, LATER);
    store(stores, ADDRESS + 4, 4, LATER + 1);
    assert_int_equal(found(stores, ADDRESS, 4, true), 1);
    assert_int_equal(found(stores, ADDRESS + 4, 4, true), 2);
    assert_int_equal(found(stores, ADDRESS, 8, false), 2);
    assert_int_equal(found(stores, ADDRESS + 8, 4, false), 0);
}

static void each_of_eight_bytes_is_found(void **state)
{
    struct td_stores *stores = *state;

    for (uint32_t i = 0; i < 8; i++)
        store(stores, ADDRESS + i, 1, LATER + i);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(found(stores, ADDRESS + i, 1, true), i + 1);
    /* What lies over some of them hides these only. */
    store(stores, ADDRESS + 2, 2, LATER + 8);
    assert_int_equal(found(stores, ADDRESS + 1, 1, true), 2);
    assert_int_equal(found(stores, ADDRESS + 3, 1, true), 9);
    assert_int_equal(found(stores, ADDRESS + 4, 1, true), 5);
    assert_int_equal(td_stores_find(stores, ADDRESS, 8, 0).committed, LATER + 8);
}

static void what_l1_has_is_not_found(void **state)
{
    struct td_stores *stores = *state;

    store(stores, ADDRESS, 4, -1);
    store(stores, ADDRESS + 4, 4, LATER);
    assert_int_equal(found(stores, ADDRESS, 4, false), 0);
    assert_int_equal(found(stores, ADDRESS, 8, false), 2);
}

/* The same place of the table, another word. */
static void other_words_are_aliases(void **state)
{
    struct td_stores *stores = *state;

    store(stores, ADDRESS + 4, 4, LATER);
    store(stores, ADDRESS + 4096, 4, LATER);
    assert_int_equal(found(stores, ADDRESS + 4, 4, false), 0);
    assert_non_null(td_stores_find(stores, ADDRESS, 4, 0).alias);
    assert_int_equal(found(stores, ADDRESS + 4096, 4, true), 2);
}

/* Stores to lines `apart` lines from each other while the buffer is full: how many of 100 crowd. */
static uint32_t crowded(struct td_stores *stores, uint64_t apart, uint32_t stores_a_line)
{
    uint32_t ret = 0;

    stores->last_commit = LATER;
    stores->serial += 100 * BUFFER;
    for (uint64_t i = 0; i < 100; i++) {
        for (uint32_t k = 0; k < stores_a_line; k++) {
            stores->serial++;
            ret += td_stores_crowd(stores, 1 + i * apart, WAYS, BUFFER, 0);
        }
    }
    return ret;
}

static void lines_of_one_set_crowd(void **state)
{
    struct td_stores *stores = *state;

    assert_in_range(crowded(stores, TD_STORE_SETS, 1), 75, 92);
    assert_int_equal(crowded(stores, 1, 1), 0);
    /* Sixteen stores to each line: four lines at a time are waited for. */
    assert_int_equal(crowded(stores, TD_STORE_SETS, 16), 0);
    assert_int_equal(crowded(stores, TD_STORE_SETS / 2, 4), 0);
}

static int open_stores(void **state)
{
    *state = calloc(1, sizeof(struct td_stores));
    return *state ? 0 : -1;
}

static int close_stores(void **state)
{
    free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_stores, close_stores)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_halves_of_a_word_are_found), TEST(each_of_eight_bytes_is_found),
        TEST(what_l1_has_is_not_found),        TEST(other_words_are_aliases),
        TEST(lines_of_one_set_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
