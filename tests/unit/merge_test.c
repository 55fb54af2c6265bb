/* SPDX-License-Identifier: MIT */
/* Merging: the same bytes in any order and grouping, sums that add up, inputs that stay known. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/load.h"
#include "formats/merge.h"

#define INPUTS 6
#define STACKS 20

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 31);
}

static uint32_t add_group(struct td_model *model, const char *name, bool with_second)
{
    const struct td_event event = {.name = td_model_intern_z(model, name), .unit = TD_UNIT_NS};
    struct td_group group = {.name = td_model_intern_z(model, name),
                             .role = TD_ROLE_TIME,
                             .locates = TD_NODE_NONE,
                             .sampler = td_model_add_event(model, &event)};

    group.columns[group.column_count++] =
        (struct td_column){TD_COLUMN_PERIOD, group.sampler, TD_NODE_NONE};
    if (with_second)
        group.columns[group.column_count++] =
            (struct td_column){TD_COLUMN_DELTA, group.sampler, TD_NODE_NONE};
    return td_model_add_group(model, &group);
}

static uint32_t add_slots_group(struct td_model *model)
{
    const uint32_t group = add_group(model, "topdown", true);
    struct td_group slots = *td_model_group(model, group);

    slots.role = TD_ROLE_SLOTS;
    return td_model_add_group(model, &slots);
}

static uint32_t random_node(struct td_model *model, const uint32_t modules[2], uint64_t *state)
{
    uint32_t node = 0;

    for (uint64_t depth = 1 + next_random(state) % 6; depth > 0; depth--) {
        const uint32_t module = modules[next_random(state) % 2];

        node = td_model_put_node(model, node,
                                 td_model_put_location(model, module, next_random(state) % 8 * 16));
    }
    return node;
}

/* A profile of a rank: shared modules and stacks, some own, in an order of its own. */
static struct td_model *make_input(unsigned i)
{
    struct td_model *const model = td_model_new();
    uint64_t state = 7 * i + 1;
    char text[32];

    snprintf(text, sizeof(text), "node%u", i % 2);
    td_model_add_env(model, "host", text);
    snprintf(text, sizeof(text), "%u", i);
    td_model_add_env(model, "rank", text);
    td_model_add_env(model, "argv", "mpirun");
    td_model_add_env(model, "argv", i % 2 ? "b" : "a");
    snprintf(text, sizeof(text), "%u", 1000 - i);
    td_model_add_env(model, "realtime_ns", text);
    td_model_set_counter(model, TD_COUNTER_SAMPLES, 100 + i);
    td_model_set_counter(model, TD_COUNTER_STARTED_NS, 50 + i);
    td_model_set_counter(model, TD_COUNTER_ENDED_NS, 90 + i);
    td_model_set_complete(model, true);
    struct td_module first = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, "/a")};
    struct td_module second = {.kind = TD_MODULE_FILE, .path = td_model_intern_z(model, "/b")};
    second.build_id = (struct td_build_id){.size = 2, .bytes = {1, (uint8_t)(i % 3)}};
    uint32_t modules[2];
    modules[i % 2] = td_model_put_module(model, i % 2 ? &second : &first);
    modules[1 - i % 2] = td_model_put_module(model, i % 2 ? &first : &second);
    td_model_add_symbol(model, modules[0], &(struct td_symbol){.offset = 16, .name = first.path});
    td_model_add_symbol(
        model, modules[0],
        &(struct td_symbol){.offset = 16, .name = second.path, .file = first.path, .line = 3});
    const uint32_t groups[2] = {add_group(model, i % 2 ? "one" : "two", i % 2 == 0),
                                add_group(model, i % 2 ? "two" : "one", i % 2 == 1)};
    for (unsigned t = 0; t < 2; t++) {
        /* The same pids everywhere: hosts do not know of each other. */
        const struct td_thread thread = {.pid = 10,
                                         .tid = 10 + t,
                                         .name = td_model_intern_z(model, "worker"),
                                         .process = td_model_intern_z(model, "app;x")};
        const uint32_t id = td_model_add_thread(model, &thread);

        for (unsigned s = 0; s < STACKS; s++) {
            const uint64_t values[2] = {next_random(&state) % 1000, next_random(&state) >> 16};

            td_model_add_values(model, id, random_node(model, modules, &state),
                                groups[next_random(&state) % 2], 1 + s, values);
        }
    }
    return model;
}

/* The same with samples of a top-down group on two CPUs, many at one time. */
static struct td_model *make_sampled(unsigned i)
{
    struct td_model *const model = make_input(i);
    const uint32_t group = add_slots_group(model);
    uint64_t state = 90 + i;

    for (unsigned s = 0; s < 50; s++) {
        const uint64_t values[2] = {next_random(&state) % 1000, next_random(&state) % 5};
        /* Times are kept to 1,024 ns. */
        const struct td_sample sample = {.time_ns = 1024 * (next_random(&state) % 40),
                                         .thread = (uint32_t)(next_random(&state) % 2),
                                         .cpu = (uint32_t)(next_random(&state) % 2),
                                         .node = 1 + (uint32_t)(next_random(&state) % 5),
                                         .group = group};

        td_model_add_sample(model, &sample, values);
        td_model_add_values(model, sample.thread, sample.node, group, 1, values);
    }
    td_model_sort_samples(model);
    return model;
}

