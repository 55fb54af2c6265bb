/* SPDX-License-Identifier: MIT */
/* The perf.data importer, on real files with perf's own numbers and on files made here. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/mem.h"
#include "formats/load.h"

#define DATA TD_TESTS_DIR "/data/perfdata/"

/* The contents of tests/data/perfdata/NAME.zst. */
static struct td_buf read_data(const char *name)
{
    char *const path = td_xasprintf("%s%s.zst", DATA, name);
    struct td_buf packed = {0};
    struct td_buf out = {0};

    assert_int_equal(td_file_read(path, 16 << 20, &packed, NULL), TD_OK);
    const unsigned long long size = ZSTD_getFrameContentSize(packed.data, packed.len);
    assert_true(size < 16 << 20);
    td_buf_reserve(&out, (size_t)size);
    out.len = ZSTD_decompress(out.data, out.cap, packed.data, packed.len);
    assert_int_equal(out.len, size);
    td_buf_release(&packed);
    free(path);
    return out;
}

static struct td_model *load(const struct td_buf *file, const struct td_load_opts *opts,
                             struct td_load_status *status)
{
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;

    if (td_load_bytes(&model, file->data, file->len, "test", opts, status, &err) != TD_OK)
        fail_msg("%s", err.text);
    return model;
}

/* What a sample of the event stands for: its growth when the sample read it, else its period. */
static uint64_t stands_for(const struct td_group *group, const uint64_t *values, const char *event,
                           const struct td_model *model)
{
    uint64_t period = 0;

    for (uint32_t c = 0; c < group->column_count; c++) {
        const uint32_t e = group->columns[c].event;

        if (e == TD_NONE || strcmp(td_model_string(model, td_model_event(model, e)->name), event))
            continue;
        if (group->columns[c].kind == TD_COLUMN_DELTA)
            return values[c];
        period = values[c];
    }
    return period;
}

static void check_sums(const struct td_model *model, const char *event, const char *module,
                       uint64_t want_samples, uint64_t want_period)
{
    uint64_t samples = 0;
    uint64_t period = 0;

    for (size_t i = 0; i < td_model_tally_count(model); i++) {
        const struct td_tally *const tally = td_model_tally(model, i);
        const uint32_t location = td_model_node(model, tally->node)->location;
        const struct td_module *const m =
            td_model_module(model, td_model_location(model, location)->module);
        const uint64_t value = stands_for(
            td_model_group(model, tally->group),
            td_model_tally_values(model, tally, (uint64_t[TD_COLUMNS_MAX]){0}), event, model);

        if (value == 0 || (strcmp(module, "*") && strcmp(module, td_model_string(model, m->path))))
            continue;
        samples += tally->samples;
        period += value;
    }
    assert_int_equal(samples, want_samples);
    assert_int_equal(period, want_period);
}

/* Calls `check` for each line of expected.tsv with the model of its file. */
static void test_real_files_agree_with_perf(void **state)
{
    char line[1024];
    char loaded[256] = "";
    char name[256];
    char event[256];
    char module[512];
    unsigned long long samples = 0;
    unsigned long long period = 0;
    unsigned lines = 0;
    struct td_model *model = NULL;
    FILE *const file = fopen(DATA "expected.tsv", "r");

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        assert_int_equal(sscanf(line, "%255[^\t]\t%255[^\t]\t%511[^\t]\t%llu\t%llu", name, event,
                                module, &samples, &period),
                         5);
        if (strcmp(name, loaded) != 0) {
            struct td_load_status status = {0};
            struct td_buf data = read_data(name);

            td_model_free(model);
            model = load(&data, NULL, &status);
            if (status.damaged)
                fail_msg("%s: %s", name, status.damage.text);
            td_buf_release(&data);
            snprintf(loaded, sizeof(loaded), "%s", name);
        }
        check_sums(model, event, module, samples, period);
        lines++;
    }
    assert_int_equal(lines, 93);
    td_model_free(model);
    fclose(file);
}

