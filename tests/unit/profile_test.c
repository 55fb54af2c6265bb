/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "formats/load.h"
#include "formats/profile/dump.h"
#include "formats/profile/frame.h"
#include "formats/profile/from_model.h"
#include "formats/profile/write.h"

static const uint8_t fixed_id[TD_PROFILE_ID_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static int to_buf(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

static struct td_profile_writer *open_writer(struct td_buf *buf, uint32_t max_nodes)
{
    const struct td_profile_writer_opts opts = {.max_nodes = max_nodes, .id = fixed_id};
    struct td_profile_writer *w = NULL;

    assert_int_equal(td_profile_writer_new(&w, to_buf, buf, &opts, NULL), TD_OK);
    return w;
}

/* One event, one group of two columns, two modules, two threads. */
static void describe(struct td_profile_writer *w)
{
    const struct td_profile_event event = {
        .name = "cpu-clock",
        .unit = TD_UNIT_NS,
        .pmu_type = 1,
        .frequency_hz = 4000,
        .flags = TD_EVENT_USER,
    };
    const struct td_group group = {
        .role = TD_ROLE_TIME,
        .locates = TD_NODE_NONE,
        .column_count = 2,
        .columns = {{TD_COLUMN_PERIOD, 0, TD_NODE_NONE}, {TD_COLUMN_DELTA, 0, TD_NODE_RETIRING}},
    };
    const struct td_profile_module app = {
        .kind = TD_MODULE_FILE,
        .path = "/usr/bin/app",
        .build_id = {.size = 20, .bytes = {0xde, 0xad, 0xbe, 0xef}},
    };
    const struct td_profile_module kernel = {
        .kind = TD_MODULE_KERNEL,
        .path = "[kernel]",
        .base = 0xffffffff81000000,
    };

    td_profile_env(w, "argv", "app");
    td_profile_env(w, "argv", "--fast\n");
    td_profile_env(w, "source", "clock");
    td_profile_counter(w, TD_COUNTER_STARTED_NS, 1000000);
    assert_int_equal(td_profile_event(w, &event), 0);
    assert_int_equal(td_profile_group(w, &group, "time", ""), 0);
    assert_int_equal(td_profile_module(w, &app), 0);
    assert_int_equal(td_profile_module(w, &kernel), 1);
    assert_int_equal(td_profile_thread(w, 10, 10, "app", "app", 5), 0);
    assert_int_equal(td_profile_thread(w, 10, 11, "worker", "app", 6), 1);
    td_profile_symbol(w, 1, 0x100, 16, "schedule", NULL, 0);
    td_profile_symbol(w, 1, 0x200, 1, "jitted", "app.js", 12);
}

static uint32_t next_random(uint32_t *state)
{
    return (uint32_t)td_hash_u64(++*state);
}

/* Adds a sample on a random path of up to `depth` frames. */
static void add_random_sample(struct td_profile_writer *w, uint32_t *seed, uint64_t time)
{
    const uint32_t depth = 1 + next_random(seed) % 8;
    const uint64_t values[2] = {250000, next_random(seed) % 1000};
    struct td_sample sample = {.time_ns = time, .group = 0};

    for (uint32_t i = 0; i < depth; i++)
        sample.node = td_profile_node(w, sample.node, next_random(seed) % 2,
                                      UINT64_C(0x1000) * (i + 1) + next_random(seed) % 6);
    sample.thread = next_random(seed) % 2;
    sample.cpu = next_random(seed) % 3;
    td_profile_sample(w, &sample, values);
}

static void write_small(struct td_buf *buf, uint32_t samples)
{
    struct td_profile_writer *w = open_writer(buf, 0);
    const uint64_t tally[2] = {7, 9};
    uint32_t seed = 1;

    describe(w);
    for (uint32_t i = 0; i < samples; i++) {
        add_random_sample(w, &seed, 1000000 + 250000 * (uint64_t)i);
        if (i % 64 == 63)
            assert_int_equal(td_profile_flush(w, NULL), TD_OK);
    }
    td_profile_tally(w, 0, td_profile_node(w, 0, 0, 0x42), 0, 3, tally);
    td_profile_counter(w, TD_COUNTER_SAMPLES, samples);
    assert_int_equal(td_profile_finish(w, NULL), TD_OK);
    assert_int_equal(td_profile_bytes(w), buf->len);
    td_profile_writer_free(w);
}

static struct td_model *load(const struct td_buf *buf, bool keep_samples)
{
    const struct td_load_opts opts = {.keep_samples = keep_samples};
    struct td_load_status status;
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_load_bytes(&model, buf->data, buf->len, "test", &opts, &status, &err) < 0)
        fail_msg("%s", err.text);
    if (status.damage.code != TD_OK)
        fail_msg("%s", status.damage.text);
    assert_true(td_model_complete(model));
    return model;
}

static void descriptions_survive(void **state)
{
    (void)state;
    struct td_buf buf = {0};

    write_small(&buf, 200);
    struct td_model *model = load(&buf, false);
    assert_string_equal(td_model_env_at(model, TD_ENV_ARGV, 1), "--fast\n");
    assert_null(td_model_env_at(model, TD_ENV_ARGV, 2));
    assert_int_equal(td_model_counter(model, TD_COUNTER_STARTED_NS), 1000000);
    assert_int_equal(td_model_counter(model, TD_COUNTER_SAMPLES), 200);
    assert_memory_equal(td_model_profile_id(model), fixed_id, TD_PROFILE_ID_SIZE);
    assert_int_equal(td_model_module_count(model), 2);
    const struct td_module *app = td_model_module(model, 0);
    assert_string_equal(td_model_string(model, app->path), "/usr/bin/app");
    assert_int_equal(app->build_id.size, 20);
    assert_int_equal(app->build_id.bytes[3], 0xef);
    assert_true(td_model_module(model, 1)->base == UINT64_C(0xffffffff81000000));
    assert_int_equal(td_model_thread_count(model), 2);
    assert_string_equal(td_model_string(model, td_model_thread(model, 1)->name), "worker");
    assert_int_equal(td_model_thread(model, 1)->start_ns, 6);
    const struct td_event *event = td_model_event(model, 0);
    assert_string_equal(td_model_string(model, event->name), "cpu-clock");
    assert_int_equal(event->frequency_hz, 4000);
    const struct td_group *group = td_model_group(model, 0);
    assert_int_equal(group->column_count, 2);
    assert_int_equal(group->columns[1].node, TD_NODE_RETIRING);
    assert_int_equal(group->columns[0].node, TD_NODE_NONE);
    assert_int_equal(group->locates, TD_NODE_NONE);
    size_t count = 0;
    const struct td_symbol *symbols = td_model_symbols(model, 1, &count);
    assert_int_equal(count, 2);
    assert_string_equal(td_model_string(model, symbols[0].name), "schedule");
    assert_int_equal(symbols[0].file, 0);
    assert_string_equal(td_model_string(model, symbols[1].name), "jitted");
    assert_int_equal(symbols[1].offset, 0x200);
    assert_string_equal(td_model_string(model, symbols[1].file), "app.js");
    assert_int_equal(symbols[1].line, 12);
    td_model_free(model);
    td_buf_release(&buf);
}

/* What was given to the writer, as a sum that does not depend on the order. */
static uint64_t path_hash(const struct td_model *model, uint32_t node)
{
    uint64_t hash = 0;

    for (; node != 0; node = td_model_node(model, node)->parent) {
        const struct td_location *l =
            td_model_location(model, td_model_node(model, node)->location);

        hash = hash * 31 + l->offset * 2 + l->module;
    }
    return hash;
}

static uint64_t sample_digest(const struct td_model *model, const struct td_sample *s)
{
    const uint64_t *values = td_model_sample_values(model, s);

    return (path_hash(model, s->node) + s->thread * 3 + s->cpu * 5 + (s->time_ns >> 10) * 7 +
            values[0] * 11 + values[1]) *
           UINT64_C(0x9e3779b97f4a7c15);
}

/* The same samples with a table of nodes that is always full, and with one that never is. */
static void epochs_do_not_change_samples(void **state)
{
    (void)state;
    uint64_t digest[2] = {0, 0};

    for (int tiny = 0; tiny < 2; tiny++) {
        struct td_buf buf = {0};
        struct td_profile_writer *w = open_writer(&buf, tiny ? 1 : 1 << 20);
        uint32_t seed = 7;

        describe(w);
        for (uint64_t i = 0; i < 40000; i++)
            add_random_sample(w, &seed, 5000000 + i * 100000);
        assert_true(tiny == (td_profile_node_epoch(w) > 2));
        assert_int_equal(td_profile_finish(w, NULL), TD_OK);
        struct td_model *model = load(&buf, true);
        assert_int_equal(td_model_sample_count(model), 40000);
        for (size_t i = 0; i < td_model_sample_count(model); i++)
            digest[tiny] += sample_digest(model, td_model_sample(model, i));
        td_model_free(model);
        td_profile_writer_free(w);
        td_buf_release(&buf);
    }
    assert_true(digest[0] == digest[1]);
}

static void tallies_are_summed(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_profile_writer *w = open_writer(&buf, 0);
    const uint64_t values[2] = {UINT64_C(1) << 40, 2};
    const uint32_t outer = (describe(w), td_profile_node(w, 0, 0, 0x10));
    const uint32_t inner = td_profile_node(w, outer, 0, 0x20);

    assert_int_equal(td_profile_node(w, outer, 0, 0x20), inner);
    for (int i = 0; i < 3; i++) {
        td_profile_tally(w, 1, inner, 0, 5, values);
        td_profile_flush(w, NULL);
    }
    td_profile_finish(w, NULL);
    struct td_model *model = load(&buf, false);
    assert_int_equal(td_model_tally_count(model), 1);
    const struct td_tally *tally = td_model_tally(model, 0);
    assert_int_equal(tally->samples, 15);
    assert_true(td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0})[0] == UINT64_C(3)
                                                                                             << 40);
    assert_int_equal(td_model_node(model, tally->node)->parent, 1);
    td_model_free(model);
    td_profile_writer_free(w);
    td_buf_release(&buf);
}

