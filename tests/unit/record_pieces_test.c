/* SPDX-License-Identifier: MIT */
/* Pieces are put together while they come: each adds what it tells more than the last of its image.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/load.h"
#include "record/pieces.h"

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

/* A piece of one thread: `count` places of a program, each with `value` cycles. */
static struct td_model *piece(uint32_t pid, uint32_t count, uint64_t value)
{
    struct td_model *model = td_model_new();
    const struct td_event event = {.name = td_model_intern_z(model, "cycles"),
                                   .unit = TD_UNIT_CYCLES};
    const uint32_t id = td_model_add_event(model, &event);
    const struct td_group group = {
        .name = td_model_intern_z(model, "modelled"),
        .role = TD_ROLE_MODEL,
        .locates = TD_NODE_NONE,
        .sampler = TD_NONE,
        .column_count = 1,
        .columns = {{.kind = TD_COLUMN_TOTAL, .event = id, .node = TD_NODE_NONE}},
    };
    const struct td_module module = {.kind = TD_MODULE_FILE,
                                     .path = td_model_intern_z(model, "/bin/app")};
    const struct td_thread thread = {.pid = pid, .tid = pid};

    td_model_add_group(model, &group);
    const uint32_t m = td_model_put_module(model, &module);
    const uint32_t t = td_model_add_thread(model, &thread);
    /* The newest place comes first, so that ids differ from piece to piece. */
    for (uint32_t i = count; i > 0; i--) {
        const uint32_t outer = td_model_put_node(model, 0, td_model_put_location(model, m, 16));
        const uint32_t node = td_model_put_node(model, outer, td_model_put_location(model, m, i));

        td_model_add_values(model, t, node, 0, 2 * value, &value);
    }
    td_model_set_counter(model, TD_COUNTER_CYCLES, count * value);
    td_model_set_counter(model, TD_COUNTER_PROCESSES, 1);
    return model;
}

struct whole {
    struct td_buf bytes;
    struct td_profile_writer *writer;
    struct td_pieces pieces;
};

static void begin(struct whole *whole)
{
    *whole = (struct whole){.writer = NULL};
    assert_int_equal(td_profile_writer_new(&whole->writer, append, &whole->bytes, NULL, NULL),
                     TD_OK);
    td_pieces_init(&whole->pieces, whole->writer);
}

static void add(struct whole *whole, uint32_t image, struct td_model *model)
{
    td_pieces_add(&whole->pieces, image, model);
    td_model_free(model);
    assert_int_equal(td_profile_flush(whole->writer, NULL), TD_OK);
}

/* What a reader finds at this moment: places and the sum of their cycles. */
static void expect(const struct whole *whole, size_t places, uint64_t cycles)
{
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;
    uint64_t sum = 0, samples = 0;

    if (td_load_bytes(&model, whole->bytes.data, whole->bytes.len, "whole", NULL, NULL, &err) !=
        TD_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        sum += td_model_tally_values(model, td_model_tally(model, i))[0];
        samples += td_model_tally(model, i)->samples;
    }
    assert_int_equal(td_model_tally_count(model), places);
    assert_int_equal(sum, cycles);
    assert_int_equal(samples, 2 * cycles);
    assert_int_equal(td_model_counter(model, TD_COUNTER_CYCLES), cycles);
    assert_int_equal(td_model_module_count(model), 1);
    td_model_free(model);
}

static void end(struct whole *whole)
{
    assert_int_equal(td_profile_finish(whole->writer, NULL), TD_OK);
    td_pieces_release(&whole->pieces);
    td_profile_writer_free(whole->writer);
    td_buf_release(&whole->bytes);
}

static void test_growing(void **state)
{
    struct whole whole;

    (void)state;
    begin(&whole);
    add(&whole, 0, piece(7, 3, 10));
    expect(&whole, 3, 30);
    const size_t before = whole.bytes.len;
    add(&whole, 0, piece(7, 3, 10)); /* nothing new */
    expect(&whole, 3, 30);
    assert_true(whole.bytes.len < before + 100);
    add(&whole, 0, piece(7, 5, 12));
    expect(&whole, 5, 60);
    /* Estimates may fall, too. */
    add(&whole, 0, piece(7, 5, 11));
    expect(&whole, 5, 55);
    end(&whole);
}

/* Images of one process (it executed another) and of others are told apart; a place is given on. */
static void test_images(void **state)
{
    struct whole whole;

    (void)state;
    begin(&whole);
    add(&whole, 0, piece(7, 2, 10));
    add(&whole, 3, piece(8, 2, 1));
    expect(&whole, 4, 22);
    td_pieces_forget(&whole.pieces, 0);
    add(&whole, 0, piece(9, 1, 100));
    expect(&whole, 5, 122);
    end(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing),
        cmocka_unit_test(test_images),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
