/* SPDX-License-Identifier: MIT */
/* record/recorder: samples whose details locate nodes of their own go to those nodes' groups; those
 * of clones that the recording made itself go nowhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "formats/load.h"
#include "record/run/recorder.h"

#define CODE   UINT64_C(0x400000)
#define BIT(n) (UINT64_C(1) << (n))

static int keep(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)err;
    td_buf_bytes(ctx, data, size);
    return TD_OK;
}

/* A recorder of one group, its file, and what was written to it. */
struct fixture {
    struct td_plan plan;
    struct td_profile_writer *writer;
    struct td_recorder *recorder;
    struct td_buf file;
    struct td_ring ring;
    struct td_layout layout;
};

static struct td_plan_group *begin(struct fixture *f)
{
    *f = (struct fixture){
        .plan = {.source = TD_SOURCE_PMU, .scope = TD_SCOPE_COMMAND, .method = TD_METHOD_TASK}};
    struct td_plan_group *group = td_plan_add_group(&f->plan);

    group->event_count = 1;
    snprintf(group->events[0].name, sizeof(group->events[0].name), "event");
    snprintf(group->name, sizeof(group->name), "ibs_op");
    group->role = TD_ROLE_METRIC;
    return group;
}

static void start(struct fixture *f, uint64_t sample_type)
{
    f->plan.groups[0].events[0].sample_type = sample_type;
    assert_int_equal(td_profile_writer_new(&f->writer, keep, &f->file, NULL, NULL), TD_OK);
    f->recorder = td_recorder_new(&f->plan, f->writer, &f->ring, 1);
    f->layout = (struct td_layout){.sample_type = sample_type};
}

static void add_column(struct td_plan_group *group, enum td_column_kind kind, uint32_t event)
{
    group->columns[group->column_count++] =
        (struct td_column){.kind = kind, .event = event, .node = TD_NODE_NONE};
}

/* The sample's address is the program's, whose mapping is not known: it still has a place. */
static void take(struct fixture *f, const struct td_rec_sample *sample)
{
    struct td_rec rec = {
        .kind = TD_REC_SAMPLE, .time_ns = 1000000, .pid = 7, .tid = 7, .layout = &f->layout};

    rec.u.sample = *sample;
    td_recorder_take(f->recorder, 0, &rec);
}

static struct td_model *finish(struct fixture *f)
{
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_model *model = NULL;

    td_recorder_end(f->recorder);
    assert_int_equal(td_profile_finish(f->writer, NULL), TD_OK);
    td_recorder_free(f->recorder);
    td_profile_writer_free(f->writer);
    assert_int_equal(td_load_bytes(&model, f->file.data, f->file.len, "test", &opts, NULL, NULL),
                     TD_OK);
    td_buf_release(&f->file);
    td_plan_release(&f->plan);
    return model;
}

/* The only sample of the group that locates `node`, its first value; its group's role in *role. */
static const uint64_t *only(const struct td_model *model, enum td_tma_node node,
                            enum td_group_role *role)
{
    const uint64_t *found = NULL;

    for (size_t i = 0; i < td_model_sample_count(model); i++) {
        const struct td_sample *sample = td_model_sample(model, i);
        const struct td_group *group = td_model_group(model, sample->group);

        if (group->locates != node)
            continue;
        assert_null(found);
        found = td_model_sample_values(model, sample);
        *role = group->role;
    }
    assert_non_null(found);
    return found;
}