/* The first reads of PerfFormatLost as perf script 6.12 shows them. */
static void test_group_reads_become_deltas(void **state)
{
    static const uint64_t cycles[] = {6463, 45051, 19655, 18379, 18117, 1148962, 5241, 40503};
    static const uint64_t instructions[] = {6151, 10839, 10818, 10792, 10818, 671221, 5773, 9237};
    struct td_buf data = read_data("KDAB__hotspot__perf.data.PerfFormatLost");
    struct td_load_status status = {0};
    struct td_model *const model =
        load(&data, &(struct td_load_opts){.keep_samples = true}, &status);

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cycles); i++) {
        const struct td_sample *const sample = td_model_sample(model, i);
        const uint64_t *const values = td_model_sample_values(model, sample);
        const struct td_group *const group = td_model_group(model, sample->group);

        assert_int_equal(stands_for(group, values, "cycles", model), cycles[i]);
        assert_int_equal(stands_for(group, values, "instructions", model), instructions[i]);
    }
    td_model_free(model);
    td_buf_release(&data);
}

static void test_environment_is_read(void **state)
{
    struct td_buf data = read_data("google__perf_data_converter__perf.data.lost_samples-4.4");
    struct td_load_status status = {0};
    struct td_model *const model = load(&data, NULL, &status);

    (void)state;
    assert_string_equal(td_model_env(model, TD_ENV_SOURCE), "import");
    assert_string_equal(td_model_env(model, TD_ENV_RECORDER), "perf 4.4");
    assert_string_equal(td_model_env(model, TD_ENV_KERNEL), "4.14.18");
    assert_string_equal(td_model_env_at(model, TD_ENV_ARGV, 1), "record");
    assert_string_equal(td_model_env(model, TD_ENV_CALL_GRAPH), "none");
    assert_int_equal(td_model_counter(model, TD_COUNTER_LOST), 2);
    assert_int_equal(td_model_counter(model, TD_COUNTER_SAMPLES), 191);
    assert_true(td_model_complete(model));
    td_model_free(model);
    td_buf_release(&data);
}

/* No cut may go unnoticed: it is refused, or what was read says that it is not all. */
static void test_cut_files_say_so(void **state)
{
    static const char *const names[] = {
        "google__perf_data_converter__perf.data.lost_samples-4.4",
        "google__perf_data_converter__perf.data.hybrid_topology",
        "KDAB__perfparser__fork_static_gcc.perf.data.zstd",
        "KDAB__perfparser__vector_static_gcc.perf.lbr.data",
    };

    (void)state;
    for (size_t n = 0; n < TD_ARRAY_SIZE(names); n++) {
        struct td_buf data = read_data(names[n]);

        for (size_t cut = 0; cut < data.len; cut += 97) {
            struct td_load_status status = {0};
            struct td_model *model = NULL;
            struct td_err err = TD_ERR_INIT;
            const int rc = td_load_bytes(&model, data.data, cut, "cut", NULL, &status, &err);

            assert_true(rc < 0 || status.damaged || status.cut);
            assert_true(rc < 0 ? err.text[0] != '\0' : status.damage.offset != TD_NO_OFFSET);
            if (rc == TD_OK)
                assert_false(td_model_complete(model));
            td_model_free(rc == TD_OK ? model : NULL);
        }
        td_buf_release(&data);
    }
}

/* A file of either byte order, written word by word. */
struct maker {
    struct td_buf buf;
    bool big;
};

static void put(struct maker *m, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        td_buf_u8(&m->buf, (uint8_t)(value >> 8 * (m->big ? size - 1 - i : i)));
}

static void put_u64(struct maker *m, uint64_t value)
{
    put(m, value, 8);
}

static void put_header(struct maker *m, uint32_t type, uint16_t misc, size_t body)
{
    put(m, type, 4);
    put(m, misc, 2);
    put(m, 8 + body, 2);
}

/* Everything the kernel can put into a sample, but for AUX. */
static const uint64_t all_fields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
    PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
    PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
    PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |
    PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |
    PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
    PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;

static uint64_t reversed(uint64_t x)
{
    uint64_t out = 0;

    for (int i = 0; i < 64; i++)
        out |= (x >> i & 1) << (63 - i);
    return out;
}