static void time_range_is_relative_to_the_start(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    const struct td_load_opts opts = {
        .keep_samples = true, .from_ns = 50 * 250000, .to_ns = 60 * 250000};
    struct td_model *model = NULL;

    write_small(&buf, 200);
    assert_int_equal(td_load_bytes(&model, buf.data, buf.len, "x", &opts, NULL, NULL), TD_OK);
    assert_in_range(td_model_sample_count(model), 9, 11);
    td_model_free(model);
    td_buf_release(&buf);
}

static int full_disk(void *ctx, const void *data, size_t size, struct td_err *err)
{
    size_t *room = ctx;

    (void)data;
    if (size > *room)
        return td_fail(err, TD_EIO, "disk full");
    *room -= size;
    return TD_OK;
}

static void failed_write_stays_failed(void **state)
{
    (void)state;
    struct td_profile_writer *w = NULL;
    struct td_err err = TD_ERR_INIT;
    size_t room = 100;

    assert_int_equal(td_profile_writer_new(&w, full_disk, &room, NULL, &err), TD_OK);
    describe(w);
    assert_int_equal(td_profile_flush(w, &err), TD_EIO);
    assert_string_equal(err.text, "disk full");
    const uint64_t bytes = td_profile_bytes(w);
    room = 1 << 20;
    assert_int_equal(td_profile_finish(w, &err), TD_EIO);
    assert_int_equal(td_profile_bytes(w), bytes);
    td_profile_writer_free(w);
}