static void test_ibs_samples_by_node(void **state)
{
    const uint64_t ops[][7] = {
        {BIT(18), CODE, BIT(36) | BIT(37) | 25 << 16, 0, 0, 0, 0},
        {BIT(18), CODE, 40 << 16, 3, BIT(0) | BIT(7) | BIT(20) | UINT64_C(430) << 32, 0, 0},
        {BIT(18), CODE, 3 << 16, 0, 0, 0, 0},
    };
    struct fixture f;
    struct td_plan_group *group = begin(&f);
    enum td_group_role role = TD_ROLE_TIME;

    (void)state;
    group->detail = TD_DETAIL_IBS_OP;
    add_column(group, TD_COLUMN_PERIOD, 0);
    add_column(group, TD_COLUMN_FLAGS, TD_NONE);
    add_column(group, TD_COLUMN_LATENCY, TD_NONE);
    add_column(group, TD_COLUMN_INSTR_LATENCY, TD_NONE);
    start(&f, PERF_SAMPLE_IP | PERF_SAMPLE_RAW);
    for (size_t i = 0; i < TD_ARRAY_SIZE(ops); i++) {
        struct td_buf raw = {0};

        td_buf_u32(&raw, 1 << 11);
        for (size_t k = 0; k < TD_ARRAY_SIZE(ops[i]); k++)
            td_buf_u64(&raw, ops[i][k]);
        take(&f, &(struct td_rec_sample){.ip = CODE + i,
                                         .period = 1000 + i,
                                         .exact_ip = true,
                                         .raw = raw.data,
                                         .raw_size = raw.len});
        td_buf_release(&raw);
    }
    struct td_model *model = finish(&f);
    assert_int_equal(td_model_sample_count(model), 3);
    const uint64_t *missed = only(model, TD_NODE_BRANCH_MISPREDICTS, &role);
    assert_int_equal(role, TD_ROLE_LOCATOR);
    assert_int_equal(missed[0], 1000);
    assert_int_equal(missed[1], TD_FLAG_EXACT_IP | TD_FLAG_MISPREDICTED | TD_FLAG_BRANCH);
    assert_int_equal(missed[3], 25);
    const uint64_t *dram = only(model, TD_NODE_DRAM_BOUND, &role);
    assert_int_equal(dram[0], 1001);
    assert_int_equal(dram[2], 430);
    const uint64_t *rest = only(model, TD_NODE_NONE, &role);
    assert_int_equal(role, TD_ROLE_METRIC);
    assert_int_equal(rest[0], 1002);
    td_model_free(model);
}

static void test_weights(void **state)
{
    struct fixture f;
    struct td_plan_group *group = begin(&f);
    enum td_group_role role = TD_ROLE_TIME;

    (void)state;
    group->role = TD_ROLE_LOCATOR;
    group->locates = TD_NODE_DRAM_BOUND;
    add_column(group, TD_COLUMN_LATENCY, TD_NONE);
    add_column(group, TD_COLUMN_INSTR_LATENCY, TD_NONE);
    add_column(group, TD_COLUMN_RETIRE_LATENCY, TD_NONE);
    add_column(group, TD_COLUMN_DATA_SOURCE, TD_NONE);
    add_column(group, TD_COLUMN_FLAGS, TD_NONE);
    start(&f, PERF_SAMPLE_IP | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC);
    take(&f, &(struct td_rec_sample){.ip = CODE,
                                     .weight = UINT64_C(115) << 48 | UINT64_C(500) << 32 | 430,
                                     .data_source = 0x6a100842,
                                     .exact_ip = true});
    struct td_model *model = finish(&f);
    const uint64_t *values = only(model, TD_NODE_DRAM_BOUND, &role);
    assert_int_equal(values[0], 430);
    assert_int_equal(values[1], 500);
    assert_int_equal(values[2], 115);
    assert_int_equal(values[3], 0x6a100842);
    assert_int_equal(values[4], TD_FLAG_EXACT_IP);
    td_model_free(model);
}