static void put_attr(struct maker *m)
{
    const uint64_t inherit = 1 << 1;
    const uint64_t sample_id_all = 1 << 18;
    const uint64_t flags = inherit | sample_id_all;

    put(m, PERF_TYPE_HARDWARE, 4);
    put(m, 136, 4);
    put_u64(m, PERF_COUNT_HW_CPU_CYCLES);
    put_u64(m, 1000);
    put_u64(m, all_fields);
    put_u64(m, PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | 16);
    put_u64(m, m->big ? reversed(flags) : flags);
    put_u64(m, 0); /* wakeup, bp_type */
    put_u64(m, 0);
    put_u64(m, 0);
    put_u64(m, PERF_SAMPLE_BRANCH_HW_INDEX);
    put_u64(m, 0x7);
    put_u64(m, 0); /* stack size, clock */
    put_u64(m, 0x1);
    for (int i = 0; i < 4; i++)
        put_u64(m, 0);
}

static void put_ids(struct maker *m, uint64_t time)
{
    put(m, 7, 4);
    put(m, 8, 4);
    put_u64(m, time);
    put_u64(m, 42);
    put_u64(m, 42);
    put_u64(m, 1);
    put_u64(m, 42);
}

static void put_mmap(struct maker *m, uint64_t time, uint64_t start, const char *path)
{
    char name[32] = {0};

    memcpy(name, path, strlen(path));
    put_header(m, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, 8 + 24 + 32 + 48);
    put(m, 7, 4);
    put(m, 8, 4);
    put_u64(m, start);
    put_u64(m, 0x1000);
    put_u64(m, 0x200);
    td_buf_bytes(&m->buf, name, sizeof(name));
    put_ids(m, time);
}

static void put_sample_ids(struct maker *m, uint64_t time)
{
    put_u64(m, 42); /* identifier */
    put_u64(m, 0x1010);
    put(m, 7, 4);
    put(m, 8, 4);
    put_u64(m, time);
    put_u64(m, 0xadd4); /* address */
    put_u64(m, 42);
    put_u64(m, 42);
    put(m, 1, 4); /* cpu */
    put(m, 0, 4);
    put_u64(m, 1234); /* period */
}

/* `branches`: 0 is written as the kernel does without a captured stack. */
static void put_sample(struct maker *m, uint64_t time, uint64_t count, uint64_t branches)
{
    const size_t begin = m->buf.len;

    put_header(m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 0);
    put_sample_ids(m, time);
    put_u64(m, 1); /* read: one member */
    put_u64(m, 10 * count);
    put_u64(m, count);
    put_u64(m, 42);
    put_u64(m, 0);
    put_u64(m, 3); /* chain */
    put_u64(m, (uint64_t)PERF_CONTEXT_USER);
    put_u64(m, 0x1010);
    put_u64(m, 0x1100);
    put(m, 4, 4); /* raw */
    put(m, 0, 4);
    put_u64(m, branches);
    for (uint64_t i = 0; i < (branches ? 1 + 3 * branches : 0); i++)
        put_u64(m, 0x1010);
    put_u64(m, 2); /* user registers */
    for (int i = 0; i < 3; i++)
        put_u64(m, 0xeeee);
    put_u64(m, 16); /* stack */
    for (int i = 0; i < 3; i++)
        put_u64(m, 16);
    put_u64(m, UINT64_C(0x0003000200000001)); /* weights */
    put_u64(m, 0x5d5);
    put_u64(m, 0); /* transaction */
    put_u64(m, 0); /* no interrupt registers */
    for (int i = 0; i < 4; i++)
        put_u64(m, 0);
    const size_t end = m->buf.len;
    m->buf.len = begin + 6;
    put(m, end - begin, 2);
    m->buf.len = end;
}

static void put_records(struct maker *m)
{
    /* The second mapping stands behind the samples that lie in it and before others in time. */
    put_mmap(m, 10, 0x1000, "/first");
    put_sample(m, 20, 100, 2);
    put_sample(m, 40, 250, 0);
    put_mmap(m, 30, 0x1000, "/second");
    put_header(m, PERF_RECORD_LOST, 0, 16 + 48);
    put_u64(m, 42);
    put_u64(m, 5);
    put_ids(m, 50);
    put_header(m, PERF_RECORD_LOST_SAMPLES, 0, 8 + 48);
    put_u64(m, 6);
    put_ids(m, 51);
    put_header(m, PERF_RECORD_THROTTLE, 0, 24 + 48);
    put_u64(m, 52);
    put_u64(m, 42);
    put_u64(m, 42);
    put_ids(m, 52);
}