static int append(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

static struct td_buf finish(struct td_merge *merge)
{
    struct td_buf out = {0};

    assert_int_equal(td_merge_write(merge, append, &out, NULL), TD_OK);
    td_merge_free(merge);
    return out;
}

static struct td_model *read_back(const struct td_buf *file)
{
    struct td_load_status status = {0};
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_load_bytes(&model, file->data, file->len, "merged",
                      &(struct td_load_opts){.keep_slots = true}, &status, &err) != TD_OK)
        fail_msg("%s", err.text);
    assert_false(status.damaged);
    return model;
}

static void add_input(struct td_merge *merge, unsigned i)
{
    struct td_model *const model = make_input(i);

    assert_int_equal(td_merge_add(merge, model, "input", NULL), TD_OK);
    td_model_free(model);
}

static void add_file(struct td_merge *merge, struct td_buf *file)
{
    struct td_model *const model = read_back(file);

    assert_int_equal(td_merge_add(merge, model, "merged", NULL), TD_OK);
    td_model_free(model);
    td_buf_release(file);
}

static struct td_buf merge_range(unsigned from, unsigned to)
{
    struct td_merge *const merge = td_merge_new();

    for (unsigned i = from; i < to; i++)
        add_input(merge, i);
    return finish(merge);
}

static void assert_same(const struct td_buf *a, struct td_buf *b)
{
    assert_int_equal(a->len, b->len);
    assert_memory_equal(a->data, b->data, a->len);
    td_buf_release(b);
}

static void test_order_and_grouping_do_not_matter(void **state)
{
    struct td_buf all = merge_range(0, INPUTS);

    (void)state;
    struct td_merge *merge = td_merge_new();
    for (unsigned i = INPUTS; i > 0; i--)
        add_input(merge, i - 1);
    struct td_buf other = finish(merge);
    assert_same(&all, &other);
    for (unsigned cut = 1; cut < INPUTS; cut++) {
        struct td_buf left = merge_range(0, cut);
        struct td_buf right = merge_range(cut, INPUTS);

        merge = td_merge_new();
        add_file(merge, &right);
        add_file(merge, &left);
        other = finish(merge);
        assert_same(&all, &other);
    }
    /* A merge of one merge is the same file. */
    merge = td_merge_new();
    struct td_buf copy = merge_range(0, INPUTS);
    add_file(merge, &copy);
    other = finish(merge);
    assert_same(&all, &other);
    td_buf_release(&all);
}

struct sums {
    uint64_t samples, values, rows;
};

static void add_up(struct sums *sums, const struct td_model *model)
{
    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *const tally = td_model_tally(model, i);
        const uint32_t columns = td_model_group(model, tally->group)->column_count;

        sums->samples += tally->samples;
        for (uint32_t c = 0; c < columns; c++)
            sums->values += td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0})[c];
    }
}

static void test_values_add_up(void **state)
{
    struct td_buf file = merge_range(0, INPUTS);
    struct td_model *const merged = read_back(&file);
    struct sums want = {0};
    struct sums got = {0};

    (void)state;
    for (unsigned i = 0; i < INPUTS; i++) {
        struct td_model *const model = make_input(i);

        add_up(&want, model);
        td_model_free(model);
    }
    add_up(&got, merged);
    assert_memory_equal(&want, &got, sizeof(want));
    assert_int_equal(td_model_counter(merged, TD_COUNTER_SAMPLES), 600 + 15);
    assert_int_equal(td_model_counter(merged, TD_COUNTER_STARTED_NS), 50);
    assert_int_equal(td_model_counter(merged, TD_COUNTER_ENDED_NS), 95);
    assert_int_equal(td_model_event_count(merged), 2);
    assert_int_equal(td_model_module_count(merged), 4); /* /a, and /b of three build-ids */
    assert_true(td_model_complete(merged));
    td_model_free(merged);
    td_buf_release(&file);
}

static struct td_buf merge_sampled(unsigned from, unsigned to, bool backwards)
{
    struct td_merge *const merge = td_merge_new();

    for (unsigned i = from; i < to; i++) {
        struct td_model *const model = make_sampled(backwards ? to - 1 - (i - from) : i);

        assert_int_equal(td_merge_add(merge, model, "input", NULL), TD_OK);
        td_model_free(model);
    }
    return finish(merge);
}

/* Samples of top-down groups stay samples; their sums are in no tally twice; in any grouping. */
static void test_samples_of_slots(void **state)
{
    struct td_buf all = merge_sampled(0, 3, false), other = merge_sampled(0, 3, true);
    struct td_model *const merged = read_back(&all);
    struct sums want = {0}, got = {0};

    (void)state;
    assert_same(&all, &other);
    struct td_buf left = merge_sampled(0, 1, false), right = merge_sampled(1, 3, false);
    struct td_merge *merge = td_merge_new();
    add_file(merge, &right);
    add_file(merge, &left);
    other = finish(merge);
    assert_same(&all, &other);
    for (unsigned i = 0; i < 3; i++) {
        struct td_model *const model = make_sampled(i);

        add_up(&want, model);
        td_model_free(model);
    }
    add_up(&got, merged);
    assert_int_equal(want.samples, got.samples);
    assert_int_equal(want.values, got.values);
    assert_int_equal(td_model_sample_count(merged), 150);
    assert_null(td_model_env(merged, TD_ENV_LEFT_OUT));
    td_model_free(merged);
    td_buf_release(&all);
}