static void test_mispredicted_branches(void **state)
{
    struct td_buf records = {0};
    struct fixture f;
    struct td_plan_group *group = begin(&f);
    enum td_group_role role = TD_ROLE_TIME;

    (void)state;
    group->role = TD_ROLE_SLOTS;
    group->branch_misses = true;
    add_column(group, TD_COLUMN_PERIOD, 0);
    for (uint64_t i = 0; i < 3; i++) {
        td_buf_u64(&records, CODE + 16 * i);
        td_buf_u64(&records, CODE);
        td_buf_u64(&records, i == 1 ? 1 : 2); /* mispredicted, predicted */
    }
    start(&f, PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK);
    take(&f, &(struct td_rec_sample){
                 .ip = CODE, .period = 5, .branches = records.data, .branch_count = 3});
    td_buf_release(&records);
    struct td_model *model = finish(&f);
    assert_int_equal(td_model_sample_count(model), 2);
    const uint64_t *values = only(model, TD_NODE_BRANCH_MISPREDICTS, &role);
    assert_int_equal(role, TD_ROLE_LOCATOR);
    assert_true(values[0] & TD_FLAG_MISPREDICTED);
    for (size_t i = 0; i < 2; i++) {
        const struct td_sample *sample = td_model_sample(model, i);
        const struct td_node *node = td_model_node(model, sample->node);
        const bool miss =
            td_model_group(model, sample->group)->locates == TD_NODE_BRANCH_MISPREDICTS;

        assert_int_equal(td_model_location(model, node->location)->offset, CODE + (miss ? 16 : 0));
    }
    td_model_free(model);
}

enum { PROGRAM = 7, CLONE = 9, CHILD = 11 };

/* What is known of a process the first time that it is asked for, and later. */
static enum td_clone judge(void *ctx, uint32_t pid)
{
    unsigned *asked = ctx;

    if (pid != CLONE)
        return TD_CLONE_NOT;
    return (*asked)++ == 0 ? TD_CLONE_UNKNOWN : TD_CLONE_IS;
}

static void take_task(struct fixture *f, enum td_rec_kind kind, uint32_t pid)
{
    struct td_rec rec = {
        .kind = kind, .time_ns = 1000000, .pid = pid, .tid = pid, .layout = &f->layout};

    rec.u.task.pid = rec.u.task.tid = pid;
    rec.u.task.ppid = rec.u.task.ptid = PROGRAM;
    td_recorder_take(f->recorder, 0, &rec);
}

static void take_time(struct fixture *f, uint32_t pid)
{
    struct td_rec rec = {
        .kind = TD_REC_SAMPLE, .time_ns = 1000000, .pid = pid, .tid = pid, .layout = &f->layout};

    rec.u.sample = (struct td_rec_sample){.ip = CODE, .period = 1000};
    td_recorder_take(f->recorder, 0, &rec);
}

/* A clone that was made for the recording is no process of it, and its time is not the program's.
 */
static void test_clones(void **state)
{
    struct fixture f;
    struct td_plan_group *group = begin(&f);
    unsigned asked = 0;

    (void)state;
    group->role = TD_ROLE_TIME;
    group->events[0].unit = TD_UNIT_NS;
    add_column(group, TD_COLUMN_PERIOD, 0);
    start(&f, PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD);
    td_recorder_set_clones(f.recorder, judge, &asked);
    td_tasks_add_process(td_recorder_tasks(f.recorder), PROGRAM, "program", 1);
    take_task(&f, TD_REC_FORK, CLONE);
    take_task(&f, TD_REC_FORK, CHILD);
    take_time(&f, PROGRAM);
    take_time(&f, CHILD);
    take_time(&f, CLONE); /* before anybody knew */
    assert_int_equal(td_recorder_clones_ns(f.recorder), 0);
    take_time(&f, CLONE);
    take_time(&f, CLONE);
    take_task(&f, TD_REC_EXIT, CLONE);
    take_time(&f, PROGRAM);
    assert_int_equal(asked, 2);
    assert_int_equal(td_recorder_clones_ns(f.recorder), 2000);
    assert_int_equal(td_recorder_counter(f.recorder, TD_COUNTER_SAMPLED_NS), 4000);
    struct td_model *model = finish(&f);
    assert_int_equal(td_model_sample_count(model), 4);
    assert_int_equal(td_model_counter(model, TD_COUNTER_PROCESSES), 2);
    assert_int_equal(td_model_counter(model, TD_COUNTER_THREADS), 2);
    td_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ibs_samples_by_node),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_mispredicted_branches),
        cmocka_unit_test(test_clones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