static void put_file(struct maker *m, bool big, bool compressed)
{
    struct maker records = {.big = big};

    *m = (struct maker){.big = big};
    put_records(&records);
    td_buf_bytes(&m->buf, big ? "2ELIFREP" : "PERFILE2", 8);
    put_u64(m, 16); /* a pipe */
    put_header(m, 64, 0, 136 + 8);
    put_attr(m);
    put_u64(m, 42);
    if (compressed) {
        uint8_t packed[4096];
        const size_t size =
            ZSTD_compress(packed, sizeof(packed), records.buf.data, records.buf.len, 3);

        /* In pieces that end inside of records, the second kind with its padding. */
        for (size_t at = 0; at < size; at += 50) {
            const size_t n = size - at < 50 ? size - at : 50;

            put_header(m, 83, 0, 8 + 56);
            put_u64(m, n);
            td_buf_bytes(&m->buf, packed + at, n);
            for (size_t i = n; i < 56; i++)
                td_buf_u8(&m->buf, 0);
        }
    } else {
        td_buf_bytes(&m->buf, records.buf.data, records.buf.len);
    }
    td_buf_release(&records.buf);
}

static void put_piece(struct maker *m, const char *text)
{
    put_u64(m, strlen(text));
    td_buf_bytes(&m->buf, text, strlen(text));
}

/* As trace-cmd.dat.v6 says, with two systems. */
static struct td_buf make_tracing(bool big)
{
    struct maker m = {.big = big};

    td_buf_bytes(&m.buf, "\x17\x08\x44tracing0.6", 14); /* with its end */
    td_buf_u8(&m.buf, big);
    td_buf_u8(&m.buf, 8);
    put(&m, 4096, 4);
    td_buf_bytes(&m.buf, "header_page", 12);
    put_piece(&m, "\tfield: u64 timestamp;\n");
    td_buf_bytes(&m.buf, "header_event", 13);
    put_piece(&m, "# compressed entry header\n");
    put(&m, 1, 4);
    put_piece(&m, "name: function\nID: 1\nformat:\n");
    put(&m, 2, 4);
    td_buf_bytes(&m.buf, "sched", 6);
    put(&m, 2, 4);
    put_piece(&m, "name: sched_wakeup\nID: 31\nformat:\n");
    put_piece(&m, "name: sched_switch\nID: 314\nformat:\n");
    td_buf_bytes(&m.buf, "irq", 4);
    put(&m, 1, 4);
    put_piece(&m, "name: softirq_entry\nID: 131\nformat:\n");
    while (m.buf.len % 8)
        td_buf_u8(&m.buf, 0);
    return m.buf;
}

static size_t make_tracing_size(void)
{
    struct td_buf tracing = make_tracing(false);
    const size_t size = tracing.len;

    td_buf_release(&tracing);
    return size;
}

/* A pipe of an old perf: an event, and what its number means. */
static struct td_buf make_tracepoint(bool big, uint64_t config, size_t cut)
{
    struct maker m = {.big = big};
    struct td_buf tracing = make_tracing(big);

    td_buf_bytes(&m.buf, big ? "2ELIFREP" : "PERFILE2", 8);
    put_u64(&m, 16);
    put_header(&m, 64, 0, 64 + 8);
    put(&m, PERF_TYPE_TRACEPOINT, 4);
    put(&m, 64, 4);
    put_u64(&m, config);
    for (int i = 0; i < 6; i++)
        put_u64(&m, i == 1 ? PERF_SAMPLE_IP | PERF_SAMPLE_TID : 0);
    put_u64(&m, 42);
    put_header(&m, 66, 0, 8);
    put(&m, (uint32_t)(tracing.len - cut), 4);
    put(&m, 0, 4);
    td_buf_bytes(&m.buf, tracing.data, tracing.len - cut);
    put_header(&m, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, 16);
    put_u64(&m, 0x1234);
    put(&m, 7, 4);
    put(&m, 8, 4);
    td_buf_release(&tracing);
    return m.buf;
}

static void expect_tracepoint(bool big, uint64_t config, size_t cut, const char *name)
{
    struct td_load_status status = {0};
    struct td_buf file = make_tracepoint(big, config, cut);
    struct td_model *const model = load(&file, NULL, &status);

    assert_int_equal(td_model_event_count(model), 1);
    assert_string_equal(td_model_string(model, td_model_event(model, 0)->name), name);
    td_model_free(model);
    td_buf_release(&file);
}