/* Loads bytes that are not all there or not all right. Returns whether somebody was told. */
static bool told(const void *data, size_t size, struct td_load_status *status, struct td_err *err)
{
    struct td_model *model = NULL;
    const int rc = td_load_bytes(&model, data, size, "x", NULL, status, err);

    if (rc < 0)
        return err->code == (enum td_code)rc && err->offset <= size && err->text[0];
    const bool complete = td_model_complete(model);
    td_model_free(model);
    return !complete && (status->damaged || status->cut) && status->damage.offset <= size &&
           strstr(status->damage.text, "at byte") != NULL;
}

static void every_prefix_is_told(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    struct td_load_status status;

    write_small(&buf, 100);
    for (size_t size = 0; size < buf.len; size++) {
        uint8_t *copy = td_xalloc(size); /* so that ASan sees a read past the end */
        struct td_err err = TD_ERR_INIT;

        if (size > 0)
            memcpy(copy, buf.data, size);
        if (!told(copy, size, &status, &err))
            fail_msg("prefix of %zu bytes: rc %d, %s", size, err.code, status.damage.text);
        assert_false(status.damaged); /* a shorter recording is no broken one */
        free(copy);
    }
    td_buf_release(&buf);
}

/* Changes one to eight bytes, or cuts out or doubles a piece. */
static size_t mutate(uint8_t *data, size_t size, uint32_t *seed)
{
    const size_t at = next_random(seed) % size;
    const size_t piece = 1 + next_random(seed) % 64;

    if (next_random(seed) % 8 == 0 && at + piece < size) {
        memmove(data + at, data + at + piece, size - at - piece);
        return size - piece;
    }
    for (uint32_t n = 1 + next_random(seed) % 8; n > 0; n--)
        data[next_random(seed) % size] ^= (uint8_t)(1 + next_random(seed) % 255);
    return size;
}

