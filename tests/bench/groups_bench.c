/* SPDX-License-Identifier: MIT */
/*
 * What the recorder costs a sample, from the ring to the file, with one value and with twelve: the
 * same samples as the kernel would write them, alternately. Prints JSON; for scripts/bench groups.
 *   groups_bench [ROUNDS [KIND]]     KIND: 0 no group, 1 a group of one, 2 of twelve; all
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "formats/profile/write.h"
#include "record/events/drain.h"
#include "record/run/recorder.h"

#define SAMPLES     16384
#define FLUSH_EVERY 3200 /* what 4 kHz brings from one flush of the session to the next */
#define STEP_NS     250000
#define RING_BYTES  ((size_t)8 << 20)
#define PLACES      400
#define THREADS     4
#define METRICS     8

/* One kind of recording: its plan and the bytes that its ring holds. */
struct kind {
    struct td_plan plan;
    struct td_layout layout;
    struct td_buf records;
    size_t ends[SAMPLES / FLUSH_EVERY + 2]; /* where each flush finds the ring's head */
    size_t end_count;
    double best_s;
    size_t bytes;
};

static uint64_t next_random(uint64_t *state)
{
    /* xorshift64 (Marsaglia 2003) */
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void make_plan(struct kind *kind, size_t events, bool grouped)
{
    kind->plan = (struct td_plan){
        .source = TD_SOURCE_PMU, .scope = TD_SCOPE_COMMAND, .method = TD_METHOD_TASK, .passes = 1};
    struct td_plan_group *group = td_plan_add_group(&kind->plan);
    uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                    PERF_SAMPLE_PERIOD;

    type |= grouped ? PERF_SAMPLE_READ : 0;
    snprintf(group->name, sizeof(group->name), "topdown");
    group->role = grouped ? TD_ROLE_SLOTS : TD_ROLE_METRIC;
    group->event_count = events;
    for (size_t i = 0; i < events; i++) {
        snprintf(group->events[i].name, sizeof(group->events[i].name), "event%zu", i);
        group->events[i].inherit = true;
        group->events[i].sample_type = type;
        group->columns[group->column_count++] =
            (struct td_column){.kind = grouped ? TD_COLUMN_DELTA : TD_COLUMN_PERIOD,
                               .event = (uint32_t)i,
                               .node = TD_NODE_NONE};
    }
    kind->layout =
        (struct td_layout){.id = 1,
                           .sample_type = type,
                           .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST};
}

/* The counters of a thread go on: slots, eight metrics of 255ths of them, then cycles and such. */
static void count_on(uint64_t values[TD_PLAN_EVENTS_MAX], size_t events, uint64_t *state)
{
    const uint64_t slots = 4000000 + next_random(state) % 2000000;

    values[0] += slots;
    for (size_t i = 1; i < events; i++)
        values[i] += i <= METRICS ? slots * (next_random(state) % 256) / 255
                                  : slots / 6 + next_random(state) % 100000;
}

static void put_sample(struct kind *kind, size_t i, uint64_t values[THREADS][TD_PLAN_EVENTS_MAX],
                       uint64_t *state)
{
    const size_t events = kind->plan.groups[0].event_count;
    const uint32_t thread = (uint32_t)(i / 8 % THREADS);
    const bool grouped = kind->layout.sample_type & PERF_SAMPLE_READ;
    const size_t words = 5 + 1 + (grouped ? 1 + 3 * events : 0);
    struct td_buf *out = &kind->records;

    td_buf_u32(out, PERF_RECORD_SAMPLE);
    td_buf_u16(out, PERF_RECORD_MISC_USER);
    td_buf_u16(out, (uint16_t)(8 * words));
    td_buf_u64(out, 1);
    /* Some places are hot: the smaller of two random numbers. */
    const uint64_t a = next_random(state) % PLACES, b = next_random(state) % PLACES;
    td_buf_u64(out, 0x400000 + 64 * (a < b ? a : b));
    td_buf_u32(out, 7);
    td_buf_u32(out, 7 + thread);
    td_buf_u64(out, (i + 1) * STEP_NS + next_random(state) % 4000);
    td_buf_u64(out, 900000 + next_random(state) % 100000);
    if (!grouped)
        return;
    count_on(values[thread], events, state);
    td_buf_u64(out, events);
    for (size_t e = 0; e < events; e++) {
        td_buf_u64(out, values[thread][e]);
        td_buf_u64(out, 100 + e);
        td_buf_u64(out, 0);
    }
}

static void make_records(struct kind *kind)
{
    uint64_t values[THREADS][TD_PLAN_EVENTS_MAX] = {{0}};
    uint64_t state = 88172645463325252u;

    for (size_t i = 0; i < SAMPLES; i++) {
        put_sample(kind, i, values, &state);
        if ((i + 1) % FLUSH_EVERY == 0 || i + 1 == SAMPLES)
            kind->ends[kind->end_count++] = kind->records.len;
    }
}

static int count_bytes(void *ctx, const void *data, size_t size, struct td_err *err)
{
    (void)data;
    (void)err;
    *(size_t *)ctx += size;
    return TD_OK;
}

static double cpu_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One recording of all samples; false when not every one came through. */
static bool record_once(struct kind *kind, uint8_t *ring_bytes)
{
    static struct perf_event_mmap_page page;
    struct td_profile_writer *writer = NULL;
    struct td_ring ring;
    struct td_drain drain;
    const struct td_layouts layouts = {.items = &kind->layout, .count = 1};
    struct td_err err = TD_ERR_INIT;

    kind->bytes = 0;
    memset(&page, 0, sizeof(page));
    memcpy(ring_bytes, kind->records.data, kind->records.len);
    td_ring_init(&ring, &page, ring_bytes, RING_BYTES);
    ring.cpu = 0;
    if (td_profile_writer_new(&writer, count_bytes, &kind->bytes, NULL, &err) != TD_OK)
        return false;
    struct td_recorder *recorder = td_recorder_new(&kind->plan, writer, &ring, 1);
    td_drain_init(&drain, &ring, 1, &layouts);
    const double start = cpu_s();
    for (size_t i = 0; i < kind->end_count; i++) {
        page.data_head = kind->ends[i];
        td_drain_run(&drain, UINT64_MAX, td_recorder_take, recorder);
        if (td_recorder_flush(recorder, &err) < 0)
            return false;
    }
    const double took = cpu_s() - start;
    kind->best_s = kind->best_s == 0 || took < kind->best_s ? took : kind->best_s;
    const bool all = td_recorder_counter(recorder, TD_COUNTER_SAMPLES) == SAMPLES;
    td_recorder_end(recorder);
    td_profile_finish(writer, NULL);
    td_drain_release(&drain);
    td_recorder_free(recorder);
    td_profile_writer_free(writer);
    return all;
}

int main(int argc, char **argv)
{
    static struct kind plain, one, twelve;
    struct kind *const kinds[] = {&plain, &one, &twelve};
    uint8_t *ring = td_xcalloc(1, RING_BYTES);
    uint64_t rounds = 9, only = TD_ARRAY_SIZE(kinds);
    bool good = argc < 2 || td_parse_u64(argv[1], &rounds);

    good = good && (argc < 3 || td_parse_u64(argv[2], &only));

    make_plan(&plain, 1, false);
    make_plan(&one, 1, true);
    make_plan(&twelve, 12, true);
    for (size_t k = 0; k < TD_ARRAY_SIZE(kinds); k++)
        make_records(kinds[k]);
    for (uint64_t round = 0; round < rounds && good; round++) {
        for (size_t k = 0; k < TD_ARRAY_SIZE(kinds); k++)
            good =
                (only < TD_ARRAY_SIZE(kinds) && k != only) || (record_once(kinds[k], ring) && good);
    }
    printf("{\"samples\": %d, \"plain_ns\": %.1f, \"one_ns\": %.1f, \"twelve_ns\": %.1f, "
           "\"twelve_bytes\": %.2f}\n",
           SAMPLES, plain.best_s / SAMPLES * 1e9, one.best_s / SAMPLES * 1e9,
           twelve.best_s / SAMPLES * 1e9, (double)twelve.bytes / SAMPLES);
    for (size_t k = 0; k < TD_ARRAY_SIZE(kinds); k++) {
        td_buf_release(&kinds[k]->records);
        td_plan_release(&kinds[k]->plan);
    }
    free(ring);
    return good ? 0 : 1;
}