/* Names of tracepoints that only the tracing data tells; cut anywhere, it tells less. */
static void test_tracepoints(void **state)
{
    const size_t size = make_tracing_size();

    (void)state;
    for (int big = 0; big < 2; big++) {
        expect_tracepoint(big, 314, 0, "sched:sched_switch");
        expect_tracepoint(big, 31, 0, "sched:sched_wakeup");
        expect_tracepoint(big, 131, 0, "irq:softirq_entry");
        expect_tracepoint(big, 3, 0, "type 2 config 0x3");
        expect_tracepoint(big, 1, 0, "type 2 config 0x1");
        for (size_t cut = 104; cut <= size; cut += 8)
            expect_tracepoint(big, 131, cut, "type 2 config 0x83");
    }
}

static void check_made_sample(const struct td_model *model, size_t i, const char *module,
                              uint64_t growth)
{
    const struct td_sample *const sample = td_model_sample(model, i);
    const uint64_t *const values = td_model_sample_values(model, sample);
    const struct td_node *const leaf = td_model_node(model, sample->node);
    const struct td_node *const caller = td_model_node(model, leaf->parent);
    const struct td_location *const location = td_model_location(model, leaf->location);
    const struct td_group *const group = td_model_group(model, sample->group);
    const uint64_t want[] = {growth, growth, 10 * growth, 1, 2, 3, 0x5d5, 0xadd4};

    assert_int_equal(sample->cpu, 1);
    assert_int_equal(td_model_thread(model, sample->thread)->tid, 8);
    assert_string_equal(td_model_string(model, td_model_module(model, location->module)->path),
                        module);
    assert_int_equal(location->offset, 0x210);
    assert_int_equal(td_model_location(model, caller->location)->offset, 0x2ff);
    assert_int_equal(caller->parent, 0);
    assert_int_equal(group->column_count, TD_ARRAY_SIZE(want));
    for (size_t c = 0; c < TD_ARRAY_SIZE(want); c++)
        assert_int_equal(values[c], want[c]);
}

/* All fields, both byte orders, compressed or not, and mappings that come late in the file. */
static void test_made_files(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        const struct td_load_opts opts = {.keep_samples = true};
        struct td_load_status status = {0};
        struct maker m;

        put_file(&m, variant & 1, variant & 2);
        struct td_model *const model = load(&m.buf, &opts, &status);
        if (status.damaged)
            fail_msg("variant %d: %s", variant, status.damage.text);
        assert_int_equal(td_model_sample_count(model), 2);
        check_made_sample(model, 0, "/first", 100);
        check_made_sample(model, 1, "/second", 150);
        assert_int_equal(td_model_counter(model, TD_COUNTER_LOST), 6);
        assert_int_equal(td_model_counter(model, TD_COUNTER_LOST_RECORDS), 5);
        assert_non_null(strstr(td_model_env(model, TD_ENV_WARNING), "5 records"));
        assert_int_equal(td_model_counter(model, TD_COUNTER_THROTTLED), 1);
        assert_int_equal(td_model_counter(model, TD_COUNTER_STARTED_NS), 20);
        assert_int_equal(td_model_counter(model, TD_COUNTER_ENDED_NS), 40);
        td_model_free(model);
        td_buf_release(&m.buf);
    }
}

/* Cuts of what describes the recording alone are no cuts of the recording. */
static void test_damage_of_a_description_is_no_cut(void **state)
{
    struct td_buf data = read_data("google__autofdo__perf.data.armv7.perf_3.14");
    struct td_load_status status = {0};
    struct td_model *model = load(&data, NULL, &status);

    (void)state;
    assert_false(status.damaged); /* its CPU's description is empty */
    assert_true(td_model_complete(model));
    assert_int_equal(td_model_counter(model, TD_COUNTER_SAMPLES), 700);
    td_model_free(model);

    /* The host's name, behind the length of its text. */
    uint8_t *const name = memmem(data.data, data.len, "localhost", 9);
    assert_non_null(name);
    memset(name - 4, 0xff, 4);
    model = load(&data, NULL, &status);
    assert_true(status.damaged);
    assert_true(td_model_complete(model));
    assert_int_equal(td_model_counter(model, TD_COUNTER_SAMPLES), 700);
    td_model_free(model);
    td_buf_release(&data);
}