static void every_mutation_is_told(void **state)
{
    (void)state;
    struct td_buf buf = {0};
    uint32_t seed = 99;

    write_small(&buf, 100);
    for (int i = 0; i < 20000; i++) {
        uint8_t *copy = td_xalloc(buf.len);
        struct td_load_status status;
        struct td_err err = TD_ERR_INIT;

        memcpy(copy, buf.data, buf.len);
        const size_t size = mutate(copy, buf.len, &seed);
        if (size == buf.len && memcmp(copy, buf.data, size) == 0) {
            free(copy);
            continue;
        }
        if (!told(copy, size, &status, &err))
            fail_msg("mutation %d went unnoticed", i);
        free(copy);
    }
    td_buf_release(&buf);
}

static void write_canonical(const struct td_model *model, struct td_buf *buf)
{
    struct td_err err = TD_ERR_INIT;

    if (td_profile_write_model(model, NULL, to_buf, buf, &err) < 0)
        fail_msg("%s", err.text);
}

static void assert_same_bytes(const struct td_buf *a, const struct td_buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
}

static void a_model_written_and_read_is_the_same(void **state)
{
    (void)state;
    struct td_buf recorded = {0}, once = {0}, twice = {0};

    for (int keep = 0; keep < 2; keep++) {
        write_small(&recorded, 500);
        struct td_model *model = load(&recorded, keep);
        write_canonical(model, &once);
        struct td_model *again = load(&once, keep);
        write_canonical(again, &twice);
        assert_same_bytes(&once, &twice);
        assert_int_equal(td_model_sample_count(again), keep ? 500 : 0);
        assert_int_equal(td_model_tally_count(again), td_model_tally_count(model));
        td_model_free(model);
        td_model_free(again);
        td_buf_clear(&recorded);
        td_buf_clear(&once);
        td_buf_clear(&twice);
    }
    td_buf_release(&recorded);
    td_buf_release(&once);
    td_buf_release(&twice);
}

/* The same content, put in from the front or from the back, a part of it twice. */
static struct td_model *build_model(bool backwards)
{
    struct td_model *model = td_model_new();
    const struct td_event event = {.name = td_model_intern_z(model, "slots")};
    const struct td_group group = {
        .locates = TD_NODE_NONE,
        .column_count = 1,
        .columns = {{TD_COLUMN_TOTAL, 0, TD_NODE_NONE}},
    };

