/* SPDX-License-Identifier: MIT */
/* record/plan_pairs, recorder: who gets a second sampler, and how it shows when it has strayed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "record/plan/pairs.h"
#include "record/run/recorder.h"

#define PERIOD 100000

static struct td_plan_group *add_group(struct td_plan *plan)
{
    struct td_plan_group *group = td_plan_add_group(plan);

    group->role = TD_ROLE_SLOTS;
    group->event_count = 2;
    group->sampler = 1;
    for (size_t i = 0; i < 2; i++) {
        group->events[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
        group->events[i].member = i > 0;
    }
    group->events[1].sample_type =
        PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ;
    return group;
}

static void test_second_sampler(void **state)
{
    struct td_plan plan = {.method = TD_METHOD_CPU, .scope = TD_SCOPE_SYSTEM};
    struct td_plan_group *group = add_group(&plan);

    (void)state;
    group->events[1].frequency_hz = 4000;
    group->events[1].config[0] = 0x3c;
    assert_false(td_plan_is_second(group, 0));
    td_plan_pair_group(group, 3000000000);
    assert_int_equal(group->attribution, TD_ATTRIBUTION_PAIRED);
    assert_int_equal(group->event_count, 3);
    assert_true(td_plan_is_second(group, 2) && !td_plan_is_second(group, 1));
    /* Each takes half the samples, and no frequency's control moves either. */
    for (size_t i = 1; i <= 2; i++) {
        assert_int_equal(group->events[i].frequency_hz, 0);
        assert_int_equal(group->events[i].period, 1500000);
        assert_int_equal(group->events[i].config[0], 0x3c);
        assert_true(group->events[i].sample_type & PERF_SAMPLE_READ);
        assert_true(group->events[i].member);
    }
    assert_true(group->pair_ns > 0);
    td_plan_release(&plan);
    /* A period that was asked for is that of all samples. */
    plan = (struct td_plan){.method = TD_METHOD_CPU};
    group = add_group(&plan);
    group->events[1].period = 1000003;
    td_plan_pair_group(group, 3000000000);
    assert_int_equal(group->events[2].period, 2000006);
    td_plan_release(&plan);
}

static void test_refusal(void **state)
{
    struct td_plan plan = {.method = TD_METHOD_CPU, .scope = TD_SCOPE_COMMAND};

    (void)state;
    assert_null(td_plan_pairs_refusal(&plan));
    plan.scope = TD_SCOPE_CGROUP;
    assert_non_null(strstr(td_plan_pairs_refusal(&plan), "cgroup"));
    plan.scope = TD_SCOPE_COMMAND;
    plan.method = TD_METHOD_TASK;
    assert_non_null(strstr(td_plan_pairs_refusal(&plan), "--method cpu"));
}

static int drop(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)ctx;
    (void)data;
    (void)size;
    (void)err;
    return TD_OK;
}

/* One sample of a sampler, after `counted` of its counts since the recording began. */
static void take(struct td_recorder *recorder, struct td_layout *layout, uint16_t event,
                 uint64_t counted)
{
    struct td_buf read = {0};

    for (uint64_t id = 1; id <= 3; id++) {
        td_buf_u64(&read, counted);
        td_buf_u64(&read, id);
    }
    layout->event = event;
    struct td_rec rec = {
        .kind = TD_REC_SAMPLE, .time_ns = counted, .pid = 7, .tid = 7, .layout = layout};
    rec.u.sample = (struct td_rec_sample){.ip = 0x400000, .values = read.data, .value_count = 3};
    td_recorder_take(recorder, 0, &rec);
    td_buf_release(&read);
}

/* Whether the recorder says, after so many periods, that seconds so far behind have strayed. */
static bool strays(uint64_t distance, int periods)
{
    struct td_plan plan = {
        .source = TD_SOURCE_PMU, .scope = TD_SCOPE_SYSTEM, .method = TD_METHOD_CPU};
    struct td_plan_group *group = add_group(&plan);
    struct td_profile_writer *writer = NULL;
    const struct td_ring ring = {.cpu = 0};

    group->events[1].period = PERIOD / 2;
    td_plan_pair_group(group, 1);
    struct td_layout layout = {.sample_type = group->events[1].sample_type,
                               .read_format = group->events[1].read_format};
    assert_int_equal(td_profile_writer_new(&writer, drop, NULL, NULL, NULL), TD_OK);
    struct td_recorder *recorder = td_recorder_new(&plan, writer, &ring, 1);
    for (int i = 1; i <= periods; i++) {
        take(recorder, &layout, 1, (uint64_t)i * PERIOD);
        take(recorder, &layout, 2, (uint64_t)i * PERIOD + distance);
    }
    const bool strayed = td_recorder_pairs_strayed(recorder, 0);
    assert_false(td_recorder_pairs_strayed(recorder, 0)); /* it was told */
    td_recorder_end(recorder);
    assert_int_equal(td_profile_finish(writer, NULL), TD_OK);
    td_recorder_free(recorder);
    td_profile_writer_free(writer);
    td_plan_release(&plan);
    return strayed;
}

static void test_strayed(void **state)
{
    (void)state;
    assert_false(strays(PERIOD / 20, 100));
    assert_true(strays(PERIOD / 2, 100));
    assert_true(strays(0, 100)); /* both in one interrupt */
    assert_false(strays(PERIOD / 2, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_second_sampler),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_strayed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