static void test_inputs_stay_known(void **state)
{
    struct td_buf file = merge_range(0, INPUTS);
    struct td_model *const merged = read_back(&file);
    char value[64];

    (void)state;
    assert_int_equal(td_model_thread_count(merged), 2 * INPUTS);
    for (uint32_t t = 0; t < td_model_thread_count(merged); t++) {
        const char *const origin = td_model_string(merged, td_model_thread(merged, t)->origin);

        assert_true(td_merge_field(origin, "host", value, sizeof(value)));
        assert_true(strcmp(value, "node0") == 0 || strcmp(value, "node1") == 0);
        assert_true(td_merge_field(origin, "process", value, sizeof(value)));
        assert_string_equal(value, "app:x");
        assert_true(td_merge_field(origin, "rank", value, sizeof(value)));
        assert_false(td_merge_field(origin, "ran", value, sizeof(value)));
    }
    assert_non_null(td_model_env_at(merged, TD_ENV_INPUT, INPUTS - 1));
    assert_null(td_model_env_at(merged, TD_ENV_INPUT, INPUTS));
    assert_string_equal(td_model_env_at(merged, TD_ENV_ARGV, 1), "a");
    assert_string_equal(td_model_env(merged, TD_ENV_REALTIME_NS), "995");
    assert_string_equal(td_model_env_at(merged, TD_ENV_HOST, 1), "node1");
    assert_null(td_model_env_at(merged, TD_ENV_HOST, 2));
    td_model_free(merged);
    td_buf_release(&file);
}

static void add_group_of(struct td_model *model, enum td_group_role role, enum td_unit unit)
{
    const struct td_event event = {.name = td_model_intern_z(model, "event"), .unit = unit};
    const struct td_group group = {
        .role = role,
        .locates = TD_NODE_NONE,
        .sampler = role == TD_ROLE_MODEL ? TD_NONE : td_model_add_event(model, &event),
    };

    td_model_add_group(model, &group);
}

/* Modelled figures and samples, or samples of two kinds of events, are sums of nothing. */
static void test_kinds_do_not_add_up(void **state)
{
    static const struct {
        enum td_group_role role;
        enum td_unit unit;
    } kinds[] = {{TD_ROLE_MODEL, TD_UNIT_SLOTS},
                 {TD_ROLE_TIME, TD_UNIT_NS},
                 {TD_ROLE_SLOTS, TD_UNIT_SLOTS},
                 {TD_ROLE_METRIC, TD_UNIT_CYCLES},
                 {TD_ROLE_METRIC, TD_UNIT_COUNT}};
    struct td_model *const nothing = td_model_new();

    (void)state;
    for (size_t a = 0; a < TD_ARRAY_SIZE(kinds); a++) {
        for (size_t b = 0; b < TD_ARRAY_SIZE(kinds); b++) {
            struct td_merge *const merge = td_merge_new();
            struct td_model *const first = td_model_new();
            struct td_model *const second = td_model_new();
            struct td_err err = TD_ERR_INIT;

            add_group_of(first, kinds[a].role, kinds[a].unit);
            add_group_of(second, kinds[b].role, kinds[b].unit);
            assert_int_equal(td_merge_add(merge, nothing, "nothing", &err), TD_OK);
            assert_int_equal(td_merge_add(merge, first, "first", &err), TD_OK);
            assert_int_equal(td_merge_add(merge, second, "second", &err),
                             a == b ? TD_OK : TD_EMISMATCH);
            td_model_free(first);
            td_model_free(second);
            td_merge_free(merge);
        }
    }
    td_model_free(nothing);
}

static void test_slots_of_two_cores_do_not_add_up(void **state)
{
    struct td_merge *const merge = td_merge_new();
    struct td_model *const first = make_input(0);
    struct td_model *const second = make_input(1);
    struct td_err err = TD_ERR_INIT;

    (void)state;
    td_model_add_env(first, "core", "golden-cove");
    td_model_add_env(second, "core", "zen4");
    assert_int_equal(td_merge_add(merge, first, "first", &err), TD_OK);
    assert_int_equal(td_merge_add(merge, second, "second", &err), TD_EMISMATCH);
    assert_non_null(strstr(err.text, "zen4"));
    td_model_free(first);
    td_model_free(second);
    td_merge_free(merge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_grouping_do_not_matter),
        cmocka_unit_test(test_values_add_up),
        cmocka_unit_test(test_samples_of_slots),
        cmocka_unit_test(test_inputs_stay_known),
        cmocka_unit_test(test_kinds_do_not_add_up),
        cmocka_unit_test(test_slots_of_two_cores_do_not_add_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