static void put_trace(struct maker *m, uint32_t type, uint64_t bytes)
{
    put_header(m, 70, 0, 8);
    put(m, type, 4);
    put(m, 0, 4);
    put_header(m, 71, 0, 40);
    put_u64(m, bytes);
    for (int i = 0; i < 4; i++)
        put_u64(m, 0);
    for (uint64_t i = 0; i < bytes; i++)
        td_buf_u8(&m->buf, 0xa5);
}

/* Trace data are not read, which is said, whether there are samples beside them or not. */
static void test_trace_data_are_mentioned(void **state)
{
    struct td_load_status status = {0};
    struct td_model *model = NULL;
    struct td_err err = TD_ERR_INIT;
    struct maker m;

    (void)state;
    put_file(&m, false, false);
    put_trace(&m, 1, 24);
    put_trace(&m, 1, 16);
    model = load(&m.buf, NULL, &status);
    assert_non_null(strstr(td_model_env_at(model, TD_ENV_WARNING, 1), "40 bytes of Intel PT"));
    td_model_free(model);
    td_buf_release(&m.buf);

    m = (struct maker){.big = false};
    td_buf_bytes(&m.buf, "PERFILE2", 8);
    put_u64(&m, 16);
    put_header(&m, 64, 0, 136 + 8);
    put_attr(&m);
    put_u64(&m, 42);
    const size_t head = m.buf.len;
    put_trace(&m, 4, 24);
    assert_int_equal(td_load_bytes(&model, m.buf.data, m.buf.len, "x", NULL, &status, &err),
                     TD_ENODATA);
    assert_non_null(strstr(err.text, "24 bytes of Arm SPE"));
    m.buf.len = head;
    put_header(&m, 76, 0, 0); /* STAT */
    err = (struct td_err)TD_ERR_INIT;
    assert_int_equal(td_load_bytes(&model, m.buf.data, m.buf.len, "x", NULL, &status, &err),
                     TD_ENODATA);
    assert_non_null(strstr(err.text, "counts, not samples"));
    td_buf_release(&m.buf);
}

/* What a filter of perf record left out on purpose was not lost. */
static void test_filtered_samples_are_not_lost(void **state)
{
    struct td_load_status status = {0};
    struct maker m;

    (void)state;
    put_file(&m, false, false);
    put_header(&m, PERF_RECORD_LOST_SAMPLES, 1 << 15, 8 + 48);
    put_u64(&m, 1000);
    put_ids(&m, 53);
    struct td_model *const model = load(&m.buf, NULL, &status);
    assert_int_equal(td_model_counter(model, TD_COUNTER_LOST), 6);
    td_model_free(model);
    td_buf_release(&m.buf);
}

static void expect_kernel(const struct td_model *model, uint32_t node)
{
    const struct td_location *const location =
        td_model_location(model, td_model_node(model, node)->location);
    const struct td_module *const module = td_model_module(model, location->module);

    assert_int_equal(module->kind, TD_MODULE_KERNEL);
    assert_string_equal(td_model_string(model, module->path), "[kernel.kallsyms]");
}

/* The kernel no longer knew the task, and nothing says where the kernel's text lies. */
static void test_ended_task_in_an_unmapped_kernel(void **state)
{
    const uint64_t address = UINT64_C(0xffffffff81000010), chain = 128; /* offset in the record */
    const struct td_load_opts opts = {.keep_samples = true};
    struct td_load_status status = {0};
    struct maker m, words = {.big = false};

    (void)state;
    put_file(&m, false, false);
    const size_t begin = m.buf.len;
    put_sample(&m, 60, 300, 0);
    put_u64(&words, address);
    put_u64(&words, UINT64_MAX); /* pid and tid */
    put_u64(&words, (uint64_t)PERF_CONTEXT_KERNEL);
    put_u64(&words, address);
    put_u64(&words, address + 0x100);
    m.buf.data[begin + 4] = PERF_RECORD_MISC_KERNEL;
    memcpy(m.buf.data + begin + 16, words.buf.data, 16);
    memcpy(m.buf.data + begin + chain, words.buf.data + 16, 24);
    struct td_model *const model = load(&m.buf, &opts, &status);
    assert_int_equal(td_model_sample_count(model), 3);
    const struct td_sample *const sample = td_model_sample(model, 2);
    const struct td_thread *const thread = td_model_thread(model, sample->thread);
    assert_int_equal(td_task_id(thread->pid), -1);
    assert_string_equal(td_model_string(model, thread->name), ":-1");
    expect_kernel(model, sample->node);
    expect_kernel(model, td_model_node(model, sample->node)->parent);
    td_model_free(model);
    td_buf_release(&words.buf);
    td_buf_release(&m.buf);
}