    td_model_add_event(model, &event);
    td_model_add_event(model, &event);
    td_model_add_group(model, &group);
    /* Of events that are alike. */
    td_model_add_counts(model, 0, &(const struct td_event_counts){.counted = 9, .sampled = 4});
    td_model_add_counts(model, 1, &(const struct td_event_counts){.counted = 2, .running_ns = 5});
    for (int n = 0; n < 6; n++) {
        const int i = backwards ? 5 - n : n;
        const char names[2] = {(char)('a' + i % 3), '\0'};
        const struct td_module module = {.path = td_model_intern_z(model, names)};
        const struct td_thread thread = {.tid = (uint32_t)(i % 3)};
        const uint32_t m = td_model_put_module(model, &module);
        const uint32_t t = td_model_add_thread(model, &thread);
        uint32_t node = 0;

        for (uint64_t depth = 0; depth < 4; depth++)
            node = td_model_put_node(model, node, td_model_put_location(model, m, 9 - depth));
        td_model_add_values(model, t, node, 0, 1, &(const uint64_t){(uint64_t)i});
    }
    td_model_set_complete(model, true);
    return model;
}

static void order_does_not_matter(void **state)
{
    (void)state;
    struct td_model *forward = build_model(false), *backward = build_model(true);
    struct td_buf a = {0}, b = {0};

    write_canonical(forward, &a);
    write_canonical(backward, &b);
    assert_same_bytes(&a, &b);
    struct td_model *read = load(&a, false);
    assert_int_equal(td_model_thread_count(read), 3);
    assert_int_equal(td_model_event_count(read), 1);
    assert_int_equal(td_model_event(read, 0)->counts.counted, 11);
    assert_int_equal(td_model_event(read, 0)->counts.sampled, 4);
    assert_int_equal(td_model_event(read, 0)->counts.running_ns, 5);
    assert_int_equal(td_model_tally_count(read), 3);
    assert_int_equal(
        td_model_tally_values(read, td_model_tally(read, 0), (uint64_t[TD_COLUMNS_MAX]){0})[0],
        0 + 3);
    td_model_free(read);
    td_model_free(forward);
    td_model_free(backward);
    td_buf_release(&a);
    td_buf_release(&b);
}

/* Which run sampled a group: as profiles say it now, and as those of version 1.0 did. A group that
 * is named like it, of another kind of core, is another. */
static void passes_survive(void **state)
{
    const struct td_group group = {.locates = TD_NODE_NONE, .sampler = TD_NONE};

    (void)state;
    for (int old = 0; old < 2; old++) {
        struct td_buf buf = {0}, again = {0};
        struct td_profile_writer *w = open_writer(&buf, 0);
        struct td_group later = group;

        later.pass = old ? 0 : 3;
        if (old)
            td_profile_env(w, "parameter", "run=3:split@cpu_core");
        td_profile_group(w, &group, "split", "cpu_atom");
        td_profile_group(w, &later, "split", "cpu_core");
        assert_int_equal(td_profile_finish(w, NULL), TD_OK);
        struct td_model *first = load(&buf, false);
        write_canonical(first, &again);
        struct td_model *second = load(&again, false);
        const struct td_model *const models[] = {first, second};
        for (size_t m = 0; m < TD_ARRAY_SIZE(models); m++) {
            assert_int_equal(td_model_group_count(models[m]), 2);
            for (uint32_t g = 0; g < 2; g++) {
                const struct td_group *read = td_model_group(models[m], g);
                const bool core = !strcmp(td_model_string(models[m], read->cpu_type), "cpu_core");

                assert_int_equal(read->pass, core ? 3 : 0);
            }
        }
        td_model_free(second);
        td_model_free(first);
        td_profile_writer_free(w);
        td_buf_release(&again);
        td_buf_release(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_survive),
        cmocka_unit_test(passes_survive),
        cmocka_unit_test(epochs_do_not_change_samples),
        cmocka_unit_test(tallies_are_summed),
        cmocka_unit_test(time_range_is_relative_to_the_start),
        cmocka_unit_test(failed_write_stays_failed),
        cmocka_unit_test(a_model_written_and_read_is_the_same),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(every_prefix_is_told),
        cmocka_unit_test(every_mutation_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