static enum td_module_kind kind_at(const struct td_model *model, uint32_t node)
{
    const uint32_t location = td_model_node(model, node)->location;

    return td_model_module(model, td_model_location(model, location)->module)->kind;
}

/* Mappings mean what they mean to the recorder: code copied to huge pages is the file's still,
 * memory of memfd_create is code made at run time. */
static void test_mappings_without_a_file(void **state)
{
    const struct td_load_opts opts = {.keep_samples = true};
    const uint64_t made = 0x9010;
    struct td_load_status status = {0};
    struct maker m;

    (void)state;
    put_file(&m, false, false);
    put_mmap(&m, 54, 0x1000, "//anon");
    put_mmap(&m, 55, 0x9000, "/memfd:code (deleted)");
    put_sample(&m, 60, 300, 0);
    const size_t begin = m.buf.len;
    put_sample(&m, 61, 400, 0);
    memcpy(m.buf.data + begin + 16, &made, sizeof(made));
    struct td_model *const model = load(&m.buf, &opts, &status);
    const size_t count = td_model_sample_count(model);
    assert_int_equal(count, 4);
    assert_int_equal(kind_at(model, td_model_sample(model, count - 2)->node), TD_MODULE_FILE);
    assert_int_equal(kind_at(model, td_model_sample(model, count - 1)->node), TD_MODULE_ANON);
    td_model_free(model);
    td_buf_release(&m.buf);
}

static void test_a_part_of_the_time(void **state)
{
    const struct td_load_opts opts = {.from_ns = 10};
    struct td_load_status status = {0};
    struct maker m;

    (void)state;
    put_file(&m, false, false);
    struct td_model *const model = load(&m.buf, &opts, &status);
    assert_int_equal(td_model_counter(model, TD_COUNTER_SAMPLES), 1);
    /* The growth is since the sample before, which was left out. */
    assert_int_equal(
        td_model_tally_values(model, td_model_tally(model, 0), (uint64_t[TD_COLUMNS_MAX]){0})[1],
        150);
    td_model_free(model);
    td_buf_release(&m.buf);
}

static void test_refusals_name_the_offset(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        uint64_t offset;
    } cases[] = {
        {"PERFILE2", 8, 8},
        {"PERFILE2\x10\0\0\0\0\0\0\0", 16, 16},
        {"PERFILE2\x07\0\0\0\0\0\0\0", 16, 8},
    };

    (void)state;
    for (size_t i = 0; i < TD_ARRAY_SIZE(cases); i++) {
        struct td_model *model = NULL;
        struct td_err err = TD_ERR_INIT;

        assert_int_equal(
            td_load_bytes(&model, cases[i].bytes, cases[i].size, "bad", NULL, NULL, &err),
            TD_EFORMAT);
        assert_int_equal(err.offset, cases[i].offset);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_files_agree_with_perf),
        cmocka_unit_test(test_group_reads_become_deltas),
        cmocka_unit_test(test_environment_is_read),
        cmocka_unit_test(test_cut_files_say_so),
        cmocka_unit_test(test_made_files),
        cmocka_unit_test(test_tracepoints),
        cmocka_unit_test(test_damage_of_a_description_is_no_cut),
        cmocka_unit_test(test_trace_data_are_mentioned),
        cmocka_unit_test(test_filtered_samples_are_not_lost),
        cmocka_unit_test(test_ended_task_in_an_unmapped_kernel),
        cmocka_unit_test(test_mappings_without_a_file),
        cmocka_unit_test(test_a_part_of_the_time),
        cmocka_unit_test(test_refusals_name_the_offset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
